"""Commits: stored whole, refused for a reason, and atomic."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from tests.conformance.suites import hostile
from tests.conformance.suites.lookups import lexical_passages
from tests.fakes.build import (
    MODEL,
    START,
    a_commit,
    a_memory,
    a_rewrite,
    a_write,
    an_edge,
    an_origin,
    moment,
    revised,
    vectors_for,
)

from scrubjay.errors import NameTaken, NotFound, StaleVersion
from scrubjay.model.change import Action
from scrubjay.model.memory import Memory, Method, Observation, Source, State, Tier, Trust
from scrubjay.model.query import Filter
from scrubjay.ports import Commit, IdempotencyRecord, RecordStore
from scrubjay.text.passages import passages_of
from scrubjay.text.tokens import terms_of


class CommitSuite:
    """`commit`, `get`, `version` and `versions`. Needs the fixture `store`."""

    async def test_a_memory_comes_back_exactly(self, store: RecordStore) -> None:
        memory = _with_every_field()
        await store.commit(a_commit(memory))
        assert await store.get("default", [memory.id]) == {memory.id: memory}

    async def test_a_memory_of_defaults_comes_back_exactly(self, store: RecordStore) -> None:
        memory = a_memory("")
        await store.commit(a_commit(memory))
        assert await store.get("default", [memory.id]) == {memory.id: memory}

    async def test_a_transaction_reads_its_own_commits_and_no_other_reader_does(self, store: RecordStore) -> None:
        first, second = a_memory("the first text"), a_memory("the second text")
        async with store.transaction("default") as transaction:
            await transaction.commit(a_commit(first, embedded=vectors_for([first])))
            await transaction.commit(a_commit(second))
            assert set(await transaction.get("default", [first.id, second.id])) == {first.id, second.id}
            assert await transaction.same_content("default", first.content) == (first.id,)
            assert await _count_passages(transaction, "first") == 1
            assert len(await transaction.changes_in("default", after=0, limit=10)) == 2
            assert len(await transaction.points(MODEL, after=-1, limit=10)) == 1
        assert set(await store.get("default", [first.id, second.id])) == {first.id, second.id}
        assert await _count_passages(store, "second") == 1

    async def test_a_failed_transaction_leaves_nothing(self, store: RecordStore) -> None:
        before, memory = a_memory("before"), a_memory("gone")
        await store.commit(a_commit(before))
        with pytest.raises(RuntimeError):
            await _fail_after(a_commit(memory), store=store)
        assert await store.get("default", [before.id, memory.id]) == {before.id: before}
        assert len(await store.changes(after=0, limit=10)) == 1
        await store.commit(a_commit(memory))
        assert await store.get("default", [memory.id]) == {memory.id: memory}

    async def test_a_refused_commit_changes_nothing_else_of_its_transaction(self, store: RecordStore) -> None:
        memory, namesake, last = a_memory("one", name="same"), a_memory("two", name="same"), a_memory("three")
        async with store.transaction("default") as transaction:
            await transaction.commit(a_commit(memory))
            with pytest.raises(NameTaken):
                await transaction.commit(a_commit(a_memory("with it"), namesake))
            await transaction.commit(a_commit(last))
        assert set(await store.list_ids("default", Filter(), limit=10)) == {memory.id, last.id}

    async def test_other_writes_wait_for_a_transaction(self, store: RecordStore) -> None:
        others = [a_memory(f"other {number}") for number in range(30)]
        async with store.transaction("default") as transaction:
            tasks = [asyncio.create_task(store.commit(a_commit(memory))) for memory in others]
            await transaction.commit(a_commit(a_memory("mine")))
            await asyncio.sleep(0.05)
            assert len(await store.list_ids("default", Filter(), limit=100)) <= 1
        await asyncio.gather(*tasks)
        assert len(await store.list_ids("default", Filter(), limit=100)) == 31

    async def test_get_leaves_out_missing_memories(self, store: RecordStore) -> None:
        memory = a_memory()
        await store.commit(a_commit(memory))
        assert await store.get("default", []) == {}
        assert await store.get("default", [memory.id, a_memory().id, "no id at all", ""]) == {memory.id: memory}

    async def test_get_takes_any_number_of_ids(self, store: RecordStore) -> None:
        memory = a_memory()
        await store.commit(a_commit(memory))
        strangers = [f"stranger-{number}" for number in range(40_000)]
        assert await store.get("default", [*strangers, memory.id, memory.id]) == {memory.id: memory}

    async def test_every_write_leaves_a_version(self, store: RecordStore) -> None:
        first = a_memory("one")
        second = revised(first, content="two", title="Two")
        third = revised(second, state=State.TRASHED)
        writes = (
            a_write(first, message="begin"),
            a_rewrite(second, message="again"),
            a_rewrite(third, action=Action.TRASHED),
        )
        for write, agent in zip(writes, ("ann", "bob", "cy"), strict=True):
            origin = an_origin(run=f"run of {agent}", agent=agent, at=write.memory.updated_at)
            await store.commit(a_commit(write, origin=origin))
        versions = await store.versions("default", first.id, limit=10)
        assert [version.memory for version in versions] == [third, second, first]
        assert [version.number for version in versions] == [3, 2, 1]
        assert [version.parent for version in versions] == [2, 1, None]
        assert [change.action for change in versions] == ["trashed", "revised", "created"]
        assert [item.message for item in versions] == ["", "again", "begin"]
        assert [item.run for item in versions] == ["run of cy", "run of bob", "run of ann"]
        assert [item.agent for item in versions] == ["cy", "bob", "ann"]
        assert [item.created_at for item in versions] == [third.updated_at, second.updated_at, first.updated_at]

    async def test_versions_are_paged_newest_first(self, store: RecordStore) -> None:
        memory = a_memory()
        await store.commit(a_commit(memory))
        for _ in range(4):
            memory = revised(memory)
            await store.commit(a_commit(a_rewrite(memory)))
        newest = await store.versions("default", memory.id, limit=2)
        older = await store.versions("default", memory.id, limit=2, before=4)
        oldest = await store.versions("default", memory.id, limit=2, before=2)
        assert [[version.number for version in page] for page in (newest, older, oldest)] == [[5, 4], [3, 2], [1]]
        assert await store.versions("default", memory.id, limit=2, before=1) == []
        assert await store.versions("default", "nobody", limit=2) == []

    async def test_one_version_can_be_read(self, store: RecordStore) -> None:
        first = a_memory("one")
        second = revised(first, content="two")
        await store.commit(a_commit(first))
        await store.commit(a_commit(a_rewrite(second)))
        version = await store.version("default", first.id, 1)
        assert version is not None
        assert (version.number, version.memory) == (1, first)
        for memory_id, number in ((first.id, 3), (first.id, 0), ("nobody", 1)):
            assert await store.version("default", memory_id, number) is None

    async def test_a_stale_write_is_refused_with_the_current_version(self, store: RecordStore) -> None:
        first = a_memory("one")
        second = revised(first, content="two")
        await store.commit(a_commit(first))
        await store.commit(a_commit(a_rewrite(second)))
        with pytest.raises(StaleVersion) as refused:
            await store.commit(a_commit(a_rewrite(revised(first, content="late"))))
        fields = refused.value.fields
        assert (fields["expected"], fields["current"], fields["memory_id"]) == (1, 2, first.id)
        assert await store.get("default", [first.id]) == {first.id: second}

    async def test_an_id_is_new_only_once(self, store: RecordStore) -> None:
        memory = a_memory("one")
        await store.commit(a_commit(memory))
        with pytest.raises(StaleVersion) as refused:
            await store.commit(a_commit(replace(memory, content="another", name="another")))
        assert (refused.value.fields["current"], refused.value.fields["memory_id"]) == (1, memory.id)
        assert await store.get("default", [memory.id]) == {memory.id: memory}

    async def test_a_missing_memory_cannot_be_revised(self, store: RecordStore) -> None:
        with pytest.raises((StaleVersion, NotFound)):
            await store.commit(a_commit(a_rewrite(revised(a_memory()))))
        assert await store.last_seq() == 0

    async def test_the_base_versions_of_a_commit_must_be_current(self, store: RecordStore) -> None:
        trunk, other = a_memory("trunk"), a_memory("other")
        await store.commit(a_commit(trunk, other))
        expected = ((trunk.id, 1), (other.id, 1))
        first = a_memory("made of both")
        await store.commit(replace(a_commit(first), expected=expected))
        assert first.id in await store.get("default", [first.id])
        # Also for a written memory, the version before the commit counts.
        later = revised(trunk, content="later")
        await store.commit(replace(a_commit(a_rewrite(later)), expected=expected))
        second, third = a_memory("made too late"), a_memory("made of what is gone")
        with pytest.raises(StaleVersion) as caught:
            await store.commit(replace(a_commit(second), expected=expected))
        fields = caught.value.fields
        assert (fields["memory_id"], fields["expected"], fields["current"]) == (trunk.id, 1, 2)
        await store.purge("default", [other.id], origin=an_origin())
        for gone in (other.id, "no id at all"):
            with pytest.raises(NotFound):
                await store.commit(replace(a_commit(third), expected=((gone, 1),)))
        assert await store.get("default", [second.id, third.id]) == {}

    async def test_a_write_may_build_on_another_of_its_commit(self, store: RecordStore) -> None:
        first = a_memory("one")
        second = revised(first, content="two")
        await store.commit(a_commit(a_write(first), a_rewrite(second)))
        assert await store.get("default", [first.id]) == {first.id: second}
        assert len(await store.versions("default", first.id, limit=9)) == 2

    async def test_an_empty_commit_changes_nothing(self, store: RecordStore) -> None:
        await store.commit(a_commit(a_memory()))
        before = await store.last_seq()
        done = await store.commit(a_commit(space="default"))
        assert (done.seq, done.answer) == (before, None)
        assert await store.last_seq() == before

    async def test_a_batch_of_many_is_kept_whole(self, store: RecordStore) -> None:
        memories = [a_memory(f"number {number} of acorns") for number in range(1000)]
        await store.commit(a_commit(*memories))
        assert await store.get("default", [memory.id for memory in memories]) == {
            memory.id: memory for memory in memories
        }
        assert len(await lexical_passages(store, "default", terms_of("acorns"), Filter(), limit=2000)) == 1000

    async def test_a_long_text_is_kept_byte_for_byte(self, store: RecordStore) -> None:
        text = "".join(f"Line {number} — wörd \r\n\t" for number in range(12_000))
        memory = a_memory(text)
        await store.commit(a_commit(memory))
        assert (await store.get("default", [memory.id]))[memory.id].content == text
        assert len(await store.matching_passages("default", Filter())) == len(passages_of(memory))

    async def test_any_string_is_kept_in_any_field(self, store: RecordStore) -> None:
        memories = [_made_of(string) for string in hostile.STRINGS]
        await store.commit(a_commit(*memories))
        assert await store.get("default", [memory.id for memory in memories]) == {
            memory.id: memory for memory in memories
        }
        for memory in memories:
            versions = await store.versions("default", memory.id, limit=1)
            assert [version.memory for version in versions] == [memory]


class AtomicitySuite:
    """A commit that fails leaves no trace. Needs the fixture `store`."""

    @pytest.mark.parametrize("fault", ["stale", "taken", "repeated id", "no such end", "no such write"])
    async def test_a_failed_commit_leaves_nothing(self, store: RecordStore, fault: str) -> None:
        existing = a_memory("standing", name="standing")
        await store.commit(a_commit(existing, embedded=vectors_for([existing])))
        before = await _everything(store, existing)
        bad = _with_fault(fault, existing)
        with pytest.raises((StaleVersion, NameTaken, NotFound)):
            await store.commit(bad)
        assert await _everything(store, existing) == before
        for write in bad.writes:
            if write.memory.id != existing.id:
                assert await store.get("default", [write.memory.id]) == {}
                assert await store.versions("default", write.memory.id, limit=9) == []
                assert await store.find("default", write.memory.id) == ()
        assert bad.embedded is not None
        assert await store.vectors("default", MODEL, list(bad.embedded.vectors)) == {}

    async def test_a_failed_commit_does_not_use_up_its_key(self, store: RecordStore) -> None:
        existing = a_memory(name="standing")
        await store.commit(a_commit(existing))
        once = IdempotencyRecord(key="k", digest=b"d", answer="done")
        with pytest.raises(NameTaken):
            await store.commit(a_commit(a_memory(name="standing"), once=once))
        memory = a_memory()
        done = await store.commit(a_commit(memory, once=once))
        assert done.answer is None
        assert memory.id in await store.get("default", [memory.id])

    async def test_the_store_goes_on_after_a_failure(self, store: RecordStore) -> None:
        existing = a_memory(name="standing")
        await store.commit(a_commit(existing))
        for _ in range(5):
            with pytest.raises(NameTaken):
                await store.commit(a_commit(a_memory(), a_memory(name="standing")))
        memory = a_memory()
        await store.commit(a_commit(memory))
        assert set(await store.get("default", [existing.id, memory.id])) == {existing.id, memory.id}
        assert len(await store.changes(after=0, limit=99)) == 2


def _with_every_field() -> Memory:
    other = datetime(2025, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
    return a_memory(
        "# Content\n\nwith *Markdown*, trailing space \n",
        name="every-field",
        title="Every field",
        kind="decision",
        category="architecture",
        project="apollo",
        scope="team",
        observations=(
            Observation(text="first", recorded_at=other),
            Observation(text="second", recorded_at=START, valid_until=moment(1.000001), source=Source(session="chat")),
        ),
        entity="Sarah",
        group="group-1",
        tags=("database", "postgres", "zz", "aa"),
        tier=Tier.PROCEDURAL,
        pinned=True,
        relevance=0.123456789,
        expires_at=moment(100),
        remind_at=moment(50),
        state=State.LIVE,
        merged_into="somewhere",
        branch="draft",
        resolution="kept",
        source=Source(
            session="s",
            conversation="c",
            at=other,
            method=Method.IMPORT,
            agent="claude",
            tool="cli",
            trust=Trust.DOCUMENT,
        ),
        metadata={"deep": {"list": [1, 2.5, None, True, "x"], "empty": {}}, "": "empty key", "ü": "ü"},
        last_confirmed=moment(3),
        last_reviewed=moment(4),
    )


def _made_of(string: str) -> Memory:
    return a_memory(
        string,
        name=string,
        title=string,
        kind=string,
        category=string,
        project=string,
        scope=string,
        entity=string,
        group=string,
        tags=(string,),
        observations=(Observation(text=string, recorded_at=START, source=Source(session=string)),),
        source=Source(session=string, conversation=string, agent=string, tool=string),
        metadata={string: string},
        merged_into=string,
        resolution=string,
    )


def _with_fault(fault: str, existing: Memory) -> Commit:
    """Return a commit of three good parts, a bad one, and a good one after it."""
    fresh, fine = a_memory("fresh"), a_memory("fine")
    bad = {
        "stale": a_write(revised(revised(existing, content="late")), base=7),
        "taken": a_write(a_memory("usurper", name=existing.name)),
        "repeated id": a_write(replace(fresh, name="fresh-again")),
        "no such end": an_edge(fresh, a_memory("never stored")),
        "no such write": a_rewrite(revised(a_memory("never stored"))),
    }[fault]
    return a_commit(
        a_write(fresh),
        a_rewrite(revised(existing, content="changed", name="renamed-standing")) if fault != "taken" else a_write(fine),
        an_edge(fresh, existing, text="between them"),
        bad,
        a_write(a_memory("last")),
        embedded=vectors_for([fresh]),
        once=IdempotencyRecord(key="key", digest=b"digest", answer="answer"),
        space="default",
    )


async def _everything(store: RecordStore, existing: Memory) -> tuple[object, ...]:
    statistics = await store.statistics("default")
    return (
        await store.get("default", [existing.id]),
        await store.versions("default", existing.id, limit=9),
        await store.relations("default", [existing.id]),
        await store.changes(after=0, limit=99),
        await store.last_seq(),
        await store.list_ids("default", Filter(), limit=99),
        list(await store.matching_passages("default", Filter())),
        await store.term_statistics("default", terms_of("standing fresh changed last"), state=State.LIVE),
        await store.point_count(MODEL),
        (dict(statistics.memories), statistics.versions, statistics.relations, dict(statistics.vectors)),
    )


async def _count_passages(store: RecordStore, word: str) -> int:
    return len(await lexical_passages(store, "default", terms_of(word), Filter(), limit=10))


async def _fail_after(commit: Commit, *, store: RecordStore) -> None:
    async with store.transaction(commit.space) as transaction:
        await transaction.commit(commit)
        raise RuntimeError
