"""Who may use a data folder: many at once, or one who replaces what is in it."""

from pathlib import Path

from scrubjay.errors import StoreInUse, StoreReadOnly
from scrubjay.locking import FileLock
from scrubjay.paths import lock_file


def hold_folder(data: Path, *, alone: bool = False) -> FileLock:
    """The lock of a data folder: shared by all who use the store, exclusive for whoever replaces it."""
    lock = FileLock(lock_file(data))
    if not take_lock(lock, data, exclusive=alone):
        raise StoreInUse(
            f"the store in {data} is {'in use' if alone else 'being replaced'}",
            hint="Stop what uses it and try again" if alone else "Try again in a moment",
            path=str(data),
        )
    return lock


def take_lock(lock: FileLock, data: Path, *, exclusive: bool) -> bool:
    """Take a lock that lies in a data folder, if it is free; raises StoreReadOnly where nothing can be written."""
    try:
        return lock.acquire(exclusive=exclusive)
    except OSError as error:
        raise StoreReadOnly(
            f"the data folder {data} cannot be written: {error.strerror}",
            hint="Check its permissions, or choose another folder with --data or SCRUBJAY_HOME",
            path=str(data),
        ) from error
