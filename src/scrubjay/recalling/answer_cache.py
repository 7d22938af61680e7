"""Answers that were given a moment ago: the same question is not worked on again while nothing has changed."""

import hashlib
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from scrubjay.model.memory import Memory
from scrubjay.model.query import Question
from scrubjay.model.results import Recalled
from scrubjay.recalling.overlay.overlay import Overlays

_MOST = 1024
# Longer ones are pages of a listing, which nobody asks for twice.
_LARGEST = 32
# Nothing but time passes meanwhile, and no ranking is as fine as this.
_LONGEST = timedelta(minutes=1)

Key = Hashable


@dataclass(frozen=True, slots=True)
class _Kept:
    answer: Recalled
    places: tuple[int, ...]
    until: datetime


class AnswerCache:
    """Keeps what was answered last. An answer holds as long as the spaces have seen no further change."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._kept: OrderedDict[Key, _Kept] = OrderedDict()
        self.asides = Overlays()

    def get(self, key: Key, *, places: tuple[int, ...], now: datetime) -> Recalled | None:
        """The answer to a question at this point of its spaces' history, if it was given before."""
        kept = self._kept.get(key)
        if kept is None or kept.places != places or now >= kept.until:
            return None
        self._kept.move_to_end(key)
        return kept.answer

    def put(
        self, key: Key, answer: Recalled, *, places: tuple[int, ...], now: datetime, told: Iterable[Memory]
    ) -> None:
        """Keep a small answer, until one of the memories that it tells, or of their observations, comes to its end."""
        if len(answer.hits) + len(answer.pinned) > _LARGEST:
            return
        ends = [end for memory in told for end in _ends(memory) if end > now]
        self._kept[key] = _Kept(answer, places, min([now + _LONGEST, *ends]))
        self._kept.move_to_end(key)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)

    def clear(self) -> None:
        """Keep nothing: some of it has been purged."""
        self._kept.clear()
        self.asides.clear()


def _ends(memory: Memory) -> Iterator[datetime]:
    """When something that a memory tells is over, or was."""
    ends = (memory.expires_at, memory.valid_until, *(observation.valid_until for observation in memory.observations))
    yield from (end for end in ends if end is not None)


def key_of(question: Question, *, spaces: Sequence[str], cursor: str) -> Key | None:
    """What makes a question the same; None for one whose answer shows more than changes tell of."""
    # Whole memories show how often they were read, and neighbours may expire.
    if question.detail == "full" or question.around:
        return None
    return hashlib.sha256(repr((question, tuple(spaces), cursor)).encode("utf-8", "surrogatepass")).digest()
