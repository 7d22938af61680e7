"""Texts of memories kept in memory, in step with the change log: for questions that no index can answer."""

import asyncio
import sys
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar, cast

from scrubjay.lookup.references import SoundReader
from scrubjay.model.change import Action
from scrubjay.model.memory import Memory
from scrubjay.model.query import Filter
from scrubjay.ports import RecordStore

_PAGE = 200
_ALL = 1 << 31
# What a dict keeps beside a key and a value.
_ENTRY_BYTES = 100
_EMPTY_BYTES = 1_000
# These change nothing that is said.
_SILENT = {Action.RELATED, Action.UNRELATED, Action.EMBEDDED}


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """What is mirrored: the memories in one state that pass a filter, and what each says; None leaves one out."""

    wanted: Filter
    said: Callable[[Memory], str | None]

    def text_of(self, memory: Memory | None) -> str | None:
        """What a memory says in this view."""
        return self.said(memory) if memory is not None and memory.state is self.wanted.state else None


class Keeping(Protocol):
    """Keeps what memories say, in whatever order is needed to find it."""

    @property
    def size(self) -> int:
        """About how many bytes it takes."""
        ...

    def put(self, memory_id: str, text: str | None) -> None:
        """Set or remove what a memory says."""
        ...


K = TypeVar("K", bound=Keeping)


@dataclass(slots=True)
class Texts:
    """The texts themselves, by the ids of the memories."""

    texts: dict[str, str] = field(default_factory=dict[str, str])
    size: int = _EMPTY_BYTES

    def put(self, memory_id: str, text: str | None) -> None:
        """Set or remove what a memory says."""
        before = self.texts.pop(memory_id, None) if text is None else self.texts.get(memory_id)
        self.size -= _cost(memory_id, before)
        if text is not None:
            self.texts[memory_id] = text
            self.size += _cost(memory_id, text)


@dataclass(slots=True)
class _Mirror(Generic[K]):
    """One view of one space."""

    kept: K
    cursor: int | None = None
    is_too_large: bool = False
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


class TextCaches:
    """The mirrors of all spaces. Together they stay under a limit: those not asked for lately go first."""

    def __init__(self, *, most_bytes: int = 128_000_000) -> None:
        self._most_bytes = most_bytes
        self._kept: OrderedDict[tuple[View, str], _Mirror[Keeping]] = OrderedDict()

    async def texts(self, view: View, *, space: str, store: RecordStore) -> Mapping[str, str] | None:
        """What every memory says now, by id; None when that is more than may be kept. To be read before any await."""
        kept = await self.kept(view, make=Texts, space=space, store=store)
        return None if kept is None else kept.texts

    async def kept(self, view: View, *, make: Callable[[], K], space: str, store: RecordStore) -> K | None:
        """The same in another order, which `make` begins: always the same one for a view."""
        mirror = cast("_Mirror[K]", self._kept.setdefault((view, space), _Mirror(make())))
        self._kept.move_to_end((view, space))
        async with mirror.turn:
            if mirror.is_too_large:
                return None
            if mirror.cursor is None:
                await self._fill(mirror, view, SoundReader(store, space=space), make=make)
            else:
                await _follow(mirror, mirror.cursor, view, SoundReader(store, space=space))
            self._make_room(mirror, make=make)
            return None if mirror.is_too_large else mirror.kept

    async def _fill(self, mirror: _Mirror[K], view: View, reader: SoundReader, *, make: Callable[[], K]) -> None:
        # What is committed while we read is told by the log, from here on.
        cursor = await reader.store.last_place(reader.space)
        filled = make()
        async for memory_id, text in scan(view, reader=reader):
            filled.put(memory_id, text)
            if filled.size > self._most_bytes:
                mirror.is_too_large = True
                return
        mirror.kept, mirror.cursor = filled, cursor

    def _make_room(self, newest: _Mirror[K], *, make: Callable[[], K]) -> None:
        if newest.kept.size > self._most_bytes:
            newest.is_too_large = True
            newest.kept = make()
        # One that somebody is reading or filling now is left alone: it is the newest to that caller.
        for key, mirror in list(self._kept.items()):
            if sum(one.kept.size for one in self._kept.values()) <= self._most_bytes:
                return
            if mirror is not newest and not mirror.turn.locked():
                del self._kept[key]


async def scan(view: View, *, reader: SoundReader) -> AsyncIterator[tuple[str, str]]:
    """What every memory says, by id, read from the store a page at a time."""
    ids = await reader.store.list_ids(reader.space, view.wanted, limit=_ALL)
    for start in range(0, len(ids), _PAGE):
        for memory in await reader.get(ids[start : start + _PAGE]):
            text = view.text_of(memory)
            if text is not None:
                yield memory.id, text


async def _follow(mirror: _Mirror[K], cursor: int, view: View, reader: SoundReader) -> None:
    while cursor < await reader.store.last_place(reader.space):
        changes = await reader.store.changes_in(reader.space, after=cursor, limit=_PAGE)
        changed = list(dict.fromkeys(change.memory_id for change in changes if change.action not in _SILENT))
        found: Sequence[Memory] = await reader.get(changed)
        memories = {memory.id: memory for memory in found}
        for memory_id in changed:
            mirror.kept.put(memory_id, view.text_of(memories.get(memory_id)))
        mirror.cursor = cursor = changes[-1].place


def _cost(memory_id: str, text: str | None) -> int:
    return 0 if text is None else sys.getsizeof(text) + sys.getsizeof(memory_id) + _ENTRY_BYTES
