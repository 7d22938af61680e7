"""A database of an older version: it works at once, and is read anew in the background."""

from pathlib import Path

import psycopg
import pytest
from tests.postgres import a_database, address_of, shared_server
from tests.unit.stores.postgres.conftest import Raw
from tests.unit.stores.postgres.older import an_old_backup, an_old_database, write_as_before

from scrubjay.model.change import Action
from scrubjay.model.memory import Memory, Source, State
from scrubjay.model.query import Filter
from scrubjay.ports import Beside
from scrubjay.stores.postgres import PostgresStore, rereading, restore_backup
from scrubjay.testing.build import a_commit, a_memory, a_rewrite, moment, revised
from scrubjay.text.passages import SHAPE
from scrubjay.text.tokens import terms_of

_SPOIL = """UPDATE scrubjay.versions v
    SET body = set_byte(body, length(body) - 1, 255 - get_byte(body, length(body) - 1))
    FROM scrubjay.memories m WHERE m.no = v.memory_no AND m.id = %s::uuid"""
_OLD = """SELECT (SELECT count(*) FROM scrubjay.memories WHERE shape < %s),
    (SELECT count(*) FROM scrubjay.passages WHERE thread IS NULL)"""
# Words that are counted and not spelled, or spelled and not counted.
_OUT_OF_STEP = """SELECT count(*) FROM scrubjay.terms t FULL JOIN scrubjay.vocabulary v USING (space_no, word)
    WHERE t.passages IS NULL OR v.term IS NULL"""


def a_session(count: int, *, session: str = "s") -> list[Memory]:
    return [
        a_memory(f"Ann: turn number{n} of {session}?", source=Source(session=session, at=moment(n)))
        for n in range(count)
    ]


async def old_rows(name: str) -> tuple[int, int]:
    async with await psycopg.AsyncConnection.connect(shared_server().url(name)) as connection:
        ((memories, passages),) = await (await connection.execute(_OLD, (SHAPE,))).fetchall()
        return memories, passages


@pytest.mark.parametrize("partitions", [0, 2])
async def test_a_small_old_database_is_read_anew_when_it_is_opened(empty: str, partitions: int) -> None:
    memories = [*a_session(4), a_memory("alone")]
    await an_old_database(empty, memories, partitions=partitions)
    # How it was split is kept, whatever is asked for later.
    store = await PostgresStore.open(address_of(empty), partitions=7)
    try:
        assert await old_rows(empty) == (0, 0)
        numbers = await store.passage_numbers("default", [memories[1].id])
        one, *beside = await store.stored_passages("default", numbers, around=4)
        assert (one.who, one.asks) == ("ann", 2)
        assert len(one.before) == 1
        assert len(one.after) == 2
        assert {near.id for near in beside} == {*one.before, *one.after}
        assert await store.beside("default", [memories[4].id], each=2) == {memories[4].id: Beside()}
        assert [term for term, _ in await store.similar_terms("default", "alnoe", state=State.LIVE, limit=1)]
        assert await store.database.rows(_OUT_OF_STEP, keeper=True) == [(0,)]
        assert (await store.statistics("default")).details["partitions"] == partitions
        assert await store.check(deep=True) == []
        assert await store.tidy() == []
        # Nothing that an index of vectors has to know has changed.
        assert {change.action for change in await store.changes(after=0, limit=99)} == {Action.CREATED}
    finally:
        await store.close()


async def test_until_it_is_read_anew_an_old_row_works_as_before(empty: str) -> None:
    memories = a_session(3)
    await an_old_database(empty, memories)
    store = await PostgresStore.open(address_of(empty))
    try:
        await make_old(empty)
        found = await store.lexical_candidates("default", terms_of("number1"), Filter(), limit=9)
        (one,) = await store.stored_passages("default", [number for number, _ in found], around=4)
        assert one.memory_id == memories[1].id
        assert (one.before, one.after) == ((), ())
        later = revised(memories[1], content="Bob: a word")
        await store.commit(a_commit(a_rewrite(later)))
        assert await old_rows(empty) == (2, 2)
    finally:
        await store.close()


async def make_old(name: str) -> None:
    """As the migration leaves it."""
    async with await psycopg.AsyncConnection.connect(shared_server().url(name), autocommit=True) as connection:
        await connection.execute("UPDATE scrubjay.memories SET shape = 1, index_key = '\\x00'")
        await connection.execute("UPDATE scrubjay.passages SET thread = NULL, who = '', asks = 0")
        await connection.execute("DELETE FROM scrubjay.vocabulary")


