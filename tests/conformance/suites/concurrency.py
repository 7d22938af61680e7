"""Many callers at once."""

import asyncio
from collections.abc import Sequence

from tests.conformance.suites.lookups import lexical_passages
from tests.fakes.build import a_commit, a_memory, a_rewrite, an_edge, an_origin, moment, revised

from scrubjay.errors import NameTaken, StaleVersion
from scrubjay.model.query import Filter
from scrubjay.ports import Commit, Committed, IdempotencyRecord, RecordStore
from scrubjay.text.tokens import terms_of


class ConcurrencySuite:
    """Commits and reads that run at the same time. Needs the fixture `store`."""

    async def test_hundreds_of_commits_at_once_are_all_kept(self, store: RecordStore) -> None:
        memories = [a_memory(f"needle {number}", space=f"space-{number % 3}") for number in range(300)]
        done = await asyncio.gather(*(store.commit(a_commit(memory)) for memory in memories))
        log = await store.changes(after=0, limit=999)
        seqs = [change.seq for change in log]
        assert seqs == sorted(set(seqs))
        assert len({change.number for change in log}) == len(log) == 300
        assert max(result.seq for result in done) == seqs[-1] == await store.last_seq()
        at = {change.memory_id: change.seq for change in log}
        assert all(at[memory.id] <= result.seq for memory, result in zip(memories, done, strict=True))
        for number in range(3):
            mine = {memory.id: memory for memory in memories if memory.space == f"space-{number}"}
            assert await store.get(f"space-{number}", list(mine)) == mine
            passages = await lexical_passages(store, f"space-{number}", terms_of("needle"), Filter(), limit=999)
            assert {passage.memory_id for passage in passages} == set(mine)

    async def test_a_failure_spoils_no_other_commit(self, store: RecordStore) -> None:
        holder = a_memory(name="plan")
        await store.commit(a_commit(holder))
        good = [a_memory(f"good {number}") for number in range(60)]
        bad = [a_memory(f"bad {number}", name="plan") for number in range(60)]
        mixed = [memory for pair in zip(good, bad, strict=True) for memory in pair]
        done = await _settle(store, [a_commit(memory) for memory in mixed])
        assert [type(result) for result in done] == [Committed, NameTaken] * 60
        assert set(await store.get("default", [memory.id for memory in mixed])) == {memory.id for memory in good}
        assert len(await store.changes(after=0, limit=999)) == 61

    async def test_of_many_edits_of_one_version_one_wins(self, store: RecordStore) -> None:
        memory = a_memory()
        await store.commit(a_commit(memory))
        edits = [revised(memory, content=f"edit {number}") for number in range(30)]
        done = await _settle(store, [a_commit(a_rewrite(edit)) for edit in edits])
        winners = [edit for edit, result in zip(edits, done, strict=True) if isinstance(result, Committed)]
        assert len(winners) == 1
        losers = [result for result in done if isinstance(result, StaleVersion)]
        assert len(losers) == 29
        assert {loser.fields["current"] for loser in losers} == {2}
        assert await store.get("default", [memory.id]) == {memory.id: winners[0]}

    async def test_of_many_that_want_a_name_one_gets_it(self, store: RecordStore) -> None:
        memories = [a_memory(name="plan") for _ in range(30)]
        done = await _settle(store, [a_commit(memory) for memory in memories])
        winner = {memory.id for memory, result in zip(memories, done, strict=True) if isinstance(result, Committed)}
        assert len(winner) == 1
        assert {handle.id for handle in await store.find("default", "plan")} == winner

    async def test_of_many_with_one_key_one_is_applied(self, store: RecordStore) -> None:
        memories = [a_memory(f"try {number}") for number in range(30)]
        commits = [
            a_commit(
                memory, once=IdempotencyRecord(key="k", digest=b"d", answer=memory.id), origin=an_origin(run=memory.id)
            )
            for memory in memories
        ]
        done = await asyncio.gather(*(store.commit(commit) for commit in commits))
        (stored,) = await store.get("default", [memory.id for memory in memories])
        answers = [result.answer for result in done]
        assert answers.count(None) == 1
        assert set(answers) == {None, stored}

    async def test_readings_are_all_counted(self, store: RecordStore) -> None:
        memory = a_memory()
        await store.commit(a_commit(memory))
        await asyncio.gather(*(store.touch("default", [memory.id], at=moment(number)) for number in range(40)))
        assert (await store.get("default", [memory.id]))[memory.id].access_count == 40

    async def test_a_reader_sees_a_commit_whole_or_not_at_all(self, store: RecordStore) -> None:
        pairs = [(a_memory("left"), a_memory("right")) for _ in range(40)]

        async def write(number: int) -> None:
            left, right = pairs[number]
            await store.commit(a_commit(left, right, an_edge(left, right)))

        async def read(number: int) -> None:
            left, right = pairs[number]
            memories = await store.get("default", [left.id, right.id])
            assert len(memories) in {0, 2}

        work = [task for number in range(40) for task in (write(number), read(number), read(39 - number))]
        await asyncio.gather(*work)
        assert len(await store.list_ids("default", Filter(), limit=999)) == 80

    async def test_a_caller_reads_its_own_writes(self, store: RecordStore) -> None:
        async def write_and_read(number: int) -> None:
            memory = a_memory(f"word{number}")
            await store.commit(a_commit(memory))
            assert await store.get("default", [memory.id]) == {memory.id: memory}
            passages = await lexical_passages(store, "default", terms_of(f"word{number}"), Filter(), limit=9)
            assert [passage.memory_id for passage in passages] == [memory.id]

        await asyncio.gather(*(write_and_read(number) for number in range(60)))


async def _settle(store: RecordStore, commits: Sequence[Commit]) -> list[Committed | BaseException]:
    return list(await asyncio.gather(*(store.commit(commit) for commit in commits), return_exceptions=True))
