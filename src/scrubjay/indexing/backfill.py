"""Embedding what was stored without vectors: after an import, an outage, or a change of model."""

from collections.abc import Sequence

from scrubjay.model.change import Origin
from scrubjay.model.identity import new_id
from scrubjay.model.memory import Memory
from scrubjay.ports import Clock, Embedded, Embedder, Progress, RecordStore
from scrubjay.references import SoundReader
from scrubjay.text.passages import embedding_text, passages_of

_AGENT = "scrubjay"
_SURVEY = 5_000
_BATCH = 64


async def backfill(*, store: RecordStore, embedder: Embedder, clock: Clock, progress: Progress | None = None) -> int:
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
                await _embed(space, ids, store=store, embedder=embedder, clock=clock)
            done += len(batch)
            if progress is not None:
                progress(done, max(done, done + len(waiting) - start - len(batch)))
    return done


async def _embed(space: str, ids: Sequence[str], *, store: RecordStore, embedder: Embedder, clock: Clock) -> None:
    profile = await embedder.profile()
    memories = await SoundReader(store, space=space).get(ids)
    texts = {digest: text for memory in memories for digest, text in _texts(memory)}
    known = await store.embedded(space, profile.model, list(texts))
    missing = {digest: text for digest, text in texts.items() if digest not in known}
    vectors = await embedder.embed(list(missing.values())) if missing else []
    embedded = Embedded(
        model=profile.model, dimension=profile.dimension, vectors=dict(zip(missing, vectors, strict=True))
    )
    origin = Origin(at=clock.now(), run=new_id(), agent=_AGENT)
    await store.shelve(space, embedded, memory_ids=[memory.id for memory in memories], origin=origin)


def _texts(memory: Memory) -> list[tuple[bytes, str]]:
    return [
        (passage.hash, embedding_text(memory, passage.observation, passage.start, passage.end))
        for passage in passages_of(memory)
    ]
