"""The passages of a write and their vectors; texts that the space has embedded already are not embedded again."""

import asyncio
from collections.abc import Iterable, Sequence
from datetime import timedelta
from itertools import accumulate, islice

from scrubjay import telemetry
from scrubjay.detection.neighbours import EmbeddedMemory
from scrubjay.errors import EmbeddingUnavailable
from scrubjay.lazy import dataclass
from scrubjay.model.change import Origin
from scrubjay.model.job import EMBEDDING, Job
from scrubjay.model.memory import Memory
from scrubjay.model.passage import Passage
from scrubjay.ports import Embedded, Embedder, Profile, VectorStore
from scrubjay.text.passages import embedding_text, passages_of, picture_hash
from scrubjay.writing.context import Sliced, WriteContext

__all__ = [
    "BegunEmbedding", "begin_embedding", "count_immediate", "embed_new", "embedding_jobs", "load_vectors",
    "missing_texts", "slice_memory",
]  # fmt: skip

# The event loop is free while a longer text is cut in a thread.
_LONG_TEXT = 20_000
# So many characters are embedded while the caller waits: the bundled model takes two to three seconds for them on two
# slow cores. It is more than the part of a text that is compared as a whole.
_MAX_IMMEDIATE = 16_000
_UNFINISHED = (
    "a long text: its end is found by its words only until the rest of its vectors are made, which is under way"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BegunEmbedding:
    """The vectors that a write is stored with, a warning for its caller, and the memories that get more later."""

    embedded: Embedded | None
    warning: str = ""
    unfinished: tuple[str, ...] = ()


async def slice_memory(memory: Memory) -> tuple[Passage, ...]:
    """Cut a memory into passages, a long one in a thread."""
    with telemetry.stage("write.slice"):
        if len(memory.content) < _LONG_TEXT and len(memory.observations) < _LONG_TEXT // 100:
            return passages_of(memory)
        return await asyncio.to_thread(passages_of, memory)


async def begin_embedding(
    sliced: Sequence[Sliced], *, space: str, context: WriteContext, made: Embedded | None = None
) -> BegunEmbedding:
    """Make the missing vectors; where the context defers, leave those of a long text's end for later.

    The vectors in `made`, which are not stored yet, are not made again; the result has them too.
    """
    return await _embed(
        sliced, space=space, vector_store=context.store, embedder=context.embedder, defers=context.defers, made=made
    )


async def embed_new(
    sliced: Sequence[Sliced], *, space: str, vector_store: VectorStore, embedder: Embedder
) -> tuple[Embedded | None, str]:
    """Make all missing vectors; without a model return a warning, for which no write fails."""
    begun = await _embed(sliced, space=space, vector_store=vector_store, embedder=embedder, defers=False, made=None)
    return begun.embedded, begun.warning


async def _embed(
    sliced: Sequence[Sliced],
    *,
    space: str,
    vector_store: VectorStore,
    embedder: Embedder,
    defers: bool,
    made: Embedded | None,
) -> BegunEmbedding:
    ready = dict(made.vectors) if made else {}
    try:
        with telemetry.stage("write.embed"):
            profile = await embedder.profile()
            texts = await missing_texts(sliced, space=space, vector_store=vector_store, profile=profile)
            missing = {digest: text for digest, text in texts.items() if digest not in ready}
            begun = sum(len(text) for digest, text in texts.items() if digest in ready)
            count = count_immediate(list(missing.values()), begun=begun) if defers else None
            now = dict(islice(missing.items(), count))
            vectors = await embedder.embed(list(now.values())) if now else []
    except EmbeddingUnavailable as error:
        warning = f"stored without vectors, found by its words only: {error.message}"
        return BegunEmbedding(embedded=made, warning=warning)
    later = missing.keys() - now.keys()
    embedded = Embedded(
        model=profile.model,
        dimension=profile.dimension,
        vectors={**ready, **dict(zip(now, vectors, strict=True))},
    )
    return BegunEmbedding(
        embedded=embedded if now else made,
        warning=_UNFINISHED if later else "",
        unfinished=tuple(
            memory.id for memory, passages in sliced if any(passage.hash in later for passage in passages)
        ),
    )


def count_immediate(texts: Sequence[str], *, begun: int = 0) -> int:
    """Return how many texts are embedded while the caller waits, who waits for `begun` characters already."""
    most = _MAX_IMMEDIATE - begun
    return sum(1 for characters in accumulate(map(len, texts)) if characters <= most)


def embedding_jobs(memory_ids: Iterable[str], *, space: str, origin: Origin) -> tuple[Job, ...]:
    """Return the jobs that make the missing vectors of memories; they belong into the same commit."""
    # Due before the conflict check of the same memory, which uses the vectors.
    due = origin.at - timedelta(microseconds=1)
    return tuple(
        Job(space=space, kind=EMBEDDING, about={"memory_id": memory_id}, created_at=origin.at, due=due)
        for memory_id in memory_ids
    )


async def missing_texts(
    sliced: Sequence[Sliced], *, space: str, vector_store: VectorStore, profile: Profile
) -> dict[bytes, str]:
    """Return the texts that have no vector in the space, by hash.

    A model that sees pictures embeds them itself, elsewhere; for any other a picture is represented by its name.
    """
    sees_images = "image" in profile.media
    passages_by_hash = {
        passage.hash: (memory, passage)
        for memory, passages in sliced
        for passage in passages
        if not sees_images or passage.hash != picture_hash(memory)
    }
    embedded = await vector_store.embedded(space, profile.model, list(passages_by_hash))
    return {
        digest: embedding_text(memory, passage.observation, passage.start, passage.end)
        for digest, (memory, passage) in passages_by_hash.items()
        if digest not in embedded
    }


async def load_vectors(
    memory: Memory,
    passages: Sequence[Passage],
    embedded: Embedded | None,
    *,
    vector_store: VectorStore,
    embedder: Embedder,
) -> EmbeddedMemory:
    """Return a memory with its vectors: those just made, and those that the space had."""
    made = dict(embedded.vectors) if embedded else {}
    try:
        profile = await embedder.profile()
    except EmbeddingUnavailable:
        return EmbeddedMemory(memory=memory, passages=passages, vectors=made)
    missing = [passage.hash for passage in passages if passage.hash not in made]
    stored = await vector_store.vectors(memory.space, profile.model, missing) if missing else {}
    return EmbeddedMemory(memory=memory, passages=passages, vectors={**stored, **made}, profile=profile)
