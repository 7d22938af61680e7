"""Collects the texts of concurrent tasks into batches of similar length, questions first."""

import asyncio
import heapq
import itertools
import math
from collections import Counter, OrderedDict, deque
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from scrubjay import telemetry
from scrubjay.errors import EmbeddingUnavailable
from scrubjay.lazy import dataclass
from scrubjay.model.media import Media
from scrubjay.model.passage import Vector
from scrubjay.ports import Profile
from scrubjay.workers import admission

# Longer questions are not cached: they are rarely repeated, and would make the size of the cache unpredictable.
_MAX_CACHED_QUESTION = 1000
# A text to store waits for at most this many batches of questions.
_MAX_QUESTION_BATCHES = 2
# A question waits for at most this many pictures.
_MEDIA_BATCH = 4
# The time limit for running batches when the embedder is closed: a service may be far away and slow.
_CLOSE_TIMEOUT = 5.0
# After two requests have met, the model works beside the event loop for so long: they will meet again.
_SHARED_SECONDS = 0.1
# Texts of fewer characters share one bucket: separate buckets would only make batches smaller.
_SHORT_TEXT = 64


class Encoder(Protocol):
    """A model that turns a batch of texts into unit vectors, without blocking the event loop."""

    async def profile(self) -> Profile:
        """Return the model's profile; loads the model if necessary."""
        ...

    async def encode(self, texts: Sequence[str], *, query: bool) -> Sequence[Vector]:
        """Return a vector for each text; raises BatchRefused if only some of the texts are the cause."""
        ...

    async def close(self) -> None:
        """Release the model or connection."""
        ...


@runtime_checkable
class LoneEncoder(Protocol):
    """An encoder that is faster with one text while no other waits."""

    def encode_now(self, text: str, *, query: bool) -> Vector | None:
        """Return the vector of a short text, on the event loop; None if it is not ready to."""
        ...

    async def encode_alone(self, text: str, *, query: bool) -> Vector:
        """Return the vector of a text, without blocking the event loop."""
        ...


class MediaEncoder(Encoder, Protocol):
    """An encoder that embeds media into the same space as texts."""

    async def encode_media(self, items: Sequence[Media]) -> Sequence[Vector | None]:
        """Return a vector for each item, None for unreadable ones."""
        ...


class BatchRefused(Exception):
    """Raised by an encoder that refuses these texts together, but may accept some of them alone."""

    def __init__(self, reason: EmbeddingUnavailable) -> None:
        super().__init__(str(reason))
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchLimits:
    """The size of a batch. With `pads` each text has the length of the longest, up to `text_characters`.

    A text longer than `alone` is a batch of its own; shorter ones do not wait for its end. One of up to `at_once`
    characters that meets no other is embedded on the event loop: to wake two threads takes half as long as the model.
    """

    texts: int = 16
    characters: int = 2048
    text_characters: int = 1024
    alone: int = 1_000_000
    at_once: int = 0
    concurrent: int = 1
    pads: bool = True


