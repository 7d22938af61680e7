"""Gathers the requests of concurrent tasks into batches of like length, questions first."""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from typing import Protocol

from scrubjay import telemetry
from scrubjay.embedding.queue import Item, Lane, Limits, Request
from scrubjay.errors import EmbeddingUnavailable
from scrubjay.model.media import Media
from scrubjay.model.passage import Vector
from scrubjay.ports import Profile

# A page pasted as a question is not asked twice; keeping it would make the cache's size unknowable.
_LONGEST_KNOWN = 1000

# A writer waits behind so many batches of questions at most.
_QUESTIONS_IN_A_ROW = 2

# A question waits behind so many pictures at most.
_MEDIA_AT_ONCE = 4

# How long closing waits for batches that are being made: a service may be far away and slow.
_GRACE = 5.0


class Encoder(Protocol):
    """A model that turns a batch of texts into unit vectors, without blocking the event loop."""

    async def profile(self) -> Profile:
        """The model's profile; loads the model if need be."""
        ...

    async def encode(self, texts: Sequence[str], *, query: bool) -> Sequence[Vector]:
        """One vector a text; raises BatchRefused when some of the texts are to blame."""
        ...

    async def close(self) -> None:
        """Let go of the model or connection."""
        ...


class Seeing(Encoder, Protocol):
    """An encoder that has media in the same space as its texts."""

    async def encode_media(self, items: Sequence[Media]) -> Sequence[Vector | None]:
        """One vector each, None for what cannot be read."""
        ...


class BatchRefused(Exception):
    """Raised by an encoder that does not take these texts, though it may take some of them alone."""

    def __init__(self, reason: EmbeddingUnavailable) -> None:
        super().__init__(str(reason))
        self.reason = reason


class BatchingEmbedder:
    """The `Embedder` over any encoder. It belongs to the event loop that uses it."""

    def __init__(
        self,
        encoder: Encoder,
        *,
        sees: Seeing | None = None,
        limits: Limits | None = None,
        queries_kept: int = 256,
        grace: float = _GRACE,
    ) -> None:
        self._encoder = encoder
        self._sees = sees
        self._grace = grace
        self._limits = limits or Limits()
        self._queries = Lane(self._limits)
        self._texts = Lane(self._limits)
        self._known = _Known(queries_kept)
        self._running: set[asyncio.Task[None]] = set()
        self._wake: asyncio.Handle | None = None
        self._questions_in_a_row = 0
        self._closed = False

    async def profile(self) -> Profile:
        self._refuse_if_closed()
        return await self._encoder.profile()

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        return await self._ask(texts, self._texts) if texts else []

    async def embed_query(self, text: str) -> Vector:
        vector = self._known.get(text)
        telemetry.count("embedding_cache", result="miss" if vector is None else "hit")
        if vector is None:
            (vector,) = await self._ask([text], self._queries)
            self._known.put(text, vector)
        return vector

    async def embed_media(self, items: Sequence[Media]) -> list[Vector | None]:
        profile = await self.profile()
        strange = sorted({item.group for item in items if item.group not in profile.media})
        if strange or self._sees is None:
            if not items:
                return []
            raise EmbeddingUnavailable(
                f"{profile.model} makes no vectors of media ({', '.join(strange)})",
                hint="SCRUBJAY_EMBEDDER=clip does, of pictures",
                model=profile.model,
            )
        vectors: list[Vector | None] = []
        for start in range(0, len(items), _MEDIA_AT_ONCE):
            vectors += await self._sees.encode_media(items[start : start + _MEDIA_AT_ONCE])
        return vectors

    async def close(self) -> None:
        """Refuse what waits, give running batches a moment to finish, and let go of the model."""
        if self._closed:
            return
        self._closed = True
        waiting = (*self._queries.drain(), *self._texts.drain())
        for item in waiting:
            item.request.fail(_closed())
        if self._running:
            _, late = await asyncio.wait(self._running, timeout=self._grace)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        await self._encoder.close()

    async def _ask(self, texts: Sequence[str], lane: Lane) -> list[Vector]:
        self._refuse_if_closed()
        request = Request(texts, asyncio.get_running_loop().create_future())
        lane.put(request)
        # A turn later, so that tasks which ask in this turn of the loop share a batch.
        if self._wake is None:
            self._wake = asyncio.get_running_loop().call_soon(self._start_batches)
        return await request.answer

    def _start_batches(self) -> None:
        self._wake = None
        while len(self._running) < self._limits.at_once:
            query, batch = self._next_batch()
            if not batch:
                return
            task = asyncio.ensure_future(self._run(batch, query=query))
            self._running.add(task)
            task.add_done_callback(self._finished)

    def _next_batch(self) -> tuple[bool, list[Item]]:
        """Questions first, but not for ever: among many of them a text gets its turn too."""
        lanes = [(True, self._queries), (False, self._texts)]
        if self._questions_in_a_row >= _QUESTIONS_IN_A_ROW:
            lanes.reverse()
        for query, lane in lanes:
            if batch := lane.take():
                self._questions_in_a_row = self._questions_in_a_row + 1 if query else 0
                return query, batch
        return True, []

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        if not self._closed and not task.cancelled():
            self._start_batches()

    async def _run(self, batch: Sequence[Item], *, query: bool) -> None:
        try:
            vectors = await self._encoder.encode([item.text for item in batch], query=query)
            answered = list(zip(batch, vectors, strict=True))
        except BatchRefused as refusal:
            await self._run_halves(batch, refusal, query=query)
        except asyncio.CancelledError:
            for item in batch:
                item.request.fail(_closed())
            raise
        except Exception as error:  # noqa: BLE001 - the edge of a job: whatever it was, the callers must hear of it
            for item in batch:
                item.request.fail(error)
        else:
            for item, vector in answered:
                item.request.deliver(item.position, vector)

    async def _run_halves(self, batch: Sequence[Item], refusal: BatchRefused, *, query: bool) -> None:
        """Find the texts that are to blame, so that nobody pays for a stranger's."""
        if len(batch) == 1:
            batch[0].request.fail(refusal.reason)
            return
        half = len(batch) // 2
        for part in (batch[:half], batch[half:]):
            if expected := [item for item in part if not item.request.over]:
                await self._run(expected, query=query)

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise _closed()


def _closed() -> EmbeddingUnavailable:
    return EmbeddingUnavailable("the embedder has been closed", hint="open the memory again")


class _Known:
    """The vectors of the questions asked last."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._vectors: OrderedDict[str, Vector] = OrderedDict()

    def get(self, text: str) -> Vector | None:
        if text in self._vectors:
            self._vectors.move_to_end(text)
        return self._vectors.get(text)

    def put(self, text: str, vector: Vector) -> None:
        if len(text) > _LONGEST_KNOWN:
            return
        self._vectors[text] = vector
        self._vectors.move_to_end(text)
        if len(self._vectors) > self._limit:
            self._vectors.popitem(last=False)
