"""The lexical index: FTS5 finds candidates, and exact counts in tables of our own let the engine rank them.

Every word and facet is stored with the number of its lexicon in front. So a query reads only entries of its own space
and state, and no statistic of SQLite carries information from one space to another.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence

import apsw
import numpy as np
from numpy.typing import NDArray

from scrubjay.model.memory import State
from scrubjay.model.passage import PASSAGES_PER_MEMORY
from scrubjay.model.query import Facet, Filter, facet
from scrubjay.model.timestamps import to_micros
from scrubjay.ports import LexicalMatch, TermStatistics
from scrubjay.storage.lexical import WeightedGroup, WeightedTerm, rare_terms, weigh_groups, weigh_terms
from scrubjay.storage.rows import STATE_NUMBERS
from scrubjay.storage.sqlite.rows import LAST_CHARACTER, lexicon_number, marks, space_number
from scrubjay.text.fuzzy import grams_of

Floats = NDArray[np.float64]
# The passages of memories by id; in the other order, SQLite would compare each passage with every memory.
_PASSAGE_TABLES = f"""memories m CROSS JOIN passages p
    ON p.id >= m.no * {PASSAGES_PER_MEMORY} AND p.id < (m.no + 1) * {PASSAGES_PER_MEMORY}"""
# A trigram of so many terms selects too little. In the vocabulary of a hundred thousand memories hardly any is so
# common, and all trigrams of a word are looked up.
_COMMON_TRIGRAM = 3_000
_MAX_VISITED = 10_000
# The limit of terms that are read for a prefix: a single letter begins a tenth of all.
_MAX_PREFIX_TERMS = 10_000
# Of the terms that SQL ranks highest, so many are compared exactly.
_MAX_COMPARED = 100


def lexical_candidates(
    connection: apsw.Connection, space: str, terms: Sequence[str], filter: Filter, *, limit: int
) -> list[tuple[int, float]]:
    """Return the ids of passages that pass the filter with the summed weights of their terms, best first."""
    space_no = space_number(connection, space)
    if space_no is None or not terms:
        return []
    lexicon_no = lexicon_number(space_no, filter.state)
    total, _ = _totals(connection, lexicon_no)
    weighted = weigh_terms(_frequencies(connection, lexicon_no, terms), total=total)
    rare = rare_terms(weighted)
    candidates = _candidates(connection, lexicon_no, rare, weighted[len(rare) :], filter, limit=limit)
    if len(candidates) < limit and len(rare) < len(weighted) and not filter.is_empty:
        # The filter leaves few passages with a rare term: search by the common terms too.
        candidates = _candidates(connection, lexicon_no, weighted, [], filter, limit=limit)
    return candidates


def _candidates(
    connection: apsw.Connection,
    lexicon_no: int,
    rare: Sequence[WeightedTerm],
    common: Sequence[WeightedTerm],
    filter: Filter,
    *,
    limit: int,
) -> list[tuple[int, float]]:
    """Return the passages whose terms weigh most together, newest first among equals.

    FTS5 only says which passages have a word: its own `bm25()` reads the length of every passage it ranks, which takes
    longer than all the rest; and the engine ranks these candidates by exact counts anyway.
    """
    if not rare:
        return []
    has_rare = any_of(word_of(lexicon_no, term.term) for term in rare)
    lookups = [(term.weight, any_of([word_of(lexicon_no, term.term)])) for term in rare]
    lookups += [(term.weight, f"{any_of([word_of(lexicon_no, term.term)])} AND {has_rare}") for term in common]
    passing = passing_match(lexicon_no, filter)
    matches = [match_postings(connection, words + passing, filter) for _, words in lookups]
    numbers, sums = sum_weights(matches, [weight for weight, _ in lookups])
    if len(sums) > limit:
        # Sort only those that can be among the best: all that are not below the last of them.
        is_candidate = sums >= np.partition(sums, -limit)[-limit]
        numbers, sums = numbers[is_candidate], sums[is_candidate]
    best = np.lexsort((-numbers, -sums))[:limit]
    return list(zip(numbers[best].tolist(), sums[best].tolist(), strict=True))


def sum_weights(matches: Sequence[NDArray[np.int64]], weights: Sequence[float]) -> tuple[NDArray[np.int64], Floats]:
    """Return each number once, and the summed weights of the lists it is in; the lists are sorted, so this is cheap."""
    numbers = np.concatenate(matches)
    order = numbers.argsort(kind="stable")
    numbers = numbers[order]
    is_new = np.ones(len(numbers), dtype=np.bool_)
    np.not_equal(numbers[1:], numbers[:-1], out=is_new[1:])
    weight_of_each = np.repeat(weights, [len(match) for match in matches])[order]
    sums = np.bincount(is_new.cumsum() - 1, weights=weight_of_each)
    return numbers[is_new], sums.astype(np.float64, copy=False)


def match_postings(connection: apsw.Connection, match: str, filter: Filter) -> NDArray[np.int64]:
    """Return the ids of passages that match. SQLite joins them to one row: each row would wait for the interpreter."""
    ((joined,),) = connection.execute(
        f"""SELECT group_concat(postings.rowid) FROM postings {_date_join(filter)}
            WHERE postings MATCH ? {_date_test(filter)}""",
        (match, *date_bounds(filter)),
    ).fetchall()
    return np.fromstring(joined or "", dtype=np.int64, sep=",")


def terms_with_prefix(
    connection: apsw.Connection, space: str, prefix: str, *, state: State, limit: int
) -> list[tuple[str, int]]:
    """Return the terms that begin with a prefix and how many passages have each, the most common first."""
    space_no = space_number(connection, space)
    if space_no is None:
        return []
    rows = connection.execute(
        """SELECT term, passage_count FROM terms WHERE lexicon_no = ? AND term >= ? AND term < ?
           ORDER BY term LIMIT ?""",
        (lexicon_number(space_no, state), prefix, prefix + LAST_CHARACTER, _MAX_PREFIX_TERMS),
    )
    most_common = sorted((-int(count), str(term)) for term, count in rows)[:limit]
    return [(term, -count) for count, term in most_common]


def memories_matching(
    connection: apsw.Connection, space: str, groups: Sequence[Sequence[str]], filter: Filter, *, limit: int
) -> list[LexicalMatch]:
    """Return the memories with terms of the most groups, each with its best passage."""
    space_no = space_number(connection, space)
    if space_no is None:
        return []
    lexicon_no = lexicon_number(space_no, filter.state)
    total, _ = _totals(connection, lexicon_no)
    frequencies = _frequencies(connection, lexicon_no, [term for group in groups for term in group])
    rare, common = weigh_groups(groups, frequencies, total=total)
    if not rare:
        return []
    has_rare = any_of(word_of(lexicon_no, term) for group in rare for term in group.terms)
    passing = passing_match(lexicon_no, filter)
    matches: list[NDArray[np.int64]] = []
    for group in (*rare, *common):
        words = any_of(word_of(lexicon_no, term) for term in group.terms)
        # The passages of a common group are read only where a rare one matches too.
        restriction = "" if len(matches) < len(rare) else f" AND {has_rare}"
        matches.append(match_postings(connection, f"{words}{restriction}{passing}", filter))
    return _best_matches(matches, [*rare, *common], limit=limit)


def term_statistics(connection: apsw.Connection, space: str, terms: Sequence[str], *, state: State) -> TermStatistics:
    """Return the counts of one state of one space."""
    space_no = space_number(connection, space)
    if space_no is None:
        return TermStatistics(passages=0, total_length=0, frequencies={})
    lexicon_no = lexicon_number(space_no, state)
    # One statement, which sees one state without a transaction.
    (_, passages, length), *rows = connection.execute(
        """SELECT '', coalesce(max(passage_count), 0), coalesce(max(term_count), 0) FROM lexicons WHERE no = ?1
           UNION ALL
           SELECT term, passage_count, 0 FROM terms
           WHERE lexicon_no = ?1 AND term IN (SELECT value FROM json_each(?2))""",
        (lexicon_no, json.dumps(terms)),
    ).fetchall()
    frequencies = {str(term): int(count) for term, count, _ in rows}
    return TermStatistics(passages=int(passages), total_length=int(length), frequencies=frequencies)


def passage_count(connection: apsw.Connection, space: str, *, state: State) -> int:
    """Return the number of passages of one state of a space."""
    space_no = space_number(connection, space)
    return 0 if space_no is None else _totals(connection, lexicon_number(space_no, state))[0]


def postings(connection: apsw.Connection, space: str, terms: Sequence[str], *, state: State) -> int:
    """Return how many entries of the index a search for some terms visits at most."""
    space_no = space_number(connection, space)
    return 0 if space_no is None else sum(_frequencies(connection, lexicon_number(space_no, state), terms).values())


def known_facets(connection: apsw.Connection, space: str, facets: Sequence[Facet], *, state: State) -> dict[Facet, int]:
    """Return those of some facets that exist in one state of a space, and how many memories have each."""
    space_no = space_number(connection, space)
    if space_no is None or not facets:
        return {}
    # One statement for any number of them, so that SQLite need not prepare it again.
    rows = connection.execute(
        """SELECT f.facet, f.memory_count FROM json_each(?2) listed
           CROSS JOIN facets f ON f.lexicon_no = ?1 AND f.facet = listed.value""",
        (lexicon_number(space_no, state), json.dumps(list(facets))),
    ).fetchall()
    return {str(facet): int(count) for facet, count in rows}


def facet_values(
    connection: apsw.Connection, space: str, field: str, *, state: State, limit: int
) -> list[tuple[str, int]]:
    """Return the values of a facet and how many memories have each, most first."""
    space_no, start = space_number(connection, space), facet(field, "")
    rows = connection.execute(
        """SELECT facet, memory_count FROM facets WHERE lexicon_no = ? AND facet >= ? AND facet < ?
           ORDER BY memory_count DESC, facet LIMIT ?""",
        (None if space_no is None else lexicon_number(space_no, state), start, start + LAST_CHARACTER, max(limit, 0)),
    )
    return [(str(value)[len(start) :], int(count)) for value, count in rows]


def matching_passages(connection: apsw.Connection, space: str, filter: Filter) -> list[int]:
    """Return the ids of all passages that pass a filter."""
    space_no = space_number(connection, space)
    if space_no is None:
        return []
    groups = filter.facet_groups
    if groups:
        match = _facet_match(lexicon_number(space_no, filter.state), groups)
        rows = connection.execute(
            f"SELECT postings.rowid FROM postings {_date_join(filter)} WHERE postings MATCH ? {_date_test(filter)}",
            (match, *date_bounds(filter)),
        )
    else:
        rows = connection.execute(
            f"SELECT p.id FROM {_PASSAGE_TABLES} WHERE m.space_no = ? AND m.state = ? {_date_test(filter)}",
            (space_no, STATE_NUMBERS[filter.state], *date_bounds(filter)),
        )
    return [int(row[0]) for row in rows]


def facet_match(space_no: int, filter: Filter) -> str:
    """Return the FTS5 expression for a filter's facets; empty if it has none."""
    groups = filter.facet_groups
    return _facet_match(lexicon_number(space_no, filter.state), groups) if groups else ""


