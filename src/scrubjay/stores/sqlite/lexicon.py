"""The lexical index: FTS5 finds candidates, and counts of our own let the engine rank them.

Every word and facet is written with the number of its space and state in front. So a query reads only what
belongs to its own space, and no statistic that SQLite keeps can tell one space about another.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence

import apsw

from scrubjay.model.memory import State
from scrubjay.model.moment import to_micros
from scrubjay.model.passage import PASSAGES_PER_MEMORY, Passage, StoredPassage, passage_id
from scrubjay.model.query import Facet, Filter
from scrubjay.ports import TermStatistics
from scrubjay.stores.sqlite.rows import STATES, id_text, lexicon_number, marks, space_number

# An OR over common words visits every row that has one of them. At least one rare word must match, and the rare
# words together stand in so many passages at most; common words then only help to rank.
_RARE_PASSAGES = 2000
_PASSAGE_COLUMNS = "p.id, p.memory_id, p.observation, p.start, p.end, p.hash, p.terms"
_PASSAGE_TABLES = f"passages p JOIN memories m ON m.no = p.id / {PASSAGES_PER_MEMORY}"


def index_passages(
    connection: apsw.Connection,
    number: int,
    passages: Sequence[Passage],
    *,
    memory_id: bytes,
    lexicon_no: int,
    facets: Sequence[Facet],
    date: int,
) -> None:
    """Make a memory findable by its terms and facets."""
    facet_words = _join(lexicon_no, map(_facet_word, facets))
    space_no = lexicon_no // len(STATES)
    for passage in passages:
        rowid = passage_id(number, passage.ordinal)
        connection.execute(
            "INSERT INTO passages VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                rowid, space_no, memory_id, passage.hash, date, passage.observation, passage.start, passage.end,
                " ".join(passage.terms),
            ),
        )  # fmt: skip
        connection.execute(
            "INSERT INTO lexicon(rowid, terms, facets) VALUES(?, ?, ?)",
            (rowid, _join(lexicon_no, passage.terms), facet_words),
        )
    _count_terms(connection, lexicon_no, [passage.terms for passage in passages], sign=1)
    _count_facets(connection, lexicon_no, facets, sign=1)


def unindex_passages(
    connection: apsw.Connection, number: int, count: int, *, lexicon_no: int, facets: Sequence[Facet]
) -> None:
    """Take a memory out of the index and out of the counts."""
    first, last = passage_id(number, 0), passage_id(number, count)
    rows = connection.execute("SELECT id, terms FROM passages WHERE id >= ? AND id < ?", (first, last)).fetchall()
    for rowid, _ in rows:
        connection.execute("DELETE FROM lexicon WHERE rowid = ?", (rowid,))
    connection.execute("DELETE FROM passages WHERE id >= ? AND id < ?", (first, last))
    _count_terms(connection, lexicon_no, [str(terms).split() for _, terms in rows], sign=-1)
    _count_facets(connection, lexicon_no, facets, sign=-1)


def lexical_candidates(
    connection: apsw.Connection, space: str, terms: Sequence[str], wanted: Filter, *, limit: int
) -> list[StoredPassage]:
    """Passages with some of the terms that pass the filter, likeliest first."""
    space_no = space_number(connection, space)
    if space_no is None or not terms:
        return []
    lexicon_no = lexicon_number(space_no, wanted.state)
    frequencies = _frequencies(connection, lexicon_no, terms)
    ordered = _by_rarity(terms, frequencies)
    rare = _rare(ordered, frequencies)
    found = _candidates(connection, lexicon_no, rare, ordered, wanted, limit=limit)
    if len(found) < limit and len(rare) < len(ordered) and not wanted.is_empty:
        # The filter leaves few of the rare words' passages: now the common words must help out.
        found = _candidates(connection, lexicon_no, ordered, ordered, wanted, limit=limit)
    return found


def _candidates(
    connection: apsw.Connection, lexicon_no: int, rare: list[str], terms: list[str], wanted: Filter, *, limit: int
) -> list[StoredPassage]:
    if not terms:
        return []
    match = _match(lexicon_no, rare, terms, wanted)
    rows = connection.execute(
        f"""SELECT {_PASSAGE_COLUMNS} FROM (
              SELECT lexicon.rowid AS rowid, rank AS place FROM lexicon {_date_join(wanted)}
              WHERE lexicon MATCH ? AND rank MATCH 'bm25(1.0, 0.0)' {_date_test(wanted)}
              ORDER BY rank LIMIT ?
            ) found JOIN passages p ON p.id = found.rowid ORDER BY found.place""",
        (match, *date_bounds(wanted), limit),
    )
    return [_stored(row) for row in rows]


def term_statistics(connection: apsw.Connection, space: str, terms: Sequence[str], *, state: State) -> TermStatistics:
    """Counts of one space and state alone."""
    space_no = space_number(connection, space)
    if space_no is None:
        return TermStatistics(passages=0, total_length=0, frequencies={})
    lexicon_no = lexicon_number(space_no, state)
    row = connection.execute("SELECT passages, length FROM lexicons WHERE no = ?", (lexicon_no,)).fetchone()
    passages, length = row or (0, 0)
    frequencies = _frequencies(connection, lexicon_no, terms)
    return TermStatistics(passages=int(passages), total_length=int(length), frequencies=frequencies)


def stored_passages(connection: apsw.Connection, space: str, ids: Sequence[int]) -> list[StoredPassage]:
    """Passages of a space by number."""
    space_no = space_number(connection, space)
    rows = connection.execute(
        f"SELECT {_PASSAGE_COLUMNS} FROM passages p WHERE p.id IN ({marks(ids)}) AND p.space_no = ?",
        (*ids, space_no),
    )
    return [_stored(row) for row in rows]


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
            (
                space_no,
                lexicon_number(space_no, wanted.state) - lexicon_number(space_no, State.LIVE),
                *date_bounds(wanted),
            ),
        )
    return [int(row[0]) for row in rows]


def facet_match(space_no: int, wanted: Filter) -> str:
    """The FTS5 expression for a filter's facets; empty when it has none."""
    groups = wanted.facet_groups
    return _facet_match(lexicon_number(space_no, wanted.state), groups) if groups else ""


