"""Behaviour of this store that the shared suites do not test."""

import numpy as np
import pytest
from tests.fakes.build import DIMENSION, MODEL, a_commit, a_memory, a_rewrite, an_origin, revised, vectors_for
from tests.postgres import address_of
from tests.unit.storage.postgres.conftest import Raw

from scrubjay.errors import InvalidInput
from scrubjay.model.query import Filter
from scrubjay.ports import Embedded
from scrubjay.storage.postgres import PostgresStore
from scrubjay.storage.postgres.schema import SPACE_TABLES


@pytest.mark.parametrize(
    "vector", [np.full(DIMENSION, np.nan, np.float32), np.full(DIMENSION, np.inf, np.float32), np.ones(3, np.float32)]
)
async def test_a_vector_that_none_could_find_is_refused(store: PostgresStore, vector: np.ndarray) -> None:
    memory = a_memory()
    embedded = Embedded(model=MODEL, dimension=DIMENSION, vectors={b"h" * 16: vector})
    with pytest.raises(InvalidInput, match="finite"):
        await store.commit(a_commit(memory, embedded=embedded))
    assert await store.get("default", [memory.id]) == {}


async def test_a_model_does_not_change_its_dimension(store: PostgresStore) -> None:
    memory = a_memory()
    await store.commit(a_commit(memory, embedded=vectors_for([memory])))
    with pytest.raises(InvalidInput, match="64 dimensions"):
        await store.store_vectors(
            "default", vectors_for([memory], dimension=8), memory_ids=[memory.id], origin=an_origin()
        )


async def test_names_may_change_hands_within_a_commit(store: PostgresStore) -> None:
    first, second = a_memory(name="one"), a_memory(name="two")
    await store.commit(a_commit(first, second))
    spare = revised(first, name="aside")
    swapped = revised(second, name="one")
    back = revised(spare, name="two")
    await store.commit(a_commit(a_rewrite(spare), a_rewrite(swapped), a_rewrite(back)))
    assert [handle.id for handle in await store.find("default", "one")] == [second.id]
    assert [handle.id for handle in await store.find("default", "two")] == [first.id]
    assert [version.number for version in await store.versions("default", first.id, limit=9)] == [3, 2, 1]


async def test_a_malformed_id_is_refused(store: PostgresStore) -> None:
    with pytest.raises(InvalidInput, match="not an id"):
        await store.commit(a_commit(a_memory(id="number one")))


async def test_status_describes_the_server(store: PostgresStore) -> None:
    details = (await store.statistics("default")).details
    assert details["backend"] == "postgresql"
    assert str(details["server"]).startswith("postgresql://postgres@")
    assert int(details["bytes"]) > 0
    assert str(details["pgvector"]) >= "0.7"


async def test_tables_can_be_split_by_space(empty: str) -> None:
    store = await PostgresStore.open(address_of(empty), partitions=4)
    for number in range(8):
        memory = a_memory(space=f"space-{number}")
        await store.commit(a_commit(memory, embedded=vectors_for([memory])))
        assert len(await store.list_ids(f"space-{number}", Filter(), limit=9)) == 1
    parts = await store.database.rows(
        "SELECT count(*) FROM pg_class WHERE relispartition AND relkind = 'r' "
        "AND relnamespace = 'scrubjay'::regnamespace",
        unrestricted=True,
    )
    assert parts == [((len(SPACE_TABLES) - 1) * 4,)]
    used = await store.database.rows("SELECT count(DISTINCT tableoid) FROM scrubjay.memories", unrestricted=True)
    assert used[0][0] > 1
    assert [change.place for change in await store.changes(after=0, limit=99)] == [1] * 8
    assert await store.check(deep=True) == []
    await store.close()
    # It keeps the partitions that it was created with.
    again = await PostgresStore.open(address_of(empty), partitions=0)
    assert (await again.statistics("space-1")).details["partitions"] == 4
    await again.close()


async def test_every_key_begins_with_the_space(raw: Raw) -> None:
    rows = await raw(
        """SELECT c.relname, a.attname FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
           JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0]
           WHERE c.relnamespace = 'scrubjay'::regnamespace AND (i.indisprimary OR i.indisunique)"""
    )
    keys = {(str(table), str(column)) for table, column in rows if table in SPACE_TABLES}
    assert keys == {(table, "space_no") for table in SPACE_TABLES}


async def test_two_stores_of_one_database_share_everything(store: PostgresStore, name: str) -> None:
    other = await PostgresStore.open(address_of(name))
    memory = a_memory()
    await store.commit(a_commit(memory))
    assert await other.get("default", [memory.id]) == {memory.id: memory}
    await other.commit(a_commit(a_rewrite(revised(memory, content="by the other"))))
    assert (await store.get("default", [memory.id]))[memory.id].content == "by the other"
    assert other.store_id == store.store_id
    await other.close()