def date_bounds(filter: Filter) -> tuple[int, ...]:
    """Return the values for the question marks of a filter's date test."""
    return tuple(to_micros(moment) for moment in (filter.since, filter.until) if moment is not None)


def word_of(lexicon_no: int, term: str) -> str:
    """Return the indexed form of a term."""
    return f"{lexicon_no}x{term}"


def label_of(lexicon_no: int, facet: Facet) -> str:
    """Return the indexed form of a facet, which is one of the words."""
    return f"{lexicon_no}y{hashlib.blake2b(facet.encode('utf-8', 'surrogatepass'), digest_size=8).hexdigest()}"


def passing_match(lexicon_no: int, filter: Filter) -> str:
    """Return the FTS5 expression that restricts another one to a filter's facets; empty if it has none."""
    groups = filter.facet_groups
    return f" AND {_facet_match(lexicon_no, groups)}" if groups else ""


def any_of(words: Iterable[str]) -> str:
    """Return the FTS5 expression that matches any of some words."""
    # Quoted, so that no word can be an operator; terms hold no quotation mark.
    return "(" + " OR ".join(f'"{word}"' for word in words) + ")"


def add_trigrams(connection: apsw.Connection, lexicon_no: int, terms: Sequence[str]) -> None:
    """Store the trigrams of terms that are new to a lexicon."""
    connection.executemany("INSERT OR IGNORE INTO trigrams VALUES(?, ?, ?)", _trigram_rows(lexicon_no, terms))


