"""Passages as they are handed out to be ranked, and what stands before and after them in their threads."""

from collections.abc import Callable, Sequence
from itertools import repeat
from typing import cast

from scrubjay.model.passage import StoredPassage
from scrubjay.ports import Beside
from scrubjay.stores.postgres.database import Database
from scrubjay.stores.postgres.lexicon import array
from scrubjay.stores.postgres.opening import plain_ids

_NOBODY = repeat(())
# As the class itself does it, without a call in Python for each.
_make = cast("Callable[[type[StoredPassage], tuple[object, ...]], StoredPassage]", tuple.__new__)


async def stored_passages(database: Database, space: str, ids: Sequence[int], *, around: int) -> list[StoredPassage]:
    """Passages of a space by number, then the neighbours that they name."""
    (columns,) = await database.rows(
        "SELECT * FROM scrubjay.passages_2(%s::bigint[], %s)", array(ids), max(around, 0), space=space
    )
    if columns[0] is None:
        return []
    numbers, memory_ids, observations, starts, ends, hashes, terms, dates, who, *rest, named, before, after = columns
    befores, afters = _sides(named, before), _sides(named, after)
    rows = zip(
        numbers, memory_ids.split(","), observations, starts, ends, map(bytes.fromhex, hashes.split(",")),
        terms.split("\n"), dates, who.split("\n"), *rest, map(befores.get, numbers, _NOBODY),
        map(afters.get, numbers, _NOBODY), strict=False,
    )  # fmt: skip
    found = list(map(_make, repeat(StoredPassage), rows))
    if not named:
        return found
    return [one for one in found if one[0] in befores] + [one for one in found if one[0] not in befores]


async def passage_numbers(database: Database, space: str, memory_ids: Sequence[str]) -> list[int]:
    """The numbers of all passages of some memories, in order."""
    rows = await database.rows("SELECT scrubjay.passage_numbers_1(%s::uuid[])", plain_ids(memory_ids), space=space)
    return [int(row[0]) for row in rows]


async def beside(database: Database, space: str, memory_ids: Sequence[str], *, each: int) -> dict[str, Beside]:
    """The memories around each in its session."""
    rows = await database.rows(
        "SELECT * FROM scrubjay.beside_1(%s::uuid[], %s)", plain_ids(memory_ids), max(each, 0), space=space
    )
    return {str(one): Beside(before=tuple(before), after=tuple(after)) for one, before, after in rows}


def _sides(named: Sequence[int] | None, sides: str | None) -> dict[int, tuple[int, ...]]:
    """Who stands on one side of each."""
    if not named:
        return {}
    return {number: _numbers(side) for number, side in zip(named, (sides or "").split(";"), strict=True)}


def _numbers(joined: str) -> tuple[int, ...]:
    return tuple(map(int, joined.split(","))) if joined else ()
