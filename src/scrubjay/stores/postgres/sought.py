"""What is looked for word by word: terms by their beginnings, and memories that have a word of each kind."""

from collections.abc import Sequence

from scrubjay.model.memory import State
from scrubjay.model.query import Filter
from scrubjay.ports import Having
from scrubjay.stores.postgres.asking import Ask
from scrubjay.stores.postgres.database import Database
from scrubjay.stores.postgres.lexicon import Words, array, passing_test, statistics_of
from scrubjay.stores.postgres.words import words_of
from scrubjay.stores.rows import STATE_NUMBERS
from scrubjay.stores.weighing import WeighedGroup, weigh_groups

_LAST_CHARACTER = "\U0010ffff"
# So many terms that begin alike are looked at: a letter alone begins a tenth of them all.
_MOST_VISITED = 10_000


async def terms_beginning(
    database: Database, space: str, prefix: str, *, state: State, limit: int
) -> list[tuple[str, int]]:
    """The terms that begin with a prefix and how many passages have each, the most common first."""
    if "\x00" in prefix:
        return []
    rows = await database.rows(
        _BEGINNING, STATE_NUMBERS[state], prefix, prefix + _LAST_CHARACTER, limit, space=space, keeper=True
    )
    return [(str(term), int(passages)) for term, passages in rows]


async def memories_having(
    database: Database, space: str, groups: Sequence[Sequence[str]], wanted: Filter, *, limit: int
) -> list[Having]:
    """The memories with a term of the most groups, told by their passages with the most."""
    words = words_of(space, wanted.state, (term for group in groups for term in group))
    statistics = await statistics_of(database, space, words, state=wanted.state)
    rare, common = weigh_groups(groups, statistics.frequencies, total=statistics.passages)
    if not rare:
        return []
    test = passing_test(space, wanted)
    among = array(words[term] for one in rare for term in one.terms)
    looks = [_look(one, place, words, test) for place, one in enumerate(rare)]
    looks += [_look(one, len(rare) + place, words, test, among=among) for place, one in enumerate(common)]
    statement = _HAVING.format(" UNION ALL ".join(look.statement for look in looks))
    values = [value for look in looks for value in look.values]
    rows = await database.rows(statement, *values, limit, space=space, keeper=True)
    return [Having(int(passage), int(count), float(weight)) for passage, count, weight in rows]


def _look(group: WeighedGroup, place: int, words: Words, test: Ask, *, among: str = "") -> Ask:
    beside = "AND p.words && %s::bigint[]" if among else ""
    statement = f"""SELECT p.id, p.space_no, {place} AS place, {group.weight!r}::float8 AS weight
        FROM (SELECT p.id, p.space_no FROM scrubjay.passages p
          WHERE p.words && %s::bigint[] {beside} AND {test.statement} OFFSET 0) AS p"""
    asked = array(words[term] for term in group.terms)
    return Ask(statement, [asked, *([among] if among else []), *test.values])


# It is asked by the keeper, as words are. The terms are counted where their texts are not.
_BEGINNING = f"""SELECT f.term, t.passages FROM (
    SELECT v.word, v.term FROM scrubjay.vocabulary v WHERE v.space_no = scrubjay.here() AND v.state = %s
      AND v.term >= %s AND v.term < %s ORDER BY v.term LIMIT {_MOST_VISITED}) AS f
  JOIN scrubjay.terms t ON t.space_no = scrubjay.here() AND t.word = f.word
  ORDER BY t.passages DESC, f.term LIMIT %s"""
# A group counts once in a memory, however many of its passages have it.
_HAVING = """WITH found AS MATERIALIZED (
    SELECT f.id, f.id / 65536 AS no, f.place, f.weight FROM ({}) AS f WHERE f.space_no = scrubjay.here()),
  best AS MATERIALIZED (SELECT d.no, count(*) AS groups, round(sum(d.weight)::numeric, 9)::float8 AS weight
    FROM (SELECT DISTINCT no, place, weight FROM found) AS d
    GROUP BY d.no ORDER BY 2 DESC, 3 DESC, 1 DESC LIMIT %s),
  told AS (SELECT DISTINCT ON (s.no) s.no, s.id FROM (
      SELECT no, id, round(sum(weight)::numeric, 9) AS weight FROM found GROUP BY no, id) AS s
    ORDER BY s.no, s.weight DESC, s.id)
  SELECT told.id, best.groups, best.weight FROM best JOIN told ON told.no = best.no
  ORDER BY best.groups DESC, best.weight DESC, best.no DESC"""
