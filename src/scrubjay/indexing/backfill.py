"""Embedding what was stored without vectors: after an import, an outage, or a change of model."""

from collections.abc import Mapping, Sequence

from scrubjay.model.change import Origin
from scrubjay.model.identity import new_id
from scrubjay.model.memory import Memory
from scrubjay.model.passage import Vector
from scrubjay.ports import Clock, Embedded, Embedder, Gallery, Progress, RecordStore
from scrubjay.references import SoundReader
from scrubjay.text.passages import embedding_text, passages_of, picture_hash

_AGENT = "scrubjay"
_SURVEY = 5_000
_BATCH = 64


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
        one for one in await store.without_vectors(profile.model, limit=_SURVEY + len(seen)) if one not in seen
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
) -> None:
    """Embed what has no vector yet of some memories."""
    profile = await embedder.profile()
    memories = await SoundReader(store, space=space).get(ids)
    texts = {digest: text for memory in memories for digest, text in _texts(memory)}
    known = await store.embedded(space, profile.model, list(texts))
    missing = {digest: text for digest, text in texts.items() if digest not in known}
    if not missing:
        return
    pictures = {digest: one for one in memories if (digest := picture_hash(one)) in missing}
    seen: dict[bytes, Vector] = {}
    if pictures and "image" in profile.media:
        seen, absent = await _seen(pictures, embedder=embedder, gallery=gallery)
        # One that cannot be read goes by its name for good; one that is not at hand is looked for again.
        missing = {digest: text for digest, text in missing.items() if digest not in seen and digest not in absent}
    vectors = await embedder.embed(list(missing.values())) if missing else []
    embedded = Embedded(
        model=profile.model,
        dimension=profile.dimension,
        vectors={**seen, **dict(zip(missing, vectors, strict=True))},
    )
    origin = Origin(at=clock.now(), run=new_id(), agent=_AGENT)
    await store.shelve(space, embedded, memory_ids=[memory.id for memory in memories], origin=origin)


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


def _texts(memory: Memory) -> list[tuple[bytes, str]]:
    return [
        (passage.hash, embedding_text(memory, passage.observation, passage.start, passage.end))
        for passage in passages_of(memory)
    ]
