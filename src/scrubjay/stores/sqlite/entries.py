"""The passages of a memory in the lexical index: entered, replaced where they differ, taken out, and counted."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import apsw

from scrubjay.model.memory import Memory
from scrubjay.model.moment import to_micros
from scrubjay.model.passage import Passage, passage_id
from scrubjay.model.query import Facet
from scrubjay.stores.rows import id_bytes, key_of
from scrubjay.stores.sqlite.lexicon import label_of, word_of
from scrubjay.stores.sqlite.rows import space_of_lexicon
from scrubjay.stores.sqlite.spelling import spell, unspell

# As the table has its columns: id, space, memory id, hash, date, observation, start, end, terms, thread, who, asks.
_Row = tuple[int, int, bytes, bytes, int, int | None, int, int, str, int | None, str, int]
_HASH, _TERMS = 3, 8
# How often terms or facets are there, by the lexicon that they are counted in.
_Counted = Mapping[int, Mapping[str, int]]


class Entry(NamedTuple):
    """Where and under what a memory is found: the lexicon of its space and state, and its facets."""

    lexicon_no: int
    facets: tuple[Facet, ...]


def enter(
    connection: apsw.Connection,
    number: int,
    memory: Memory,
    passages: Sequence[Passage],
    *,
    entry: Entry,
    former: Entry | None = None,
) -> tuple[set[bytes], set[bytes]]:
    """Make a memory findable by its terms and facets, no longer by its `former` ones.

    Returns the hashes of the texts it has lost, then of those it has gained. Only what differs is written: of a long
    memory most often one passage does.
    """
    fresh = {row[0]: row for row in _rows(number, memory, passages, lexicon_no=entry.lexicon_no)}
    stale = _stored(connection, number) if former else {}
    every = sorted(fresh.keys() | stale.keys())
    # Those of another lexicon differ by their thread, at least.
    changed = [rowid for rowid in every if fresh.get(rowid) != stale.get(rowid)]
    # Facets are among the words of each.
    _replace_words(connection, fresh, stale, changed if entry == former else every, entry)
    _replace_rows(connection, fresh, stale, changed)
    _count(
        connection, [fresh[one] for one in changed if one in fresh], [stale[one] for one in changed if one in stale],
        entry=entry, former=former,
    )  # fmt: skip
    before, after = ({row[_HASH] for row in rows.values()} for rows in (stale, fresh))
    return before - after, after - before


def take_out(connection: apsw.Connection, number: int, *, former: Entry) -> None:
    """Take a memory out of the index and out of the counts."""
    stale = _stored(connection, number)
    _delete(connection, "lexicon", "rowid", stale)
    _delete(connection, "passages", "id", stale)
    _count(connection, (), stale.values(), entry=None, former=former)


def _rows(number: int, memory: Memory, passages: Sequence[Passage], *, lexicon_no: int) -> Iterable[_Row]:
    space_no, memory_id, date = space_of_lexicon(lexicon_no), id_bytes(memory.id), to_micros(memory.date)
    thread = key_of(f"{lexicon_no} {memory.thread}")
    for one in passages:
        yield (
            passage_id(number, one.ordinal), space_no, memory_id, one.hash, date, one.observation, one.start, one.end,
            " ".join(one.terms), thread, " ".join(one.who), one.asks,
        )  # fmt: skip


def _stored(connection: apsw.Connection, number: int) -> dict[int, _Row]:
    rows: list[_Row] = connection.execute(
        "SELECT * FROM passages WHERE id >= ? AND id < ?", (passage_id(number, 0), passage_id(number + 1, 0))
    ).fetchall()
    return {row[0]: row for row in rows}


def _replace_words(
    connection: apsw.Connection,
    fresh: Mapping[int, _Row],
    stale: Mapping[int, _Row],
    among: Sequence[int],
    entry: Entry,
) -> None:
    """Write the words of some passages anew, and the labels that all of them have."""
    labels = [label_of(entry.lexicon_no, facet) for facet in entry.facets]
    # What every word of the lexicon begins with.
    first = word_of(entry.lexicon_no, "")
    _delete(connection, "lexicon", "rowid", [rowid for rowid in among if rowid in stale])
    words = {rowid: dict.fromkeys(_terms(fresh[rowid])) for rowid in among if rowid in fresh}
    connection.executemany(
        "INSERT INTO lexicon(rowid, words) VALUES(?, ?)",
        [(rowid, " ".join([*[first + term for term in terms], *labels])) for rowid, terms in words.items()],
    )


def _replace_rows(
    connection: apsw.Connection, fresh: Mapping[int, _Row], stale: Mapping[int, _Row], changed: Sequence[int]
) -> None:
    # With another tag, all passages have other terms and nothing else: the indexes of the rest need not be written.
    both = [rowid for rowid in changed if rowid in fresh and rowid in stale]
    kept = {rowid: fresh[rowid][_TERMS] for rowid in both if _differ_in_terms(fresh[rowid], stale[rowid])}
    connection.executemany(
        "UPDATE passages SET terms = ? WHERE id = ?", [(terms, rowid) for rowid, terms in kept.items()]
    )
    connection.executemany(
        "INSERT OR REPLACE INTO passages VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [fresh[rowid] for rowid in changed if rowid in fresh and rowid not in kept],
    )
    _delete(connection, "passages", "id", [rowid for rowid in changed if rowid not in fresh])


def _differ_in_terms(row: _Row, other: _Row) -> bool:
    """Whether two rows differ in nothing else."""
    return row[:_TERMS] == other[:_TERMS] and row[_TERMS + 1 :] == other[_TERMS + 1 :]


def _delete(connection: apsw.Connection, table: str, column: str, numbers: Iterable[int]) -> None:
    connection.executemany(f"DELETE FROM {table} WHERE {column} = ?", [(number,) for number in numbers])


def _count(
    connection: apsw.Connection,
    fresh: Collection[_Row],
    stale: Collection[_Row],
    *,
    entry: Entry | None,
    former: Entry | None,
) -> None:
    """Count what is new, and no longer what is gone; what was there and still is stays as it is counted."""
    terms, facets = defaultdict[int, dict[str, int]](dict), defaultdict[int, dict[str, int]](dict)
    passages, lengths = Counter[int](), Counter[int]()
    here, there = Counter([row[_TERMS] for row in fresh]), Counter([row[_TERMS] for row in stale])
    if entry and former and entry.lexicon_no == former.lexicon_no:
        # A passage that has only moved within its memory is counted already.
        here, there = here - there, there - here
    for sign, texts, place in ((1, here, entry), (-1, there, former)):
        if place is None:
            continue
        said = [text.split() for text in texts.elements()]
        passages[place.lexicon_no] += sign * len(said)
        lengths[place.lexicon_no] += sign * sum(map(len, said))
        _add(terms[place.lexicon_no], [term for some in said for term in set(some)], sign)
        _add(facets[place.lexicon_no], place.facets, sign)
    _add_terms(connection, terms)
    _add_facets(connection, facets)
    connection.executemany(
        """INSERT INTO lexicons VALUES(?, ?, ?) ON CONFLICT DO UPDATE
           SET passages = passages + excluded.passages, length = length + excluded.length""",
        [(lexicon_no, count, lengths[lexicon_no]) for lexicon_no, count in passages.items()],
    )


def _add(total: dict[str, int], names: Iterable[str], sign: int) -> None:
    for name, count in Counter(names).items():
        total[name] = total.get(name, 0) + sign * count


def _add_terms(connection: apsw.Connection, counted: _Counted) -> None:
    totals: list[tuple[int, str, int]] = connection.executemany(
        """INSERT INTO terms VALUES(?, ?, ?)
           ON CONFLICT DO UPDATE SET passages = passages + excluded.passages RETURNING lexicon_no, term, passages""",
        _nonzero(counted),
    ).fetchall()
    new = [(place, term) for place, term, total in totals if total == counted[place][term]]
    gone = [(place, term) for place, term, total in totals if total <= 0]
    connection.executemany("DELETE FROM terms WHERE lexicon_no = ? AND term = ?", gone)
    for lexicon_no in {place for place, _ in (*new, *gone)}:
        spell(connection, lexicon_no, [term for place, term in new if place == lexicon_no])
        unspell(connection, lexicon_no, [term for place, term in gone if place == lexicon_no])


def _add_facets(connection: apsw.Connection, counted: _Counted) -> None:
    connection.executemany(
        """INSERT INTO facets VALUES(?, ?, ?)
           ON CONFLICT DO UPDATE SET memories = memories + excluded.memories""",
        _nonzero(counted),
    )
    connection.executemany(
        "DELETE FROM facets WHERE lexicon_no = ? AND facet = ? AND memories <= 0",
        [(place, facet) for place, facet, count in _nonzero(counted) if count < 0],
    )


def _nonzero(counted: _Counted) -> list[tuple[int, str, int]]:
    # In order, so that rows of one page are written one after the other.
    return sorted((place, name, count) for place, some in counted.items() for name, count in some.items() if count)


def _terms(row: _Row) -> list[str]:
    return row[_TERMS].split()
