"""Long operations over whole stores: their progress, and the result of an import."""

from collections.abc import Callable, Iterable

from scrubjay.lazy import dataclass

Progress = Callable[[int, int], None]
"""Receives the amount that is done and the total."""

Lines = Callable[[], Iterable[str]]
"""Opens the lines of a file from the start: an import reads them once to check and once to store."""

SECTIONS = ("documents", "answers", "vectors")
"""The sections that an export has on request: the space's documents, answers to idempotency keys, and vectors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """The result of an import. `duplicates` names records that the file contains twice; they are stored once."""

    imported: int
    known: int
    relations: int
    renamed: tuple[str, ...] = ()
    duplicates: tuple[str, ...] = ()