class BatchingEmbedder:
    """The `Embedder` over any encoder. It belongs to the event loop that uses it."""

    def __init__(
        self,
        encoder: Encoder,
        *,
        media_encoder: MediaEncoder | None = None,
        limits: BatchLimits | None = None,
        query_cache_size: int = 256,
        close_timeout: float = _CLOSE_TIMEOUT,
    ) -> None:
        self._encoder = encoder
        self._media_encoder = media_encoder
        self._close_timeout = close_timeout
        self._limits = limits or BatchLimits()
        self._queries = _TextQueue(self._limits)
        self._texts = _TextQueue(self._limits)
        self._query_cache = _QueryCache(query_cache_size)
        self._running: set[asyncio.Task[None]] = set()
        self._long_running = 0
        self._wake: asyncio.Handle | None = None
        # Questions whose callers do not have their vectors yet, and the next delivery.
        self._embedded: deque[tuple[_QueuedText, Vector]] = deque()
        self._delivery: asyncio.Handle | None = None
        self._question_batches = 0
        self._requests = 0
        self._met_at = -math.inf
        self._closed = False

    async def profile(self) -> Profile:
        self._require_open()
        return await self._encoder.profile()

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        return await self._request(texts, self._texts) if texts else []

    async def embed_query(self, text: str) -> Vector:
        vector = self._query_cache.get(text)
        telemetry.count("embedding_cache", result="miss" if vector is None else "hit")
        if vector is None:
            (vector,) = await self._request([text], self._queries)
            self._query_cache.put(text, vector)
        return vector

    async def embed_media(self, items: Sequence[Media]) -> list[Vector | None]:
        profile = await self.profile()
        unsupported = sorted({item.group for item in items if item.group not in profile.media})
        if unsupported or self._media_encoder is None:
            if not items:
                return []
            raise EmbeddingUnavailable(
                f"{profile.model} does not embed media ({', '.join(unsupported)})",
                hint="SCRUBJAY_EMBEDDER=clip embeds pictures",
                model=profile.model,
            )
        vectors: list[Vector | None] = []
        for start in range(0, len(items), _MEDIA_BATCH):
            vectors += await self._media_encoder.encode_media(items[start : start + _MEDIA_BATCH])
        return vectors

    async def close(self) -> None:
        """Refuse waiting texts, give running batches a moment to finish, and release the model."""
        if self._closed:
            return
        self._closed = True
        for item in (*self._queries.drain(), *self._texts.drain()):
            item.request.fail(_closed_error())
        if self._running:
            _, late = await asyncio.wait(self._running, timeout=self._close_timeout)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        for item, vector in self._embedded:
            item.request.deliver(item.position, vector)
        self._embedded.clear()
        await self._encoder.close()

    async def _request(self, texts: Sequence[str], queue: "_TextQueue") -> list[Vector]:
        self._require_open()
        loop = asyncio.get_running_loop()
        request = _EmbeddingRequest(texts, loop.create_future())
        if self._requests:
            self._met_at = loop.time()
        queue.put(request)
        # In the next turn of the loop, so that requests of this turn share a batch.
        if self._wake is None:
            self._wake = loop.call_soon(self._start_batches)
        self._requests += 1
        try:
            return await request.result
        finally:
            self._requests -= 1

    def _start_batches(self) -> None:
        self._wake = None
        while True:
            is_extra = len(self._running) >= self._limits.concurrent
            if is_extra and not self._has_extra_room:
                return
            query, batch = self._next_batch(is_extra=is_extra)
            if not batch:
                return
            # At once, and not when its task begins: the next turn of this loop counts it.
            self._long_running += self._is_long(batch)
            task = asyncio.ensure_future(self._run_batches(batch, query=query, is_extra=is_extra))
            self._running.add(task)
            task.add_done_callback(self._finish)

    @property
    def _has_extra_room(self) -> bool:
        """Whether a batch of short texts may run beside a long text: its writer would wait several times as long."""
        return self._long_running > 0 and len(self._running) <= self._limits.concurrent

    def _is_long(self, batch: Sequence["_QueuedText"]) -> bool:
        return len(batch) == 1 and min(len(batch[0].text), self._limits.text_characters) > self._limits.alone

    def _next_batch(self, *, is_extra: bool) -> tuple[bool, list["_QueuedText"]]:
        """Take questions first, but let a batch of texts pass after several batches of questions."""
        queues = [(True, self._queries), (False, self._texts)]
        if self._question_batches >= _MAX_QUESTION_BATCHES:
            queues.reverse()
        for query, queue in queues:
            if batch := queue.take_batch(only_short=is_extra):
                self._question_batches = self._question_batches + 1 if query else 0
                return query, batch
        return True, []

    def _finish(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        if not self._closed and not task.cancelled():
            self._start_batches()

    async def _run_batches(self, batch: Sequence["_QueuedText"], *, query: bool, is_extra: bool) -> None:
        """Run a batch and those that wait by then: between two tasks the model would be idle."""
        while batch:
            try:
                await self._run(batch, query=query)
            finally:
                self._long_running -= self._is_long(batch)
            if self._closed or (is_extra and not self._long_running):
                return
            query, batch = self._next_batch(is_extra=is_extra)
            self._long_running += self._is_long(batch)
            # Short texts that wait can run beside it.
            if self._is_long(batch) and not is_extra:
                self._start_batches()

    async def _run(self, batch: Sequence["_QueuedText"], *, query: bool) -> None:
        try:
            vectors = await self._encode(batch, query=query)
            results = list(zip(batch, vectors, strict=True))
        except BatchRefused as refusal:
            await self._run_halves(batch, refusal, query=query)
        except asyncio.CancelledError:
            for item in batch:
                item.request.fail(_closed_error())
            raise
        except Exception as error:  # noqa: BLE001 - the edge of a job: the callers get any error
            for item in batch:
                item.request.fail(error)
        else:
            if query:
                self._embedded.extend(results)
                if self._delivery is None:
                    self._deliver_next()
            else:
                for item, vector in results:
                    item.request.deliver(item.position, vector)

    async def _encode(self, batch: Sequence["_QueuedText"], *, query: bool) -> Sequence[Vector]:
        encoder, item = self._encoder, batch[0]
        if isinstance(encoder, LoneEncoder) and self._is_alone(item):
            is_short = len(item.text) <= self._limits.at_once
            vector = encoder.encode_now(item.text, query=query) if is_short else None
            return [await encoder.encode_alone(item.text, query=query) if vector is None else vector]
        return await encoder.encode([item.text for item in batch], query=query)

    def _is_alone(self, item: "_QueuedText") -> bool:
        """Return whether a text has met no other, and no two have met a moment ago."""
        is_only = self._requests == 1 and len(item.request.texts) == 1
        return is_only and asyncio.get_running_loop().time() >= self._met_at + _SHARED_SECONDS

    def _deliver_next(self) -> None:
        """Deliver one vector in each turn of the loop.

        A search computes for milliseconds. If those of a batch all ran in one turn, a write, which takes several turns,
        would wait for all of them each time.
        """
        self._delivery = None
        while self._embedded and self._embedded[0][0].request.is_done:
            self._embedded.popleft()
        if self._embedded:
            item, vector = self._embedded.popleft()
            item.request.deliver(item.position, vector)
            self._delivery = asyncio.get_running_loop().call_soon(self._deliver_next)

    async def _run_halves(self, batch: Sequence["_QueuedText"], refusal: BatchRefused, *, query: bool) -> None:
        """Find the texts that cause the refusal, so that the other callers get their vectors."""
        if len(batch) == 1:
            batch[0].request.fail(refusal.reason)
            return
        half = len(batch) // 2
        for part in (batch[:half], batch[half:]):
            if pending := [item for item in part if not item.request.is_done]:
                await self._run(pending, query=query)

    def _require_open(self) -> None:
        if self._closed:
            raise _closed_error()


def _closed_error() -> EmbeddingUnavailable:
    return EmbeddingUnavailable("the embedder has been closed", hint="open the memory again")


class _QueryCache:
    """The vectors of the most recent questions."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._vectors: OrderedDict[str, Vector] = OrderedDict()

    def get(self, text: str) -> Vector | None:
        if text in self._vectors:
            self._vectors.move_to_end(text)
        return self._vectors.get(text)

    def put(self, text: str, vector: Vector) -> None:
        if len(text) > _MAX_CACHED_QUESTION:
            return
        self._vectors[text] = vector
        self._vectors.move_to_end(text)
        if len(self._vectors) > self._size:
            self._vectors.popitem(last=False)


class _EmbeddingRequest:
    """The texts of a caller and the future of their vectors."""

    __slots__ = ("_vectors", "result", "texts")

    def __init__(self, texts: Sequence[str], result: "asyncio.Future[list[Vector]]") -> None:
        self.texts = tuple(texts)
        self.result = result
        self._vectors: dict[int, Vector] = {}

    @property
    def is_done(self) -> bool:
        """Whether the caller no longer waits: the request has succeeded, failed or been cancelled."""
        return self.result.done()

    def deliver(self, position: int, vector: Vector) -> None:
        """Add the vector of a text; the last vector completes the request."""
        self._vectors[position] = vector
        if len(self._vectors) == len(self.texts) and not self.is_done:
            self.result.set_result([self._vectors[position] for position in range(len(self.texts))])

    def fail(self, error: Exception) -> None:
        """Fail the request, unless it is done."""
        if not self.is_done:
            self.result.set_exception(error)


@dataclass(frozen=True, slots=True)
class _QueuedText:
    """A text of a request."""

    request: _EmbeddingRequest
    position: int
    text: str


class _TextQueue:
    """Waiting texts by length, so that a batch has little padding: the first in the queue and others of its length.

    Without padding a batch has the first texts, whatever their lengths, so that none is overtaken by later ones.
    """

    def __init__(self, limits: BatchLimits) -> None:
        self._limits = limits
        self._arrivals = itertools.count()
        self._waiting: Counter[str] = Counter()
        self._buckets: dict[int, list[tuple[int, int, _QueuedText]]] = {}

    def put(self, request: _EmbeddingRequest) -> None:
        """Add the texts of a request."""
        # The first batch of a request precedes the second of an earlier one, so that short requests do not wait for
        # long ones to end. Requests of one token come one after the other, so that many do not delay other callers.
        place, characters = self._take_place(request), 0
        for position, text in enumerate(request.texts):
            turn = place + max(position // self._limits.texts, characters // self._limits.characters)
            characters += self._size(text)
            bucket = self._buckets.setdefault(self._bucket(self._size(text)), [])
            heapq.heappush(bucket, (turn, next(self._arrivals), _QueuedText(request, position, text)))

    def take_batch(self, *, only_short: bool = False) -> list[_QueuedText]:
        """Remove and return the next batch, without texts of finished requests; empty if there is none."""
        batch: list[_QueuedText] = []
        # A bucket has texts of similar lengths, so that one below the limit's has short texts only.
        least = self._bucket(self._limits.alone + 1) if only_short else math.inf
        while not batch and (keys := [key for key in self._buckets if key < least]):
            # The turn and the arrival of a bucket's first item are unique, so items are never compared.
            key = min(keys, key=lambda key: self._buckets[key][0])
            batch = self._take_from(self._buckets[key])
            if not self._buckets[key]:
                del self._buckets[key]
        return batch

    def drain(self) -> list[_QueuedText]:
        """Remove and return all texts."""
        items = [item for bucket in self._buckets.values() for _, _, item in bucket]
        self._buckets.clear()
        return items

    def _take_place(self, request: _EmbeddingRequest) -> int:
        """Return how many requests of the same token wait already."""
        caller = admission.get().caller
        if not caller:
            return 0

        def leave(_: object) -> None:
            self._waiting -= Counter({caller: 1})

        request.result.add_done_callback(leave)
        self._waiting[caller] += 1
        return self._waiting[caller] - 1

    def _take_from(self, bucket: list[tuple[int, int, _QueuedText]]) -> list[_QueuedText]:
        batch: list[_QueuedText] = []
        longest = total = 0
        while bucket and len(batch) < self._limits.texts:
            item = bucket[0][2]
            if not item.request.is_done:
                size = self._size(item.text)
                longest, total = max(longest, size), total + size
                characters = longest * (len(batch) + 1) if self._limits.pads else total
                # A long text gains nothing from company, and others wait for the end of its batch.
                if batch and (longest > self._limits.alone or characters > self._limits.characters):
                    break
                batch.append(item)
            heapq.heappop(bucket)
        return batch

    def _bucket(self, size: int) -> int:
        """Return the bucket of a length; with padding its longest text is at most 1.4 times as long as the shortest."""
        if not self._limits.pads:
            return int(size > self._limits.alone)
        return int(2 * math.log2(max(size, _SHORT_TEXT)))

    def _size(self, text: str) -> int:
        return min(len(text), self._limits.text_characters)
