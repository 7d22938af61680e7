"""Makes the vectors of a model beside those of the model in use, and an index of them; a killed run goes on later."""

import asyncio

from scrubjay.errors import IndexUnavailable
from scrubjay.indexing.backfill import backfill, embed_memories
from scrubjay.indexing.protocol import SettlingIndex
from scrubjay.model.passage import Vector
from scrubjay.model.query import Filter
from scrubjay.ports import Clock, Embedder, MediaSource, Progress, RecordStore

# So many memories are read and embedded at a time; users' requests come in between.
_BATCH = 64
# While users write, each round leaves the few texts that were written during it.
_ROUNDS = 5
_POLL_SECONDS = 0.1
# An index on a server must begin to be built within this time.
_POLLS = 600


async def embed_all(
    *,
    store: RecordStore,
    embedder: Embedder,
    clock: Clock,
    media_source: MediaSource | None = None,
    progress: Progress | None = None,
) -> int:
    """Embed every text that the model has not embedded yet; returns the number of new vectors.

    The log gets no entries: an index of the model, which reads them all, is built afterwards.
    """
    spaces = await store.spaces()
    total = 0
    for space in spaces:
        total += sum((await store.statistics(space)).memories.values())
    done = vectors = 0
    for space in spaces:
        after = ""
        while ids := await store.ids(space, after=after, limit=_BATCH):
            vectors += await embed_memories(
                space, ids, store=store, embedder=embedder, clock=clock, media_source=media_source, log=False
            )
            after, done = ids[-1], done + len(ids)
            if progress is not None:
                progress(done, max(done, total))
    return vectors


async def build_beside(
    index: SettlingIndex,
    probe: Vector,
    *,
    store: RecordStore,
    embedder: Embedder,
    clock: Clock,
    media_source: MediaSource | None = None,
) -> int:
    """Build the index of a model, embed what was written meanwhile, and wait until the index answers.

    Returns the number of memories that were embedded. Raises IndexUnavailable if the index cannot be built.
    """
    await index.open()
    await _wait_until_ready(index, probe)
    count = 0
    for _ in range(_ROUNDS):
        embedded = await backfill(store=store, embedder=embedder, clock=clock, media_source=media_source)
        count += embedded
        if not embedded:
            break
        await index.after_commit()
    await _wait_until_ready(index, probe)
    return count


async def _wait_until_ready(index: SettlingIndex, probe: Vector) -> None:
    for _ in range(_POLLS):
        await index.settle()
        state = await index.describe()
        while state.get("building"):
            await asyncio.sleep(_POLL_SECONDS)
            state = await index.describe()
        try:
            await index.search("", probe, Filter(), limit=1)
        except IndexUnavailable as error:
            # The leading server is about to build it.
            if error.fields.get("reason") not in ("missing", "behind"):
                raise
            await asyncio.sleep(_POLL_SECONDS)
            continue
        state = await index.describe()
        if problem := state.get("problem"):
            raise IndexUnavailable(f"the index of the new model cannot be built: {problem}")
        if not state.get("building"):
            return
    raise IndexUnavailable("the index of the new model is not built in time", hint="Run the command again")
