"""The size of a filled folder, and the size of its bodies as JSON and as compressed pickles."""

import json
import pickle
import zlib
from collections.abc import AsyncIterator
from pathlib import Path

from benchmarks.figures import Sizes
from benchmarks.memories import CALLER
from scrubjay.model.memory import Memory
from scrubjay.model.query import Filter
from scrubjay.model.snapshot import to_body
from scrubjay.ports import RecordStore
from scrubjay.settings import Settings

_PAGE = 500
# The default of `zlib.compress`.
_LEVEL = 6


async def weigh(store: RecordStore, settings: Settings) -> Sizes:
    """Measure a folder that was filled and closed before, and the bodies in it."""
    statistics = await store.statistics(CALLER.space)
    as_json = as_pickle = 0
    async for memory in _memories(store):
        body = to_body(memory)
        as_json += len(json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode())
        # For comparison only: nothing is unpickled.
        as_pickle += len(zlib.compress(pickle.dumps(body, protocol=pickle.HIGHEST_PROTOCOL), _LEVEL))
    index = _bytes_under(settings.index)
    return Sizes(
        store=_bytes_under(settings.data) - index,
        index=index,
        body_json=as_json,
        body_stored=statistics.stored_bytes,
        body_pickled=as_pickle,
        raw_bodies=statistics.raw_bodies,
    )


async def _memories(store: RecordStore) -> AsyncIterator[Memory]:
    after: str | None = None
    while ids := await store.list_ids(CALLER.space, Filter(), limit=_PAGE, after=after):
        for memory in (await store.get(CALLER.space, ids)).values():
            yield memory
        after = ids[-1]


def _bytes_under(folder: Path) -> int:
    # Blocks, not lengths, because some files are sparse.
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())
