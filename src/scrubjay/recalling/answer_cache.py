"""The cache of recent answers: an unchanged space answers the same question the same way."""

import hashlib
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from scrubjay.lazy import dataclass
from scrubjay.model.memory import Memory
from scrubjay.model.requests import RecallRequest
from scrubjay.model.results import Recalled
from scrubjay.recalling.overlay.overlay import OverlayCache

_MAX_ANSWERS = 1024
# Longer answers are pages of a listing, which are rarely requested twice.
_MAX_HITS = 32
# Until then only time passes, and no ranking depends on seconds.
_MAX_AGE = timedelta(minutes=1)

CacheKey = Hashable


@dataclass(frozen=True, slots=True)
class _CachedAnswer:
    answer: Recalled
    places: tuple[int, ...]
    expires_at: datetime


class AnswerCache:
    """The last answers, each valid until one of its spaces changes; and the last overlays."""

    def __init__(self, max_answers: int = _MAX_ANSWERS) -> None:
        self._max_answers = max_answers
        self._answers: OrderedDict[CacheKey, _CachedAnswer] = OrderedDict()
        self.overlays = OverlayCache()

    def get(self, key: CacheKey, *, places: tuple[int, ...], now: datetime) -> Recalled | None:
        """Return the answer to a question at these places in the change logs of its spaces, if it is cached."""
        cached = self._answers.get(key)
        if cached is None or cached.places != places or now >= cached.expires_at:
            return None
        self._answers.move_to_end(key)
        return cached.answer

    def put(
        self, key: CacheKey, answer: Recalled, *, places: tuple[int, ...], now: datetime, ends_at: datetime | None
    ) -> None:
        """Store a small answer, at most until the moment at which it ends."""
        if len(answer.hits) + len(answer.pinned) > _MAX_HITS:
            return
        expires_at = now + _MAX_AGE
        self._answers[key] = _CachedAnswer(answer, places, min(expires_at, ends_at or expires_at))
        self._answers.move_to_end(key)
        while len(self._answers) > self._max_answers:
            self._answers.popitem(last=False)

    def clear(self) -> None:
        """Drop everything: a part of it has been purged."""
        self._answers.clear()
        self.overlays.clear()


def cache_key(question: RecallRequest, *, spaces: Sequence[str]) -> CacheKey | None:
    """Return the cache key of a question; None if its answer depends on more than the change log records."""
    # Whole memories include their access counts, neighbours may expire, and synonyms of tags change without an entry.
    if question.detail == "full" or question.around or question.filter.tags or question.filter.any_tags:
        return None
    return hashlib.sha256(repr((question, tuple(spaces))).encode("utf-8", "surrogatepass")).digest()


def ends_of(memories: Iterable[Memory]) -> Iterator[datetime]:
    """Return the moments at which memories, or observations of theirs, end."""
    for memory in memories:
        ends = (memory.expires_at, memory.valid_until, *(each.valid_until for each in memory.observations))
        yield from (end for end in ends if end is not None)
