"""Embedding what was stored without vectors: after an import, an outage, or a change of model."""

import asyncio
from collections.abc import Mapping, Sequence

from scrubjay.lookup.references import TolerantReader
from scrubjay.model.change import Origin
from scrubjay.model.identity import new_id
from scrubjay.model.memory import Memory
from scrubjay.model.passage import Vector
from scrubjay.ports import Clock, Embedded, Embedder, Gallery, Progress, RecordStore
from scrubjay.text.passages import embedding_text, passages_of, picture_hash

_AGENT = "scrubjay"
_SURVEY = 5_000
_BATCH = 64
# So many texts are stored at a time: who is cut off in a long one goes on where it was.
_AT_A_TIME = 128


async def backfill(
    *,
    store: RecordStore,
    embedder: Embedder,
    clock: Clock,
    gallery: Gallery | None = None,
    progress: Progress | None = None,
) -> int:
    """Embed every passage that has no vector by the current model; returns how many memories were done."""
    profile = await embedder.profile()
    done = 0
    seen: set[tuple[str, str]] = set()
    # A memory that cannot be read stays without a vector: what was tried once is not tried again.
    while waiting := [
        vector for vector in await store.without_vectors(profile.model, limit=_SURVEY + len(seen)) if vector not in seen
    ]:
        seen.update(waiting)
        for start in range(0, len(waiting), _BATCH):
            batch = waiting[start : start + _BATCH]
            for space in dict.fromkeys(space for space, _ in batch):
                ids = [memory_id for place, memory_id in batch if place == space]
                await embed_some(space, ids, store=store, embedder=embedder, clock=clock, gallery=gallery)
            done += len(batch)
            if progress is not None:
                progress(done, max(done, done + len(waiting) - start - len(batch)))
    return done


async def embed_some(
    space: str,
    ids: Sequence[str],
    *,
    store: RecordStore,
    embedder: Embedder,
    clock: Clock,
    gallery: Gallery | None = None,
) -> int:
    """Embed what has no vector yet of some memories; returns how many vectors were made."""
    profile = await embedder.profile()
    reader = TolerantReader(store, space=space)
    memories = await reader.get(ids)
    # A long text takes long enough to take apart that the event loop should not do it.
    by_memory = await asyncio.to_thread(_texts_of_each, memories)
    texts = {digest: text for items in by_memory.values() for digest, text in items.items()}
    existing = await store.embedded(space, profile.model, list(texts))
    missing = {digest: text for digest, text in texts.items() if digest not in existing}
    if not missing:
        return 0
    pictures = {digest: memory for memory in memories if (digest := picture_hash(memory)) in missing}
    seen: dict[bytes, Vector] = {}
    if pictures and "image" in profile.media:
        seen, absent = await _seen(pictures, embedder=embedder, gallery=gallery)
        # One that cannot be read goes by its name for good; one that is not at hand is looked for again.
        missing = {digest: text for digest, text in missing.items() if digest not in seen and digest not in absent}
    origin = Origin(at=clock.now(), run=new_id(), agent=_AGENT)

    async def keep(vectors: Mapping[bytes, Vector]) -> int:
        # Making them may have taken long: of what was purged meanwhile nothing must stay.
        current = {item.id: by_memory[item.id] for item in await reader.get(list(by_memory))}
        used = {digest: item for digest, item in vectors.items() if any(digest in items for items in current.values())}
        if used:
            having = [memory_id for memory_id, items in current.items() if not used.keys().isdisjoint(items)]
            embedded = Embedded(model=profile.model, dimension=profile.dimension, vectors=used)
            await store.store_vectors(space, embedded, memory_ids=having, origin=origin)
        return len(used)

    count = await keep(seen) if seen else 0
    waiting = list(missing)
    for start in range(0, len(waiting), _AT_A_TIME):
        items = waiting[start : start + _AT_A_TIME]
        vectors = await embedder.embed([missing[digest] for digest in items])
        count += await keep(dict(zip(items, vectors, strict=True)))
    return count


async def _seen(
    pictures: Mapping[bytes, Memory], *, embedder: Embedder, gallery: Gallery | None
) -> tuple[dict[bytes, Vector], set[bytes]]:
    """The vectors of pictures, and those that are not at hand. One after the other: they may be large."""
    seen: dict[bytes, Vector] = {}
    absent: set[bytes] = set()
    for digest, memory in pictures.items():
        media = await gallery.media(memory) if gallery is not None else None
        if media is None:
            absent.add(digest)
            continue
        (vector,) = await embedder.embed_media([media])
        if vector is not None:
            seen[digest] = vector
    return seen, absent


def _texts_of_each(memories: Sequence[Memory]) -> dict[str, dict[bytes, str]]:
    """What is embedded of each memory, by the hashes of its texts."""
    return {
        memory.id: {
            passage.hash: embedding_text(memory, passage.observation, passage.start, passage.end)
            for passage in passages_of(memory)
        }
        for memory in memories
    }
