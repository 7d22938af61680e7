"""Services that speak OpenAI's `/v1/embeddings`: OpenAI, Ollama, vLLM, llama.cpp and many others."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Literal

from scrubjay.embedding.batching import BatchingEmbedder
from scrubjay.embedding.remote import RemoteEncoder, remote_embedder
from scrubjay.embedding.service import Service
from scrubjay.embedding.transport import Sleep

OPENAI_URL = "https://api.openai.com/v1"
Encoding = Literal["float", "base64"]


def openai_embedder(
    service: Service, *, encoding: Encoding = "float", queries_kept: int = 256, sleep: Sleep = asyncio.sleep
) -> BatchingEmbedder:
    """An embedder over a service; base64 makes answers smaller where the service knows it."""

    def payload(texts: Sequence[str], query: bool) -> Mapping[str, object]:  # noqa: ARG001 - it knows no difference
        options = {"dimensions": service.dimensions} if service.dimensions else {}
        return {"model": service.model, "input": texts, "encoding_format": encoding, **options}

    return remote_embedder(RemoteEncoder(service, payload, sleep=sleep), queries_kept=queries_kept)
