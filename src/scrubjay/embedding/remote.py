"""An encoder over an embedding service; what services differ in is only the payload."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence

from scrubjay.embedding.batching import BatchingEmbedder, BatchRefused
from scrubjay.embedding.queue import Limits
from scrubjay.embedding.response import rows_of
from scrubjay.embedding.service import Service
from scrubjay.embedding.transport import Sleep, Transport
from scrubjay.embedding.vectors import unit_vectors
from scrubjay.errors import EmbeddingUnavailable
from scrubjay.model.passage import Vector
from scrubjay.ports import Profile

Payload = Callable[[Sequence[str], bool], Mapping[str, object]]
"""Makes the body of a request from texts, and whether they are questions."""

_REQUESTS_AT_ONCE = 4
_PROBE = "How many numbers has a vector?"


def remote_embedder(encoder: "RemoteEncoder", *, queries_kept: int) -> BatchingEmbedder:
    """The embedder over a service, with batches as large as the service was said to take."""
    service = encoder.service
    limits = Limits(
        texts=service.batch_size,
        characters=service.batch_size * service.longest,
        longest=service.longest,
        at_once=_REQUESTS_AT_ONCE,
    )
    return BatchingEmbedder(encoder, limits=limits, queries_kept=queries_kept)


class RemoteEncoder:
    """Texts to vectors by a service that speaks `/v1/embeddings`."""

    def __init__(self, service: Service, payload: Payload, *, sleep: Sleep = asyncio.sleep) -> None:
        self.service = service
        self._payload = payload
        self._transport = Transport(service, sleep=sleep)
        self._dimension = service.dimensions
        self._probing = asyncio.Lock()
        self._has_answered = False
        self._failure: EmbeddingUnavailable | None = None
        self._rests_until = 0.0

    async def profile(self) -> Profile:
        """The profile; asks the service for one vector when nobody knows the dimension yet."""
        async with self._probing:
            if self._dimension is None:
                await self.encode([_PROBE], query=True)
        assert self._dimension is not None
        return self.service.profile(self._dimension)

    async def encode(self, texts: Sequence[str], *, query: bool) -> list[Vector]:
        answer = await self._ask(texts, query=query)
        rows = rows_of(answer, count=len(texts), model=self.service.model)
        vectors = unit_vectors(rows, count=len(texts), dimension=self._dimension, model=self.service.model)
        self._dimension = len(vectors[0])
        return vectors

    async def close(self) -> None:
        await self._transport.close()

    async def _ask(self, texts: Sequence[str], *, query: bool) -> object:
        """The service's answer, unless it has just failed and is left alone."""
        service = self.service
        if self._failure is not None and time.monotonic() < self._rests_until:
            raise EmbeddingUnavailable(self._failure.message, hint=self._failure.hint, **self._failure.fields)
        existing = service.known
        prefix = existing.query_prefix if query else existing.text_prefix
        payload = self._payload([_presentable(prefix + text, service.longest) for text in texts], query)
        try:
            answer = await self._transport.post(payload, timeout=service.query_timeout if query else service.timeout)
        except BatchRefused as refusal:
            if not self._has_answered:
                # A service that has never taken anything will not take the halves either.
                self._rest(refusal.reason)
            elif len(texts) > 1:
                raise
            raise refusal.reason from refusal
        except EmbeddingUnavailable as error:
            self._rest(error)
            raise
        self._failure = None
        self._has_answered = True
        return answer

    def _rest(self, error: EmbeddingUnavailable) -> None:
        self._failure = error
        self._rests_until = time.monotonic() + self.service.cooldown


def _presentable(text: str, longest: int) -> str:
    """What services accept: not endless, not empty, and Unicode that can be encoded."""
    cut = text[:longest].encode("utf-8", "replace").decode("utf-8")
    return cut if cut.strip() else "."