def date_bounds(wanted: Filter) -> tuple[int, ...]:
    """The values for the question marks of a filter's date test."""
    return tuple(to_micros(moment) for moment in (wanted.since, wanted.until) if moment is not None)


def _date_join(wanted: Filter) -> str:
    return "JOIN passages p ON p.id = lexicon.rowid" if date_bounds(wanted) else ""


def _date_test(wanted: Filter) -> str:
    since = "AND p.date >= ? " if wanted.since else ""
    return since + ("AND p.date < ?" if wanted.until else "")


def _by_rarity(terms: Sequence[str], frequencies: dict[str, int]) -> list[str]:
    return sorted((term for term in dict.fromkeys(terms) if term in frequencies), key=lambda term: frequencies[term])


def _rare(terms: list[str], frequencies: dict[str, int]) -> list[str]:
    rare, passages = terms[:1], frequencies[terms[0]] if terms else 0
    for term in terms[1:]:
        passages += frequencies[term]
        if passages > _RARE_PASSAGES:
            break
        rare.append(term)
    return rare


def _match(lexicon_no: int, rare: list[str], terms: list[str], wanted: Filter) -> str:
    words = _any_of(lexicon_no, rare)
    if len(rare) < len(terms):
        words = f"({words} AND {_any_of(lexicon_no, terms)})"
    match = f"{{terms}} : {words}"
    groups = wanted.facet_groups
    return f"{match} AND {_facet_match(lexicon_no, groups)}" if groups else match


def _facet_match(lexicon_no: int, groups: Iterable[Sequence[Facet]]) -> str:
    tests = [_any_of(lexicon_no, map(_facet_word, group)) for group in groups]
    return f"{{facets}} : ({' AND '.join(tests)})"


def _any_of(lexicon_no: int, words: Iterable[str]) -> str:
    # Quoted, so that no word can be an operator; terms hold no quotation mark.
    return "(" + " OR ".join(f'"{lexicon_no}x{word}"' for word in words) + ")"


def _join(lexicon_no: int, words: Iterable[str]) -> str:
    return " ".join(f"{lexicon_no}x{word}" for word in words)


def _facet_word(facet: Facet) -> str:
    return hashlib.blake2b(facet.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _frequencies(connection: apsw.Connection, lexicon_no: int, terms: Sequence[str]) -> dict[str, int]:
    distinct = list(dict.fromkeys(terms))
    rows = connection.execute(
        f"SELECT term, passages FROM terms WHERE lexicon_no = ? AND term IN ({marks(distinct)})",
        (lexicon_no, *distinct),
    )
    return {str(term): int(passages) for term, passages in rows}


def _count_terms(connection: apsw.Connection, lexicon_no: int, passages: Sequence[Sequence[str]], *, sign: int) -> None:
    counts = Counter(term for terms in passages for term in set(terms))
    connection.executemany(
        """INSERT INTO terms VALUES(?, ?, ?)
           ON CONFLICT DO UPDATE SET passages = passages + excluded.passages""",
        [(lexicon_no, term, sign * count) for term, count in counts.items()],
    )
    if sign < 0:
        connection.executemany(
            "DELETE FROM terms WHERE lexicon_no = ? AND term = ? AND passages <= 0",
            [(lexicon_no, term) for term in counts],
        )
    connection.execute(
        """INSERT INTO lexicons VALUES(?, ?, ?) ON CONFLICT DO UPDATE
           SET passages = passages + excluded.passages, length = length + excluded.length""",
        (lexicon_no, sign * len(passages), sign * sum(map(len, passages))),
    )


def _count_facets(connection: apsw.Connection, lexicon_no: int, facets: Sequence[Facet], *, sign: int) -> None:
    connection.executemany(
        """INSERT INTO facets VALUES(?, ?, ?)
           ON CONFLICT DO UPDATE SET memories = memories + excluded.memories""",
        [(lexicon_no, facet, sign) for facet in facets],
    )
    if sign < 0:
        connection.executemany(
            "DELETE FROM facets WHERE lexicon_no = ? AND facet = ? AND memories <= 0",
            [(lexicon_no, facet) for facet in facets],
        )


def _stored(row: tuple[int, bytes, int | None, int, int, bytes, str]) -> StoredPassage:
    number, memory_id, observation, start, end, digest, terms = row
    return StoredPassage(
        id=number,
        memory_id=id_text(memory_id),
        observation=observation,
        start=start,
        end=end,
        hash=digest,
        terms=tuple(terms.split()),
    )
