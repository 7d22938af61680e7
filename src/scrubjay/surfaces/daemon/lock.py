"""One daemon for each data folder: a lock that the system lets go of, with the pid of its holder in it."""

import json
import os
from pathlib import Path
from typing import cast

from scrubjay.app import take_lock
from scrubjay.errors import DaemonRunning
from scrubjay.locking import FileLock
from scrubjay.model.memory import Json
from scrubjay.paths import daemon_file
from scrubjay.version import VERSION


def hold_daemon_lock(data: Path) -> FileLock:
    """Take the lock; raises DaemonRunning, with the pid of its holder, when somebody has it."""
    lock = FileLock(daemon_file(data))
    if not take_lock(lock, data, exclusive=True):
        pid = running_daemon(data).get("pid")
        raise DaemonRunning(
            f"a daemon serves {data} already (pid {pid})",
            hint=f"Use it as it is, or stop it with `kill {pid}`",
            pid=cast("int | None", pid),
            path=str(data),
        )
    return lock


def note_daemon(data: Path, *, socket: Path, http: str) -> None:
    """Write down who holds the lock, and where it can be reached."""
    reported = {"pid": os.getpid(), "scrubjay": VERSION, "socket": str(socket), "http": http}
    daemon_file(data).write_text(json.dumps(reported) + "\n", encoding="utf-8")


def running_daemon(data: Path) -> dict[str, Json]:
    """What the holder of the lock wrote down; nothing when that cannot be read."""
    try:
        results: object = json.loads(daemon_file(data).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return cast("dict[str, Json]", results) if isinstance(results, dict) else {}
