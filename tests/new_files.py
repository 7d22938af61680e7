"""Empty files of the embedded store, and stores on them: copying a file takes a tenth of the time of creating one."""

import os
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import TypeVar, overload

from scrubjay.model.identity import new_id
from scrubjay.storage.sqlite import SqliteStore
from scrubjay.storage.sqlite.connection import connect
from scrubjay.storage.sqlite.reindex import PAGE_SIZE
from scrubjay.storage.sqlite.schema import migrate
from tests.temp_folders import quick_place

S = TypeVar("S", bound=SqliteStore)


class NewStores:
    """Opens empty stores for one test, each on a file of its own; `close` closes them all."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stores: list[SqliteStore] = []

    @overload
    def __call__(self) -> SqliteStore: ...

    @overload
    def __call__(self, kind: type[S]) -> S: ...

    def __call__(self, kind: type[SqliteStore] = SqliteStore) -> SqliteStore:
        """Open a store, of a test's own class if it gives one."""
        path = new_file(self._folder / f"store-{len(self._stores)}.db")
        # `SqliteStore.open` also finishes interrupted work, which an empty store does not have.
        store = kind(path, connect(path, cache_mb=16), key="", readers=1, page=PAGE_SIZE)
        self._stores.append(store)
        return store

    async def close(self) -> None:
        for store in self._stores:
            await store.close()


@asynccontextmanager
async def new_stores() -> AsyncGenerator[NewStores]:
    """Yield a way to open stores, for code that has no fixture, such as an example of Hypothesis."""
    with tempfile.TemporaryDirectory(prefix="scrubjay-", dir=quick_place()) as folder:
        stores = NewStores(Path(folder))
        try:
            yield stores
        finally:
            await stores.close()


def new_file(path: Path) -> Path:
    """Copy an empty store with a new identity to a path, as opening would create it; an existing store stays.

    For tests that use a store. The tests of its creation do without this function.
    """
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        data, identity = _made_once()
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data.replace(identity, new_id().encode()))
    return path


@cache
def _made_once() -> tuple[bytes, bytes]:
    """Return the bytes of a new file, and those of its identity."""
    with tempfile.TemporaryDirectory(prefix="scrubjay-", dir=quick_place()) as folder:
        path = Path(folder) / "memory.db"
        connection = connect(path)
        migrate(connection, path=path)
        ((identity,),) = connection.execute("SELECT value FROM meta WHERE key = 'store_id'").fetchall()
        connection.close()
        data = path.read_bytes()
    assert data.count(str(identity).encode()) == 1
    return data, str(identity).encode()
