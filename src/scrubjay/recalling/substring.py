"""Which memories contain a text, to the letter and whatever its case."""

import asyncio
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from scrubjay.lookup.references import SoundReader
from scrubjay.model.memory import Memory, State
from scrubjay.model.query import Filter
from scrubjay.ports import RecordStore
from scrubjay.recalling.text_cache import TextCaches, View, scan

# Keeps the parts of a text apart: no text that is stored has it.
APART = "\x00"
# So many texts are searched in a few milliseconds.
_MOST_AT_ONCE = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Contained:
    """The ids of memories that contain a text, oldest first; `degraded` says why it took long."""

    ids: tuple[str, ...]
    degraded: str = ""


def haystack(parts: Iterable[str]) -> str:
    """What is searched of several texts: each in lower case, apart from the next."""
    return APART.join(part.lower() for part in parts)


def stands_in(needle: str, memory: Memory, *, now: datetime) -> bool:
    """Whether a text stands in a memory: in its title, its content or one of the observations that hold."""
    return _folded(needle) in _said(memory, now=now) if needle else True


async def contained(needle: str, *, state: State, space: str, store: RecordStore, text_caches: TextCaches) -> Contained:
    """The memories in a state in which a text stands."""
    return await _sought(_folded(needle), view=_VIEWS[state], space=space, store=store, text_caches=text_caches)


async def containing(needle: str, *, view: View, space: str, store: RecordStore, text_caches: TextCaches) -> Contained:
    """The memories of a view of haystacks in which a text stands."""
    return await _sought(needle.lower(), view=view, space=space, store=store, text_caches=text_caches)


async def _sought(sought: str, *, view: View, space: str, store: RecordStore, text_caches: TextCaches) -> Contained:
    if APART in sought:
        return Contained(ids=())
    kept = await text_caches.texts(view, space=space, store=store)
    if kept is not None:
        texts = list(kept.items())
        found = (
            _having(sought, texts) if len(texts) < _MOST_AT_ONCE else await asyncio.to_thread(_having, sought, texts)
        )
        return Contained(ids=tuple(sorted(found)))
    reader = SoundReader(store, space=space)
    scanned = [memory_id async for memory_id, text in scan(view, reader=reader) if sought in text]
    return Contained(
        ids=tuple(sorted(scanned)),
        degraded="this space is too large to be searched in memory: every memory was read, which takes long",
    )


def _said(memory: Memory, *, now: datetime | None = None) -> str:
    """All that holds; without a moment all that held when it was written, which is kept until it is written again."""
    holding = (one.text for one in memory.current_observations(now or memory.updated_at))
    return APART.join(map(_folded, (memory.title, memory.content, *holding)))


def _folded(text: str) -> str:
    """A text as it is compared: whatever its case, and however its accents are encoded."""
    if text.isascii():
        return text.lower()
    # A Turkish capital I keeps its dot apart, which nobody writes over a small one.
    folded = unicodedata.normalize("NFD", text).casefold().replace("i\u0307", "i")
    return unicodedata.normalize("NFC", folded)


_VIEWS = {state: View(wanted=Filter(state=state), said=_said) for state in State}


def _having(sought: str, texts: Iterable[tuple[str, str]]) -> list[str]:
    return [memory_id for memory_id, text in texts if sought in text]
