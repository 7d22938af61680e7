"""Full-text search: terms by prefix, and memories that have a term of each group."""

from collections.abc import Sequence

from scrubjay.model.memory import State
from scrubjay.model.query import Filter
from scrubjay.ports import LexicalMatch
from scrubjay.storage.lexical import WeightedGroup, weigh_groups
from scrubjay.storage.postgres.database import Database, SqlQuery
from scrubjay.storage.postgres.lexicon import Words, passing_test, statistics_of
from scrubjay.storage.postgres.rows import LAST_CHARACTER, array, words_of
from scrubjay.storage.rows import STATE_NUMBERS
from scrubjay.storage.sql_files import read_statements

_SQL = read_statements("postgres/queries/prefix_search")
# The most terms that are read for a prefix: a single letter begins a tenth of all.
_MAX_VISITED = 10_000


async def terms_with_prefix(
    database: Database, space: str, prefix: str, *, state: State, limit: int
) -> list[tuple[str, int]]:
    """Return the terms with a prefix and how many passages have each, the most common first."""
    if "\x00" in prefix:
        return []
    values = (STATE_NUMBERS[state], prefix, prefix + LAST_CHARACTER, _MAX_VISITED, limit)
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
    lookups = [_lookup(group, position, words, test) for position, group in enumerate(rare)]
    lookups += [
        _lookup(group, len(rare) + position, words, test, rare_words=rare_words)
        for position, group in enumerate(common)
    ]
    union = " UNION ALL ".join(lookup.statement for lookup in lookups)
    statement = _SQL["memories_with_groups"].replace("{lookups}", union)
    values = [value for lookup in lookups for value in lookup.values]
    rows = await database.rows(statement, *values, limit, space=space, unrestricted=True)
    return [LexicalMatch(int(passage), int(count), float(weight)) for passage, count, weight in rows]


def _lookup(group: WeightedGroup, position: int, words: Words, test: SqlQuery, *, rare_words: str = "") -> SqlQuery:
    # The passages of a common group are read only where a rare one matches too.
    restriction = "AND p.words && %s::bigint[]" if rare_words else ""
    statement = f"""SELECT p.id, p.space_no, {position} AS place, {group.weight!r}::float8 AS weight
        FROM (SELECT p.id, p.space_no FROM scrubjay.passages p
          WHERE p.words && %s::bigint[] {restriction} AND {test.statement} OFFSET 0) AS p"""
    group_words = array(words[term] for term in group.terms)
    return SqlQuery(statement, [group_words, *([rare_words] if rare_words else []), *test.values])
