"""The passages of a memory in the lexical index: added, replaced where they differ, removed, and counted."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import apsw

from scrubjay.model.memory import Memory, State
from scrubjay.model.passage import Passage, passage_id
from scrubjay.model.timestamps import to_micros
from scrubjay.storage.plan import Counts, StoredMemory
from scrubjay.storage.rows import id_bytes, key_of
from scrubjay.storage.sqlite.lexicon import add_trigrams, delete_trigrams, label_of, word_of
from scrubjay.storage.sqlite.rows import lexicon_number, marks, space_of_lexicon

# The columns of `passages`: id, space_no, memory_id, hash, date, observation, start, end, terms, session_key, speaker,
# question.
_Row = tuple[int, int, bytes, bytes, int, int | None, int, int, str, int | None, str, int]
_HASH, _TERMS = 3, 8
# A lexicon, a term or facet, and a count.
_Count = tuple[int, str, int]
_Name = tuple[int, str]
# So many names are looked up with one statement, in steps of so many.
_TOGETHER, _STEP = 256, 8


def index_passages(
    connection: apsw.Connection,
    number: int,
    memory: Memory,
    passages: Sequence[Passage],
    *,
    space_no: int,
    before: StoredMemory | None,
    after: StoredMemory,
) -> tuple[list[str], set[bytes], set[bytes]]:
    """Index a memory by its terms and facets, in place of its former ones.

    Return the terms of its former passages, then the hashes of the texts it has lost, then of those it has gained.
    Only differences are written: an edit of a long memory mostly changes one passage.
    """
    lexicon_no = lexicon_number(space_no, after.state)
    new = {row[0]: row for row in _rows(number, memory, passages, lexicon_no=lexicon_no)}
    old = _stored(connection, number) if before else {}
    every = sorted(new.keys() | old.keys())
    # Rows of another lexicon differ at least in their session key.
    changed = [rowid for rowid in every if new.get(rowid) != old.get(rowid)]
    # Facets are among the words of each passage.
    is_relabelled = before is None or (before.state, before.facets) != (after.state, after.facets)
    labels = [label_of(lexicon_no, facet) for facet in after.facets]
    _replace_words(connection, new, old, every if is_relabelled else changed, lexicon_no=lexicon_no, labels=labels)
    _replace_rows(connection, new, old, changed)
    hashes_before, hashes_after = ({row[_HASH] for row in rows.values()} for rows in (old, new))
    return [row[_TERMS] for row in old.values()], hashes_before - hashes_after, hashes_after - hashes_before


def unindex_passages(connection: apsw.Connection, number: int) -> list[str]:
    """Remove a memory from the index; return the terms of its passages, to subtract them from the counts."""
    old = _stored(connection, number)
    _delete(connection, "postings", "rowid", old)
    _delete(connection, "passages", "id", old)
    return [row[_TERMS] for row in old.values()]


def write_counts(connection: apsw.Connection, counts: Counts, *, space_no: int) -> None:
    """Add differences to the counts."""
    _add_terms(connection, _nonzero(counts.terms, space_no))
    _add_facets(connection, _nonzero(counts.facets, space_no))
    connection.executemany(
        """INSERT INTO lexicons VALUES(?, ?, ?) ON CONFLICT DO UPDATE
           SET passage_count = passage_count + excluded.passage_count, term_count = term_count + excluded.term_count""",
        [(lexicon_number(space_no, state), count, counts.lengths[state]) for state, count in counts.passages.items()],
    )


def _rows(number: int, memory: Memory, passages: Sequence[Passage], *, lexicon_no: int) -> Iterable[_Row]:
    space_no, memory_id, date = space_of_lexicon(lexicon_no), id_bytes(memory.id), to_micros(memory.date)
    session_key = key_of(f"{lexicon_no} {memory.thread}")
    for passage in passages:
        yield (
            passage_id(number, passage.ordinal), space_no, memory_id, passage.hash, date, passage.observation,
            passage.start, passage.end, " ".join(passage.terms), session_key, " ".join(passage.who), passage.asks,
        )  # fmt: skip


def _stored(connection: apsw.Connection, number: int) -> dict[int, _Row]:
    rows: list[_Row] = connection.execute(
        "SELECT * FROM passages WHERE id >= ? AND id < ?", (passage_id(number, 0), passage_id(number + 1, 0))
    ).fetchall()
    return {row[0]: row for row in rows}


def _replace_words(
    connection: apsw.Connection,
    new: Mapping[int, _Row],
    old: Mapping[int, _Row],
    rowids: Sequence[int],
    *,
    lexicon_no: int,
    labels: Sequence[str],
) -> None:
    """Replace the words of some passages, and the labels that all of them have."""
    # The prefix of every word of the lexicon.
    prefix = word_of(lexicon_no, "")
    _delete(connection, "postings", "rowid", [rowid for rowid in rowids if rowid in old])
    words = [(rowid, dict.fromkeys(new[rowid][_TERMS].split())) for rowid in rowids if rowid in new]
    separator = f" {prefix}"
    connection.executemany(
        "INSERT INTO postings(rowid, words) VALUES(?, ?)",
        [
            (rowid, " ".join([f"{prefix}{separator.join(terms)}", *labels] if terms else labels))
            for rowid, terms in words
        ],
    )


def _replace_rows(
    connection: apsw.Connection, new: Mapping[int, _Row], old: Mapping[int, _Row], changed: Sequence[int]
) -> None:
    # A new tag changes the terms of all passages and nothing else: the indexes on other columns need not be written.
    both = [rowid for rowid in changed if rowid in new and rowid in old]
    new_terms = {rowid: new[rowid][_TERMS] for rowid in both if _differ_in_terms(new[rowid], old[rowid])}
    if new_terms:
        connection.executemany(
            "UPDATE passages SET terms = ? WHERE id = ?", [(terms, rowid) for rowid, terms in new_terms.items()]
        )
    # Other rows are replaced by hand: for INSERT OR REPLACE, SQLite would write the postings to disk each time.
    _delete(connection, "passages", "id", [rowid for rowid in changed if rowid in old and rowid not in new_terms])
    connection.executemany(
        "INSERT INTO passages VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [new[rowid] for rowid in changed if rowid in new and rowid not in new_terms],
    )


def _differ_in_terms(row: _Row, other: _Row) -> bool:
    """Return whether two rows differ in their terms alone."""
    return row[:_TERMS] == other[:_TERMS] and row[_TERMS + 1 :] == other[_TERMS + 1 :]


def _delete(connection: apsw.Connection, table: str, column: str, numbers: Iterable[int]) -> None:
    # Mostly there are none, and even then a statement takes as long as reading a row.
    if rows := [(number,) for number in numbers]:
        connection.executemany(f"DELETE FROM {table} WHERE {column} = ?", rows)


def _add_terms(connection: apsw.Connection, counts: Sequence[_Count]) -> None:
    new, unused = _add(connection, "terms", "term", "passage_count", counts)
    for number in {lexicon_no for lexicon_no, _ in (*new, *unused)}:
        add_trigrams(connection, number, [term for lexicon_no, term in new if lexicon_no == number])
        delete_trigrams(connection, number, [term for lexicon_no, term in unused if lexicon_no == number])


def _add_facets(connection: apsw.Connection, counts: Sequence[_Count]) -> None:
    _add(connection, "facets", "facet", "memory_count", counts)


def _add(
    connection: apsw.Connection, table: str, column: str, total: str, counts: Sequence[_Count]
) -> tuple[list[_Name], list[_Name]]:
    """Add to the counts of names; return the names that are new, and those that are gone.

    Most names are there, and one statement changes all that change alike. It returns nothing, inserts nothing and need
    not be undone by itself (OR FAIL): else SQLite would write the postings to disk each time.
    """
    new: list[_Name] = []
    gone: list[_Name] = []
    for lexicon_no, count, names in _alike(counts):
        # Of few lengths, each of which is a statement of its own: a name that is listed twice is changed once.
        those = (*names, *names[-1:] * (-len(names) % _STEP))
        listed = f"lexicon_no = ? AND {column} IN ({marks(those)})"
        connection.execute(
            f"UPDATE OR FAIL {table} SET {total} = {total} + ? WHERE {listed}", (count, lexicon_no, *those)
        )
        if count > 0 and connection.changes() < len(names):
            rows = connection.execute(f"SELECT {column} FROM {table} WHERE {listed}", (lexicon_no, *those)).fetchall()
            stored = {str(name) for (name,) in rows}
            added = [name for name in names if name not in stored]
            connection.executemany(
                f"INSERT INTO {table} VALUES(?, ?, ?) ON CONFLICT DO UPDATE SET {total} = {total} + excluded.{total}",
                [(lexicon_no, name, count) for name in added],
            )
            new += [(lexicon_no, name) for name in added]
        if count < 0:
            rows = connection.execute(
                f"SELECT {column} FROM {table} WHERE {listed} AND {total} <= 0", (lexicon_no, *those)
            ).fetchall()
            gone += [(lexicon_no, str(name)) for (name,) in rows]
    if gone:
        connection.executemany(f"DELETE FROM {table} WHERE lexicon_no = ? AND {column} = ?", gone)
    return new, gone


def _alike(counts: Sequence[_Count]) -> Iterator[tuple[int, int, list[str]]]:
    """Yield the names of a lexicon that change alike, so many at a time: the lexicon, the change and the names."""
    by_change: dict[tuple[int, int], list[str]] = {}
    for lexicon_no, name, count in counts:
        by_change.setdefault((lexicon_no, count), []).append(name)
    for (lexicon_no, count), names in by_change.items():
        for start in range(0, len(names), _TOGETHER):
            yield lexicon_no, count, names[start : start + _TOGETHER]


def _nonzero(counts: Mapping[State, Mapping[str, int]], space_no: int) -> list[_Count]:
    rows: list[_Count] = []
    for state, by_name in counts.items():
        lexicon_no = lexicon_number(space_no, state)
        rows += [(lexicon_no, name, count) for name, count in by_name.items() if count]
    # In order, so that the rows of a page are written one after the other.
    return sorted(rows)
