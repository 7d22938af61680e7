"""The lexical index: words find candidates, and the engine ranks them by counts.

Words are hashes that depend on the space, so that a search reads only entries of its own space. It runs as the keeper:
PostgreSQL uses no GIN index under row-level security.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from scrubjay.model.memory import State
from scrubjay.model.query import Facet, Filter
from scrubjay.model.timestamps import to_micros
from scrubjay.ports import TermStatistics
from scrubjay.storage.lru import Recent
from scrubjay.storage.postgres.database import Database
from scrubjay.storage.postgres.query import Ask
from scrubjay.storage.postgres.words import digest_of, grams_for, labels_of, words_of
from scrubjay.storage.rows import STATE_NUMBERS
from scrubjay.storage.term_weights import Weighed, rare_of, weigh
from scrubjay.text.grams import grams_of

Words = Mapping[str, int]
# A caller that reads statistics asks for candidates next.
_FRESH = 0.5
_KEPT = 64
_EARLIEST, _LATEST = -(1 << 62), 1 << 62
# At most so many terms of each trigram are read: the intended term shares rarer trigrams too.
_MOST_OF_EACH = 2_000
# So many of the terms with the most common trigrams are compared exactly.
_MOST_COMPARED = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sought:
    """A search: the weighed terms, rarest first, the number of rare ones, which find passages, and their words."""

    space: str
    filter: Filter
    weighed: Sequence[Weighed]
    rare: int
    words: Words
    limit: int

    @property
    def keys(self) -> list[int]:
        """The words of the terms."""
        return [self.words[term.term] for term in self.weighed]


class Counted:
    """Statistics of the last moment, which weigh the candidates of the same search."""

    def __init__(self) -> None:
        self._recent: Recent[tuple[str, State, tuple[str, ...]], tuple[float, TermStatistics]] = Recent(_KEPT)

    async def statistics(self, database: Database, space: str, terms: Sequence[str], *, state: State) -> TermStatistics:
        """Return the counts of one space and state."""
        statistics = await statistics_of(database, space, words_of(space, state, terms), state=state)
        self._recent.put((space, state, tuple(terms)), (time.monotonic(), statistics))
        return statistics

    async def candidates(
        self, database: Database, space: str, terms: Sequence[str], filter: Filter, *, limit: int
    ) -> list[tuple[int, float]]:
        """Return (passage number, sum of weights) of passages that pass the filter, best first."""
        words = words_of(space, filter.state, terms)
        at, statistics = self._recent.get((space, filter.state, tuple(terms))) or (0.0, None)
        if statistics is None or time.monotonic() - at > _FRESH:
            statistics = await statistics_of(database, space, words, state=filter.state)
        weighed = weigh(statistics.frequencies, total=statistics.passages)
        rare = len(rare_of(weighed))
        sought = _Sought(space=space, filter=filter, weighed=weighed, rare=rare, words=words, limit=limit)
        candidates = await _candidates(database, sought)
        if len(candidates) < limit and rare < len(weighed) and not filter.is_empty:
            # The filter leaves few passages with rare words: now common words find passages too.
            candidates = await _candidates(database, replace(sought, rare=len(weighed)))
        return candidates

    def forget(self) -> None:
        """Drop the statistics after a commit."""
        self._recent.clear()


async def lexical_candidates(
    database: Database, space: str, terms: Sequence[str], filter: Filter, *, limit: int
) -> list[tuple[int, float]]:
    """Return (passage number, sum of weights) for a caller without statistics."""
    return await Counted().candidates(database, space, terms, filter, limit=limit)


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
        array(grams), _MOST_OF_EACH, _MOST_COMPARED, limit, space=space, keeper=True,
    )  # fmt: skip
    return [(str(similar), int(passages)) for similar, passages in rows]


async def matching_passages(database: Database, space: str, filter: Filter) -> list[int]:
    """Return the numbers of all passages that pass a filter."""
    test = passing_test(space, filter)
    if filter.facet_groups:
        statement = _PASSING.format(test.statement)
        rows = await database.rows(statement, *test.values, space=space, keeper=True)
    else:
        statement = "SELECT id FROM scrubjay.passages p WHERE space_no = scrubjay.current_space() AND p.state = %s AND "
        state = STATE_NUMBERS[filter.state]
        rows = await database.rows(statement + test.statement, state, *test.values, space=space)
    return [int(row[0]) for row in rows]


def passing_test(space: str, filter: Filter) -> Ask:
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
    return Ask(" AND ".join(tests), values)


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


async def _candidates(database: Database, sought: _Sought) -> list[tuple[int, float]]:
    """Return the passages with the highest sum of weights, newest first among equals."""
    if not sought.weighed:
        return []
    space, wanted = sought.space, sought.filter
    groups = wanted.facet_groups
    if sum(len(group) > 1 for group in groups) > 1:
        return await _choosy(database, sought)
    singles = labels_of(space, wanted.state, [group[0] for group in groups if len(group) == 1])
    choices = labels_of(space, wanted.state, [facet for group in groups if len(group) > 1 for facet in group])
    rows = await database.rows(
        """SELECT * FROM scrubjay.lexical_candidates(%s::bigint[], %s::float8[], %s, %s::bigint[], %s::bigint[],
             %s::bigint, %s::bigint, %s)""",
        array(sought.keys), array(term.weight for term in sought.weighed), sought.rare, array(singles), array(choices),
        _EARLIEST if wanted.since is None else to_micros(wanted.since),
        _LATEST if wanted.until is None else to_micros(wanted.until), sought.limit, space=space, keeper=True,
    )  # fmt: skip
    return [(int(number), float(total)) for number, total in rows]


async def _choosy(database: Database, sought: _Sought) -> list[tuple[int, float]]:
    """Return the same for a filter with several choices of facets; `lexical_candidates` takes at most one."""
    test = passing_test(sought.space, sought.filter)
    keys = sought.keys
    among = array(keys[: sought.rare])
    lookups: list[str] = []
    values: list[object] = []
    for place, term in enumerate(sought.weighed):
        beside = "AND p.words && %s::bigint[]" if place >= sought.rare else ""
        lookups.append(
            f"""SELECT p.id, p.space_no, {term.weight!r}::float8 AS weight FROM (SELECT p.id, p.space_no
                FROM scrubjay.passages p WHERE p.words @> %s::bigint[] {beside} AND {test.statement} OFFSET 0) AS p"""
        )
        values += [array([keys[place]]), *([among] if beside else []), *test.values]
    statement = f"""SELECT f.id, sum(f.weight) FROM ({" UNION ALL ".join(lookups)}) AS f
        WHERE f.space_no = scrubjay.current_space() GROUP BY f.id ORDER BY 2 DESC, 1 DESC LIMIT %s"""
    rows = await database.rows(statement, *values, sought.limit, space=sought.space, keeper=True)
    return [(int(number), float(total)) for number, total in rows]


def array(numbers: Iterable[float]) -> str:
    """Return numbers as the database reads an array."""
    # Faster than the driver, which inspects each of them several times.
    return f"{{{','.join(map(repr, numbers))}}}"


# OFFSET 0 keeps the condition on the space outside: the planner would scan the whole space instead of the index.
_PASSING = """SELECT p.id FROM (SELECT p.id, p.space_no FROM scrubjay.passages p WHERE {} OFFSET 0) AS p
    WHERE p.space_no = scrubjay.current_space()"""
