"""The lexical index when a memory changes: only differences are written."""

from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from tests.fakes.build import START, a_commit, a_memory, a_rewrite, an_origin, revised
from tests.unit.storage.sqlite.damage import scribble

from scrubjay.model.memory import Memory, Observation, State
from scrubjay.model.query import Filter
from scrubjay.storage.sqlite import SqliteStore

FACTS = tuple(Observation(text=f"fact {number}", recorded_at=START) for number in range(5))


_COUNTED_BY = {
    "terms": "lexicon_no, term, passage_count",
    "trigrams": "lexicon_no, trigram, term",
    "facets": "lexicon_no, facet, memory_count",
    "lexicons": "passage_count, term_count",
    "postings_docsize": "id, sz",
    "passages": "id, hash, terms",
}


def counted(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """Return the rows that memories are found and counted by."""
    connection = apsw.Connection(str(path))
    try:
        return {
            table: connection.execute(f"SELECT {columns} FROM {table} ORDER BY {columns}").fetchall()
            for table, columns in _COUNTED_BY.items()
        }
    finally:
        connection.close()


def _longer(memory: Memory) -> Memory:
    return revised(memory, observations=(*FACTS, Observation(text="a sixth fact", recorded_at=START)))


def _shorter(memory: Memory) -> Memory:
    return revised(memory, observations=FACTS[:2])


def _other_words(memory: Memory) -> Memory:
    return revised(memory, content="coffee is black")


def _other_labels(memory: Memory) -> Memory:
    return revised(memory, kind="decision", project="brewing")


def _in_the_trash(memory: Memory) -> Memory:
    return revised(memory, state=State.TRASHED)


@pytest.mark.parametrize("change", [_longer, _shorter, _other_words, _other_labels, _in_the_trash])
async def test_a_changed_memory_is_indexed_like_a_new_one(
    store: SqliteStore, path: Path, tmp_path: Path, change: Callable[[Memory], Memory]
) -> None:
    first = a_memory("tea is green", observations=FACTS)
    await store.commit(a_commit(first))
    await store.commit(a_commit(a_rewrite(change(first))))
    other = await SqliteStore.open(tmp_path / "other.db", readers=1)
    await other.commit(a_commit(change(first)))
    expected = counted(tmp_path / "other.db")
    await other.close()
    results = counted(path)
    # An empty lexicon keeps its row, with counts of zero.
    results["lexicons"] = [row for row in results["lexicons"] if row != (0, 0)]
    assert results == expected


async def test_passages_that_stay_are_not_written_again(store: SqliteStore, path: Path) -> None:
    first = a_memory("tea is green", observations=FACTS)
    await store.commit(a_commit(first))
    scribble(
        path,
        """CREATE TABLE written(id);
           CREATE TRIGGER writing AFTER INSERT ON passages BEGIN INSERT INTO written VALUES(new.id % 65536); END""",
    )
    second = revised(first, observations=(*FACTS[:4], Observation(text="another", recorded_at=START)))
    await store.commit(a_commit(a_rewrite(second)))
    await store.commit(a_commit(a_rewrite(revised(second, kind="decision"))))
    connection = apsw.Connection(str(path))
    assert connection.execute("SELECT id FROM written").fetchall() == [(5,)]
    connection.close()


async def test_purged_memories_are_not_counted(store: SqliteStore, path: Path) -> None:
    first = a_memory("tea is green", observations=FACTS)
    await store.commit(a_commit(first))
    await store.commit(a_commit(a_rewrite(_other_labels(first))))
    await store.purge("default", [first.id], origin=an_origin())
    results = counted(path)
    assert results.pop("lexicons") == [(0, 0)]
    assert not any(results.values())


async def test_the_postings_of_several_commits_are_written_together(store: SqliteStore) -> None:
    def blocks(connection: apsw.Connection) -> int:
        return int(connection.execute("SELECT count(*) FROM postings_data").fetchall()[0][0])

    async with store.transaction("default") as inside:
        before = inside._readers.run_now(blocks)
        for number in range(3):
            await inside.commit(a_commit(a_memory(f"tea number {number}", name=f"tea-{number}")))
        assert inside._readers.run_now(blocks) == before
        assert len(await inside.lexical_candidates("default", ["tea"], Filter(), limit=5)) == 3
    assert store._readers.run_now(blocks) > before
