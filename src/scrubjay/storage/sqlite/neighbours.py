"""Passages for ranking, with their neighbours in the same session."""

import json
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import NamedTuple, cast

import apsw

from scrubjay.model.passage import PASSAGES_PER_MEMORY, StoredPassage
from scrubjay.ports import Neighbours
from scrubjay.storage.rows import id_bytes, id_text
from scrubjay.storage.sqlite.rows import space_number

_COLUMNS = """p.id, p.memory_id, p.observation, p.start, p.end, p.hash, p.terms, p.date, p.speaker, p.question,
    m.tier, m.relevance, m.last_confirmed, m.access_count, coalesce(p.session_key, p.id)"""
# Passages by id: one statement for any number of them, so that SQLite need not prepare it again.
_PASSAGES = "json_each(?) listed CROSS JOIN passages p ON p.id = listed.value"
_TABLES = f"{_PASSAGES} CROSS JOIN memories m ON m.no = p.id / {PASSAGES_PER_MEMORY}"
# The neighbours on one side of a passage: those of the same moment by id, then those of other moments. Not
# (date, id) < (?, ?), for which SQLite would scan all of that moment, and a document of a thousand passages has one.
# The index of sessions covers all columns, so no row is read; and SQLite joins the ids to one text, since each row
# would wait for the interpreter.
_SIDE = """(SELECT group_concat(id) FROM (
      SELECT * FROM (SELECT n.id FROM passages n
        WHERE n.session_key = p.session_key AND n.date = p.date AND n.id {way} p.id {among}
        ORDER BY n.id {order} LIMIT {most})
      UNION ALL
      SELECT * FROM (SELECT n.id FROM passages n
        WHERE n.session_key = p.session_key AND n.date {way} p.date {among}
        ORDER BY n.date {order}, n.id {order} LIMIT {most})
      LIMIT {most}))"""
# Memories by the digits of their ids: question marks would limit how many there can be.
_LISTED_MEMORIES = "m.space_no = ? AND m.id IN (SELECT unhex(value) FROM json_each(?))"
_NO_SIDES = "NULL, NULL"
_FIRST_OF_MEMORY = f"AND n.id % {PASSAGES_PER_MEMORY} = 0"

_Row = tuple[
    int,
    bytes,
    int | None,
    int,
    int,
    bytes,
    str,
    int,
    str,
    int,
    int,
    float,
    int | None,
    int,
    int,
    str | None,
    str | None,
]
# The class does the same, but with a call in Python for each of some hundred.
_make = cast("Callable[[type[StoredPassage], tuple[object, ...]], StoredPassage]", tuple.__new__)
_make_row = cast("Callable[[type[RankedRow], tuple[StoredPassage, int]], RankedRow]", tuple.__new__)


class RankedRow(NamedTuple):
    """A passage, and the key of its session."""

    passage: StoredPassage
    session: int


def stored_passages(
    connection: apsw.Connection, space: str, ids: Sequence[int], *, around: int = 0
) -> list[StoredPassage]:
    """Return passages of a space by id, then the neighbours that they name."""
    space_no = space_number(connection, space)
    if space_no is None or not ids:
        return []
    passages = [row.passage for row in ranked_rows(connection, space_no, ids, around=around)]
    if around < 1:
        return passages
    read = {passage.id for passage in passages}
    neighbours = [side for passage in passages for side in (passage.before, passage.after)]
    adjacent = {number for side in neighbours for number in side[:1]} - read
    farther = {number for side in neighbours for number in side[1:]} - read - adjacent
    if adjacent:
        passages += [row.passage for row in ranked_rows(connection, space_no, adjacent, around=0)]
    if farther:
        passages += _without_memories(connection, space_no, farther)
    return passages


def ranked_rows(connection: apsw.Connection, space_no: int, ids: Iterable[int], *, around: int) -> list[RankedRow]:
    """Return passages of a space by id, each with the neighbours that it names."""
    sides = _sides(around) if around > 0 else _NO_SIDES
    rows: list[_Row] = connection.execute(
        f"SELECT {_COLUMNS}, {sides} FROM {_TABLES} WHERE p.space_no = ?", (json_list(ids), space_no)
    ).fetchall()
    return _ranked(rows)


