"""What an agent should know before it begins."""

from dataclasses import dataclass
from datetime import datetime

from scrubjay.model.conflict import ToldConflict


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
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
    profile: tuple[Noted, ...] = ()
    pinned: tuple[Noted, ...] = ()
    last_session: str = ""
    recent: tuple[Noted, ...] = ()
    conflicts: tuple[ToldConflict, ...] = ()
    reminders: tuple[Noted, ...] = ()
    text: str = ""
    tokens: int = 0
    left_out: tuple[str, ...] = ()