def delete_trigrams(connection: apsw.Connection, lexicon_no: int, terms: Sequence[str]) -> None:
    """Delete the trigrams of terms that no passage has any more."""
    connection.executemany(
        "DELETE FROM trigrams WHERE lexicon_no = ? AND trigram = ? AND term = ?", _trigram_rows(lexicon_no, terms)
    )


def similar_terms(
    connection: apsw.Connection, space: str, term: str, *, state: State, limit: int
) -> list[tuple[str, int]]:
    """Return the terms that share the most trigrams with a term, and how many passages have each."""
    space_no = space_number(connection, space)
    if space_no is None or limit < 1:
        return []
    lexicon_no, trigrams = lexicon_number(space_no, state), grams_of(term)
    selective = _selective(connection, lexicon_no, sorted(trigrams))
    rows = connection.execute(
        f"""SELECT alike.term, t.passage_count
            FROM (SELECT term, count(*) AS common FROM trigrams
                  WHERE lexicon_no = ? AND trigram IN ({marks(selective)})
                  GROUP BY term ORDER BY 1.0 * common / (length(term) + ? - common) DESC LIMIT {_MAX_COMPARED}) alike
            CROSS JOIN terms t ON t.lexicon_no = ? AND t.term = alike.term""",
        (lexicon_no, *selective, len(trigrams), lexicon_no),
    )
    ranked = sorted(
        (-_similarity(trigrams, grams_of(str(candidate))), -int(count), str(candidate)) for candidate, count in rows
    )
    return [(candidate, -count) for _, count, candidate in ranked[:limit]]


