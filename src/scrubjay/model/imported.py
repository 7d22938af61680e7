"""What an import takes, and what came of it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

Lines = Callable[[], Iterable[str]]
"""Opens the file anew: it is read once to be checked and once to be stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What an import did. `duplicates` tells what stood more than once in the file, and is stored once."""

    imported: int
    known: int
    relations: int
    renamed: tuple[str, ...] = ()
    duplicates: tuple[str, ...] = ()
