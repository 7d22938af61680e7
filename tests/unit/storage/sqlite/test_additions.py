"""What a process has just added is known without reading it back, unless anything else has happened since."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.fakes.build import MODEL, a_commit, a_memory, a_rewrite, an_edge, an_origin, revised, vectors_for

from scrubjay.model.memory import Memory, State
from scrubjay.model.query import Filter
from scrubjay.storage.sqlite import SqliteStore
from scrubjay.text.passages import passages_of


@pytest.fixture
async def other(store: SqliteStore) -> AsyncIterator[SqliteStore]:
    """Return another process on the same file, as far as SQLite can tell."""
    opened = await SqliteStore.open(store.path, readers=1)
    yield opened
    await opened.close()


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = await SqliteStore.open(tmp_path / "memory.db", readers=1)
    yield opened
    await opened.close()


async def remember(store: SqliteStore, *memories: Memory) -> int:
    """Commit memories, and return the last change."""
    return (await store.commit(a_commit(*memories, embedded=vectors_for(memories)))).seq


async def test_new_memories_are_known_from_every_point_between_their_commits(store: SqliteStore) -> None:
    seqs = [0, *[await remember(store, a_memory(f"{number} " * 600), a_memory(f"b{number}")) for number in range(3)]]
    stored = [point.id for point in await store.points(MODEL, after=0, limit=99)]
    for position, seq in enumerate(seqs):
        last, added = store.points_added(MODEL, after=seq)
        numbers = [point.id for point in added]
        assert (last, numbers) == (seqs[-1], stored[len(stored) * position // 3 :])
    # In the middle of a commit nothing is known.
    assert store.points_added(MODEL, after=seqs[1] - 1) == (seqs[1] - 1, [])


async def test_anything_else_that_this_process_commits_hides_them(store: SqliteStore) -> None:
    first, second = a_memory("one"), a_memory("two")
    start = await remember(store, first, second)
    for number, happen in enumerate(
        (
            lambda: store.commit(a_commit(a_rewrite(revised(first, content="other")))),
            lambda: store.commit(a_commit(an_edge(first, second))),
            lambda: store.purge("default", [second.id], origin=an_origin()),
            lambda: store.adopt("default", [], origin=an_origin()),
            lambda: store.store_vectors("default", vectors_for([first]), memory_ids=[first.id], origin=an_origin()),
        )
    ):
        start = await store.last_seq()
        seq = await remember(store, a_memory(f"new {number}"))
        assert store.points_added(MODEL, after=start)[0] == seq
        await happen()
        assert store.points_added(MODEL, after=start) == (start, [])


async def test_a_transaction_hides_them_and_knows_none_itself(store: SqliteStore) -> None:
    seq = await remember(store, a_memory("before"))
    async with store.transaction("default") as transaction:
        await transaction.commit(a_commit(a_memory("within")))
        assert transaction.points_added(MODEL, after=seq) == (seq, [])
    assert store.points_added(MODEL, after=0) == (0, [])


async def test_a_commit_of_another_process_hides_them(store: SqliteStore, other: SqliteStore) -> None:
    await remember(store, a_memory("here"))
    theirs = await remember(other, a_memory("there"))
    last = await remember(store, a_memory("here again"))
    assert store.points_added(MODEL, after=0) == (0, [])
    assert store.points_added(MODEL, after=theirs)[0] == last
    assert other.points_added(MODEL, after=theirs - 1)[0] == theirs


async def test_a_restored_vector_is_not_taken_for_the_new_one(store: SqliteStore) -> None:
    memory = a_memory("first text")
    await remember(store, memory)
    await store.commit(a_commit(a_rewrite(revised(memory, content="second text"))))
    start = await store.last_seq()
    # The text has its former vector again, which is less exact.
    await remember(store, a_memory("first text", entity="another"))
    assert store.points_added(MODEL, after=start) == (start, [])


async def test_word_counts_follow_without_the_log(store: SqliteStore, other: SqliteStore) -> None:
    words = ["acorn", "jay", *[f"word{number}" for number in range(9)]]
    for turn in range(12):
        for opened in (store, other):
            await opened.term_statistics("default", words, state=State.LIVE)
            await opened.lexical_candidates("default", words, Filter(kind="fact"), limit=9)
        texts = [f"acorn word{turn} {number} " * (400 if turn % 3 else 1) for number in range(1 + turn % 2)]
        start = await store.last_seq()
        last = await remember(store, *[a_memory(text, kind=("fact", "rumour")[turn % 2]) for text in texts])
        assert store.points_added(MODEL, after=start)[0] == last
        counted = [await opened.term_statistics("default", words, state=State.LIVE) for opened in (store, other)]
        assert counted[0] == counted[1]
        candidates = [
            await opened.lexical_candidates("default", words, Filter(kind="fact"), limit=9) for opened in (store, other)
        ]
        assert candidates[0] == candidates[1]
        kinds = [
            await opened.known_facets("default", ["kind=fact", "kind=rumour"], state=State.LIVE)
            for opened in (store, other)
        ]
        assert kinds[0] == kinds[1]


async def test_old_additions_make_room(store: SqliteStore) -> None:
    seqs = [await remember(store, a_memory(f"word{number} " * 4_000)) for number in range(10, 30)]
    points = await store.points(MODEL, after=0, limit=9_999)
    assert len(points) > 300
    assert store.points_added(MODEL, after=0) == (0, [])
    last, added = store.points_added(MODEL, after=seqs[-2])
    assert (last, len(added)) == (seqs[-1], len(points) // len(seqs))


async def test_what_is_not_known_completely_is_read(store: SqliteStore) -> None:
    seq = await remember(store, a_memory("embedded already"))
    same = a_memory("embedded already", entity="another")
    assert {passage.hash for passage in passages_of(same)} == {*vectors_for([same]).vectors}
    last = await remember(store, same)
    assert store.points_added(MODEL, after=seq) == (seq, [])
    assert store.points_added("another model", after=0) == (0, [])
    many = await remember(store, *[a_memory(f"one of many, {number}") for number in range(300)])
    assert store.points_added(MODEL, after=last) == (last, [])
    assert store.points_added(MODEL, after=many) == (many, [])
