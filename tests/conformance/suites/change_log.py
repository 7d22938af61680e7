"""The log: every change once, in order, and the runs that can be undone."""

from dataclasses import replace

from tests.fakes.build import a_commit, a_memory, a_rewrite, a_write, an_edge, an_origin, moment, revised, vectors_for

from scrubjay.model.change import Action, Change
from scrubjay.model.memory import State
from scrubjay.ports import Commit, MemoryHistory, RecordStore
from scrubjay.text.passages import passages_of


class ChangesSuite:
    """`changes` and `last_seq`. Needs the fixture `store`."""

    async def test_a_new_store_has_an_empty_log(self, store: RecordStore) -> None:
        assert await store.last_seq() == 0
        assert await store.changes(after=0, limit=9) == []
        assert await store.last_place("default") == 0
        assert await store.changes_in("default", after=0, limit=9) == []

    async def test_a_space_counts_its_own_changes_alone(self, store: RecordStore) -> None:
        for number in range(3):
            await store.commit(a_commit(a_memory(f"here {number}")))
            await store.commit(a_commit(a_memory(f"there {number}", space="there"), a_memory("and", space="there")))
        for space, count in (("default", 3), ("there", 6), ("nowhere", 0)):
            assert await store.last_place(space) == count
            assert [change.place for change in await store.changes_in(space, after=0, limit=99)] == list(
                range(1, count + 1)
            )
        (second,) = await store.changes_in("default", after=1, limit=1)
        assert (second.place, second.space) == (2, "default")
        parts = [await store.changes_in(space, after=0, limit=99) for space in ("default", "there")]
        assert await store.changes(after=0, limit=99) == sorted((*parts[0], *parts[1]), key=lambda change: change.seq)

    async def test_every_write_is_a_change(self, store: RecordStore) -> None:
        first = a_memory("word " * 900)
        done = await store.commit(a_commit(first, origin=an_origin(run="r1", agent="ann", at=moment(1))))
        second = revised(first, content="short")
        await store.commit(a_commit(a_rewrite(second), origin=an_origin(run="r2", agent="bob", at=moment(2))))
        created, changed = await store.changes(after=0, limit=9)
        assert created.seq == done.seq
        assert created == Change(
            seq=created.seq,
            place=1,
            space="default",
            memory_id=first.id,
            number=created.number,
            action=Action.CREATED,
            version=1,
            base=None,
            passages_before=0,
            at=moment(1),
            agent="ann",
            run="r1",
        )
        assert changed == replace(
            created,
            seq=await store.last_seq(),
            place=2,
            action=Action.REVISED,
            version=2,
            base=1,
            passages_before=len(passages_of(first)),
            at=moment(2),
            agent="bob",
            run="r2",
        )
        assert isinstance(changed.action, Action)

    async def test_numbers_rise_over_all_spaces_and_belong_to_one_memory(self, store: RecordStore) -> None:
        memories = [a_memory(space=f"space-{number % 3}") for number in range(9)]
        for memory in memories:
            await store.commit(a_commit(memory))
        for memory in memories:
            await store.commit(a_commit(a_rewrite(revised(memory))))
        log = await store.changes(after=0, limit=99)
        numbers = [change.number for change in log]
        assert [change.memory_id for change in log] == [memory.id for memory in memories] * 2
        assert numbers[:9] == numbers[9:] == sorted(set(numbers))
        assert numbers[0] > 0
        seqs = [change.seq for change in log]
        assert seqs == sorted(set(seqs))
        assert seqs[0] > 0

    async def test_the_log_of_a_commit_follows_its_order(self, store: RecordStore) -> None:
        memories = [a_memory() for _ in range(5)]
        edge = an_edge(memories[0], memories[4])
        done = await store.commit(a_commit(edge, *memories))
        log = await store.changes(after=0, limit=99)
        assert [change.memory_id for change in log[:5]] == [memory.id for memory in memories]
        assert (log[5].action, log[5].relation) == (Action.RELATED, edge.relation)
        assert done.seq == log[-1].seq == await store.last_seq()

    async def test_the_log_is_read_in_pages_from_a_cursor(self, store: RecordStore) -> None:
        for number in range(20):
            await store.commit(a_commit(a_memory(space=f"space-{number % 2}")))
        whole = await store.changes(after=0, limit=99)
        for space in ("space-0", "space-1", "nobody"):
            own: list[Change] = []
            while page := await store.changes_in(space, after=own[-1].place if own else 0, limit=3):
                own += page
                assert len(page) <= 3
                assert len(own) <= len(whole)
            assert own == [change for change in whole if space == change.space]
        read: list[Change] = []
        while page := await store.changes(after=read[-1].seq if read else 0, limit=3):
            read += page
            assert len(page) <= 3
            assert len(read) <= len(whole)
        assert read == whole
        assert await store.changes(after=whole[-1].seq, limit=9) == []

    async def test_vectors_of_a_commit_are_no_change_of_their_own(self, store: RecordStore) -> None:
        memory = a_memory()
        await store.commit(a_commit(memory, embedded=vectors_for([memory])))
        assert [change.action for change in await store.changes(after=0, limit=9)] == [Action.CREATED]

    async def test_every_action_is_returned_as_it_was_written(self, store: RecordStore) -> None:
        memory = a_memory()
        await store.commit(a_commit(memory))
        actions = (Action.TRASHED, Action.RESTORED, Action.REVERTED, Action.UNDONE, Action.REVISED)
        for action in actions:
            memory = revised(memory)
            await store.commit(a_commit(a_rewrite(memory, action=action)))
        log = await store.changes(after=0, limit=9)
        assert tuple(change.action for change in log[1:]) == actions
        assert [change.base for change in log] == [None, 1, 2, 3, 4, 5]


