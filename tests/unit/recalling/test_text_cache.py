"""What is kept in memory is what the store says, however it came to say so."""

import asyncio
from collections.abc import Sequence

from tests.fakes import FakeStore
from tests.fakes.build import a_commit, a_memory
from tests.unit.write_world import SPACE, Workshop

from scrubjay.errors import BodyDamaged
from scrubjay.model.change import Change
from scrubjay.model.draft import Selection
from scrubjay.model.memory import Memory, State
from scrubjay.model.query import Filter
from scrubjay.recalling.text_cache import TextCaches, View

CONTENTS = View(Filter(), lambda memory: memory.content)
SOME = View(Filter(), lambda memory: memory.content if memory.content != "hidden" else None)
TRASHED = View(Filter(state=State.TRASHED), lambda memory: memory.content)


class Counting(FakeStore):
    """A store that counts what is read, and may have a memory that cannot be."""

    def __init__(self) -> None:
        super().__init__()
        self.read: list[str] = []
        self.pages = 0
        self.damaged = ""

    async def get(self, space: str, ids: Sequence[str]) -> dict[str, Memory]:
        self.read += ids
        if self.damaged in ids:
            raise BodyDamaged("damaged", memory_id=self.damaged)
        return await super().get(space, ids)

    async def changes_in(self, space: str, *, after: int, limit: int) -> list[Change]:
        self.pages += 1
        return await super().changes_in(space, after=after, limit=limit)


async def texts(text_caches: TextCaches, shop: Workshop, view: View = CONTENTS) -> list[str] | None:
    kept = await text_caches.texts(view, space=SPACE, store=shop.store)
    return None if kept is None else sorted(kept.values())


async def test_it_follows_every_way_of_changing(shop: Workshop) -> None:
    text_caches = TextCaches()
    tea = await shop.kept("tea")
    assert await texts(text_caches, shop) == ["tea"]
    jam = await shop.kept("jam")
    await shop.revise(tea.id, content="green tea")
    assert await texts(text_caches, shop) == ["green tea", "jam"]
    await shop.forget(jam.id)
    assert await texts(text_caches, shop) == ["green tea"]
    assert await texts(text_caches, shop, TRASHED) == ["jam"]
    await shop.relate(tea.id, jam.id)
    await shop.restore(jam.id)
    assert await texts(text_caches, shop) == ["green tea", "jam"]
    await shop.forget(jam.id)
    await shop.purge(wanted=Selection(refs=(jam.id,)))
    assert await texts(text_caches, shop) == ["green tea"]
    assert await texts(text_caches, shop, TRASHED) == []


async def test_a_view_leaves_out_what_says_nothing(quick: Workshop) -> None:
    text_caches = TextCaches()
    await quick.kept("tea")
    hidden = await quick.kept("hidden")
    assert await texts(text_caches, quick, SOME) == ["tea"]
    await quick.revise(hidden.id, content="shown")
    assert await texts(text_caches, quick, SOME) == ["shown", "tea"]
    await quick.revise(hidden.id, content="hidden")
    assert await texts(text_caches, quick, SOME) == ["tea"]


async def test_only_what_has_changed_is_read_again() -> None:
    store, text_caches = Counting(), TextCaches()
    first, second = a_memory("tea"), a_memory("jam")
    await store.commit(a_commit(first, second))
    await text_caches.texts(CONTENTS, space=SPACE, store=store)
    store.read.clear()
    store.pages = 0
    await text_caches.texts(CONTENTS, space=SPACE, store=store)
    assert (store.read, store.pages) == ([], 0)
    await store.commit(a_commit(a_memory("elsewhere", space="other")))
    await text_caches.texts(CONTENTS, space=SPACE, store=store)
    assert (store.read, store.pages) == ([], 0)
    third = a_memory("bread")
    await store.commit(a_commit(third))
    await text_caches.texts(CONTENTS, space=SPACE, store=store)
    await text_caches.texts(CONTENTS, space=SPACE, store=store)
    assert (store.read, store.pages) == ([third.id], 1)


async def test_many_changes_are_followed_page_by_page() -> None:
    store, text_caches = Counting(), TextCaches()
    assert await text_caches.texts(CONTENTS, space=SPACE, store=store) == {}
    memories = [a_memory(f"text {number}") for number in range(450)]
    await store.commit(a_commit(*memories))
    kept = await text_caches.texts(CONTENTS, space=SPACE, store=store)
    assert kept == {memory.id: memory.content for memory in memories}
    assert store.pages == 3


async def test_a_memory_that_cannot_be_read_does_not_hide_the_rest() -> None:
    store, text_caches = Counting(), TextCaches()
    sound, damaged = a_memory("tea"), a_memory("jam")
    await store.commit(a_commit(sound, damaged))
    store.damaged = damaged.id
    assert await text_caches.texts(CONTENTS, space=SPACE, store=store) == {sound.id: "tea"}


async def test_callers_at_the_same_time_share_one_filling() -> None:
    store, text_caches = Counting(), TextCaches()
    await store.commit(a_commit(*(a_memory("tea") for _ in range(300))))
    asked = [text_caches.texts(CONTENTS, space=SPACE, store=store) for _ in range(5)]
    found = await asyncio.gather(*asked)
    assert [len(one or ()) for one in found] == [300] * 5
    assert len(store.read) == 300


async def test_more_than_may_be_kept_is_not_kept(quick: Workshop) -> None:
    text_caches = TextCaches(most_bytes=5_000)
    await quick.kept("tea")
    assert await texts(text_caches, quick) == ["tea"]
    await quick.kept("x" * 5_000)
    assert await texts(text_caches, quick) is None
    assert await texts(text_caches, quick) is None
    assert await texts(TextCaches(most_bytes=5_000), quick) is None


async def test_what_was_not_asked_for_lately_makes_room_for_others() -> None:
    store, text_caches = Counting(), TextCaches(most_bytes=6_000)
    spaces = ("one", "two", "three")
    for space in spaces:
        await store.commit(a_commit(a_memory("x" * 1_500, space=space), space=space))
        assert await text_caches.texts(CONTENTS, space=space, store=store) is not None
    store.read.clear()
    await text_caches.texts(CONTENTS, space="three", store=store)
    assert store.read == []
    await text_caches.texts(CONTENTS, space="one", store=store)
    assert len(store.read) == 1


async def test_a_revision_that_is_committed_while_it_fills_is_not_lost() -> None:
    memory = a_memory("tea")

    class Overtaken(FakeStore):
        """A store in which somebody writes right after the memories were listed."""

        async def list_ids(self, space: str, filter: Filter, *, limit: int, after: str | None = None) -> list[str]:
            ids = await super().list_ids(space, filter, limit=limit, after=after)
            await self.commit(a_commit(a_memory("new")))
            return ids

    store, text_caches = Overtaken(), TextCaches()
    await store.commit(a_commit(memory))
    assert await text_caches.texts(CONTENTS, space=SPACE, store=store) == {memory.id: "tea"}
    kept = await text_caches.texts(CONTENTS, space=SPACE, store=store)
    assert sorted((kept or {}).values()) == ["new", "tea"]
