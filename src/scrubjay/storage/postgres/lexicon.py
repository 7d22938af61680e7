"""The lexical index: words find candidates, and the engine ranks them by counts.

Words are hashes that depend on the space, so that a search reads only entries of its own space. It runs
unrestricted: PostgreSQL uses no GIN index under row-level security.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from scrubjay.lazy import dataclass
from scrubjay.model.memory import State
from scrubjay.model.query import Facet, Filter
from scrubjay.model.timestamps import to_micros
from scrubjay.ports import LexicalMatch, TermStatistics
from scrubjay.storage.lexical import WeightedGroup, WeightedTerm, rare_terms, weigh_groups, weigh_terms
from scrubjay.storage.lru import LruCache
from scrubjay.storage.postgres.database import Database, SqlQuery
from scrubjay.storage.postgres.rows import LAST_CHARACTER, array, digest_of, grams_for, labels_of, words_of
from scrubjay.storage.rows import STATE_NUMBERS
from scrubjay.storage.sql_files import read_statements
from scrubjay.text.fuzzy import grams_of

Words = Mapping[str, int]
_SQL = read_statements("postgres/queries/lexicon")
# A caller that reads statistics asks for candidates next.
_FRESH_SECONDS = 0.5
_CACHED_STATISTICS = 64
_EARLIEST, _LATEST = -(1 << 62), 1 << 62
# At most so many terms of each trigram are read: the intended term shares rarer trigrams too.
_MAX_PER_TRIGRAM = 2_000
# So many of the terms with the most common trigrams are compared exactly.
_MAX_COMPARED = 100
# The limit of terms that are read for a prefix: a single letter begins a tenth of all.
_MAX_PREFIX_TERMS = 10_000

# OFFSET 0 keeps the condition on the space outside: the planner would scan the whole space instead of the index.
_PASSING = """SELECT p.id FROM (SELECT p.id, p.space_no FROM scrubjay.passages p WHERE {} OFFSET 0) AS p
    WHERE p.space_no = scrubjay.current_space()"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Search:
    """A search: the weighted terms, rarest first, the number of rare ones, which find passages, and their words."""

    space: str
    filter: Filter
    weighted: Sequence[WeightedTerm]
    rare: int
    words: Words
    limit: int

    @property
    def keys(self) -> list[int]:
        """The words of the terms."""
        return [self.words[term.term] for term in self.weighted]


class StatisticsCache:
    """Statistics of the last half second, which also weigh the candidates of the same search."""

    def __init__(self) -> None:
        self._cache: LruCache[tuple[str, State, tuple[str, ...]], tuple[float, TermStatistics]] = LruCache(
            _CACHED_STATISTICS
        )

    async def statistics(self, database: Database, space: str, terms: Sequence[str], *, state: State) -> TermStatistics:
        """Return the counts of one space and state."""
        statistics = await statistics_of(database, space, words_of(space, state, terms), state=state)
        self._cache.put((space, state, tuple(terms)), (time.monotonic(), statistics))
        return statistics

    async def candidates(
        self, database: Database, space: str, terms: Sequence[str], filter: Filter, *, limit: int
    ) -> list[tuple[int, float]]:
        """Return (passage number, sum of weights) of passages that pass the filter, best first."""
        words = words_of(space, filter.state, terms)
        at, statistics = self._cache.get((space, filter.state, tuple(terms))) or (0.0, None)
        if statistics is None or time.monotonic() - at > _FRESH_SECONDS:
            statistics = await statistics_of(database, space, words, state=filter.state)
        weighted = weigh_terms(statistics.frequencies, total=statistics.passages)
        rare = len(rare_terms(weighted))
        search = _Search(space=space, filter=filter, weighted=weighted, rare=rare, words=words, limit=limit)
        candidates = await _candidates(database, search)
        if len(candidates) < limit and rare < len(weighted) and not filter.is_empty:
            # The filter leaves few passages with rare words: now common words find passages too.
            candidates = await _candidates(database, replace(search, rare=len(weighted)))
        return candidates

    def clear(self) -> None:
        """Drop the statistics after a commit."""
        self._cache.clear()


