"""The trigrams of terms: they match the terms, and lookups stay bounded."""

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import apsw
import pytest
from tests.fakes.build import a_commit, a_memory, a_rewrite, an_origin, revised
from tests.patience import PATIENCE
from tests.unit.storage.sqlite.damage import scribble

from scrubjay.model.memory import State
from scrubjay.storage.sqlite import SqliteStore, lexicon, lexicon_cache
from scrubjay.storage.sqlite.rows import log_state
from scrubjay.text.fuzzy import grams_of


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = await SqliteStore.open(tmp_path / "memory.db", readers=1)
    yield opened
    await opened.close()


def trigrams(path: Path) -> tuple[set[tuple[object, ...]], set[tuple[object, ...]]]:
    """Return the stored trigrams and the expected ones."""
    connection = apsw.Connection(str(path))
    try:
        rows = set(connection.execute("SELECT lexicon_no, trigram, term FROM trigrams").fetchall())
        terms = connection.execute("SELECT lexicon_no, term FROM terms").fetchall()
    finally:
        connection.close()
    return rows, {(number, gram, term) for number, term in terms for gram in grams_of(str(term))}


async def test_every_term_has_its_trigrams_and_nothing_else_has_any(store: SqliteStore) -> None:
    first, second = a_memory("scrub jays hide acorns"), a_memory("jays find acorns", space="there")
    await store.commit(a_commit(first))
    await store.commit(a_commit(second))
    later = revised(first, content="jays dig")
    for change in (a_rewrite(later), a_rewrite(revised(later, state=State.TRASHED))):
        await store.commit(a_commit(change))
        stored, due = trigrams(store.path)
        assert stored == due != set()
    await store.purge("default", [first.id], origin=an_origin())
    await store.purge("there", [second.id], origin=an_origin())
    assert trigrams(store.path) == (set(), set())


async def test_a_lexicon_that_was_read_as_a_whole_follows_every_commit(store: SqliteStore) -> None:
    other = await SqliteStore.open(store.path, readers=1)
    for writer, word in ((store, "acorn"), (other, "oak")):
        for number in range(40):
            statistics = await store.term_statistics("default", [word, f"word{number}"], state=State.LIVE)
            assert statistics.frequencies == {}
        await writer.commit(a_commit(a_memory(f"a jay hides the {word}")))
        for _ in range(40):
            statistics = await store.term_statistics("default", [word, "none"], state=State.LIVE)
            assert statistics.frequencies == {word: 1}
            assert await store.known_facets("default", ["kind=note", "kind=other"], state=State.LIVE)
    await other.close()


async def test_a_large_vocabulary_is_looked_up_alike(store: SqliteStore) -> None:
    await store.commit(a_commit(a_memory("January is cold")))
    few = await store.similar_terms("default", "januray", state=State.LIVE, limit=3)
    scribble(store.path, "UPDATE lexicons SET passage_count = 1000000")
    assert await store.similar_terms("default", "januray", state=State.LIVE, limit=3) == few != []


async def test_common_trigrams_are_passed_over(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    crowd = " ".join(f"plan{letter}{other}" for letter in "bcdfgh" for other in "bcdfgh")
    await store.commit(a_commit(a_memory(crowd), a_memory("plankton")))
    requested = ("default", "plankten")
    every = await store.similar_terms(*requested, state=State.LIVE, limit=9)
    assert len(every) == 9
    assert every[0][0] == "plankton"
    # Else it returns what it has compared before.
    store._lexicon = None
    for name, most in (("_COMMON_TRIGRAM", 5), ("_MAX_VISITED", 3)):
        monkeypatch.setattr(lexicon, name, most)
        assert (await store.similar_terms(*requested, state=State.LIVE, limit=9))[0][0] == "plankton"
    few = await store.similar_terms(*requested, state=State.LIVE, limit=9)
    assert len(few) < len(every)


async def test_a_term_of_common_trigrams_alone_is_still_looked_up(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.commit(a_commit(a_memory("planb planc pland")))
    monkeypatch.setattr(lexicon, "_COMMON_TRIGRAM", 1)
    assert await store.similar_terms("default", "plan", state=State.LIVE, limit=9)


async def test_a_commit_between_counts_and_the_state_of_the_log_is_not_missed(
    store: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.commit(a_commit(a_memory("jays hide acorns")))
    commits: list[object] = []

    async def commit_elsewhere() -> None:
        other = await SqliteStore.open(tmp_path / "memory.db", readers=1)
        await other.commit(a_commit(a_memory("a zebra grazes")))
        await other.close()

    def commit_first(connection: apsw.Connection) -> tuple[int, str]:
        if not commits:
            with ThreadPoolExecutor(1) as pool:
                commits.append(pool.submit(asyncio.run, commit_elsewhere()).result(PATIENCE))
        return log_state(connection)

    async def zebras() -> dict[str, int]:
        return dict((await store.term_statistics("default", ["zebra"], state=State.LIVE)).frequencies)

    monkeypatch.setattr(lexicon_cache, "log_state", commit_first)
    for _ in range(30):
        await zebras()
        await asyncio.sleep(0)
    assert commits, "the state of the log was read after the words were counted"
    assert await zebras() == {"zebra": 1}
