"""Write an export, line by line, so that a space of any size fits into memory."""

from collections.abc import AsyncIterator
from datetime import datetime

from scrubjay.model.memory import State
from scrubjay.model.query import Filter
from scrubjay.model.timestamps import to_iso
from scrubjay.ports import MemoryHistory, Progress, RecordStore
from scrubjay.transfer.lines import header, history_line, relation_line

_PAGE = 200
_ALL_VERSIONS = 1 << 31


async def export_lines(
    *, space: str, store: RecordStore, now: datetime, progress: Progress | None = None
) -> AsyncIterator[str]:
    """Yield every memory of a space in every state with all its versions, then every relation."""
    yield header(space, to_iso(now))
    ids = [memory_id async for memory_id in _all_ids(space, store)]
    for done, memory_id in enumerate(ids, start=1):
        memories = await store.get(space, [memory_id])
        # A memory may have been purged since the export began.
        if memory_id in memories:
            versions = await store.versions(space, memory_id, limit=_ALL_VERSIONS)
            yield history_line(MemoryHistory(memory=memories[memory_id], versions=tuple(reversed(versions))))
        if progress is not None:
            progress(done, len(ids))
    for start in range(0, len(ids), _PAGE):
        page = ids[start : start + _PAGE]
        for relation in await store.relations(space, page):
            # Each relation once: with the page that has its source.
            if relation.source in page:
                yield relation_line(relation)


async def _all_ids(space: str, store: RecordStore) -> AsyncIterator[str]:
    for state in State:
        after = None
        while page := await store.list_ids(space, Filter(state=state), limit=_PAGE, after=after):
            for memory_id in page:
                yield memory_id
            after = page[-1]
