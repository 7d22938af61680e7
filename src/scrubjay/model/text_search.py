"""What a full-text search is asked, and what it answers."""

from dataclasses import dataclass, field
from datetime import datetime

from scrubjay.model.query import Filter

__all__ = ["SearchText", "TextHit", "TextsFound"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchText:
    """Words that are all wanted, `beginnings*`, "exact phrases", and -words that must not be there."""

    query: str
    filter: Filter = field(default_factory=Filter)
    limit: int = 10
    # So many of the best are passed over: they were told before.
    offset: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TextHit:
    """A memory that was found; in the snippet what was looked for stands between `**`.

    The score is from 0 to 1. `matched` are the fields that have some of it, `missing` the words that it lacks.
    """

    id: str
    name: str
    title: str
    score: float
    snippet: str
    updated_at: datetime
    matched: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    kind: str = ""
    category: str = ""
    tags: tuple[str, ...] = ()
    space: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextsFound:
    """The memories that were found, best first; `more` where there are others. `degraded` says what was passed over.

    `words` is the query without its signs, as one would ask it.
    """

    hits: tuple[TextHit, ...]
    more: bool = False
    degraded: tuple[str, ...] = ()
    words: str = ""