def _best_matches(
    matches: Sequence[NDArray[np.int64]], weighted: Sequence[WeightedGroup], *, limit: int
) -> list[LexicalMatch]:
    weights = [group.weight for group in weighted]
    # A group counts once in a memory, however many of its passages have it.
    memory_matches = [np.unique(numbers // PASSAGES_PER_MEMORY) for numbers in matches]
    memories, groups, sums = _count_and_sum(memory_matches, weights)
    best = np.lexsort((-memories, -sums, -groups))[:limit]
    passages, _, passage_sums = _count_and_sum(matches, weights)
    order = np.lexsort((passages, -passage_sums, passages // PASSAGES_PER_MEMORY))
    owners, first = np.unique((passages // PASSAGES_PER_MEMORY)[order], return_index=True)
    best_passages = passages[order][first][np.searchsorted(owners, memories[best])]
    columns = (best_passages.tolist(), groups[best].tolist(), sums[best].tolist())
    return [LexicalMatch(passage, count, weight) for passage, count, weight in zip(*columns, strict=True)]


def _count_and_sum(
    lists: Sequence[NDArray[np.int64]], weights: Sequence[float]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return each number once, how many lists it is in, and the summed weights of those lists."""
    numbers, positions = np.unique(np.concatenate(lists), return_inverse=True)
    repeated = np.repeat(weights, [len(members) for members in lists])
    size = len(numbers)
    counts = np.bincount(positions, minlength=size).astype(np.int64, copy=False)
    sums = np.bincount(positions, weights=repeated, minlength=size).astype(np.float64, copy=False)
    return numbers, counts, sums.round(9)


def _date_join(filter: Filter) -> str:
    return "JOIN passages p ON p.id = postings.rowid" if date_bounds(filter) else ""


def _date_test(filter: Filter) -> str:
    since = "AND p.date >= ? " if filter.since else ""
    return since + ("AND p.date < ?" if filter.until else "")


def _facet_match(lexicon_no: int, groups: Iterable[Sequence[Facet]]) -> str:
    return " AND ".join(any_of(label_of(lexicon_no, facet) for facet in group) for group in groups)


def _totals(connection: apsw.Connection, lexicon_no: int) -> tuple[int, int]:
    """Return how many passages a lexicon counts, and how many terms they have together."""
    row = connection.execute("SELECT passage_count, term_count FROM lexicons WHERE no = ?", (lexicon_no,)).fetchone()
    return (int(row[0]), int(row[1])) if row else (0, 0)


def _frequencies(connection: apsw.Connection, lexicon_no: int, terms: Sequence[str]) -> dict[str, int]:
    distinct = list(dict.fromkeys(terms))
    rows = connection.execute(
        f"SELECT term, passage_count FROM terms WHERE lexicon_no = ? AND term IN ({marks(distinct)})",
        (lexicon_no, *distinct),
    )
    return {str(term): int(count) for term, count in rows}


def _selective(connection: apsw.Connection, lexicon_no: int, trigrams: Sequence[str]) -> list[str]:
    """Return the rarest trigrams: at least one, and as many as few enough terms have, each and together."""
    counts: list[tuple[int, str]] = connection.execute(
        """SELECT
             (SELECT count(*) FROM (SELECT 1 FROM trigrams WHERE lexicon_no = ?1 AND trigram = listed.value LIMIT ?2)),
             listed.value
           FROM json_each(?3) listed""",
        (lexicon_no, _COMMON_TRIGRAM, json.dumps(trigrams)),
    ).fetchall()
    visited, selective = 0, list[str]()
    for count, trigram in sorted(pair for pair in counts if pair[0]):
        visited += count
        if selective and (count == _COMMON_TRIGRAM or visited > _MAX_VISITED):
            break
        selective.append(trigram)
    return selective


def _similarity(trigrams: frozenset[str], others: frozenset[str]) -> float:
    common = len(trigrams & others)
    return common / (len(trigrams) + len(others) - common)


def _trigram_rows(lexicon_no: int, terms: Sequence[str]) -> list[tuple[int, str, str]]:
    # In order, so that the rows of a page are written one after the other.
    return sorted((lexicon_no, trigram, term) for term in terms for trigram in grams_of(term))