async def test_many_are_left_to_the_upkeep_which_goes_on_where_it_was_cut_off(name: str) -> None:
    store = await PostgresStore.open(address_of(name))
    memories = a_session(620)
    await store.commit(a_commit(*memories))
    await make_old(name)
    second = await PostgresStore.open(address_of(name))
    try:
        assert await old_rows(name) == (620, 620)
        await store.commit(a_commit(a_rewrite(revised(memories[300], content="by somebody meanwhile"))))
        # Two servers at once get in nobody's way.
        first_page = await rereading.reread_page(store.database, "default", store._bodies, after=0)
        assert first_page is not None
        assert 0 < (await old_rows(name))[0] < 619
        done = await second.tidy()
        assert len(done) == 1
        assert "anew" in done[0]
        assert await old_rows(name) == (0, 0)
        assert await store.database.rows(_OUT_OF_STEP, keeper=True) == [(0,)]
        assert (await store.get("default", [memories[300].id]))[memories[300].id].content == "by somebody meanwhile"
        assert await store.check(deep=True) == []
    finally:
        await second.close()
        await store.close()


async def test_a_damaged_body_is_left_as_it_is(name: str, store: PostgresStore, raw: Raw) -> None:
    memories = a_session(3)
    await store.commit(a_commit(*memories))
    await make_old(name)
    await raw(_SPOIL, memories[1].id)
    assert await store.tidy() == ["read 2 memories anew that were taken apart in an older way"]
    assert await old_rows(name) == (1, 1)
    assert await store.tidy() == []
    numbers = await store.passage_numbers("default", [memories[1].id])
    assert [one.memory_id for one in await store.stored_passages("default", numbers, around=2)] == [memories[1].id]


async def test_what_is_found_by_other_facets_is_told_to_the_indexes(name: str, store: PostgresStore, raw: Raw) -> None:
    memory, other = a_memory(metadata={"birds": ["jay", "tit"]}), a_memory()
    await store.commit(a_commit(memory, other))
    await make_old(name)
    await raw("UPDATE scrubjay.memories SET facets = '[\"kind:note\"]' WHERE id = %s::uuid", memory.id)
    before = await store.last_seq()
    assert len(await store.tidy()) == 1
    told = await store.changes(after=before, limit=9)
    assert [(change.memory_id, change.action) for change in told] == [(memory.id, Action.EMBEDDED)]
    assert await store.list_ids("default", Filter(metadata={"birds": "tit"}), limit=9) == [memory.id]


async def test_what_an_older_server_writes_beside_is_read_anew(name: str, store: PostgresStore) -> None:
    memory, kept = a_memory("a rare zanzibar"), a_memory("kept")
    await store.commit(a_commit(memory, kept))
    await write_as_before(
        name, a_commit(a_rewrite(revised(memory, content="quite another"))), a_commit(a_memory("new"))
    )
    assert await old_rows(name) == (1, 2)
    # It let go of a word without knowing that it is spelled somewhere.
    assert await store.database.rows("SELECT 1 FROM scrubjay.vocabulary WHERE term = 'zanzibar'", keeper=True) == []
    assert len(await store.tidy()) == 1
    assert await old_rows(name) == (0, 0)
    assert await store.database.rows(_OUT_OF_STEP, keeper=True) == [(0,)]


async def test_a_backup_of_an_older_version_is_brought_up_to_date(empty: str, tmp_path: Path) -> None:
    await an_old_database(empty, a_session(3))
    await an_old_backup(empty, tmp_path / "copy")
    async with a_database(empty=True) as target:
        assert await restore_backup(address_of(target), tmp_path / "copy", partitions=2) == 3
        store = await PostgresStore.open(address_of(target))
        found = await store.similar_terms("default", "numbr2", state=State.LIVE, limit=1)
        assert found == [("number2", 1)]
        assert await store.check(deep=True) == []
        await store.close()


async def test_a_backup_holds_the_vocabulary(store: PostgresStore, empty: str, tmp_path: Path) -> None:
    memories = a_session(3)
    await store.commit(a_commit(*memories))
    await store.backup(tmp_path / "copy")
    await restore_backup(address_of(empty), tmp_path / "copy")
    restored = await PostgresStore.open(address_of(empty))
    ids = [memory.id for memory in memories]
    for one in (store, restored):
        assert [term for term, _ in await one.similar_terms("default", "numbr2", state=State.LIVE, limit=1)] == [
            "number2"
        ]
        assert (await one.beside("default", ids, each=1))[ids[1]] == Beside(before=(ids[0],), after=(ids[2],))
    await restored.close()
