"""Empty files of the embedded store: copying one takes a tenth of the time of creating one."""

import os
import tempfile
from functools import cache
from pathlib import Path

from scrubjay.model.identity import new_id
from scrubjay.storage.sqlite.connection import connect
from scrubjay.storage.sqlite.schema import migrate
from tests.temp_folders import quick_place


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