class RunsSuite:
    """`run` and `last_run`. Needs the fixture `store`."""

    async def test_a_run_has_its_changes_in_order(self, store: RecordStore) -> None:
        first, second = a_memory(), a_memory()
        await store.commit(_by("ann", a_commit(first), run="tidy up"))
        await store.commit(_by("ann", a_commit(a_memory()), run="another"))
        await store.commit(_by("ann", a_commit(second, an_edge(first, second)), run="tidy up"))
        run = await store.run("default", "tidy up")
        assert run is not None
        assert (run.id, run.agent) == ("tidy up", "ann")
        assert [change.memory_id for change in run.changes] == [first.id, second.id, first.id]
        log = await store.changes(after=0, limit=9)
        assert run.changes == tuple(change for change in log if change.run == "tidy up")

    async def test_an_unknown_run_is_none(self, store: RecordStore) -> None:
        await store.commit(_by("ann", a_commit(a_memory(space="there")), run="theirs"))
        assert await store.run("default", "nobody's") is None
        assert await store.run("default", "theirs") is None
        assert await store.last_run("default", agent="ann") is None

    async def test_the_last_run_is_the_agents_newest(self, store: RecordStore) -> None:
        await store.commit(_by("ann", a_commit(a_memory()), run="a1"))
        await store.commit(_by("ann", a_commit(a_memory()), run="a2"))
        await store.commit(_by("bob", a_commit(a_memory()), run="b1"))
        assert await _last(store, "ann") == "a2"
        assert await _last(store, "bob") == "b1"
        assert await _last(store, "cy") is None

    async def test_a_run_that_went_on_is_the_newest(self, store: RecordStore) -> None:
        for run in ("a1", "a2", "a1"):
            await store.commit(_by("ann", a_commit(a_memory()), run=run))
        assert await _last(store, "ann") == "a1"

    async def test_undone_runs_and_their_undoing_are_skipped(self, store: RecordStore) -> None:
        memories = [a_memory() for _ in range(3)]
        for number, memory in enumerate(memories):
            await store.commit(_by("ann", a_commit(memory), run=f"r{number}"))
        for number, before in ((2, "r1"), (1, "r0"), (0, None)):
            gone = a_write(revised(memories[number], state=State.TRASHED), base=1, action=Action.UNDONE)
            await store.commit(_by("ann", a_commit(gone), run=f"undo-{number}", undoes=f"r{number}"))
            assert await _last(store, "ann") == before

    async def test_a_name_used_again_after_the_undoing_is_a_new_run(self, store: RecordStore) -> None:
        first, second = a_memory(), a_memory()
        await store.commit(_by("ann", a_commit(first), run="r1"))
        gone = a_write(revised(first, state=State.TRASHED), base=1, action=Action.UNDONE)
        await store.commit(_by("ann", a_commit(gone), run="u1", undoes="r1"))
        await store.commit(_by("ann", a_commit(second), run="r1"))
        for run in (await store.run("default", "r1"), await store.last_run("default", agent="ann")):
            assert run is not None
            assert [change.memory_id for change in run.changes] == [second.id]

    async def test_an_undoing_by_another_agent_counts(self, store: RecordStore) -> None:
        memory = a_memory()
        await store.commit(_by("ann", a_commit(memory), run="r1"))
        gone = a_write(revised(memory, state=State.TRASHED), base=1, action=Action.UNDONE)
        await store.commit(_by("bob", a_commit(gone), run="u1", undoes="r1"))
        assert await _last(store, "ann") is None
        assert await _last(store, "bob") is None

    async def test_an_undoing_in_another_space_does_not(self, store: RecordStore) -> None:
        await store.commit(_by("ann", a_commit(a_memory()), run="r1"))
        await store.commit(_by("ann", a_commit(a_memory(space="there")), run="u1", undoes="r1"))
        assert await _last(store, "ann") == "r1"

    async def test_runs_that_cannot_be_undone_are_skipped(self, store: RecordStore) -> None:
        memory, victim, guest = a_memory(), a_memory(), a_memory()
        await store.commit(_by("ann", a_commit(memory, victim), run="r1"))
        later = an_origin(agent="ann", run="embedding", at=moment(9))
        await store.store_vectors("default", vectors_for([memory]), memory_ids=[memory.id], origin=later)
        await store.adopt("default", [MemoryHistory(memory=guest, versions=())], origin=replace(later, run="import"))
        await store.purge("default", [victim.id], origin=replace(later, run="purge"))
        assert await _last(store, "ann") == "r1"

    async def test_relations_can_be_undone(self, store: RecordStore) -> None:
        first, second = a_memory(), a_memory()
        await store.commit(_by("ann", a_commit(first, second), run="r1"))
        await store.commit(_by("ann", a_commit(an_edge(first, second)), run="r2"))
        assert await _last(store, "ann") == "r2"
        await store.commit(_by("ann", a_commit(an_edge(first, second, present=False)), run="r3"))
        assert await _last(store, "ann") == "r3"

    async def test_the_last_run_comes_with_its_changes(self, store: RecordStore) -> None:
        first, second = a_memory(), a_memory()
        await store.commit(_by("ann", a_commit(first, second), run="r1"))
        assert await store.last_run("default", agent="ann") == await store.run("default", "r1")


def _by(agent: str, commit: Commit, *, run: str, undoes: str = "") -> Commit:
    return replace(commit, origin=an_origin(run=run, agent=agent, undoes=undoes))


async def _last(store: RecordStore, agent: str) -> str | None:
    run = await store.last_run("default", agent=agent)
    return run.id if run else None
