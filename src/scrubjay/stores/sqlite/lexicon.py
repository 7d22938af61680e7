"""The lexical index: FTS5 finds candidates, and counts of our own let the engine rank them.

Every word and facet is written with the number of its space and state in front. So a query reads only what
belongs to its own space, and no statistic that SQLite keeps can tell one space about another.
"""

import hashlib
from collections.abc import Iterable, Sequence

import apsw
import numpy as np
from numpy.typing import NDArray

from scrubjay.model.memory import State
from scrubjay.model.moment import to_micros
from scrubjay.model.passage import PASSAGES_PER_MEMORY
from scrubjay.model.query import Facet, Filter, facet
from scrubjay.ports import TermStatistics
from scrubjay.stores.rows import STATE_NUMBERS
from scrubjay.stores.sqlite.rows import LAST_CHARACTER, lexicon_number, marks, space_number
from scrubjay.stores.weighing import Weighed, rare_of, weigh

Floats = NDArray[np.float64]
# Passages of memories by their numbers; the other way round, each passage would be compared with every memory.
_PASSAGE_TABLES = f"""memories m CROSS JOIN passages p
    ON p.id >= m.no * {PASSAGES_PER_MEMORY} AND p.id < (m.no + 1) * {PASSAGES_PER_MEMORY}"""


def lexical_candidates(
    connection: apsw.Connection, space: str, terms: Sequence[str], wanted: Filter, *, limit: int
) -> list[tuple[int, float]]:
    """(passage number, what the terms it has tell) of passages that pass the filter, best first."""
    space_no = space_number(connection, space)
    if space_no is None or not terms:
        return []
    lexicon_no = lexicon_number(space_no, wanted.state)
    weighed = _weigh(connection, lexicon_no, terms)
    rare = rare_of(weighed)
    found = _candidates(connection, lexicon_no, rare, weighed[len(rare) :], wanted, limit=limit)
    if len(found) < limit and len(rare) < len(weighed) and not wanted.is_empty:
        # The filter leaves few of the rare words' passages: now the common words must help out.
        found = _candidates(connection, lexicon_no, weighed, [], wanted, limit=limit)
    return found


def _candidates(
    connection: apsw.Connection,
    lexicon_no: int,
    rare: Sequence[Weighed],
    common: Sequence[Weighed],
    wanted: Filter,
    *,
    limit: int,
) -> list[tuple[int, float]]:
    """The passages whose words weigh most together, newest first among equals.

    FTS5 only says who has a word: its own `bm25()` reads the length of every passage it ranks, which takes longer
    than all the rest; and the engine ranks what comes out of here by exact counts anyway.
    """
    if not rare:
        return []
    among = any_of(word_of(lexicon_no, one.term) for one in rare)
    lookups = [(one.weight, any_of([word_of(lexicon_no, one.term)])) for one in rare]
    lookups += [(one.weight, f"{any_of([word_of(lexicon_no, one.term)])} AND {among}") for one in common]
    passing = passing_match(lexicon_no, wanted)
    found = [having(connection, words + passing, wanted) for _, words in lookups]
    numbers, sums = _summed(found, [weight for weight, _ in lookups])
    if len(sums) > limit:
        # Only who may be among the best is put in order, with all who equal the last of them.
        hopeful = sums >= np.partition(sums, -limit)[-limit]
        numbers, sums = numbers[hopeful], sums[hopeful]
    best = np.lexsort((-numbers, -sums))[:limit]
    return list(zip(numbers[best].tolist(), sums[best].tolist(), strict=True))


def _summed(having: Sequence[NDArray[np.int64]], weights: Sequence[float]) -> tuple[NDArray[np.int64], Floats]:
    """Each number once, and the weights of all lists that it is in; they are in order, which makes it cheap."""
    every = np.concatenate(having)
    order = every.argsort(kind="stable")
    every = every[order]
    is_new = np.ones(len(every), dtype=np.bool_)
    np.not_equal(every[1:], every[:-1], out=is_new[1:])
    each = np.repeat(weights, [len(one) for one in having])[order]
    return every[is_new], np.bincount(is_new.cumsum() - 1, weights=each).astype(np.float64, copy=False)


def having(connection: apsw.Connection, match: str, wanted: Filter) -> NDArray[np.int64]:
    """Numbers of the passages that match. They come as one row: each row would have to wait for the interpreter."""
    ((joined,),) = connection.execute(
        f"""SELECT group_concat(lexicon.rowid) FROM lexicon {_date_join(wanted)}
            WHERE lexicon MATCH ? {_date_test(wanted)}""",
        (match, *date_bounds(wanted)),
    ).fetchall()
    return np.fromstring(joined or "", dtype=np.int64, sep=",")


def term_statistics(connection: apsw.Connection, space: str, terms: Sequence[str], *, state: State) -> TermStatistics:
    """Counts of one space and state alone."""
    space_no = space_number(connection, space)
    if space_no is None:
        return TermStatistics(passages=0, total_length=0, frequencies={})
    lexicon_no = lexicon_number(space_no, state)
    passages, length = _size(connection, lexicon_no)
    frequencies = _frequencies(connection, lexicon_no, terms)
    return TermStatistics(passages=passages, total_length=length, frequencies=frequencies)


def passage_count(connection: apsw.Connection, space: str, *, state: State) -> int:
    """How many passages a space has in a state."""
    space_no = space_number(connection, space)
    return 0 if space_no is None else _size(connection, lexicon_number(space_no, state))[0]


