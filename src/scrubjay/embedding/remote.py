"""Embedders over services: OpenAI's `/v1/embeddings`, which many servers offer, and Voyage AI."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from scrubjay.embedding.batching import BatchingEmbedder, BatchLimits, BatchRefused
from scrubjay.embedding.service import EmbeddingService, ServiceClient, Sleep, read_rows
from scrubjay.embedding.vectors import PROBE, unit_vectors
from scrubjay.errors import EmbeddingUnavailable
from scrubjay.model.passage import Vector
from scrubjay.ports import Profile

OPENAI_URL = "https://api.openai.com/v1"
VOYAGE_URL = "https://api.voyageai.com/v1"
Encoding = Literal["float", "base64"]
Payload = Callable[[Sequence[str], bool], Mapping[str, object]]
"""Makes the body of a request from texts, and whether they are questions."""

_CONCURRENT_REQUESTS = 4


def openai_embedder(
    service: EmbeddingService,
    *,
    encoding: Encoding = "float",
    query_cache_size: int = 256,
    sleep: Sleep = asyncio.sleep,
) -> BatchingEmbedder:
    """Make an embedder for OpenAI, Ollama, vLLM, llama.cpp and others; base64 makes responses smaller if supported."""

    def payload(texts: Sequence[str], query: bool) -> Mapping[str, object]:  # noqa: ARG001 - questions are not marked
        options = {"dimensions": service.dimensions} if service.dimensions else {}
        return {"model": service.model, "input": texts, "encoding_format": encoding, **options}

    return _make_embedder(RemoteEncoder(service, payload, sleep=sleep), query_cache_size=query_cache_size)


def voyage_embedder(
    service: EmbeddingService, *, query_cache_size: int = 256, sleep: Sleep = asyncio.sleep
) -> BatchingEmbedder:
    """Make an embedder for Voyage AI, whose requests tell questions from texts to store."""

    def payload(texts: Sequence[str], query: bool) -> Mapping[str, object]:
        options = {"output_dimension": service.dimensions} if service.dimensions else {}
        return {
            "model": service.model,
            "input": texts,
            "input_type": "query" if query else "document",
            "truncation": True,
            **options,
        }

    return _make_embedder(RemoteEncoder(service, payload, sleep=sleep), query_cache_size=query_cache_size)


class RemoteEncoder:
    """An encoder over a service; services differ in the payload only."""

    def __init__(self, service: EmbeddingService, payload: Payload, *, sleep: Sleep = asyncio.sleep) -> None:
        self.service = service
        self._payload = payload
        self._client = ServiceClient(service, sleep=sleep)
        self._dimension = service.dimensions
        self._probing = asyncio.Lock()
        self._has_succeeded = False
        self._failure: EmbeddingUnavailable | None = None
        self._paused_until = 0.0

    async def profile(self) -> Profile:
        """Return the profile; embeds a text to learn the dimension if it is unknown."""
        async with self._probing:
            if self._dimension is None:
                await self.encode([PROBE], query=True)
        assert self._dimension is not None
        return self.service.profile(self._dimension)

    async def encode(self, texts: Sequence[str], *, query: bool) -> list[Vector]:
        response = await self._request(texts, query=query)
        rows = read_rows(response, count=len(texts), model=self.service.model)
        vectors = unit_vectors(rows, count=len(texts), dimension=self._dimension, model=self.service.model)
        self._dimension = len(vectors[0])
        return vectors

    async def close(self) -> None:
        await self._client.close()

    async def _request(self, texts: Sequence[str], *, query: bool) -> object:
        """Return the service's response; fails at once during the cooldown after a failure."""
        service = self.service
        if self._failure is not None and time.monotonic() < self._paused_until:
            raise EmbeddingUnavailable(self._failure.message, hint=self._failure.hint, **self._failure.fields)
        profile = service.base_profile
        prefix = profile.query_prefix if query else profile.text_prefix
        payload = self._payload([_make_acceptable(prefix + text, service.max_characters) for text in texts], query)
        try:
            response = await self._client.post(payload, timeout=service.query_timeout if query else service.timeout)
        except BatchRefused as refusal:
            if not self._has_succeeded:
                # A service that has never accepted a text will not accept the halves of this batch either.
                self._pause(refusal.reason)
            elif len(texts) > 1:
                raise
            raise refusal.reason from refusal
        except EmbeddingUnavailable as error:
            self._pause(error)
            raise
        self._failure = None
        self._has_succeeded = True
        return response

    def _pause(self, error: EmbeddingUnavailable) -> None:
        self._failure = error
        self._paused_until = time.monotonic() + self.service.cooldown


def _make_embedder(encoder: RemoteEncoder, *, query_cache_size: int) -> BatchingEmbedder:
    service = encoder.service
    limits = BatchLimits(
        texts=service.batch_size,
        characters=service.batch_size * service.max_characters,
        text_characters=service.max_characters,
        concurrent=_CONCURRENT_REQUESTS,
    )
    return BatchingEmbedder(encoder, limits=limits, query_cache_size=query_cache_size)


def _make_acceptable(text: str, longest: int) -> str:
    """Make a text that services accept: not too long, not empty, and with characters that can be encoded."""
    cut = text[:longest].encode("utf-8", "replace").decode("utf-8")
    return cut if cut.strip() else "."
