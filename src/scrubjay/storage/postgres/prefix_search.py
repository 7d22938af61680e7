"""Search by single terms: terms by prefix, and memories with a term of each group."""

from collections.abc import Sequence

from scrubjay.model.memory import State
from scrubjay.model.query import Filter
from scrubjay.ports import LexicalMatch
from scrubjay.storage.postgres.database import Database
from scrubjay.storage.postgres.lexicon import Words, array, passing_test, statistics_of
from scrubjay.storage.postgres.query import Ask
from scrubjay.storage.postgres.sql_files import named_statements
from scrubjay.storage.postgres.words import words_of
from scrubjay.storage.rows import STATE_NUMBERS
from scrubjay.storage.term_weights import WeighedGroup, weigh_groups

_SQL = named_statements("queries/prefix_search")
_LAST_CHARACTER = "\U0010ffff"
# At most so many terms with a prefix are read: a single letter begins a tenth of them all.
_MOST_VISITED = 10_000


async def terms_with_prefix(
    database: Database, space: str, prefix: str, *, state: State, limit: int
) -> list[tuple[str, int]]:
    """Return the terms with a prefix and how many passages have each, the most common first."""
    if "\x00" in prefix:
        return []
    values = (STATE_NUMBERS[state], prefix, prefix + _LAST_CHARACTER, _MOST_VISITED, limit)
    rows = await database.rows(_SQL["terms_with_prefix"], *values, space=space, keeper=True)
    return [(str(term), int(passages)) for term, passages in rows]


async def memories_matching(
    database: Database, space: str, groups: Sequence[Sequence[str]], filter: Filter, *, limit: int
) -> list[LexicalMatch]:
    """Return the memories with terms of the most groups, each by its best passage."""
    words = words_of(space, filter.state, (term for group in groups for term in group))
    statistics = await statistics_of(database, space, words, state=filter.state)
    rare, common = weigh_groups(groups, statistics.frequencies, total=statistics.passages)
    if not rare:
        return []
    test = passing_test(space, filter)
    among = array(words[term] for group in rare for term in group.terms)
    lookups = [_lookup(group, place, words, test) for place, group in enumerate(rare)]
    lookups += [_lookup(group, len(rare) + place, words, test, among=among) for place, group in enumerate(common)]
    union = " UNION ALL ".join(lookup.statement for lookup in lookups)
    statement = _SQL["memories_with_groups"].replace("{lookups}", union)
    values = [value for lookup in lookups for value in lookup.values]
    rows = await database.rows(statement, *values, limit, space=space, keeper=True)
    return [LexicalMatch(int(passage), int(count), float(weight)) for passage, count, weight in rows]


def _lookup(group: WeighedGroup, place: int, words: Words, test: Ask, *, among: str = "") -> Ask:
    beside = "AND p.words && %s::bigint[]" if among else ""
    statement = f"""SELECT p.id, p.space_no, {place} AS place, {group.weight!r}::float8 AS weight
        FROM (SELECT p.id, p.space_no FROM scrubjay.passages p
          WHERE p.words && %s::bigint[] {beside} AND {test.statement} OFFSET 0) AS p"""
    group_words = array(words[term] for term in group.terms)
    return Ask(statement, [group_words, *([among] if among else []), *test.values])
