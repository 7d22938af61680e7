"""The lexical index: words find candidates, and counts let the engine rank them.

Words are keys made with the name of a space, so that what a question reads is that space's alone. It is the keeper who
looks them up: PostgreSQL uses no index of this kind for those whose rows it has to check.
"""

from collections.abc import Mapping, Sequence

from scrubjay.model.memory import State
from scrubjay.model.moment import to_micros
from scrubjay.model.passage import StoredPassage
from scrubjay.model.query import Filter
from scrubjay.ports import TermStatistics
from scrubjay.stores.postgres.asking import Ask
from scrubjay.stores.postgres.database import Database
from scrubjay.stores.postgres.words import labels_of, words_of
from scrubjay.stores.rows import STATE_NUMBERS
from scrubjay.stores.weighing import Weighed, rare_of, weigh

Words = Mapping[str, int]


async def lexical_candidates(
    database: Database, space: str, terms: Sequence[str], wanted: Filter, *, limit: int
) -> list[tuple[int, float]]:
    """(passage number, what the terms it has tell) of passages that pass the filter, best first."""
    words = words_of(space, wanted.state, terms)
    statistics = await _statistics(database, space, words, state=wanted.state)
    weighed = weigh(statistics.frequencies, total=statistics.passages)
    rare = rare_of(weighed)
    found = await _candidates(database, space, rare, weighed[len(rare) :], wanted, words=words, limit=limit)
    if len(found) < limit and len(rare) < len(weighed) and not wanted.is_empty:
        # The filter leaves few of the rare words' passages: now the common words must help out.
        found = await _candidates(database, space, weighed, [], wanted, words=words, limit=limit)
    return found


async def term_statistics(database: Database, space: str, terms: Sequence[str], *, state: State) -> TermStatistics:
    """Counts of one space and state alone."""
    return await _statistics(database, space, words_of(space, state, terms), state=state)


async def stored_passages(database: Database, space: str, ids: Sequence[int]) -> list[StoredPassage]:
    """Passages of a space by number."""
    rows = await database.rows(
        """SELECT id, memory_id, observation, start, stop, hash, terms FROM scrubjay.passages
           WHERE space_no = scrubjay.here() AND id = ANY(%s::bigint[])""",
        list(ids), space=space,
    )  # fmt: skip
    return [StoredPassage(*row[:6], terms=tuple(row[6].split())) for row in rows]


async def passing(database: Database, space: str, wanted: Filter) -> list[int]:
    """Numbers of all passages that pass a filter."""
    test = passing_test(space, wanted)
    if wanted.facet_groups:
        statement = f"{_FOUND.format(test.statement)} WHERE p.space_no = scrubjay.here()"
        rows = await database.rows(statement, *test.values, space=space, keeper=True)
    else:
        statement = "SELECT id FROM scrubjay.passages p WHERE space_no = scrubjay.here() AND p.state = %s AND "
        state = STATE_NUMBERS[wanted.state]
        rows = await database.rows(statement + test.statement, state, *test.values, space=space)
    return [int(row[0]) for row in rows]


def passing_test(space: str, wanted: Filter) -> Ask:
    """The test of passages `p` that a filter comes to, besides the state."""
    tests, values = ["true"], list[object]()
    groups = wanted.facet_groups
    singles = [group[0] for group in groups if len(group) == 1]
    if singles:
        tests.append("p.words @> %s::bigint[]")
        values.append(labels_of(space, wanted.state, singles))
    for group in groups:
        if len(group) > 1:
            tests.append("p.words && %s::bigint[]")
            values.append(labels_of(space, wanted.state, group))
    for test, moment in (("p.date >= %s", wanted.since), ("p.date < %s", wanted.until)):
        if moment is not None:
            tests.append(test)
            values.append(to_micros(moment))
    return Ask(" AND ".join(tests), values)


async def _statistics(database: Database, space: str, words: Words, *, state: State) -> TermStatistics:
    sizes, rows = await database.read(
        Ask(
            "SELECT passages, length FROM scrubjay.lexicons WHERE space_no = scrubjay.here() AND state = %s",
            (STATE_NUMBERS[state],),
        ),
        Ask(
            """SELECT word, passages FROM scrubjay.terms
               WHERE space_no = scrubjay.here() AND word = ANY(%s::bigint[])""",
            (list(words.values()),),
        ),
        space=space,
    )
    frequencies = {int(word): int(count) for word, count in rows}
    passages, length = sizes[0] if sizes else (0, 0)
    return TermStatistics(
        passages=int(passages),
        total_length=int(length),
        frequencies={term: frequencies[word] for term, word in words.items() if word in frequencies},
    )


async def _candidates(
    database: Database,
    space: str,
    rare: Sequence[Weighed],
    common: Sequence[Weighed],
    wanted: Filter,
    *,
    words: Words,
    limit: int,
) -> list[tuple[int, float]]:
    """The passages whose words weigh most together, newest first among equals."""
    if not rare:
        return []
    test = passing_test(space, wanted)
    among = [words[one.term] for one in rare]
    asks = [_lookup(rare, words, test)]
    if common:
        narrowed = Ask(f"{test.statement} AND p.words && %s::bigint[]", [*test.values, among])
        asks.append(_lookup(common, words, narrowed))
    rows = await database.rows(
        f"""SELECT id, sum(weight) AS total FROM ({" UNION ALL ".join(one.statement for one in asks)}) AS found
            WHERE space_no = scrubjay.here() GROUP BY id ORDER BY total DESC, id DESC LIMIT %s""",
        *(value for one in asks for value in one.values), limit, space=space, keeper=True,
    )  # fmt: skip
    return [(int(number), float(total)) for number, total in rows]


def _lookup(terms: Sequence[Weighed], words: Words, test: Ask) -> Ask:
    """Each term's passages that pass a test, with what the term weighs."""
    return Ask(
        f"""SELECT p.id, p.space_no, t.weight FROM unnest(%s::bigint[], %s::double precision[]) AS t(word, weight)
            CROSS JOIN LATERAL (SELECT p.id, p.space_no FROM scrubjay.passages p
              WHERE p.words @> ARRAY[t.word] AND {test.statement} OFFSET 0) AS p""",
        [[words[one.term] for one in terms], [one.weight for one in terms], *test.values],
    )


# OFFSET 0 keeps the test of the space outside: the planner would rather walk a whole space than use the words.
_FOUND = """SELECT p.id FROM (SELECT p.id, p.space_no FROM scrubjay.passages p WHERE {} OFFSET 0) AS p"""
