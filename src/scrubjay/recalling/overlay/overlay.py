"""The overlay itself, the reader that applies it, and the cache of the last ones."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import datetime

from scrubjay.lazy import dataclass
from scrubjay.lookup.references import TolerantReader
from scrubjay.model.memory import Memory
from scrubjay.model.passage import StoredPassage
from scrubjay.ports import RecordStore, TermStatistics


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlay:
    """The memories that differ from main now, by id; None where the question must see no memory.

    `passages` belong to those that pass the filter of the question, and `statistics` count their terms. All unchanged
    memories come after `unchanged_after` in a listing; if they are few, `unchanged_ids` has all of them.
    `main_versions` has the memories that were read, as they were on main.
    """

    memories: Mapping[str, Memory | None] = field(default_factory=dict[str, Memory | None])
    main_versions: Mapping[str, Memory | None] = field(default_factory=dict[str, Memory | None])
    as_of: datetime | None = None
    passages: tuple[StoredPassage, ...] = ()
    statistics: TermStatistics | None = None
    unchanged_after: str | None = None
    unchanged_ids: tuple[str, ...] | None = None
    degraded: tuple[str, ...] = ()
    # The requested branch, if no memory has it.
    missing_branch: str = ""


class OverlayReader(TolerantReader[RecordStore]):
    """Reads memories through an overlay."""

    def __init__(self, store: RecordStore, *, space: str, overlay: Overlay | None = None) -> None:
        super().__init__(store, space=space)
        self.overlay = overlay or Overlay()

    async def get(self, ids: Sequence[str]) -> list[Memory]:
        """Return the readable memories in order, without those that did not exist at the moment of the overlay."""
        memories, as_of = self.overlay.memories, self.overlay.as_of
        if not memories and as_of is None:
            return await super().get(ids)
        stored = await super().get([memory_id for memory_id in ids if memory_id not in memories])
        # A memory that has changed since the overlay was built had another version at that moment.
        unchanged = {memory.id: memory for memory in stored if as_of is None or memory.updated_at <= as_of}
        overlaid = (
            memories[memory_id] if memory_id in memories else unchanged.get(memory_id)
            for memory_id in dict.fromkeys(ids)
        )
        return [memory for memory in overlaid if memory is not None]


@dataclass(frozen=True, slots=True)
class OverlayKey:
    """Questions with the same key have the same overlay."""

    space: str
    as_of: datetime
    branch: str
    filter: str


class OverlayCache:
    """The overlays of the last few moments: several questions about the same day are common."""

    def __init__(self, max_memories: int = 20_000, max_overlays: int = 16) -> None:
        self._max_memories = max_memories
        self._max_overlays = max_overlays
        self._size = 0
        self._entries: OrderedDict[OverlayKey, tuple[int, Overlay]] = OrderedDict()

    def get(self, key: OverlayKey, *, place: int) -> Overlay | None:
        """Return the overlay of a key if its space has not changed since."""
        entry = self._entries.get(key)
        if entry is None or entry[0] != place:
            return None
        self._entries.move_to_end(key)
        return entry[1]

    def find_similar(self, key: OverlayKey) -> tuple[OverlayKey, int, Overlay] | None:
        """Return the entry of a key, or else the newest of the same moment, with its place in the change log."""
        same_moment = [
            other for other in reversed(self._entries) if (other.space, other.as_of) == (key.space, key.as_of)
        ]
        if not same_moment:
            return None
        similar = key if key in same_moment else same_moment[0]
        return (similar, *self._entries[similar])

    def put(self, key: OverlayKey, overlay: Overlay, *, place: int) -> None:
        """Store an overlay and drop the oldest ones beyond the limits."""
        self._drop(key)
        self._entries[key] = place, overlay
        self._size += len(overlay.memories)
        while self._entries and (self._size > self._max_memories or len(self._entries) > self._max_overlays):
            self._drop(next(iter(self._entries)))

    def clear(self) -> None:
        """Drop all overlays."""
        self._entries.clear()
        self._size = 0

    def _drop(self, key: OverlayKey) -> None:
        if (entry := self._entries.pop(key, None)) is not None:
            self._size -= len(entry[1].memories)
