"""The lock that allows one daemon per data folder; its file records the pid and the addresses of its holder."""

import asyncio
import json
import logging
import os
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import cast

from scrubjay.app import take_lock
from scrubjay.errors import DaemonRunning
from scrubjay.locking import FileLock
from scrubjay.paths import daemon_file, read_daemon_record
from scrubjay.surfaces.cli.by_daemon import running_pid
from scrubjay.version import VERSION

_log = logging.getLogger(__name__)
_PAUSE = 0.05


async def hold_daemon_lock(data: Path, *, seconds: float = 0.0) -> FileLock:
    """Take the lock; raises DaemonRunning, with the pid of its holder, if it is taken.

    `seconds`: so long, a daemon that leaves when it is idle gets to finish its work and make room.
    """
    lock = FileLock(daemon_file(data))
    end = time.monotonic() + seconds
    signalled: set[int] = set()
    while not take_lock(lock, data, exclusive=True):
        record = read_daemon_record(data)
        if (
            not record.get("idle")
            or time.monotonic() >= end
            or not await asyncio.to_thread(_ask_to_leave, data, signalled)
        ):
            pid = record.get("pid")
            raise DaemonRunning(
                f"a daemon already serves {data} (pid {pid})",
                hint=f"Use it as it is{_at(record)}, or stop it with `scrubjay stop`",
                pid=cast("int | None", pid),
                path=str(data),
            )
        await asyncio.sleep(_PAUSE)
    return lock


def _at(record: Mapping[str, object]) -> str:
    return f" (it serves {record['http']})" if record.get("http") else ""


def _ask_to_leave(data: Path, signalled: set[int]) -> bool:
    """Send the daemon the signal to stop, once; return False if it is this process."""
    # The record may be that of an earlier one: who answers at the socket is the one.
    pid = running_pid(data)
    if pid is not None and pid not in signalled and pid != os.getpid():
        signalled.add(pid)
        _log.info("taking over", extra={"fields": {"from": pid}})
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    return pid != os.getpid()


def record_daemon(data: Path, *, socket: Path, http: str, idle: float = 0.0) -> None:
    """Record the pid and the addresses of the holder of the lock, and after how many seconds it leaves when idle."""
    record = {"pid": os.getpid(), "scrubjay": VERSION, "socket": str(socket), "http": http, "idle": idle}
    content = json.dumps(record).encode()
    with daemon_file(data).open("r+b", buffering=0) as file:
        # In one step over what was there, and never emptied before: others read it at any time.
        file.write(content.ljust(os.fstat(file.fileno()).st_size - 1) + b"\n")
