"""How it is told that a file is no note."""

from scrubjay.errors import NoteUnreadable

__all__ = ["HINT", "unreadable"]

HINT = "Correct it in an editor; the file and what is stored of it stay as they are until then"


def unreadable(reason: str, *, line: int, hint: str = HINT) -> NoteUnreadable:
    """The error for a file that is no note: the reason, and the line of the file."""
    return NoteUnreadable(f"line {line}: {reason}", hint=hint, line=line, reason=reason)
