"""Sizes, checks, backups and upkeep."""

from pathlib import Path

from tests.fakes.build import a_commit, a_memory, a_rewrite, an_edge, an_origin, revised, vectors_for

from scrubjay.model.memory import State
from scrubjay.model.query import Filter
from scrubjay.ports import RecordStore


class UpkeepSuite:
    """`store_id`, `statistics`, `check`, `backup` and `tidy`. Needs the fixture `store`."""

    async def test_a_store_has_an_id_that_stays(self, store: RecordStore) -> None:
        before = store.store_id
        await store.commit(a_commit(a_memory()))
        assert before
        assert store.store_id == before

    async def test_an_empty_space_has_nothing_to_count(self, store: RecordStore) -> None:
        statistics = await store.statistics("default")
        assert not any(
            (*statistics.memories.values(), statistics.versions, statistics.relations, *statistics.vectors.values())
        )
        assert not any((statistics.raw_bodies, statistics.flagged_bodies))

    async def test_statistics_count_by_state(self, store: RecordStore) -> None:
        live = [a_memory(f"text {number}") for number in range(3)]
        trashed, archived = a_memory("gone", state=State.TRASHED), a_memory("old", state=State.ARCHIVED)
        await store.commit(a_commit(*live, trashed, archived, an_edge(live[0], live[1]), embedded=vectors_for(live)))
        await store.commit(a_commit(a_rewrite(revised(live[0], title="New"))))
        statistics = await store.statistics("default")
        counts = {state: count for state, count in statistics.memories.items() if count}
        assert counts == {"live": 3, "trashed": 1, "archived": 1}
        assert (statistics.versions, statistics.relations) == (6, 1)
        assert dict(statistics.vectors) == {"fake-64": 3}
        assert statistics.body_bytes > 0
        assert statistics.stored_bytes > 0

    async def test_statistics_follow_a_purge(self, store: RecordStore) -> None:
        first, second = a_memory("one"), a_memory("two")
        await store.commit(a_commit(first, second, an_edge(first, second), embedded=vectors_for([first, second])))
        await store.purge("default", [first.id, second.id], origin=an_origin())
        statistics = await store.statistics("default")
        assert not any(
            (*statistics.memories.values(), statistics.versions, statistics.relations, *statistics.vectors.values())
        )

    async def test_a_sound_store_has_nothing_wrong(self, store: RecordStore) -> None:
        assert await store.check() == []
        memory = a_memory("word " * 900)
        other = a_memory()
        await store.commit(a_commit(memory, other, an_edge(memory, other), embedded=vectors_for([memory])))
        await store.commit(a_commit(a_rewrite(revised(memory, content="short"))))
        await store.purge("default", [other.id], origin=an_origin())
        assert await store.check() == []
        assert await store.check(deep=True) == []

    async def test_upkeep_loses_nothing(self, store: RecordStore) -> None:
        assert all(await store.tidy())
        memories = [a_memory(f"number {number} of many words that are much alike") for number in range(200)]
        await store.commit(a_commit(*memories))
        later = [revised(memory, title=f"Number {number}") for number, memory in enumerate(memories)]
        await store.commit(a_commit(*(a_rewrite(memory) for memory in later)))
        await store.purge("default", [later[0].id], origin=an_origin())
        for _ in range(2):
            assert all(isinstance(done, str) for done in await store.tidy())
            assert await store.get("default", [memory.id for memory in later]) == {
                memory.id: memory for memory in later[1:]
            }
            for before in memories[1::40]:
                (*_, first) = await store.versions("default", before.id, limit=9)
                assert first.memory == before
        assert await store.check(deep=True) == []

    async def test_a_backup_is_made_while_the_store_is_used(self, store: RecordStore, tmp_path: Path) -> None:
        memory = a_memory()
        await store.commit(a_commit(memory))
        target = tmp_path / "copy"
        reported: list[tuple[int, int]] = []
        await store.backup(target, progress=lambda done, total: reported.append((done, total)))
        assert target.stat().st_size > 0
        assert reported
        assert reported[-1][0] == reported[-1][1]
        assert all(0 <= done <= total for done, total in reported)
        await store.commit(a_commit(a_memory()))
        assert len(await store.list_ids("default", Filter(), limit=9)) == 2
