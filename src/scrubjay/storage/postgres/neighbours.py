"""Passages for ranking, with their neighbours in the same session."""

from collections.abc import Callable, Sequence
from itertools import repeat
from typing import cast

from scrubjay.model.passage import StoredPassage
from scrubjay.ports import Neighbours
from scrubjay.storage.postgres.database import Database
from scrubjay.storage.postgres.rows import array
from scrubjay.storage.rows import canonical_ids

_NO_NEIGHBOURS = repeat(())
# The constructor of the class, without a Python call for each passage.
_make = cast("Callable[[type[StoredPassage], tuple[object, ...]], StoredPassage]", tuple.__new__)


async def stored_passages(database: Database, space: str, ids: Sequence[int], *, around: int) -> list[StoredPassage]:
    """Return passages of a space by number, then their neighbours."""
    (columns,) = await database.rows(
        "SELECT * FROM scrubjay.stored_passages(%s::bigint[], %s)", array(ids), max(around, 0), space=space
    )
    if columns[0] is None:
        return []
    numbers, memory_ids, observations, starts, ends, hashes, terms, dates, who, *rest, requested, before, after = (
        columns
    )
    befores, afters = _sides(requested, before), _sides(requested, after)
    rows = zip(
        numbers, memory_ids.split(","), observations, starts, ends, map(bytes.fromhex, hashes.split(",")),
        terms.split("\n"), dates, who.split("\n"), *rest, map(befores.get, numbers, _NO_NEIGHBOURS),
        map(afters.get, numbers, _NO_NEIGHBOURS), strict=False,
    )  # fmt: skip
    passages = list(map(_make, repeat(StoredPassage), rows))
    if not requested:
        return passages
    neighbours = [passage for passage in passages if passage[0] not in befores]
    return [passage for passage in passages if passage[0] in befores] + neighbours


async def passage_numbers(database: Database, space: str, memory_ids: Sequence[str]) -> list[int]:
    """Return the numbers of all passages of memories, in order."""
    rows = await database.rows("SELECT scrubjay.passage_numbers(%s::uuid[])", canonical_ids(memory_ids), space=space)
    return [int(row[0]) for row in rows]


async def session_neighbours(
    database: Database, space: str, memory_ids: Sequence[str], *, each: int
) -> dict[str, Neighbours]:
    """Return the memories before and after each in its session."""
    statement = "SELECT * FROM scrubjay.neighbouring_memories(%s::uuid[], %s)"
    rows = await database.rows(statement, canonical_ids(memory_ids), max(each, 0), space=space)
    return {str(memory_id): Neighbours(before=tuple(before), after=tuple(after)) for memory_id, before, after in rows}


def _sides(requested: Sequence[int] | None, sides: str | None) -> dict[int, tuple[int, ...]]:
    """Return the neighbours on one side of each requested passage."""
    if not requested:
        return {}
    return {
        number: tuple(map(int, side.split(","))) if side else ()
        for number, side in zip(requested, (sides or "").split(";"), strict=True)
    }
