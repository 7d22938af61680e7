"""Which notes nobody has looked through for a while, and that somebody has.

The store is asked, not the ledger of a folder: it knows every note, also where there is no folder, or where a file
could not be written. When each was reviewed last is mirrored in memory and follows the log, so that only the first
question reads every note.
"""

from datetime import datetime, timedelta

from scrubjay.engine import Engine
from scrubjay.lookup.references import SoundReader
from scrubjay.model.draft import Caller, Edit
from scrubjay.model.media import ATTACHMENT
from scrubjay.model.memory import Memory
from scrubjay.model.query import Filter, category_path
from scrubjay.model.results import Written
from scrubjay.model.timestamps import to_iso, to_micros
from scrubjay.notes.results import DueNote, DueNotes
from scrubjay.recalling.text_cache import TextView, scan

__all__ = ["due", "review", "reviewed_at"]

# As many as keep moments in order as texts, also those before 1970.
_DIGITS, _SHIFT = 20, 10**18


async def due(*, engine: Engine, space: str, days: int = 90, limit: int = 20, category: str = "") -> DueNotes:
    """The notes that were reviewed, or else made, more than so many days ago; the longest first."""
    now = engine.clock.now()
    before, path = _key(now - timedelta(days=days)), category_path(category).casefold()
    texts = await engine.text_caches.texts(_REVIEWED, space=space, store=engine.store)
    reader = SoundReader(engine.store, space=space)
    rows = [row async for row in scan(_REVIEWED, reader=reader)] if texts is None else list(texts.items())
    oldest = sorted((text, one) for one, text in rows if text < before and _is_in(text[_DIGITS:], path))
    notes: list[DueNote] = []
    for start in range(0, len(oldest), limit):
        read = await reader.get([one for _, one in oldest[start : start + limit]])
        notes += [_due(memory, now=now) for memory in read if memory.holds(now)]
        if len(notes) >= limit:
            break
    return DueNotes(notes=tuple(notes[:limit]))


async def review(ref: str, *, engine: Engine, who: Caller) -> Written:
    """Note that somebody has looked through a note; what it says, and what is known of that, stays as it is."""
    fields = {"last_reviewed": to_iso(engine.clock.now())}
    return await engine.revise(ref, Edit(fields={**fields}, message="reviewed"), who=who)


def reviewed_at(memory: Memory) -> datetime:
    """When somebody last looked through a note: whoever wrote it has."""
    return memory.last_reviewed or memory.created_at


def _key(moment: datetime) -> str:
    return f"{to_micros(moment) + _SHIFT:0{_DIGITS}d}"


def _said(memory: Memory) -> str | None:
    return (
        None if memory.kind == ATTACHMENT else f"{_key(reviewed_at(memory))}{category_path(memory.category).casefold()}"
    )


def _is_in(category: str, path: str) -> bool:
    return not path or f"{category}/".startswith(f"{path}/")


def _due(memory: Memory, *, now: datetime) -> DueNote:
    at = reviewed_at(memory)
    return DueNote(
        id=memory.id, title=memory.label, last_reviewed=at, days=max(0, (now - at).days), category=memory.category
    )


_REVIEWED = TextView(filter=Filter(), extract=_said)
