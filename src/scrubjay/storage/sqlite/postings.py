"""The passages of a memory in the lexical index: added, replaced where they differ, removed, and counted."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import apsw

from scrubjay.model.memory import Memory
from scrubjay.model.passage import Passage, passage_id
from scrubjay.model.query import Facet
from scrubjay.model.timestamps import to_micros
from scrubjay.storage.rows import id_bytes, key_of
from scrubjay.storage.sqlite.lexicon import add_trigrams, delete_trigrams, label_of, word_of
from scrubjay.storage.sqlite.rows import space_of_lexicon

# The columns of `passages`: id, space_no, memory_id, hash, date, observation, start, end, terms, session_key, speaker,
# question.
_Row = tuple[int, int, bytes, bytes, int, int | None, int, int, str, int | None, str, int]
_HASH, _TERMS = 3, 8
# Counts of terms or facets by lexicon.
_Counts = Mapping[int, Mapping[str, int]]


class IndexEntry(NamedTuple):
    """The place of a memory in the index: the lexicon of its space and state, and its facets."""

    lexicon_no: int
    facets: tuple[Facet, ...]


def index_passages(
    connection: apsw.Connection,
    number: int,
    memory: Memory,
    passages: Sequence[Passage],
    *,
    entry: IndexEntry,
    former: IndexEntry | None = None,
) -> tuple[set[bytes], set[bytes]]:
    """Index a memory by its terms and facets, in place of its `former` ones.

    Return the hashes of the texts it has lost, then of those it has gained. Only differences are written: an edit of a
    long memory mostly changes one passage.
    """
    new = {row[0]: row for row in _rows(number, memory, passages, lexicon_no=entry.lexicon_no)}
    old = _stored(connection, number) if former else {}
    every = sorted(new.keys() | old.keys())
    # Rows of another lexicon differ at least in their session key.
    changed = [rowid for rowid in every if new.get(rowid) != old.get(rowid)]
    # Facets are among the words of each passage.
    _replace_words(connection, new, old, changed if entry == former else every, entry)
    _replace_rows(connection, new, old, changed)
    added = [new[rowid] for rowid in changed if rowid in new]
    removed = [old[rowid] for rowid in changed if rowid in old]
    _count(connection, added, removed, entry=entry, former=former)
    before, after = ({row[_HASH] for row in rows.values()} for rows in (old, new))
    return before - after, after - before


def unindex_passages(connection: apsw.Connection, number: int, *, former: IndexEntry) -> None:
    """Remove a memory from the index and from the counts."""
    old = _stored(connection, number)
    _delete(connection, "postings", "rowid", old)
    _delete(connection, "passages", "id", old)
    _count(connection, (), old.values(), entry=None, former=former)


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
    entry: IndexEntry,
) -> None:
    """Replace the words of some passages, and the labels that all of them have."""
    labels = [label_of(entry.lexicon_no, facet) for facet in entry.facets]
    # The prefix of every word of the lexicon.
    prefix = word_of(entry.lexicon_no, "")
    _delete(connection, "postings", "rowid", [rowid for rowid in rowids if rowid in old])
    words = {rowid: dict.fromkeys(new[rowid][_TERMS].split()) for rowid in rowids if rowid in new}
    connection.executemany(
        "INSERT INTO postings(rowid, words) VALUES(?, ?)",
        [(rowid, " ".join([*[prefix + term for term in terms], *labels])) for rowid, terms in words.items()],
    )


def _replace_rows(
    connection: apsw.Connection, new: Mapping[int, _Row], old: Mapping[int, _Row], changed: Sequence[int]
) -> None:
    # A new tag changes the terms of all passages and nothing else: the indexes on other columns need not be written.
    both = [rowid for rowid in changed if rowid in new and rowid in old]
    new_terms = {rowid: new[rowid][_TERMS] for rowid in both if _differ_in_terms(new[rowid], old[rowid])}
    connection.executemany(
        "UPDATE passages SET terms = ? WHERE id = ?", [(terms, rowid) for rowid, terms in new_terms.items()]
    )
    connection.executemany(
        "INSERT OR REPLACE INTO passages VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [new[rowid] for rowid in changed if rowid in new and rowid not in new_terms],
    )
    _delete(connection, "passages", "id", [rowid for rowid in changed if rowid not in new])


def _differ_in_terms(row: _Row, other: _Row) -> bool:
    """Return whether two rows differ in their terms alone."""
    return row[:_TERMS] == other[:_TERMS] and row[_TERMS + 1 :] == other[_TERMS + 1 :]


def _delete(connection: apsw.Connection, table: str, column: str, numbers: Iterable[int]) -> None:
    connection.executemany(f"DELETE FROM {table} WHERE {column} = ?", [(number,) for number in numbers])


def _count(
    connection: apsw.Connection,
    added: Collection[_Row],
    removed: Collection[_Row],
    *,
    entry: IndexEntry | None,
    former: IndexEntry | None,
) -> None:
    """Add the new rows to the counts and subtract the removed ones."""
    terms, facets = defaultdict[int, dict[str, int]](dict), defaultdict[int, dict[str, int]](dict)
    passage_counts, term_counts = Counter[int](), Counter[int]()
    added_texts, removed_texts = Counter([row[_TERMS] for row in added]), Counter([row[_TERMS] for row in removed])
    if entry and former and entry.lexicon_no == former.lexicon_no:
        # A passage that has only moved within its memory is counted already.
        added_texts, removed_texts = added_texts - removed_texts, removed_texts - added_texts
    for sign, texts, place in ((1, added_texts, entry), (-1, removed_texts, former)):
        if place is None:
            continue
        split_texts = [text.split() for text in texts.elements()]
        passage_counts[place.lexicon_no] += sign * len(split_texts)
        term_counts[place.lexicon_no] += sign * sum(map(len, split_texts))
        _add(terms[place.lexicon_no], [term for text_terms in split_texts for term in set(text_terms)], sign)
        _add(facets[place.lexicon_no], place.facets, sign)
    _add_terms(connection, terms)
    _add_facets(connection, facets)
    connection.executemany(
        """INSERT INTO lexicons VALUES(?, ?, ?) ON CONFLICT DO UPDATE
           SET passage_count = passage_count + excluded.passage_count, term_count = term_count + excluded.term_count""",
        [(lexicon_no, count, term_counts[lexicon_no]) for lexicon_no, count in passage_counts.items()],
    )


def _add(totals: dict[str, int], names: Iterable[str], sign: int) -> None:
    for name, count in Counter(names).items():
        totals[name] = totals.get(name, 0) + sign * count


def _add_terms(connection: apsw.Connection, counts: _Counts) -> None:
    rows: list[tuple[int, str, int]] = connection.executemany(
        """INSERT INTO terms VALUES(?, ?, ?)
           ON CONFLICT DO UPDATE SET passage_count = passage_count + excluded.passage_count
           RETURNING lexicon_no, term, passage_count""",
        _nonzero(counts),
    ).fetchall()
    new = [(lexicon_no, term) for lexicon_no, term, total in rows if total == counts[lexicon_no][term]]
    unused = [(lexicon_no, term) for lexicon_no, term, total in rows if total <= 0]
    connection.executemany("DELETE FROM terms WHERE lexicon_no = ? AND term = ?", unused)
    for number in {lexicon_no for lexicon_no, _ in (*new, *unused)}:
        add_trigrams(connection, number, [term for lexicon_no, term in new if lexicon_no == number])
        delete_trigrams(connection, number, [term for lexicon_no, term in unused if lexicon_no == number])


def _add_facets(connection: apsw.Connection, counts: _Counts) -> None:
    rows = _nonzero(counts)
    connection.executemany(
        """INSERT INTO facets VALUES(?, ?, ?)
           ON CONFLICT DO UPDATE SET memory_count = memory_count + excluded.memory_count""",
        rows,
    )
    connection.executemany(
        "DELETE FROM facets WHERE lexicon_no = ? AND facet = ? AND memory_count <= 0",
        [(lexicon_no, facet) for lexicon_no, facet, count in rows if count < 0],
    )


def _nonzero(counts: _Counts) -> list[tuple[int, str, int]]:
    # In order, so that the rows of a page are written one after the other.
    return sorted((number, name, count) for number, named in counts.items() for name, count in named.items() if count)
