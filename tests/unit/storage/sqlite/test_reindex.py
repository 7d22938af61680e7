"""Passages in an older format: their memories are indexed again, once, and nothing else changes."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import apsw
import pytest
from tests.fakes.build import MODEL, START, a_commit, a_memory, a_rewrite, a_write, moment, revised, vectors_for
from tests.unit.storage.sqlite.damage import make_outdated, scribble, spoil_body

from scrubjay.model.change import Action
from scrubjay.model.memory import Memory, Observation, Source, State
from scrubjay.model.query import Filter
from scrubjay.ports import Write
from scrubjay.storage.sqlite import SqliteStore
from scrubjay.storage.sqlite.reindex import PageSize
from scrubjay.text.passages import SHAPE

OLD = f"SELECT count(*) FROM memories WHERE passage_format < {SHAPE}"


@pytest.fixture
async def fresh(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = await SqliteStore.open(tmp_path / "fresh.db", readers=1)
    yield opened
    await opened.close()


def some_memories() -> list[Memory]:
    """Return memories of several states and spaces, in sessions and alone, with several passages."""
    turns = [a_memory(f"Sarah: is turn {turn} over?", source=Source(session="s", at=moment(turn))) for turn in range(5)]
    fact = Observation(text="Bob: no", recorded_at=START)
    return [
        *turns,
        a_memory("word " * 500, observations=(fact,), entity="Bob", relevance=0.5, last_confirmed=moment(9)),
        a_memory("gone", state=State.TRASHED, source=Source(session="s", at=moment(2))),
        a_memory("there", space="there", source=Source(session="s", at=moment(2))),
    ]


def as_before(memory: Memory) -> Write:
    """Return a write of a version that indexed neither days nor speakers."""
    write = a_write(memory)
    days = {"1", "januari", "2026"}
    passages = tuple(
        replace(passage, terms=tuple(term for term in passage.terms if term not in days), who=(), asks=0)
        for passage in write.passages
    )
    return replace(write, passages=passages)


async def an_old_file(path: Path, memories: Sequence[Memory]) -> None:
    store = await SqliteStore.open(path, readers=1)
    for space in dict.fromkeys(memory.space for memory in memories):
        mine = [memory for memory in memories if memory.space == space]
        await store.commit(a_commit(*map(as_before, mine), embedded=vectors_for(mine)))
    await store.close()
    make_outdated(path)


def rows(path: Path, query: str) -> list[tuple[object, ...]]:
    connection = apsw.Connection(str(path))
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def all_rows(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """Return all rows that memories are found by."""
    tables = ("passages", "terms", "trigrams", "facets", "lexicons")
    results = {table: sorted(rows(path, f"SELECT * FROM {table}"), key=repr) for table in tables}
    columns = "no, facets, passage_count, index_digest, tier, relevance, last_confirmed, passage_format"
    return {**results, "memories": rows(path, f"SELECT {columns} FROM memories")}


async def test_an_old_file_becomes_like_a_new_one(path: Path, fresh: SqliteStore) -> None:
    memories = some_memories()
    await an_old_file(path, memories)
    assert rows(path, OLD) == [(len(memories),)]
    old = await SqliteStore.open(path, readers=1)
    for space in ("default", "there"):
        mine = [memory for memory in memories if memory.space == space]
        await fresh.commit(a_commit(*mine, embedded=vectors_for(mine)))
    assert all_rows(path) == all_rows(fresh.path)
    (*_, last) = await old.passage_numbers("default", [memories[2].id])
    (passage, *_) = await old.stored_passages("default", [last], around=1)
    assert [len(passage.before), len(passage.after), passage.asks, passage.who] == [1, 1, 6, "sarah"]
    assert await old.lexical_candidates("default", ["januari"], Filter(), limit=1)
    assert await old.similar_terms("default", "januray", state=State.LIVE, limit=1)
    assert await old.check(deep=True) == []
    assert await old.tidy() == []
    await old.close()


async def test_nothing_is_logged_for_indexes(path: Path) -> None:
    memories = some_memories()
    await an_old_file(path, memories)
    ((before,),) = rows(path, "SELECT count(*) FROM changes")
    store = await SqliteStore.open(path, readers=1)
    assert await store.last_seq() == before
    assert await store.without_vectors(MODEL, limit=9) == []
    assert await store.point_count(MODEL) == len(await store.points(MODEL, after=0, limit=99)) > len(memories)
    await store.close()


async def test_new_facets_are_logged_for_indexes(path: Path) -> None:
    memory, other = a_memory(metadata={"people": ["Sarah", "Bob"]}), a_memory()
    await an_old_file(path, [memory, other])
    scribble(path, "DELETE FROM facets WHERE facet LIKE 'meta.%'")
    scribble(path, "UPDATE memories SET facets = (SELECT facets FROM memories WHERE no = 2) WHERE no = 1")
    store = await SqliteStore.open(path, readers=1)
    (change,) = await store.changes(after=2, limit=9)
    assert (change.action, change.memory_id, change.passages_before) == (Action.EMBEDDED, memory.id, 1)
    (point,) = await store.points_of(MODEL, [change.number])
    assert {"meta.people=sarah", "meta.people=bob"} <= set(point.facets)
    assert await store.known_facets("default", ["meta.people=bob"], state=State.LIVE) == {"meta.people=bob": 1}
    await store.close()


async def test_a_category_of_an_older_version_is_found_by_those_above_it(path: Path) -> None:
    memory, other = a_memory("minutes", category="Work/Meetings"), a_memory(category="work")
    store = await SqliteStore.open(path, readers=1)
    await store.commit(a_commit(memory, other))
    await store.close()
    # As a version wrote them that did not index the parents and the words of a category.
    scribble(
        path,
        """UPDATE memories SET facets = replace(facets, '"category=work", ', ''), index_digest = x'00' WHERE no = 1""",
    )
    scribble(path, "UPDATE facets SET memory_count = 1 WHERE facet = 'category=work'")
    scribble(path, "UPDATE memories SET passage_format = 2")
    store = await SqliteStore.open(path, readers=1)
    assert rows(path, OLD) == [(0,)]
    assert set(await store.list_ids("default", Filter(category="work"), limit=9)) == {memory.id, other.id}
    assert await store.facet_values("default", "category", state=State.LIVE, limit=9) == [
        ("work", 2),
        ("work/meetings", 1),
    ]
    # The log has an entry for the memory whose facets have changed.
    assert [change.memory_id for change in await store.changes(after=2, limit=9)] == [memory.id]
    (match,) = await store.memories_matching("default", [("meet",)], Filter(), limit=9)
    assert [passage.memory_id for passage in await store.stored_passages("default", [match.passage])] == [memory.id]
    assert await store.check(deep=True) == []
    await store.close()


async def test_a_damaged_memory_stays_as_it_was_and_holds_up_no_other(path: Path) -> None:
    memories = [a_memory(f"turn {turn} " * 20, source=Source(session="s")) for turn in range(3)]
    await an_old_file(path, memories)
    spoil_body(path, memories[1].id, 1)
    store = await SqliteStore.open(path, readers=1)
    assert rows(path, "SELECT passage_format FROM memories") == [(SHAPE,), (1,), (SHAPE,)]
    numbers = await store.passage_numbers("default", [memory.id for memory in memories])
    results = {passage.id: passage for passage in await store.stored_passages("default", numbers, around=9)}
    assert [len(results[number].before + results[number].after) for number in numbers] == [1, 0, 1]
    assert await store.tidy() == []
    await store.commit(a_commit(a_rewrite(revised(memories[1], content="mended"))))
    assert rows(path, OLD) == [(0,)]
    await store.close()


async def test_opening_waits_for_a_few_and_the_rest_is_read_behind_it(path: Path, fresh: SqliteStore) -> None:
    memories = [memory for memory in some_memories() if memory.space == "default"]
    await an_old_file(path, memories)
    store = await SqliteStore.open(path, readers=1, page=PageSize(memories=1))
    assert rows(path, OLD) == [(len(memories) - 5,)]
    assert await store.get("default", [memories[-1].id]) == {memories[-1].id: memories[-1]}
    assert await store.lexical_candidates("default", ["go"], Filter(state=State.TRASHED), limit=9)
    assert await store.tidy() == [f"indexed {len(memories) - 5} memories of an older passage format again"]
    assert await store.tidy() == []
    await fresh.commit(a_commit(*memories, embedded=vectors_for(memories)))
    assert all_rows(path) == all_rows(fresh.path)
    await store.close()


async def test_a_page_ends_where_bodies_are_large(path: Path) -> None:
    await an_old_file(path, [a_memory("word " * 500) for _ in range(7)])
    store = await SqliteStore.open(path, readers=1, page=PageSize(bytes=1_000))
    assert rows(path, OLD) == [(2,)]
    await store.close()


async def test_closing_a_store_does_not_wait_for_the_reindexing(path: Path) -> None:
    await an_old_file(path, [a_memory(f"turn {turn}") for turn in range(12)])
    store = await SqliteStore.open(path, readers=1, page=PageSize(memories=1))
    await store.close()
    assert rows(path, OLD) == [(7,)]
    again = await SqliteStore.open(path, readers=1, page=PageSize(memories=1))
    assert rows(path, OLD) == [(2,)]
    await again.commit(a_commit(a_memory("meanwhile")))
    await again.upkeep.reindex_all()
    assert rows(path, OLD) == [(0,)]
    assert await again.check(deep=True) == []
    await again.close()


async def test_reading_goes_on_where_it_was_cut_off(path: Path, fresh: SqliteStore) -> None:
    memories = [memory for memory in some_memories() if memory.space == "default"]
    await an_old_file(path, memories)
    store = await SqliteStore.open(path, readers=1, page=PageSize(memories=2))
    assert await store.tidy() == []
    scribble(path, "UPDATE memories SET passage_format = 1 WHERE no > 2")
    assert await store.tidy() == [f"indexed {len(memories) - 2} memories of an older passage format again"]
    await fresh.commit(a_commit(*memories, embedded=vectors_for(memories)))
    assert all_rows(path) == all_rows(fresh.path)
    await store.close()


async def test_a_file_that_cannot_be_written_is_read_as_it_is(path: Path) -> None:
    memory = a_memory("tea")
    await an_old_file(path, [memory])
    store = await SqliteStore.open(path, readers=1)
    scribble(path, "UPDATE memories SET passage_format = 1")
    scribble(path, "CREATE TRIGGER full BEFORE DELETE ON passages BEGIN SELECT raise(ABORT, 'full'); END")
    again = await SqliteStore.open(path, readers=1)
    assert await again.get("default", [memory.id]) == {memory.id: memory}
    assert await again.lexical_candidates("default", ["tea"], Filter(), limit=9)
    await again.close()
    await store.close()
