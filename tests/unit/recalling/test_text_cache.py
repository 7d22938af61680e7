"""The text cache always equals the store, however the store changes."""

import asyncio
from collections.abc import Sequence
from functools import cached_property

from tests.fakes.build import a_commit, a_memory
from tests.new_files import NewStores
from tests.unit.harness import SPACE, Harness

from scrubjay.errors import BodyDamaged
from scrubjay.model.change import Change
from scrubjay.model.memory import Memory, State
from scrubjay.model.query import Filter
from scrubjay.model.requests import Selection
from scrubjay.recalling.text_cache import TextCaches, TextView
from scrubjay.storage.sqlite import SqliteStore

CONTENTS = TextView(Filter(), lambda memory: memory.content)
PARTIAL = TextView(Filter(), lambda memory: memory.content if memory.content != "hidden" else None)
TRASHED = TextView(Filter(state=State.TRASHED), lambda memory: memory.content)


class CountingStore(SqliteStore):
    """A store that counts reads, and may have one damaged memory."""

    pages = 0
    damaged = ""

    @cached_property
    def read(self) -> list[str]:
        return []

    async def get(self, space: str, ids: Sequence[str]) -> dict[str, Memory]:
        self.read.extend(ids)
        if self.damaged in ids:
            raise BodyDamaged("damaged", memory_id=self.damaged)
        return await super().get(space, ids)

    async def changes_in(self, space: str, *, after: int, limit: int) -> list[Change]:
        self.pages += 1
        return await super().changes_in(space, after=after, limit=limit)


async def texts(text_caches: TextCaches, harness: Harness, view: TextView = CONTENTS) -> list[str] | None:
    cached = await text_caches.texts(view, space=SPACE, store=harness.store)
    return None if cached is None else sorted(cached.values())


async def test_it_follows_every_way_of_changing(harness: Harness) -> None:
    text_caches = TextCaches()
    tea = await harness.store_draft("tea")
    assert await texts(text_caches, harness) == ["tea"]
    jam = await harness.store_draft("jam")
    await harness.revise(tea.id, content="green tea")
    assert await texts(text_caches, harness) == ["green tea", "jam"]
    await harness.forget(jam.id)
    assert await texts(text_caches, harness) == ["green tea"]
    assert await texts(text_caches, harness, TRASHED) == ["jam"]
    await harness.relate(tea.id, jam.id)
    await harness.restore(jam.id)
    assert await texts(text_caches, harness) == ["green tea", "jam"]
    await harness.forget(jam.id)
    await harness.purge(selection=Selection(ids=(jam.id,)))
    assert await texts(text_caches, harness) == ["green tea"]
    assert await texts(text_caches, harness, TRASHED) == []


async def test_a_view_leaves_out_memories_without_text(harness: Harness) -> None:
    text_caches = TextCaches()
    await harness.store_draft("tea")
    hidden = await harness.store_draft("hidden")
    assert await texts(text_caches, harness, PARTIAL) == ["tea"]
    await harness.revise(hidden.id, content="shown")
    assert await texts(text_caches, harness, PARTIAL) == ["shown", "tea"]
    await harness.revise(hidden.id, content="hidden")
    assert await texts(text_caches, harness, PARTIAL) == ["tea"]


async def test_only_changed_memories_are_read_again(new_store: NewStores) -> None:
    store, text_caches = new_store(CountingStore), TextCaches()
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


async def test_many_changes_are_followed_page_by_page(new_store: NewStores) -> None:
    store, text_caches = new_store(CountingStore), TextCaches()
    assert await text_caches.texts(CONTENTS, space=SPACE, store=store) == {}
    memories = [a_memory(f"text {number}") for number in range(450)]
    await store.commit(a_commit(*memories))
    cached = await text_caches.texts(CONTENTS, space=SPACE, store=store)
    assert cached == {memory.id: memory.content for memory in memories}
    assert store.pages == 3


async def test_a_memory_that_cannot_be_read_does_not_hide_the_rest(new_store: NewStores) -> None:
    store, text_caches = new_store(CountingStore), TextCaches()
    sound, damaged = a_memory("tea"), a_memory("jam")
    await store.commit(a_commit(sound, damaged))
    store.damaged = damaged.id
    assert await text_caches.texts(CONTENTS, space=SPACE, store=store) == {sound.id: "tea"}


async def test_concurrent_callers_share_one_scan(new_store: NewStores) -> None:
    store, text_caches = new_store(CountingStore), TextCaches()
    await store.commit(a_commit(*(a_memory("tea") for _ in range(300))))
    calls = [text_caches.texts(CONTENTS, space=SPACE, store=store) for _ in range(5)]
    caches = await asyncio.gather(*calls)
    assert [len(texts or ()) for texts in caches] == [300] * 5
    assert len(store.read) == 300


async def test_texts_beyond_the_limit_are_not_cached(harness: Harness) -> None:
    text_caches = TextCaches(max_bytes=5_000)
    await harness.store_draft("tea")
    assert await texts(text_caches, harness) == ["tea"]
    await harness.store_draft("x" * 5_000)
    assert await texts(text_caches, harness) is None
    assert await texts(text_caches, harness) is None
    assert await texts(TextCaches(max_bytes=5_000), harness) is None


async def test_the_least_recently_used_view_is_evicted(new_store: NewStores) -> None:
    store, text_caches = new_store(CountingStore), TextCaches(max_bytes=6_000)
    spaces = ("one", "two", "three")
    for space in spaces:
        await store.commit(a_commit(a_memory("x" * 1_500, space=space), space=space))
        assert await text_caches.texts(CONTENTS, space=space, store=store) is not None
    store.read.clear()
    await text_caches.texts(CONTENTS, space="three", store=store)
    assert store.read == []
    await text_caches.texts(CONTENTS, space="one", store=store)
    assert len(store.read) == 1


async def test_a_commit_during_the_scan_is_not_lost(new_store: NewStores) -> None:
    memory = a_memory("tea")

    class OvertakenStore(SqliteStore):
        """A store with a write right after the memories were listed."""

        async def list_ids(self, space: str, filter: Filter, *, limit: int, after: str | None = None) -> list[str]:
            ids = await super().list_ids(space, filter, limit=limit, after=after)
            await self.commit(a_commit(a_memory("new")))
            return ids

    store, text_caches = new_store(OvertakenStore), TextCaches()
    await store.commit(a_commit(memory))
    assert await text_caches.texts(CONTENTS, space=SPACE, store=store) == {memory.id: "tea"}
    cached = await text_caches.texts(CONTENTS, space=SPACE, store=store)
    assert sorted((cached or {}).values()) == ["new", "tea"]
