"""The store as a whole: behaviour that only this backend has."""

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import cast

import apsw
import numpy as np
import pytest
from tests.fakes.build import (
    MODEL,
    a_commit,
    a_document,
    a_memory,
    a_rewrite,
    an_edge,
    an_origin,
    moment,
    revised,
    vectors_for,
)
from tests.unit.storage.sqlite.damage import scribble

from scrubjay.errors import InvalidInput, StaleVersion, StoreError, StoreTooNew
from scrubjay.model.memory import Source
from scrubjay.model.passage import passage_id
from scrubjay.ports import Embedded, Neighbours
from scrubjay.storage.sqlite import SqliteStore
from scrubjay.storage.sqlite.schema import newest_schema
from scrubjay.text.passages import passages_of


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "memory.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SqliteStore]:
    opened = await SqliteStore.open(path, readers=1)
    yield opened
    await opened.close()


async def test_a_new_folder_is_its_owners_alone(store: SqliteStore, path: Path) -> None:
    assert path.parent.stat().st_mode & 0o077 == 0


async def test_a_file_that_cannot_be_opened_stays_free_for_others(store: SqliteStore, path: Path) -> None:
    await store.close()
    scribble(path, "PRAGMA user_version = 99")
    with pytest.raises(StoreTooNew):
        await SqliteStore.open(path)
    scribble(path, f"PRAGMA user_version = {newest_schema()}")
    again = await SqliteStore.open(path, readers=1)
    await again.close()


async def test_a_closed_store_is_an_error(store: SqliteStore) -> None:
    await store.close()
    with pytest.raises(StoreError, match="closed"):
        await store.get("default", [])
    with pytest.raises(StoreError, match="closed"):
        await store.commit(a_commit(a_memory("late")))


async def test_a_store_is_closed_while_the_event_loop_reads(store: SqliteStore) -> None:
    def count(connection: apsw.Connection) -> None:
        # SQLite counts without the lock of the interpreter: another thread would find the connection in use.
        numbers = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 100000)"
        connection.execute(f"{numbers} SELECT max(x) FROM n")

    closing = asyncio.create_task(store.close())
    while not closing.done():
        with suppress(StoreError):
            store._readers.run_now(count)
        await asyncio.sleep(0)
    await closing


@pytest.mark.parametrize(
    "vector",
    [np.zeros(3, dtype=np.float32), np.full(64, np.nan, dtype=np.float32), np.zeros((1, 64), dtype=np.float32)],
)
async def test_a_vector_that_none_could_find_is_refused(store: SqliteStore, vector: np.ndarray) -> None:
    memory = a_memory("tea")
    bad = Embedded(model=MODEL, dimension=64, vectors={passages_of(memory)[0].hash: vector})
    with pytest.raises(InvalidInput, match="64"):
        await store.commit(a_commit(memory, embedded=bad))
    assert await store.get("default", [memory.id]) == {}


async def test_a_model_does_not_change_its_dimension(store: SqliteStore) -> None:
    first, other = a_memory("tea"), a_memory("coffee")
    await store.commit(a_commit(first, embedded=vectors_for([first])))
    with pytest.raises(InvalidInput, match="64 dimensions") as caught:
        await store.commit(a_commit(other, embedded=vectors_for([other], dimension=32)))
    assert "SCRUBJAY_EMBEDDING_MODEL" in caught.value.hint


async def test_vectors_for_a_memory_that_is_gone_are_no_change(store: SqliteStore) -> None:
    memory = a_memory("tea")
    before = await store.last_seq()
    await store.store_vectors("default", vectors_for([memory]), memory_ids=[memory.id], origin=an_origin())
    assert await store.last_seq() == before


async def test_any_number_of_memories_may_be_read(store: SqliteStore) -> None:
    memories = [a_memory(f"turn {turn}", source=Source(session="s", at=moment(turn))) for turn in range(2)]
    await store.commit(a_commit(*memories))
    first, second = (memory.id for memory in memories)
    # More ids than a statement can have parameters.
    requested = [*(f"{number:032x}" for number in range(40_000)), second, "nobody", first, first]
    assert await store.passage_numbers("default", requested) == [passage_id(1, 0), passage_id(2, 0)]
    around = await store.session_neighbours("default", requested, each=1)
    assert around == {first: Neighbours(after=(second,)), second: Neighbours(before=(first,))}
    assert await store.passage_numbers("elsewhere", requested) == []


