"""What an agent should know before it begins."""

from dataclasses import dataclass
from datetime import datetime

from scrubjay.model.conflict import ConflictDetails


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextEntry:
    """One memory, short enough to be told among others."""

    id: str
    name: str
    kind: str
    text: str
    date: datetime
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The start of a session. `text` is all of it as Markdown, within the budget; `left_out` says what had no room."""

    space: str
    profile: tuple[ContextEntry, ...] = ()
    pinned: tuple[ContextEntry, ...] = ()
    last_session: str = ""
    recent: tuple[ContextEntry, ...] = ()
    conflicts: tuple[ConflictDetails, ...] = ()
    reminders: tuple[ContextEntry, ...] = ()
    text: str = ""
    tokens: int = 0
    left_out: tuple[str, ...] = ()