async def lexical_candidates(
    database: Database, space: str, terms: Sequence[str], filter: Filter, *, limit: int
) -> list[tuple[int, float]]:
    """Return (passage number, sum of weights) for a caller without statistics."""
    return await StatisticsCache().candidates(database, space, terms, filter, limit=limit)


async def terms_with_prefix(
    database: Database, space: str, prefix: str, *, state: State, limit: int
) -> list[tuple[str, int]]:
    """Return the terms with a prefix and how many passages have each, the most common first."""
    if "\x00" in prefix:
        return []
    values = (STATE_NUMBERS[state], prefix, prefix + LAST_CHARACTER, _MAX_PREFIX_TERMS, limit)
    rows = await database.rows(_SQL["terms_with_prefix"], *values, space=space, unrestricted=True)
    return [(str(term), int(passages)) for term, passages in rows]


async def memories_matching(
    database: Database, space: str, groups: Sequence[Sequence[str]], filter: Filter, *, limit: int
) -> list[LexicalMatch]:
    """Return the memories with terms of the most groups, each with its best passage."""
    words = words_of(space, filter.state, (term for group in groups for term in group))
    statistics = await statistics_of(database, space, words, state=filter.state)
    rare, common = weigh_groups(groups, statistics.frequencies, total=statistics.passages)
    if not rare:
        return []
    test = passing_test(space, filter)
    rare_words = array(words[term] for group in rare for term in group.terms)
    lookups = [_group_lookup(group, position, words, test) for position, group in enumerate(rare)]
    lookups += [
        _group_lookup(group, len(rare) + position, words, test, rare_words=rare_words)
        for position, group in enumerate(common)
    ]
    union = " UNION ALL ".join(lookup.statement for lookup in lookups)
    statement = _SQL["memories_with_groups"].replace("{lookups}", union)
    values = [value for lookup in lookups for value in lookup.values]
    rows = await database.rows(statement, *values, limit, space=space, unrestricted=True)
    return [LexicalMatch(int(passage), int(count), float(weight)) for passage, count, weight in rows]


async def known_facets(database: Database, space: str, facets: Sequence[Facet], *, state: State) -> dict[Facet, int]:
    """Return those facets that exist in one state of a space, and how many memories have each."""
    rows = await database.rows(
        "SELECT * FROM scrubjay.count_facets(%s::smallint, %s::bytea[])",
        STATE_NUMBERS[state], [digest_of(facet) for facet in dict.fromkeys(facets)], space=space,
    )  # fmt: skip
    return {str(facet): int(memories) for facet, memories in rows}


async def similar_terms(
    database: Database, space: str, term: str, *, state: State, limit: int
) -> list[tuple[str, int]]:
    """Return the terms that share the most trigrams with one, and how many passages have each."""
    grams = grams_for(space, state, grams_of(term))
    rows = await database.rows(
        "SELECT * FROM scrubjay.similar_terms(%s::bigint[], %s, %s, %s)",
        array(grams), _MAX_PER_TRIGRAM, _MAX_COMPARED, limit, space=space, unrestricted=True,
    )  # fmt: skip
    return [(str(similar), int(passages)) for similar, passages in rows]


async def matching_passages(database: Database, space: str, filter: Filter) -> list[int]:
    """Return the numbers of all passages that pass a filter."""
    test = passing_test(space, filter)
    if filter.facet_groups:
        statement = _PASSING.format(test.statement)
        rows = await database.rows(statement, *test.values, space=space, unrestricted=True)
    else:
        statement = "SELECT id FROM scrubjay.passages p WHERE space_no = scrubjay.current_space() AND p.state = %s AND "
        state = STATE_NUMBERS[filter.state]
        rows = await database.rows(statement + test.statement, state, *test.values, space=space)
    return [int(row[0]) for row in rows]


def passing_test(space: str, filter: Filter) -> SqlQuery:
    """Return the condition of a filter on passages `p`, without the state."""
    tests, values = ["true"], list[object]()
    groups = filter.facet_groups
    singles = [group[0] for group in groups if len(group) == 1]
    if singles:
        tests.append("p.words @> %s::bigint[]")
        values.append(labels_of(space, filter.state, singles))
    for group in groups:
        if len(group) > 1:
            tests.append("p.words && %s::bigint[]")
            values.append(labels_of(space, filter.state, group))
    for test, moment in (("p.date >= %s", filter.since), ("p.date < %s", filter.until)):
        if moment is not None:
            tests.append(test)
            values.append(to_micros(moment))
    return SqlQuery(" AND ".join(tests), values)


