"""What is told otherwise than it stands on main now: as it was at a moment, or as it is on a branch.

The indexes know what is. The memories that differ are ranked beside what the indexes find.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from scrubjay.lookup.references import SoundReader
from scrubjay.model.memory import Memory
from scrubjay.model.passage import StoredPassage
from scrubjay.ports import RecordStore, TermStatistics


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlay:
    """The memories that differ, by id; None where there is nothing to tell.

    `passages` are of those that pass the filter of the question, with `counted` terms. The others come after `after` in
    a listing; `among` has all of them if it is not None. `read` has those that were looked up, as they were on main.
    """

    told: Mapping[str, Memory | None] = field(default_factory=dict[str, Memory | None])
    read: Mapping[str, Memory | None] = field(default_factory=dict[str, Memory | None])
    at: datetime | None = None
    passages: tuple[StoredPassage, ...] = ()
    counted: TermStatistics | None = None
    after: str | None = None
    among: tuple[str, ...] | None = None
    degraded: tuple[str, ...] = ()
    # The branch that was asked for and that no memory has.
    lacks: str = ""


@dataclass(frozen=True, slots=True)
class OverlayKey:
    """What makes two questions tell the same memories otherwise."""

    space: str
    at: datetime
    branch: str
    wanted: str


class Overlays:
    """Keeps what was told otherwise a moment ago: whoever asks about a day asks more than once."""

    def __init__(self, most: int = 20_000, moments: int = 16) -> None:
        self._most = most
        self._moments = moments
        self._size = 0
        self._kept: OrderedDict[OverlayKey, tuple[int, Overlay]] = OrderedDict()

    def get(self, key: OverlayKey, *, place: int) -> Overlay | None:
        """What was kept under a key, if its space has seen no further change."""
        found = self._kept.get(key)
        if found is None or found[0] != place:
            return None
        self._kept.move_to_end(key)
        return found[1]

    def like(self, key: OverlayKey) -> tuple[OverlayKey, int, Overlay] | None:
        """What was kept under a key, or else the last of the same moment, and how many changes there were then."""
        of_then = [one for one in reversed(self._kept) if (one.space, one.at) == (key.space, key.at)]
        found = next((one for one in of_then if one == key), of_then[0] if of_then else None)
        return None if found is None else (found, *self._kept[found])

    def put(self, key: OverlayKey, aside: Overlay, *, place: int) -> None:
        """Keep it, and of the others the few last that have no more memories together than may be kept."""
        self._drop(key)
        self._kept[key] = place, aside
        self._size += len(aside.told)
        while self._kept and (self._size > self._most or len(self._kept) > self._moments):
            self._drop(next(iter(self._kept)))

    def clear(self) -> None:
        """Keep nothing."""
        self._kept.clear()
        self._size = 0

    def _drop(self, key: OverlayKey) -> None:
        if (known := self._kept.pop(key, None)) is not None:
            self._size -= len(known[1].told)


class OverlayReader(SoundReader):
    """Reads memories as they are to be told."""

    def __init__(self, store: RecordStore, *, space: str, aside: Overlay | None = None) -> None:
        super().__init__(store, space=space)
        self.aside = aside or Overlay()

    async def get(self, ids: Sequence[str]) -> list[Memory]:
        """The sound ones among the memories, in order; those that were not there then are left out."""
        told, at = self.aside.told, self.aside.at
        if not told and at is None:
            return await super().get(ids)
        read = await super().get([id_ for id_ in ids if id_ not in told])
        # What has changed since the changes were listed was another then.
        others = {memory.id: memory for memory in read if at is None or memory.updated_at <= at}
        found = (told[fromkey] if fromkey in told else others.get(fromkey) for fromkey in dict.fromkeys(ids))
        return [memory for memory in found if memory is not None]
