"""Durability: the content of a store after it was closed, copied, or closed during writes."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.conformance.suites.lookups import lexical_passages
from tests.fakes.build import MODEL, a_commit, a_document, a_memory, a_rewrite, an_edge, moment, revised, vectors_for

from scrubjay.errors import StoreError
from scrubjay.model.query import Filter
from scrubjay.ports import Committed, IdempotencyRecord, RecordStore
from scrubjay.text.tokens import terms_of

OpenStore = Callable[[Path], Awaitable[RecordStore]]


class DurabilitySuite:
    """For stores that outlive their process. Needs the fixture `open_store`: opens, or makes, the store at a path."""

    async def test_everything_is_there_when_it_is_opened_again(self, open_store: OpenStore, tmp_path: Path) -> None:
        path = tmp_path / "store"
        memory, friend = a_memory("zanzibar", name="plan", kind="fact"), a_memory("friend")
        edge = an_edge(memory, friend)
        once = IdempotencyRecord(key="k", digest=b"d", answer="done")
        async with _opened(open_store, path) as store:
            await store.commit(
                a_commit(memory, friend, edge, embedded=vectors_for([memory]), once=once, documents=[a_document()])
            )
            await store.commit(a_commit(a_rewrite(revised(memory, title="Title"))))
            await store.touch("default", [friend.id], at=moment(3))
            before = await _seen(store, [memory.id, friend.id])
        async with _opened(open_store, path) as store:
            assert await _seen(store, [memory.id, friend.id]) == before
            assert (await store.commit(a_commit(a_memory(), once=once))).answer == "done"
            done = await store.commit(a_commit(a_memory()))
            log = await store.changes(after=0, limit=99)
            assert [change.seq for change in log] == sorted({change.seq for change in log})
            assert log[-1].seq == done.seq
            assert log[-1].number not in {change.number for change in log[:-1]}

    async def test_a_copy_has_the_content_of_the_store(self, open_store: OpenStore, tmp_path: Path) -> None:
        memories = [a_memory(f"zanzibar {number}") for number in range(50)]
        ids = [memory.id for memory in memories]
        async with _opened(open_store, tmp_path / "store") as store:
            await store.commit(
                a_commit(*memories, embedded=vectors_for(memories), documents=[a_document(due=moment(1))])
            )
            before = await _seen(store, ids)
            await store.backup(tmp_path / "copy")
            await store.commit(a_commit(a_memory("later"), documents=[a_document(), a_document("later")]))
        async with _opened(open_store, tmp_path / "copy") as copy:
            assert (await _seen(copy, ids))[1:] == before[1:]
            assert await copy.check(deep=True) == []
            await copy.commit(a_commit(a_memory()))

    async def test_acknowledged_writes_survive_the_close(self, open_store: OpenStore, tmp_path: Path) -> None:
        path = tmp_path / "store"
        memories = [a_memory(f"number {number}") for number in range(60)]
        store = await open_store(path)
        tasks = [asyncio.ensure_future(store.commit(a_commit(memory))) for memory in memories]
        await asyncio.sleep(0)
        await store.close()
        done = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(result, Committed | StoreError) for result in done)
        stored = {memory.id for memory, result in zip(memories, done, strict=True) if isinstance(result, Committed)}
        async with _opened(open_store, path) as again:
            assert set(await again.get("default", [memory.id for memory in memories])) == stored

    async def test_a_closed_store_is_an_error(self, open_store: OpenStore, tmp_path: Path) -> None:
        store = await open_store(tmp_path / "store")
        await store.close()
        await store.close()
        with pytest.raises(StoreError):
            await store.commit(a_commit(a_memory()))
        with pytest.raises(StoreError):
            await store.get("default", ["x"])

    async def test_two_stores_are_two(self, open_store: OpenStore, tmp_path: Path) -> None:
        memory = a_memory()
        async with _opened(open_store, tmp_path / "one") as first, _opened(open_store, tmp_path / "two") as second:
            await first.commit(a_commit(memory))
            assert await second.get("default", [memory.id]) == {}
            assert first.store_id != second.store_id


@asynccontextmanager
async def _opened(open_store: OpenStore, path: Path) -> AsyncGenerator[RecordStore]:
    store = await open_store(path)
    try:
        yield store
    finally:
        await store.close()


async def _seen(store: RecordStore, ids: list[str]) -> tuple[object, ...]:
    points = await store.points(MODEL, after=0, limit=999)
    return (
        store.store_id,
        await store.get("default", ids),
        [await store.versions("default", id_, limit=9) for id_ in ids],
        await store.relations("default", ids),
        await store.changes(after=0, limit=999),
        await store.find("default", "plan"),
        await lexical_passages(store, "default", terms_of("zanzibar"), Filter(), limit=99),
        [(point.id, point.facets, point.vector.tobytes()) for point in points],
        await store.without_vectors(MODEL, limit=99),
        await store.all_documents("default", limit=9),
        await store.due_documents("rules", now=moment(9), limit=9),
    )
