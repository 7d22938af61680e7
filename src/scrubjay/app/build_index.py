"""The child process that builds a generation of the vector index: `python -m scrubjay.app.build_index`."""

import asyncio
import sys
from pathlib import Path

from scrubjay.indexing.build import build_generation, end_with_parent
from scrubjay.storage.sqlite import SqliteStore
from scrubjay.vectors.edge import EdgeIndex


async def build(database: Path, target: Path, *, model: str, dimension: int) -> None:
    """Build an optimised index of all vectors of one model in a folder."""
    store = await SqliteStore.open(database, readers=1)
    try:
        await build_generation(store, EdgeIndex, target, model=model, dimension=dimension)
    finally:
        await store.close()


def main() -> None:
    """Build the index; the arguments are database, target folder, model and dimension."""
    end_with_parent()
    database, target, model, dimension = sys.argv[1:]
    asyncio.run(build(Path(database), Path(target), model=model, dimension=int(dimension)))


if __name__ == "__main__":
    main()
