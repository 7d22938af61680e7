"""Texts of memories cached in memory and kept up to date by the change log, for questions that no index can answer."""

import asyncio
import sys
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import field
from typing import Generic, Protocol, TypeVar, cast

from scrubjay.lazy import dataclass
from scrubjay.lookup.references import TolerantReader
from scrubjay.model.change import Action
from scrubjay.model.memory import Memory
from scrubjay.model.query import Filter
from scrubjay.ports import RecordStore
from scrubjay.workers import offload

_PAGE = 200
_NO_LIMIT = 1 << 31
# The overhead of an entry of a dict besides its key and value, and of the dict itself.
_ENTRY_BYTES = 100
_EMPTY_BYTES = 1_000
# These actions change no text.
_TEXT_PRESERVING = {Action.RELATED, Action.UNRELATED, Action.EMBEDDED}


@dataclass(frozen=True, slots=True, eq=False)
class TextView:
    """What to cache: the memories that pass a filter, and the text of each; None leaves a memory out."""

    filter: Filter
    extract: Callable[[Memory], str | None]

    def text_of(self, memory: Memory | None) -> str | None:
        """Return the text of a memory in this view."""
        return self.extract(memory) if memory is not None and memory.state is self.filter.state else None


class TextContainer(Protocol):
    """Texts by memory, in any structure that helps to search them."""

    @property
    def size(self) -> int:
        """The approximate size in bytes."""
        ...

    def put(self, memory_id: str, text: str | None) -> None:
        """Set or remove the text of a memory."""
        ...


C = TypeVar("C", bound=TextContainer)


@dataclass(slots=True)
class TextMap:
    """The plain texts by the ids of the memories."""

    texts: dict[str, str] = field(default_factory=dict[str, str])
    size: int = _EMPTY_BYTES

    def put(self, memory_id: str, text: str | None) -> None:
        """Set or remove the text of a memory."""
        before = self.texts.pop(memory_id, None) if text is None else self.texts.get(memory_id)
        self.size -= _entry_size(memory_id, before)
        if text is not None:
            self.texts[memory_id] = text
            self.size += _entry_size(memory_id, text)


@dataclass(slots=True)
class _CachedView(Generic[C]):
    """One view of one space; `cursor` is its place in the change log."""

    container: C
    cursor: int | None = None
    is_too_large: bool = False
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class TextCaches:
    """The cached views of all spaces, together under a size limit: the least recently used go first."""

    def __init__(self, *, max_bytes: int = 128_000_000) -> None:
        self._max_bytes = max_bytes
        self._views: OrderedDict[tuple[TextView, str], _CachedView[TextContainer]] = OrderedDict()

    async def texts(self, view: TextView, *, space: str, store: RecordStore) -> Mapping[str, str] | None:
        """Return the current texts by memory id, to be read before any await; None if they exceed the limit."""
        container = await self.container(view, make=TextMap, space=space, store=store)
        return None if container is None else container.texts

    async def all_texts(self, view: TextView, *, space: str, store: RecordStore) -> dict[str, str]:
        """Return the current texts by memory id, by reading all memories if they exceed the limit."""
        texts = await self.texts(view, space=space, store=store)
        if texts is not None:
            return dict(texts)
        return {id_: text async for id_, text in scan(view, reader=TolerantReader(store, space=space))}

    async def container(self, view: TextView, *, make: Callable[[], C], space: str, store: RecordStore) -> C | None:
        """Return the current texts in the container that `make` creates, always of the same type for a view."""
        cached = cast("_CachedView[C]", self._views.setdefault((view, space), _CachedView(make())))
        self._views.move_to_end((view, space))
        async with cached.lock:
            if cached.is_too_large:
                return None
            if cached.cursor is None:
                await self._fill(cached, view, TolerantReader(store, space=space), make=make)
            else:
                await _follow(cached, cached.cursor, view, TolerantReader(store, space=space))
            self._evict(cached, make=make)
            return None if cached.is_too_large else cached.container

    async def _fill(
        self, cached: _CachedView[C], view: TextView, reader: TolerantReader[RecordStore], *, make: Callable[[], C]
    ) -> None:
        # Commits during the scan follow from the change log, beginning here.
        cursor = await reader.store.last_place(reader.space)
        container = make()
        async for memory_id, text in scan(view, reader=reader):
            container.put(memory_id, text)
            if container.size > self._max_bytes:
                cached.is_too_large = True
                return
        cached.container, cached.cursor = container, cursor

    def _evict(self, newest: _CachedView[C], *, make: Callable[[], C]) -> None:
        if newest.container.size > self._max_bytes:
            newest.is_too_large = True
            newest.container = make()
        # A view that another caller reads or fills right now stays: for that caller it is the newest.
        for key, cached in list(self._views.items()):
            if sum(view.container.size for view in self._views.values()) <= self._max_bytes:
                return
            if cached is not newest and not cached.lock.locked():
                del self._views[key]


async def scan(view: TextView, *, reader: TolerantReader[RecordStore]) -> AsyncIterator[tuple[str, str]]:
    """Yield the id and text of every memory of a view, read from the store page by page."""
    ids = await reader.store.list_ids(reader.space, view.filter, limit=_NO_LIMIT)
    for start in range(0, len(ids), _PAGE):
        for memory in await reader.get(ids[start : start + _PAGE]):
            text = await offload(memory.characters, view.text_of, memory)
            if text is not None:
                yield memory.id, text


async def _follow(cached: _CachedView[C], cursor: int, view: TextView, reader: TolerantReader[RecordStore]) -> None:
    while cursor < await reader.store.last_place(reader.space):
        changes = await reader.store.changes_in(reader.space, after=cursor, limit=_PAGE)
        changed = list(dict.fromkeys(change.memory_id for change in changes if change.action not in _TEXT_PRESERVING))
        memories = {memory.id: memory for memory in await reader.get(changed)}
        for memory_id in changed:
            memory = memories.get(memory_id)
            text = await offload(memory.characters if memory else 0, view.text_of, memory)
            cached.container.put(memory_id, text)
        cached.cursor = cursor = changes[-1].place


def _entry_size(memory_id: str, text: str | None) -> int:
    return 0 if text is None else sys.getsizeof(text) + sys.getsizeof(memory_id) + _ENTRY_BYTES
