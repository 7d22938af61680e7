"""Finds the memories that contain a text literally, regardless of case."""

import asyncio
import unicodedata
from collections.abc import Iterable
from datetime import datetime

from scrubjay.lazy import dataclass
from scrubjay.lookup.references import TolerantReader
from scrubjay.model.memory import Memory, State
from scrubjay.model.query import Filter
from scrubjay.ports import RecordStore
from scrubjay.recalling.text_cache import TextCaches, TextView, scan

# Separates the parts of a text: no stored text contains it.
SEPARATOR = "\x00"
# So many texts take a few milliseconds; more are searched in a thread.
_THREAD_THRESHOLD = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SubstringMatches:
    """The ids of memories that contain a text, oldest first; `degraded` says why the search was slow."""

    ids: tuple[str, ...]
    degraded: str = ""


def contains_text(needle: str, memory: Memory, *, now: datetime) -> bool:
    """Return whether the title, the content or a current observation of a memory contains a text."""
    return _fold(needle) in _searchable_text(memory, now=now) if needle else True


async def find_containing(
    needle: str, *, state: State, space: str, store: RecordStore, text_caches: TextCaches
) -> SubstringMatches:
    """Find the memories in a state that contain a text."""
    return await _find(_fold(needle), view=_VIEWS[state], space=space, store=store, text_caches=text_caches)


async def find_in_view(
    needle: str, *, view: TextView, space: str, store: RecordStore, text_caches: TextCaches
) -> SubstringMatches:
    """Find the memories of a view, whose texts come from `join_lowercase`, that contain a text."""
    return await _find(needle.lower(), view=view, space=space, store=store, text_caches=text_caches)


def join_lowercase(parts: Iterable[str]) -> str:
    """Return several texts as one to search in, in lower case and separated."""
    return SEPARATOR.join(part.lower() for part in parts)


async def _find(
    needle: str, *, view: TextView, space: str, store: RecordStore, text_caches: TextCaches
) -> SubstringMatches:
    if SEPARATOR in needle:
        return SubstringMatches(ids=())
    cached = await text_caches.texts(view, space=space, store=store)
    if cached is not None:
        texts = list(cached.items())
        is_many = len(texts) >= _THREAD_THRESHOLD
        ids = await asyncio.to_thread(_filter, needle, texts) if is_many else _filter(needle, texts)
        return SubstringMatches(ids=tuple(sorted(ids)))
    reader = TolerantReader(store, space=space)
    scanned = [memory_id async for memory_id, text in scan(view, reader=reader) if needle in text]
    return SubstringMatches(
        ids=tuple(sorted(scanned)),
        degraded="this space is too large for the text cache: every memory was read, which is slow",
    )


def _filter(needle: str, texts: Iterable[tuple[str, str]]) -> list[str]:
    return [memory_id for memory_id, text in texts if needle in text]


def _searchable_text(memory: Memory, *, now: datetime | None = None) -> str:
    """Return all current text; for the cache, all text that was current at the last change."""
    observations = (observation.text for observation in memory.current_observations(now or memory.updated_at))
    return SEPARATOR.join(map(_fold, (memory.title, memory.content, *observations)))


def _fold(text: str) -> str:
    """Return a text for comparison, regardless of case and of the encoding of accents."""
    if text.isascii():
        return text.lower()
    # Folding a Turkish capital İ leaves a combining dot, which is not typed after a small i.
    folded = unicodedata.normalize("NFD", text).casefold().replace("i\u0307", "i")
    return unicodedata.normalize("NFC", folded)


_VIEWS = {state: TextView(filter=Filter(state=state), extract=_searchable_text) for state in State}
