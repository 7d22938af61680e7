"""Voyage AI, whose service wants to know a question from a text to be stored."""

import asyncio
from collections.abc import Mapping, Sequence

from scrubjay.embedding.batching import BatchingEmbedder
from scrubjay.embedding.remote import RemoteEncoder, remote_embedder
from scrubjay.embedding.service import Service
from scrubjay.embedding.transport import Sleep

VOYAGE_URL = "https://api.voyageai.com/v1"


def voyage_embedder(service: Service, *, queries_kept: int = 256, sleep: Sleep = asyncio.sleep) -> BatchingEmbedder:
    """An embedder over Voyage's service."""

    def payload(texts: Sequence[str], query: bool) -> Mapping[str, object]:
        options = {"output_dimension": service.dimensions} if service.dimensions else {}
        return {
            "model": service.model,
            "input": texts,
            "input_type": "query" if query else "document",
            "truncation": True,
            **options,
        }

    return remote_embedder(RemoteEncoder(service, payload, sleep=sleep), queries_kept=queries_kept)
