"""Files of the embedded store with nothing in them: to copy one takes a tenth of what it takes to make one."""

import os
import tempfile
from functools import cache
from pathlib import Path

from scrubjay.model.identity import new_id
from scrubjay.storage.sqlite.connection import connect
from scrubjay.storage.sqlite.schema import migrate
from tests.temp_folders import quick_place


def new_file(path: Path) -> Path:
    """Have an empty store there, as opening would have made it, with an identity of its own; one that is there stays.

    For tests of what is done with a store. How one is made is proven where nobody has made it before.
    """
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        data, identity = _made_once()
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data.replace(identity, new_id().encode()))
    return path


@cache
def _made_once() -> tuple[bytes, bytes]:
    """All bytes of a new file, and those of them that are its identity."""
    with tempfile.TemporaryDirectory(prefix="scrubjay-", dir=quick_place()) as folder:
        path = Path(folder) / "memory.db"
        connection = connect(path)
        migrate(connection, path=path)
        ((identity,),) = connection.execute("SELECT value FROM meta WHERE key = 'store_id'").fetchall()
        connection.close()
        data = path.read_bytes()
    assert data.count(str(identity).encode()) == 1
    return data, str(identity).encode()
