"""Embeds memories that were stored without vectors: after an import, an outage, or a change of the model."""

import asyncio
from collections.abc import Collection, Mapping, Sequence

from scrubjay.lookup.references import TolerantReader
from scrubjay.model.change import Origin
from scrubjay.model.identity import new_id
from scrubjay.model.memory import Memory
from scrubjay.model.passage import Vector
from scrubjay.ports import Clock, Embedded, Embedder, MediaSource, Progress, RecordStore
from scrubjay.text.passages import embedding_text, passages_of, picture_hash

_AGENT = "scrubjay"
_SURVEY = 5_000
_BATCH = 64
# The vectors of this many texts are stored at a time, so that an interrupted run of a long memory loses little.
_TEXTS_AT_ONCE = 128


async def backfill(
    *,
    store: RecordStore,
    embedder: Embedder,
    clock: Clock,
    media_source: MediaSource | None = None,
    progress: Progress | None = None,
) -> int:
    """Embed every passage that has no vector of the current model; returns the number of memories."""
    profile = await embedder.profile()
    done = 0
    tried: set[tuple[str, str]] = set()
    # An unreadable memory stays without a vector: each memory is tried once.
    while waiting := [
        memory
        for memory in await store.without_vectors(profile.model, limit=_SURVEY + len(tried))
        if memory not in tried
    ]:
        tried.update(waiting)
        for start in range(0, len(waiting), _BATCH):
            batch = waiting[start : start + _BATCH]
            for space in dict.fromkeys(space for space, _ in batch):
                ids = [memory_id for memory_space, memory_id in batch if memory_space == space]
                await embed_memories(space, ids, store=store, embedder=embedder, clock=clock, media_source=media_source)
            done += len(batch)
            if progress is not None:
                progress(done, max(done, done + len(waiting) - start - len(batch)))
    return done


async def embed_memories(
    space: str,
    ids: Sequence[str],
    *,
    store: RecordStore,
    embedder: Embedder,
    clock: Clock,
    media_source: MediaSource | None = None,
    log: bool = True,
    replaced: Collection[bytes] = (),
) -> int:
    """Embed the passages of memories that have no vector yet; returns the number of new vectors.

    `replaced` are hashes of texts whose vector is wrong: it goes when there is a new one. With `log=False` no index
    learns of them: for a model that has none yet.
    """
    profile = await embedder.profile()
    reader = TolerantReader(store, space=space)
    memories = await reader.get(ids)
    # Splitting a long text would block the event loop.
    by_memory = await asyncio.to_thread(texts_by_memory, memories)
    texts = {digest: text for items in by_memory.values() for digest, text in items.items()}
    existing = await store.embedded(space, profile.model, list(texts)) - {*replaced}
    missing = {digest: text for digest, text in texts.items() if digest not in existing}
    if not missing:
        return 0
    picture_vectors, missing = await _embed_pictures(memories, missing, embedder=embedder, media_source=media_source)
    if absent := [digest for digest in replaced if digest not in picture_vectors and digest not in missing]:
        await store.drop_vectors(space, profile.model, absent)
    origin = Origin(at=clock.now(), run=new_id(), agent=_AGENT)

    async def store_vectors(vectors: Mapping[bytes, Vector]) -> int:
        # Embedding may take long: store nothing of memories that were purged meanwhile.
        current = {memory.id: by_memory[memory.id] for memory in await reader.get(list(by_memory))}
        used = {digest: item for digest, item in vectors.items() if any(digest in items for items in current.values())}
        if used:
            owners = [memory_id for memory_id, items in current.items() if not used.keys().isdisjoint(items)]
            if former := [digest for digest in used if digest in replaced]:
                await store.drop_vectors(space, profile.model, former)
            embedded = Embedded(model=profile.model, dimension=profile.dimension, vectors=used)
            await store.store_vectors(space, embedded, memory_ids=owners if log else (), origin=origin)
        return len(used)

    count = await store_vectors(picture_vectors) if picture_vectors else 0
    waiting = list(missing)
    for start in range(0, len(waiting), _TEXTS_AT_ONCE):
        digests = waiting[start : start + _TEXTS_AT_ONCE]
        vectors = await embedder.embed([missing[digest] for digest in digests])
        count += await store_vectors(dict(zip(digests, vectors, strict=True)))
    return count


async def _embed_pictures(
    memories: Sequence[Memory], missing: dict[bytes, str], *, embedder: Embedder, media_source: MediaSource | None
) -> tuple[dict[bytes, Vector], dict[bytes, str]]:
    """Return the vectors of missing pictures, and the texts that remain. Pictures may be large: one at a time."""
    pictures = {digest: memory for memory in memories if (digest := picture_hash(memory)) in missing}
    if not pictures or "image" not in (await embedder.profile()).media:
        return {}, missing
    vectors: dict[bytes, Vector] = {}
    absent: set[bytes] = set()
    for digest, memory in pictures.items():
        media = await media_source.media(memory) if media_source is not None else None
        if media is None:
            absent.add(digest)
            continue
        (vector,) = await embedder.embed_media([media])
        if vector is not None:
            vectors[digest] = vector
    # The name of an unreadable picture is embedded instead; an absent picture is tried again next time.
    return vectors, {digest: text for digest, text in missing.items() if digest not in vectors and digest not in absent}


def texts_by_memory(memories: Sequence[Memory]) -> dict[str, dict[bytes, str]]:
    """Return the texts to embed of each memory, by their hashes."""
    return {
        memory.id: {
            passage.hash: embedding_text(memory, passage.observation, passage.start, passage.end)
            for passage in passages_of(memory, with_terms=False)
        }
        for memory in memories
    }