async def statistics_of(database: Database, space: str, words: Words, *, state: State) -> TermStatistics:
    """Return the counts of one space and state for words."""
    rows = await database.rows(
        "SELECT * FROM scrubjay.term_statistics(%s::smallint, %s::bigint[])",
        STATE_NUMBERS[state], array(words.values()), space=space,
    )  # fmt: skip
    frequencies = {word: int(count) for word, count, _ in rows}
    _, passages, length = rows[0] if rows and rows[0][0] is None else (None, 0, 0)
    return TermStatistics(
        passages=int(passages),
        total_length=int(length),
        frequencies={term: frequencies[word] for term, word in words.items() if word in frequencies},
    )


async def _candidates(database: Database, search: _Search) -> list[tuple[int, float]]:
    """Return the passages with the highest sum of weights, newest first among equals."""
    if not search.weighted:
        return []
    space, criteria = search.space, search.filter
    groups = criteria.facet_groups
    if sum(len(group) > 1 for group in groups) > 1:
        return await _candidates_with_choices(database, search)
    singles = labels_of(space, criteria.state, [group[0] for group in groups if len(group) == 1])
    choices = labels_of(space, criteria.state, [facet for group in groups if len(group) > 1 for facet in group])
    rows = await database.rows(
        """SELECT * FROM scrubjay.lexical_candidates(%s::bigint[], %s::float8[], %s, %s::bigint[], %s::bigint[],
             %s::bigint, %s::bigint, %s)""",
        array(search.keys), array(term.weight for term in search.weighted), search.rare, array(singles), array(choices),
        _EARLIEST if criteria.since is None else to_micros(criteria.since),
        _LATEST if criteria.until is None else to_micros(criteria.until), search.limit, space=space, unrestricted=True,
    )  # fmt: skip
    return [(int(number), float(total)) for number, total in rows]


async def _candidates_with_choices(database: Database, search: _Search) -> list[tuple[int, float]]:
    """Return the same for a filter with several choices of facets; `lexical_candidates` takes at most one."""
    test = passing_test(search.space, search.filter)
    keys = search.keys
    rare_words = array(keys[: search.rare])
    lookups: list[str] = []
    values: list[object] = []
    for position, term in enumerate(search.weighted):
        rare_test = "AND p.words && %s::bigint[]" if position >= search.rare else ""
        lookups.append(
            f"""SELECT p.id, p.space_no, {term.weight!r}::float8 AS weight
                FROM (SELECT p.id, p.space_no FROM scrubjay.passages p
                  WHERE p.words @> %s::bigint[] {rare_test} AND {test.statement} OFFSET 0) AS p"""
        )
        values += [array([keys[position]]), *([rare_words] if rare_test else []), *test.values]
    statement = f"""SELECT f.id, sum(f.weight) FROM ({" UNION ALL ".join(lookups)}) AS f
        WHERE f.space_no = scrubjay.current_space() GROUP BY f.id ORDER BY 2 DESC, 1 DESC LIMIT %s"""
    rows = await database.rows(statement, *values, search.limit, space=search.space, unrestricted=True)
    return [(int(number), float(total)) for number, total in rows]


def _group_lookup(
    group: WeightedGroup, position: int, words: Words, test: SqlQuery, *, rare_words: str = ""
) -> SqlQuery:
    # The passages of a common group are read only where a rare one matches too.
    restriction = "AND p.words && %s::bigint[]" if rare_words else ""
    statement = f"""SELECT p.id, p.space_no, {position} AS place, {group.weight!r}::float8 AS weight
        FROM (SELECT p.id, p.space_no FROM scrubjay.passages p
          WHERE p.words && %s::bigint[] {restriction} AND {test.statement} OFFSET 0) AS p"""
    group_words = array(words[term] for term in group.terms)
    return SqlQuery(statement, [group_words, *([rare_words] if rare_words else []), *test.values])
