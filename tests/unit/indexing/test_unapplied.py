"""The end of the log that the shared index has not applied: read once, and searched together with the index."""

from pathlib import Path

import pytest
from tests.fakes.build import MODEL, a_commit, a_memory, a_rewrite, moment, revised, vectors_for
from tests.unit.indexing.harness import QUERY, IndexHarness

from scrubjay.errors import IndexUnavailable
from scrubjay.indexing.unapplied import UnappliedChanges, count_hidden, overlay
from scrubjay.model.memory import State
from scrubjay.model.query import Filter
from scrubjay.storage.sqlite import SqliteStore


class TestReading:
    async def test_it_reads_on_and_drops_applied_changes(self, tmp_path: Path, store: SqliteStore) -> None:
        harness = IndexHarness(folder=tmp_path, store=store)
        unapplied = UnappliedChanges(harness.store, MODEL, max_changes=9)
        first, second = await harness.remember("one", "two")
        assert len(await unapplied.since(0)) == 2
        assert len(await unapplied.since(1)) == 1
        await harness.revise(first, "three")
        changed = await unapplied.since(1)
        assert {entry.seq for entry in changed.values()} == {2, 3}
        assert len(await unapplied.since(3)) == len(unapplied) == 0
        assert len(await unapplied.since(0)) == 2, "a rebuilt index begins earlier"
        await harness.purge(second)
        (gone,) = (await unapplied.since(3)).values()
        assert (gone.points, gone.indexed) == ((), 1)

    async def test_too_many_changes_are_an_error_until_they_are_applied(
        self, tmp_path: Path, store: SqliteStore
    ) -> None:
        harness = IndexHarness(folder=tmp_path, store=store)
        unapplied = UnappliedChanges(harness.store, MODEL, max_changes=3)
        await harness.remember("one", "two")
        assert len(await unapplied.since(0)) == 2
        await harness.remember("three", "four")
        for _ in range(2):
            with pytest.raises(IndexUnavailable) as caught:
                await unapplied.since(0)
            assert caught.value.fields["reason"] == "behind"
        assert len(await unapplied.since(2)) == 2

    async def test_hits_of_the_index_for_a_changed_memory_do_not_count(
        self, tmp_path: Path, store: SqliteStore
    ) -> None:
        harness = IndexHarness(folder=tmp_path, store=store)
        memory = a_memory("a long text. " * 300, kind="old")
        other = a_memory("another", space="elsewhere")
        for stored in (memory, other):
            await harness.store.commit(a_commit(stored, embedded=vectors_for([stored])))
        before = [(point.id, 0.5) for point in await harness.store.points(MODEL, after=-1, limit=99)]
        new = revised(memory, content="short", kind="new")
        await harness.store.commit(a_commit(a_rewrite(new), embedded=vectors_for([new])))
        changed = await UnappliedChanges(harness.store, MODEL, max_changes=9).since(2)
        assert count_hidden(changed, "default") == len(before) - 1
        assert count_hidden(changed, "elsewhere") == 0
        for filter_, count in (
            (Filter(), 1),
            (Filter(kind="new"), 1),
            (Filter(kind="old"), 0),
            (Filter(state=State.TRASHED), 0),
            (Filter(until=moment(-1)), 0),
            (Filter(since=moment(-1)), 1),
        ):
            hits = overlay(before[:-1], changed, space="default", vector=QUERY, filter=filter_, limit=9)
            assert len(hits) == count
        assert overlay(before, {}, space="default", vector=QUERY, filter=Filter(), limit=2) == before[:2]
