"""Builds one generation of the index from the stored vectors."""

from pathlib import Path

from scrubjay.indexing.protocol import IndexKind, Source
from scrubjay.ports import Progress
from scrubjay.ports.cluster import settled_position

_PAGE = 1_000


async def build_generation(
    store: Source,
    kind: IndexKind,
    target: Path,
    *,
    model: str,
    dimension: int,
    progress: Progress | None = None,
) -> None:
    """Make a whole, optimised index in the target folder. It stops the process for long: have a child do it."""
    # What is committed while we read has a later number, and is replayed by whoever opens the index.
    cursor = await settled_position(store)
    total = await store.point_count(model) if progress else 0
    index = kind.create(target, store_id=store.store_id, model=model, dimension=dimension, cursor=cursor)
    try:
        after, done = -1, 0
        while page := await store.points(model, after=after, limit=_PAGE):
            await index.apply(page, [], cursor=cursor)
            after, done = page[-1].id, done + len(page)
            if progress:
                progress(done, max(done, total))
        index.optimise()
    except BaseException:
        # Closing would make half an index look whole.
        index.abandon()
        raise
    await index.close()
