"""Lists of ids: by filter and page, pinned, of a group; and the counting of accesses."""

from dataclasses import replace

from tests.conformance.suites.filters import population, require_exact
from tests.fakes.build import a_commit, a_memory, a_rewrite, moment, revised

from scrubjay.model.change import Action
from scrubjay.model.memory import State
from scrubjay.model.query import Filter
from scrubjay.ports import RecordStore


class ListingSuite:
    """`list_ids`, `pinned`, `members` and `touch`. Needs the fixture `store`."""

    async def test_a_list_has_exactly_the_memories_that_pass(self, store: RecordStore) -> None:
        memories = population()
        await store.commit(a_commit(*memories.values()))
        labels = {memory.id: label for label, memory in memories.items()}

        async def passing(filter: Filter) -> list[str]:
            return [labels[id_] for id_ in await store.list_ids("default", filter, limit=99)]

        await require_exact(passing)

    async def test_a_list_begins_with_the_latest_update(self, store: RecordStore) -> None:
        first, second, third = a_memory(), a_memory(), a_memory()
        await store.commit(a_commit(second, third, first))
        updated = revised(first, updated_at=moment(10_000))
        await store.commit(a_commit(a_rewrite(updated)))
        assert await store.list_ids("default", Filter(), limit=9) == [first.id, third.id, second.id]

    async def test_a_list_of_one_moment_goes_by_id_backwards(self, store: RecordStore) -> None:
        memories = [a_memory(updated_at=moment(5)) for _ in range(20)]
        await store.commit(a_commit(*memories))
        assert await store.list_ids("default", Filter(), limit=99) == sorted(
            (memory.id for memory in memories), reverse=True
        )

    async def test_pages_follow_each_other_without_gap_or_overlap(self, store: RecordStore) -> None:
        memories = [a_memory(updated_at=moment(number // 4), kind=f"k{number % 2}") for number in range(50)]
        await store.commit(a_commit(*memories))
        for criteria in (Filter(), Filter(kind="k1"), Filter(until=moment(60))):
            whole = await store.list_ids("default", criteria, limit=99)
            paged: list[str] = []
            while page := await store.list_ids("default", criteria, limit=7, after=paged[-1] if paged else None):
                paged += page
                assert len(page) <= 7
                assert len(paged) <= len(whole)
            assert paged == whole

    async def test_a_page_goes_on_after_an_id_that_has_left_the_list(self, store: RecordStore) -> None:
        memories = [a_memory(updated_at=moment(number)) for number in range(6)]
        await store.commit(a_commit(*memories))
        first_page = await store.list_ids("default", Filter(), limit=3)
        last = memories[3]
        gone = replace(last, version=2, state=State.TRASHED)
        await store.commit(a_commit(a_rewrite(gone, action=Action.TRASHED)))
        assert first_page[-1] == last.id
        assert await store.list_ids("default", Filter(), limit=3, after=last.id) == [
            memories[2].id,
            memories[1].id,
            memories[0].id,
        ]

    async def test_pinned_are_the_live_ones_oldest_first(self, store: RecordStore) -> None:
        young = a_memory(pinned=True, created_at=moment(9))
        old = a_memory(pinned=True, created_at=moment(1))
        unpinned = a_memory(pinned=True)
        trashed = a_memory(pinned=True, state=State.TRASHED)
        await store.commit(a_commit(young, old, a_memory(), unpinned, trashed))
        await store.commit(a_commit(a_rewrite(revised(unpinned, pinned=False))))
        assert await store.pinned("default") == [old.id, young.id]
        assert await store.pinned("elsewhere") == []

    async def test_members_of_a_group_are_listed_in_every_state(self, store: RecordStore) -> None:
        live = [a_memory(group="g1", entity=entity) for entity in ("Sarah", "Acme")]
        trashed = a_memory(group="g1", state=State.TRASHED)
        await store.commit(a_commit(*live, trashed, a_memory(group="g2"), a_memory()))
        results = await store.members("default", "g1")
        assert sorted(results) == sorted([*(memory.id for memory in live), trashed.id])
        assert await store.members("default", "nobody") == []
        assert await store.members("default", "") == []

    async def test_touch_counts_a_reading_and_changes_nothing_else(self, store: RecordStore) -> None:
        memory, other = a_memory(), a_memory()
        await store.commit(a_commit(memory, other))
        before = await store.last_seq()
        await store.touch("default", [memory.id, "nobody"], at=moment(7))
        await store.touch("default", [memory.id], at=moment(8))
        await store.touch("default", [], at=moment(9))
        assert await store.get("default", [memory.id, other.id]) == {
            memory.id: replace(memory, access_count=2, last_accessed=moment(8)),
            other.id: other,
        }
        assert await store.last_seq() == before
        assert len(await store.versions("default", memory.id, limit=9)) == 1

    async def test_a_label_replaces_the_message_of_one_version_unless_it_has_changed(self, store: RecordStore) -> None:
        memory = a_memory()
        await store.commit(a_commit(memory))
        await store.commit(a_commit(a_rewrite(revised(memory, content="better"))))
        before = await store.last_seq()
        assert await store.label("default", memory.id, 2, before="", message="as agreed")
        assert not await store.label("default", memory.id, 2, before="", message="something else")
        assert not await store.label("default", memory.id, 9, before="", message="no such version")
        assert not await store.label("there", memory.id, 2, before="as agreed", message="another space")
        versions = await store.versions("default", memory.id, limit=9)
        assert [version.message for version in versions] == ["as agreed", ""]
        assert [version.memory.content for version in versions] == ["better", memory.content]
        assert await store.last_seq() == before

    async def test_live_memories_without_a_read_are_listed_oldest_first(self, store: RecordStore) -> None:
        memories = [a_memory(f"jay {number}", created_at=moment(number)) for number in range(6)]
        trashed = a_memory("an old jay", state=State.TRASHED)
        await store.commit(a_commit(*memories[3:], trashed, *memories[:3]))
        await store.commit(a_commit(a_memory("another jay", space="there"), space="there"))
        assert await store.unread("default", limit=2) == (6, [memory.id for memory in memories[:2]])
        await store.touch("default", [memories[0].id], at=moment(7))
        unread = await store.unread("default", but=[memories[2].id, "nobody"], limit=9)
        assert unread == (4, [memories[number].id for number in (1, 3, 4, 5)])
        assert await store.unread("nowhere", limit=9) == (0, [])

    async def test_a_touch_of_many(self, store: RecordStore) -> None:
        memories = [a_memory() for _ in range(300)]
        await store.commit(a_commit(*memories))
        ids = [memory.id for memory in memories]
        await store.touch("default", ids, at=moment(7))
        assert {memory.access_count for memory in (await store.get("default", ids)).values()} == {1}

    async def test_a_concurrent_write_does_not_lose_an_access(self, store: RecordStore) -> None:
        memory = a_memory()
        await store.commit(a_commit(memory))
        await store.touch("default", [memory.id], at=moment(7))
        await store.commit(a_commit(a_rewrite(revised(memory, content="better"))))
        results = (await store.get("default", [memory.id]))[memory.id]
        assert (results.access_count, results.last_accessed, results.content) == (1, moment(7), "better")