def session_rows(
    connection: apsw.Connection, space_no: int, ids: Iterable[int], *, around: int, at_most: int
) -> list[RankedRow]:
    """Return all passages of the sessions of some passages, each with its neighbours; not of sessions with too many."""
    rows: list[_Row] = connection.execute(
        f"""SELECT {_COLUMNS}, {_NO_SIDES}
            FROM (SELECT session_key FROM passages
                  WHERE session_key IN (SELECT p.session_key FROM {_PASSAGES} WHERE p.space_no = ?)
                  GROUP BY session_key HAVING count(*) <= ?) small
            CROSS JOIN passages p ON p.session_key = small.session_key
            CROSS JOIN memories m ON m.no = p.id / {PASSAGES_PER_MEMORY}
            WHERE p.space_no = ? ORDER BY p.session_key, p.date, p.id""",
        (json_list(ids), space_no, at_most, space_no),
    ).fetchall()
    ranked: list[RankedRow] = []
    for _, of_session in groupby(_ranked(rows), key=lambda row: row.session):
        in_order = list(of_session)
        numbers = tuple(row.passage.id for row in in_order)
        ranked += [
            RankedRow(
                passage._replace(
                    before=numbers[max(0, position - around) : position][::-1],
                    after=numbers[position + 1 : position + 1 + around],
                ),
                session,
            )
            for position, (passage, session) in enumerate(in_order)
        ]
    return ranked


def _ranked(rows: Iterable[_Row]) -> list[RankedRow]:
    return [
        _make_row(RankedRow, (
            _make(StoredPassage, (
                number, id_text(raw_id), observation, start, end, digest, terms, date, speaker, question, tier,
                relevance, confirmed, accesses, _numbers(before) if before else (), _numbers(after) if after else (),
            )),
            session,
        ))
        for number, raw_id, observation, start, end, digest, terms, date, speaker, question, tier, relevance, confirmed,
            accesses, session, before, after in rows
    ]  # fmt: skip


def passage_numbers(connection: apsw.Connection, space: str, memory_ids: Sequence[str]) -> list[int]:
    """Return the ids of all passages of some memories, in order."""
    rows = connection.execute(
        f"""SELECT p.id FROM memories m CROSS JOIN passages p
              ON p.id >= m.no * {PASSAGES_PER_MEMORY} AND p.id < (m.no + 1) * {PASSAGES_PER_MEMORY}
            WHERE {_LISTED_MEMORIES} ORDER BY p.id""",
        (space_number(connection, space), _digits(memory_ids)),
    )
    return [int(number) for (number,) in rows]


def session_neighbours(
    connection: apsw.Connection, space: str, memory_ids: Sequence[str], *, each: int
) -> dict[str, Neighbours]:
    """Return the neighbours of each memory in its session, in the order of their first passages."""
    space_no = space_number(connection, space)
    rows = connection.execute(
        f"""SELECT m.id, {_sides(each, among=_FIRST_OF_MEMORY)}
            FROM memories m CROSS JOIN passages p ON p.id = m.no * {PASSAGES_PER_MEMORY}
            WHERE {_LISTED_MEMORIES}""",
        (space_no, _digits(memory_ids)),
    ).fetchall()
    around = {id_text(raw_id): (_numbers(before), _numbers(after)) for raw_id, before, after in rows}
    numbers = json_list({number for sides in around.values() for side in sides for number in side})
    neighbours = connection.execute(
        f"SELECT p.id, p.memory_id FROM {_PASSAGES} WHERE p.space_no = ?", (numbers, space_no)
    )
    ids = {number: id_text(raw_id) for number, raw_id in neighbours}
    return {
        memory_id: Neighbours(
            before=tuple(ids[number] for number in before), after=tuple(ids[number] for number in after)
        )
        for memory_id, (before, after) in around.items()
    }


def _without_memories(connection: apsw.Connection, space_no: int, ids: Iterable[int]) -> list[StoredPassage]:
    """Return passages with only the fields that ranking uses of a neighbour that is not adjacent."""
    rows = connection.execute(
        f"SELECT p.id, p.memory_id, p.hash, p.terms, p.speaker, p.question FROM {_PASSAGES} WHERE p.space_no = ?",
        (json_list(ids), space_no),
    ).fetchall()
    return [
        _make(
            StoredPassage,
            (number, id_text(raw_id), None, 0, 0, digest, terms, 0, speaker, question, 0, 1.0, None, 0, (), ()),
        )
        for number, raw_id, digest, terms, speaker, question in rows
    ]


def _sides(most: int, *, among: str = "") -> str:
    """Return the columns with the neighbours before and after a passage, nearest first."""
    before = _SIDE.format(way="<", order="DESC", among=among, most=max(most, 0))
    return f"{before}, {_SIDE.format(way='>', order='ASC', among=among, most=max(most, 0))}"


def json_list(numbers: Iterable[int]) -> str:
    """Return distinct numbers as JSON, in order, so that the rows of a page are read one after the other."""
    return repr(sorted(set(numbers)))


def _digits(memory_ids: Iterable[str]) -> str:
    return json.dumps([id_bytes(memory_id).hex() for memory_id in memory_ids])


def _numbers(joined: str | None) -> tuple[int, ...]:
    return tuple(map(int, joined.split(","))) if joined else ()