async def test_stored_vectors_are_nearly_exact(store: SqliteStore) -> None:
    memory = a_memory("tea")
    made = vectors_for([memory])
    await store.commit(a_commit(memory, embedded=made))
    (digest,) = made.vectors
    (vector,) = (await store.vectors("default", MODEL, [digest])).values()
    assert vector.dtype == np.float32
    assert float(np.dot(vector, made.vectors[digest])) == pytest.approx(1.0, abs=1e-3)


async def test_no_cursor_stays(store: SqliteStore) -> None:
    # The driver (apsw 3.54) never frees a cursor that is open while a later one is closed, and walks all of them at
    # every statement: a program would become slower with each write.
    before = _count_cursors()
    tea, milk = a_memory("tea"), a_memory("milk")
    await store.commit(a_commit(tea, milk, an_edge(tea, milk), embedded=vectors_for([tea, milk])))
    green = revised(tea, content="green tea")
    await store.commit(a_commit(a_rewrite(green), an_edge(green, milk), embedded=vectors_for([green])))
    await store.get("default", [tea.id, milk.id])
    await store.version("default", tea.id, 1)
    await store.relations_at("default", [tea.id], at=moment(0))
    await store.statistics("default")
    await store.check(deep=True)
    await store.purge("default", [milk.id], origin=an_origin())
    assert _count_cursors() <= before


def _count_cursors() -> int:
    gc.collect()
    return sum(isinstance(item, apsw.Cursor) for item in gc.get_objects())


async def test_the_number_of_a_space_that_was_rolled_back_belongs_to_the_next_one(store: SqliteStore) -> None:
    # A connection remembers the numbers of spaces; that of a space which a rollback takes back is given again.
    lost = a_memory("lost", space="lost")
    with suppress(ZeroDivisionError):
        async with store.transaction("lost") as inside:
            await inside.commit(a_commit(lost, space="lost"))
            assert lost.id in await inside.get("lost", [lost.id])
            raise ZeroDivisionError
    first, other = a_memory("first", space="first"), a_memory("other", space="lost")
    async with store.transaction("first") as inside:
        with pytest.raises(StaleVersion):
            await inside.put_document(a_document(space="refused"), base=7)
        await inside.commit(a_commit(first, space="first"))
    await store.commit(a_commit(other, space="lost"))
    assert await store.ids("first", limit=9) == [first.id]
    assert await store.ids("lost", limit=9) == [other.id]
    assert await store.ids("refused", limit=9) == []


async def test_what_was_read_holds_until_this_or_another_process_commits(store: SqliteStore, path: Path) -> None:
    other = await SqliteStore.open(path, readers=1)
    plain, noted = a_memory("tea at four"), a_memory("tea at five", metadata={"notes": {"first": 1}})
    ids = [plain.id, noted.id]

    async def seen() -> object:
        answers = [await store.get("default", ids) for _ in range(3)]
        # What one caller does to what it got is its own business.
        if noted.id in answers[2]:
            assert answers[2][noted.id].metadata == {"notes": {"first": 1}}
            cast("dict[str, object]", answers[2][noted.id].metadata)["notes"] = {}
        ends = await store.last_place("default"), await store.last_seq(), await store.pinned("default")
        assert (await store.last_place("default"), await store.last_seq(), await store.pinned("default")) == ends
        (await store.pinned("default")).clear()
        assert answers[0] == answers[1]
        return [memory.content for memory in answers[0].values()], *ends

    assert await seen() == ([], 0, 0, [])
    await other.commit(a_commit(plain, noted))
    assert await seen() == (["tea at four", "tea at five"], 2, 2, [])
    assert await seen() == (["tea at four", "tea at five"], 2, 2, [])
    await store.commit(a_commit(a_rewrite(revised(plain, pinned=True))))
    assert await seen() == (["tea at four", "tea at five"], 3, 3, [plain.id])
    await other.touch("default", ids, at=moment(5))
    assert [memory.access_count for memory in (await store.get("default", ids)).values()] == [1, 1]
    await store.purge("default", [plain.id], origin=an_origin())
    assert await seen() == (["tea at five"], 4, 4, [])
    await other.close()
