"""Indexing again after a change of the passage format: the store works at once, and the upkeep does the rest."""

from pathlib import Path

import psycopg
import pytest
from tests.fakes.build import a_commit, a_memory, a_rewrite, moment, revised
from tests.postgres import a_database, address_of, shared_server
from tests.unit.storage.postgres.conftest import Raw

from scrubjay.model.change import Action
from scrubjay.model.memory import Memory, Source, State
from scrubjay.model.query import Filter
from scrubjay.ports import Neighbours
from scrubjay.storage.postgres import PostgresStore, reindex, restore_backup
from scrubjay.text.passages import SHAPE
from scrubjay.text.tokens import terms_of

_SPOIL = """UPDATE scrubjay.versions v
    SET body = set_byte(body, length(body) - 1, 255 - get_byte(body, length(body) - 1))
    FROM scrubjay.memories m WHERE m.no = v.memory_no AND m.id = %s::uuid"""
_OUTDATED = "SELECT count(*) FROM scrubjay.memories WHERE passage_format < %s"
# Terms with a count and no spelling, or with a spelling and no count.
_MISMATCHES = """SELECT count(*) FROM scrubjay.terms t FULL JOIN scrubjay.vocabulary v USING (space_no, word)
    WHERE t.passages IS NULL OR v.term IS NULL"""


def a_session(count: int, *, session: str = "s") -> list[Memory]:
    return [
        a_memory(f"Ann: turn number{n} of {session}?", source=Source(session=session, at=moment(n)))
        for n in range(count)
    ]


async def count_outdated(name: str) -> int:
    async with await psycopg.AsyncConnection.connect(shared_server().url(name)) as connection:
        ((count,),) = await (await connection.execute(_OUTDATED, (SHAPE,))).fetchall()
        return int(count)


@pytest.mark.parametrize("partitions", [0, 2])
async def test_few_outdated_memories_are_re_indexed_when_the_store_is_opened(partitions: int) -> None:
    memories = [*a_session(4), a_memory("alone")]
    async with a_database(partitions=partitions) as name:
        store = await PostgresStore.open(address_of(name))
        await store.commit(a_commit(*memories))
        await make_outdated(name)
        await store.close()
        # An existing database keeps its number of partitions.
        store = await PostgresStore.open(address_of(name), partitions=7)
        try:
            assert await count_outdated(name) == 0
            numbers = await store.passage_numbers("default", [memories[1].id])
            passage, *neighbours = await store.stored_passages("default", numbers, around=4)
            assert (passage.who, passage.asks) == ("ann", 6)
            assert len(passage.before) == 1
            assert len(passage.after) == 2
            assert {near.id for near in neighbours} == {*passage.before, *passage.after}
            assert await store.session_neighbours("default", [memories[4].id], each=2) == {memories[4].id: Neighbours()}
            assert [term for term, _ in await store.similar_terms("default", "alnoe", state=State.LIVE, limit=1)]
            assert await store.database.rows(_MISMATCHES, unrestricted=True) == [(0,)]
            assert (await store.statistics("default")).details["partitions"] == partitions
            assert await store.check(deep=True) == []
            assert await store.tidy() == []
            # Vector indexes need no update: neither passages nor facets have changed.
            assert {change.action for change in await store.changes(after=0, limit=99)} == {Action.CREATED}
        finally:
            await store.close()


async def test_an_outdated_memory_is_found_and_revised_as_before(name: str, store: PostgresStore) -> None:
    memories = a_session(3)
    await store.commit(a_commit(*memories))
    await make_outdated(name)
    candidates = await store.lexical_candidates("default", terms_of("number1"), Filter(), limit=9)
    (passage,) = await store.stored_passages("default", [number for number, _ in candidates])
    assert passage.memory_id == memories[1].id
    later = revised(memories[1], content="Bob: a word")
    await store.commit(a_commit(a_rewrite(later)))
    assert await count_outdated(name) == 2


async def make_outdated(name: str) -> None:
    """Mark every memory as split into passages by an earlier version."""
    async with await psycopg.AsyncConnection.connect(shared_server().url(name), autocommit=True) as connection:
        await connection.execute("UPDATE scrubjay.memories SET passage_format = 1, index_key = '\\x00'")
        await connection.execute("UPDATE scrubjay.passages SET who = '', asks = 0")
        await connection.execute("DELETE FROM scrubjay.vocabulary")


async def test_many_are_left_to_the_upkeep_which_continues_after_an_interruption(name: str) -> None:
    store = await PostgresStore.open(address_of(name))
    memories = a_session(620)
    await store.commit(a_commit(*memories))
    await make_outdated(name)
    second = await PostgresStore.open(address_of(name))
    try:
        assert await count_outdated(name) == 620
        await store.commit(a_commit(a_rewrite(revised(memories[300], content="revised meanwhile"))))
        # Two servers may index at once.
        first_page = await reindex.reindex_page(store.database, "default", store._bodies, after=0)
        assert first_page is not None
        assert 0 < await count_outdated(name) < 619
        done = await second.tidy()
        assert len(done) == 1
        assert "older passage format" in done[0]
        assert await count_outdated(name) == 0
        assert await store.database.rows(_MISMATCHES, unrestricted=True) == [(0,)]
        assert (await store.get("default", [memories[300].id]))[memories[300].id].content == "revised meanwhile"
        assert await store.check(deep=True) == []
    finally:
        await second.close()
        await store.close()


async def test_a_damaged_body_is_left_as_it_is(name: str, store: PostgresStore, raw: Raw) -> None:
    memories = a_session(3)
    await store.commit(a_commit(*memories))
    await make_outdated(name)
    await raw(_SPOIL, memories[1].id)
    assert await store.tidy() == ["indexed 2 memories of an older passage format again"]
    assert await count_outdated(name) == 1
    assert await store.tidy() == []
    numbers = await store.passage_numbers("default", [memories[1].id])
    passages = await store.stored_passages("default", numbers, around=2)
    assert [passage.memory_id for passage in passages[:1]] == [memories[1].id]
    assert {passage.memory_id for passage in passages} == {memory.id for memory in memories}


async def test_changed_facets_are_logged_for_the_indexes(name: str, store: PostgresStore, raw: Raw) -> None:
    memory, other = a_memory(metadata={"birds": ["jay", "tit"]}), a_memory()
    await store.commit(a_commit(memory, other))
    await make_outdated(name)
    await raw("UPDATE scrubjay.memories SET facets = '[\"kind:note\"]' WHERE id = %s::uuid", memory.id)
    before = await store.last_seq()
    assert len(await store.tidy()) == 1
    changes = await store.changes(after=before, limit=9)
    assert [(change.memory_id, change.action) for change in changes] == [(memory.id, Action.EMBEDDED)]
    assert await store.list_ids("default", Filter(metadata={"birds": "tit"}), limit=9) == [memory.id]


async def test_a_backup_holds_the_vocabulary(store: PostgresStore, empty: str, tmp_path: Path) -> None:
    memories = a_session(3)
    await store.commit(a_commit(*memories))
    await store.backup(tmp_path / "copy")
    await restore_backup(address_of(empty), tmp_path / "copy")
    restored = await PostgresStore.open(address_of(empty))
    ids = [memory.id for memory in memories]
    for either in (store, restored):
        assert [term for term, _ in await either.similar_terms("default", "numbr2", state=State.LIVE, limit=1)] == [
            "number2"
        ]
        assert (await either.session_neighbours("default", ids, each=1))[ids[1]] == Neighbours(
            before=(ids[0],), after=(ids[2],)
        )
    await restored.close()
