"""Passages as they are handed out to be ranked, and what stands before and after them in their threads."""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import cast

import apsw

from scrubjay.model.passage import PASSAGES_PER_MEMORY, StoredPassage
from scrubjay.ports import Beside
from scrubjay.stores.rows import id_bytes, id_text
from scrubjay.stores.sqlite.rows import space_number

_COLUMNS = """p.id, p.memory_id, p.observation, p.start, p.end, p.hash, p.terms, p.date, p.who, p.asks,
    m.tier, m.relevance, m.confirmed, m.access_count"""
# Passages by their numbers: one text for any number of them, so that SQLite need not take the statement apart again.
_PASSAGES = "json_each(?) asked CROSS JOIN passages p ON p.id = asked.value"
_TABLES = f"{_PASSAGES} CROSS JOIN memories m ON m.no = p.id / {PASSAGES_PER_MEMORY}"
# One side of a passage: those of its own moment by number, then those of other moments. Not (date, id) < (?, ?), for
# which SQLite would walk all of that moment, and a document of a thousand slices is of one. The index of threads has
# all that is asked here, so no row is read; and they come as one text, for each row would wait for the interpreter.
_SIDE = """(SELECT group_concat(id) FROM (
      SELECT * FROM (SELECT n.id FROM passages n
        WHERE n.thread = p.thread AND n.date = p.date AND n.id {way} p.id {among}
        ORDER BY n.id {order} LIMIT {most})
      UNION ALL
      SELECT * FROM (SELECT n.id FROM passages n
        WHERE n.thread = p.thread AND n.date {way} p.date {among}
        ORDER BY n.date {order}, n.id {order} LIMIT {most})
      LIMIT {most}))"""
# The same of memories, by the digits of their ids: there is no limit to how many, as there is for question marks.
_ASKED_MEMORIES = "m.space_no = ? AND m.id IN (SELECT unhex(value) FROM json_each(?))"
_NO_SIDES = "NULL, NULL"
_FIRST_OF_MEMORY = f"AND n.id % {PASSAGES_PER_MEMORY} = 0"

_Row = tuple[
    int, bytes, int | None, int, int, bytes, str, int, str, int, int, float, int | None, int, str | None, str | None
]
# As the class itself does it, without a call in Python for each of some hundred.
_make = cast("Callable[[type[StoredPassage], tuple[object, ...]], StoredPassage]", tuple.__new__)


def stored_passages(
    connection: apsw.Connection, space: str, ids: Sequence[int], *, around: int = 0
) -> list[StoredPassage]:
    """Passages of a space by number, then the neighbours that they name."""
    space_no = space_number(connection, space)
    if space_no is None or not ids:
        return []
    sides = _sides(around) if around > 0 else _NO_SIDES
    found = _passages(connection, space_no, ids, sides=sides)
    asked_for = {one.id for one in found}
    beside = {number for one in found for side in (one.before, one.after) for number in side[:1]} - asked_for
    farther = {number for one in found for side in (one.before, one.after) for number in side[1:]} - asked_for - beside
    if beside:
        found += _passages(connection, space_no, beside, sides=_NO_SIDES)
    if farther:
        found += _said(connection, space_no, farther)
    return found


def passage_numbers(connection: apsw.Connection, space: str, memory_ids: Sequence[str]) -> list[int]:
    """The numbers of all passages of some memories, in order."""
    rows = connection.execute(
        f"""SELECT p.id FROM memories m CROSS JOIN passages p
              ON p.id >= m.no * {PASSAGES_PER_MEMORY} AND p.id < (m.no + 1) * {PASSAGES_PER_MEMORY}
            WHERE {_ASKED_MEMORIES} ORDER BY p.id""",
        (space_number(connection, space), _digits(memory_ids)),
    )
    return [int(number) for (number,) in rows]


def beside(connection: apsw.Connection, space: str, memory_ids: Sequence[str], *, each: int) -> dict[str, Beside]:
    """The memories around each in its session, by the places of their first passages."""
    space_no = space_number(connection, space)
    rows = connection.execute(
        f"""SELECT m.id, {_sides(each, among=_FIRST_OF_MEMORY)}
            FROM memories m CROSS JOIN passages p ON p.id = m.no * {PASSAGES_PER_MEMORY}
            WHERE {_ASKED_MEMORIES}""",
        (space_no, _digits(memory_ids)),
    ).fetchall()
    around = {id_text(memory_id): (_numbers(before), _numbers(after)) for memory_id, before, after in rows}
    numbers = _listed({number for sides in around.values() for side in sides for number in side})
    named = connection.execute(f"SELECT p.id, p.memory_id FROM {_PASSAGES} WHERE p.space_no = ?", (numbers, space_no))
    names = {number: id_text(memory_id) for number, memory_id in named}
    return {
        one: Beside(before=tuple(names[number] for number in before), after=tuple(names[number] for number in after))
        for one, (before, after) in around.items()
    }


def _passages(connection: apsw.Connection, space_no: int, ids: Iterable[int], *, sides: str) -> list[StoredPassage]:
    rows: list[_Row] = connection.execute(
        f"SELECT {_COLUMNS}, {sides} FROM {_TABLES} WHERE p.space_no = ?", (_listed(ids), space_no)
    ).fetchall()
    return [
        _make(StoredPassage, (
            number, id_text(memory_id), observation, start, end, digest, terms, date, who, asks, tier, relevance,
            confirmed, accesses, _numbers(before) if before else (), _numbers(after) if after else (),
        ))
        for number, memory_id, observation, start, end, digest, terms, date, who, asks, tier, relevance, confirmed,
            accesses, before, after in rows
    ]  # fmt: skip


def _said(connection: apsw.Connection, space_no: int, ids: Iterable[int]) -> list[StoredPassage]:
    """What was said by whom, which is all that ranking asks of those who stand farther away."""
    rows = connection.execute(
        f"SELECT p.id, p.terms, p.who, p.asks FROM {_PASSAGES} WHERE p.space_no = ?", (_listed(ids), space_no)
    ).fetchall()
    return [
        _make(StoredPassage, (number, "", None, 0, 0, b"", terms, 0, who, asks, 0, 1.0, None, 0, (), ()))
        for number, terms, who, asks in rows
    ]


def _sides(most: int, *, among: str = "") -> str:
    """The columns that tell who stands before and after, nearest first."""
    before = _SIDE.format(way="<", order="DESC", among=among, most=max(most, 0))
    return f"{before}, {_SIDE.format(way='>', order='ASC', among=among, most=max(most, 0))}"


def _listed(numbers: Iterable[int]) -> str:
    """As JSON, each once; in order, so that rows of one page are read one after the other."""
    return repr(sorted(set(numbers)))


def _digits(memory_ids: Iterable[str]) -> str:
    return json.dumps([id_bytes(one).hex() for one in memory_ids])


def _numbers(joined: str | None) -> tuple[int, ...]:
    return tuple(map(int, joined.split(","))) if joined else ()