def postings(connection: apsw.Connection, space: str, terms: Sequence[str], *, state: State) -> int:
    """How often passages have one of some terms: so many entries of the index a search for them visits at most."""
    space_no = space_number(connection, space)
    return 0 if space_no is None else sum(_frequencies(connection, lexicon_number(space_no, state), terms).values())


def known_facets(connection: apsw.Connection, space: str, facets: Sequence[Facet], *, state: State) -> dict[Facet, int]:
    """Which of some facets there are in one state of a space, and how many memories have each."""
    space_no = space_number(connection, space)
    if space_no is None or not facets:
        return {}
    rows = connection.execute(
        f"SELECT facet, memories FROM facets WHERE lexicon_no = ? AND facet IN ({marks(facets)})",
        (lexicon_number(space_no, state), *facets),
    )
    return {str(facet): int(memories) for facet, memories in rows}


def facet_values(
    connection: apsw.Connection, space: str, field: str, *, state: State, limit: int
) -> list[tuple[str, int]]:
    """The values of a facet and how many memories have each, most first."""
    space_no, start = space_number(connection, space), facet(field, "")
    rows = connection.execute(
        """SELECT facet, memories FROM facets WHERE lexicon_no = ? AND facet >= ? AND facet < ?
           ORDER BY memories DESC, facet LIMIT ?""",
        (None if space_no is None else lexicon_number(space_no, state), start, start + LAST_CHARACTER, max(limit, 0)),
    )
    return [(str(value)[len(start) :], int(memories)) for value, memories in rows]


def passing(connection: apsw.Connection, space: str, wanted: Filter) -> list[int]:
    """Numbers of all passages that pass a filter."""
    space_no = space_number(connection, space)
    if space_no is None:
        return []
    groups = wanted.facet_groups
    if groups:
        match = _facet_match(lexicon_number(space_no, wanted.state), groups)
        rows = connection.execute(
            f"SELECT lexicon.rowid FROM lexicon {_date_join(wanted)} WHERE lexicon MATCH ? {_date_test(wanted)}",
            (match, *date_bounds(wanted)),
        )
    else:
        rows = connection.execute(
            f"""SELECT p.id FROM {_PASSAGE_TABLES} WHERE m.space_no = ? AND m.state = ? {_date_test(wanted)}""",
            (space_no, STATE_NUMBERS[wanted.state], *date_bounds(wanted)),
        )
    return [int(row[0]) for row in rows]


def facet_match(space_no: int, wanted: Filter) -> str:
    """The FTS5 expression for a filter's facets; empty when it has none."""
    groups = wanted.facet_groups
    return _facet_match(lexicon_number(space_no, wanted.state), groups) if groups else ""


def date_bounds(wanted: Filter) -> tuple[int, ...]:
    """The values for the question marks of a filter's date test."""
    return tuple(to_micros(moment) for moment in (wanted.since, wanted.until) if moment is not None)


def word_of(lexicon_no: int, term: str) -> str:
    """A term as the index has it."""
    return f"{lexicon_no}x{term}"


def label_of(lexicon_no: int, facet: Facet) -> str:
    """A facet as the index has it, among the words."""
    return f"{lexicon_no}y{hashlib.blake2b(facet.encode('utf-8', 'surrogatepass'), digest_size=8).hexdigest()}"


def _date_join(wanted: Filter) -> str:
    return "JOIN passages p ON p.id = lexicon.rowid" if date_bounds(wanted) else ""


def _date_test(wanted: Filter) -> str:
    since = "AND p.date >= ? " if wanted.since else ""
    return since + ("AND p.date < ?" if wanted.until else "")


def _weigh(connection: apsw.Connection, lexicon_no: int, terms: Sequence[str]) -> list[Weighed]:
    """The terms that occur at all, rarest first."""
    total, _ = _size(connection, lexicon_no)
    return weigh(_frequencies(connection, lexicon_no, terms), total=total)


def passing_match(lexicon_no: int, wanted: Filter) -> str:
    """What follows an FTS5 expression, so that only what passes a filter's facets matches."""
    groups = wanted.facet_groups
    return f" AND {_facet_match(lexicon_no, groups)}" if groups else ""


def _facet_match(lexicon_no: int, groups: Iterable[Sequence[Facet]]) -> str:
    return " AND ".join(any_of(label_of(lexicon_no, facet) for facet in group) for group in groups)


def any_of(words: Iterable[str]) -> str:
    """The FTS5 expression for one of some words."""
    # Quoted, so that no word can be an operator; terms hold no quotation mark.
    return "(" + " OR ".join(f'"{word}"' for word in words) + ")"


def size_and_frequencies(
    connection: apsw.Connection, lexicon_no: int, terms: Sequence[str]
) -> tuple[int, dict[str, int]]:
    """How many passages one space and state has, and how many of them have each term."""
    return _size(connection, lexicon_no)[0], _frequencies(connection, lexicon_no, terms)


def _size(connection: apsw.Connection, lexicon_no: int) -> tuple[int, int]:
    """(passages, terms in them) of one space and state."""
    row = connection.execute("SELECT passages, length FROM lexicons WHERE no = ?", (lexicon_no,)).fetchone()
    return (int(row[0]), int(row[1])) if row else (0, 0)


def _frequencies(connection: apsw.Connection, lexicon_no: int, terms: Sequence[str]) -> dict[str, int]:
    distinct = list(dict.fromkeys(terms))
    rows = connection.execute(
        f"SELECT term, passages FROM terms WHERE lexicon_no = ? AND term IN ({marks(distinct)})",
        (lexicon_no, *distinct),
    )
    return {str(term): int(passages) for term, passages in rows}
