"""The lock that allows one daemon per data folder; its file records the pid and the addresses of its holder."""

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
    """Take the lock; raises DaemonRunning, with the pid of its holder, if it is taken."""
    lock = FileLock(daemon_file(data))
    if not take_lock(lock, data, exclusive=True):
        pid = read_daemon_record(data).get("pid")
        raise DaemonRunning(
            f"a daemon already serves {data} (pid {pid})",
            hint=f"Use it as it is, or stop it with `kill {pid}`",
            pid=cast("int | None", pid),
            path=str(data),
        )
    return lock


def record_daemon(data: Path, *, socket: Path, http: str) -> None:
    """Record the pid and the addresses of the holder of the lock."""
    record = {"pid": os.getpid(), "scrubjay": VERSION, "socket": str(socket), "http": http}
    daemon_file(data).write_text(json.dumps(record) + "\n", encoding="utf-8")


def read_daemon_record(data: Path) -> dict[str, Json]:
    """Return the record of the holder of the lock; empty if it cannot be read."""
    try:
        record: object = json.loads(daemon_file(data).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return cast("dict[str, Json]", record) if isinstance(record, dict) else {}
