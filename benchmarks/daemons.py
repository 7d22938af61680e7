"""Daemons to measure: processes of their own, each on a folder of its own, ended whatever happens."""

import asyncio
import os
import shutil
import signal
import socket
import sysconfig
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.memories import CALLER
from benchmarks.timing import busy_seconds, resident_mb
from scrubjay.client import MemoryClient
from scrubjay.locking import FileLock
from scrubjay.paths import daemon_file, socket_file
from scrubjay.rpc.engine import RemoteEngine
from scrubjay.settings import Settings
from scrubjay.surfaces.daemon.lock import running_daemon

# The command as people have it on their path.
SCRUBJAY = str(Path(sysconfig.get_path("scripts")) / "scrubjay")
_LOOK = 0.002
_LONGEST = 30.0
# Should whoever measures be killed, its daemons leave by themselves.
_IDLE = "60"
_OURS = ("SCRUBJAY_", "MEMORY_DIR")


@dataclass(frozen=True, slots=True, kw_only=True)
class Daemon:
    """A daemon that lets clients in."""

    settings: Settings
    pid: int

    @property
    def url(self) -> str:
        """Where it serves HTTP."""
        return str(running_daemon(self.settings.data)["http"])

    @property
    def resident(self) -> float:
        """Memory that it holds now, in MB."""
        return resident_mb(self.pid)

    @property
    def busy(self) -> float:
        """Seconds that it has computed so far, on all cores."""
        return busy_seconds(self.pid)


def settings_for(home: Path, *, embedder: str = "minilm") -> Settings:
    """The product's defaults on a folder, whatever the environment says."""
    return Settings.load(
        environment={}, home=str(home), space=CALLER.space, agent=CALLER.agent, embedder=embedder, http="127.0.0.1:0"
    )


def environment_for(settings: Settings) -> dict[str, str]:
    """What a child of the product is started with."""
    mine = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
    chosen = {
        "SCRUBJAY_EMBEDDER": settings.embedder,
        "SCRUBJAY_HTTP": settings.http,
        "SCRUBJAY_DATABASE_URL": settings.database_url,
    }
    return {**mine, **chosen}


def copy_store(store: Path, home: Path) -> Path:
    """A folder like another, for somebody's own use."""
    shutil.copytree(store, home, ignore=shutil.ignore_patterns("*.lock", "run"))
    return home


@asynccontextmanager
async def daemon(settings: Settings) -> AsyncGenerator[Daemon]:
    """A daemon that answers, until the end of the block."""
    with settings.data.with_suffix(".log").open("ab") as log:
        child = await asyncio.create_subprocess_exec(
            SCRUBJAY,
            "serve",
            "--data",
            str(settings.data),
            "--idle",
            _IDLE,
            env=environment_for(settings),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        await _until_open(settings, child)
        yield Daemon(settings=settings, pid=child.pid)
    finally:
        if child.returncode is None:
            child.terminate()
        try:
            await asyncio.wait_for(child.wait(), _LONGEST)
        except TimeoutError:
            child.kill()
            await child.wait()


@asynccontextmanager
async def connected(settings: Settings) -> AsyncGenerator[MemoryClient]:
    """A client of the daemon; where none runs a client would open the store itself, which is not what is measured."""
    async with MemoryClient(settings=settings) as memory:
        if not isinstance(memory._engine, RemoteEngine):  # noqa: SLF001 - no surface tells
            raise SystemExit(f"no daemon serves {settings.home}")
        yield memory


async def end_daemon_of(data: Path) -> None:
    """End the daemon that a bridge has started, if it has, and wait until it is gone."""
    lock = FileLock(daemon_file(data))
    for number in (signal.SIGTERM, signal.SIGKILL):
        if await _free(lock, seconds=0.0 if number is signal.SIGTERM else _LONGEST):
            break
        # It has the lock a little before it has written who it is.
        await _until_noted(data)
        with suppress(ProcessLookupError):
            os.kill(int(str(running_daemon(data)["pid"])), number)
    if await _free(lock, seconds=_LONGEST):
        # So that the next one is not mistaken for this one.
        daemon_file(data).write_bytes(b"")
        lock.release()


async def _until_open(settings: Settings, child: asyncio.subprocess.Process) -> None:
    address = str(socket_file(settings.data))
    until = time.monotonic() + _LONGEST
    while True:
        with socket.socket(socket.AF_UNIX) as knock:
            if knock.connect_ex(address) == 0:
                return
        if child.returncode is not None or time.monotonic() > until:
            log = settings.data.with_suffix(".log").read_text(encoding="utf-8", errors="replace")
            raise SystemExit(f"the daemon of {settings.home} does not answer: {log[-1000:]}")
        await asyncio.sleep(_LOOK)


async def _free(lock: FileLock, *, seconds: float) -> bool:
    """Whether a daemon's lock is ours within some time; the system lets go of it when the daemon is gone."""
    until = time.monotonic() + seconds
    while not lock.held and not lock.acquire(exclusive=True):
        if time.monotonic() > until:
            return False
        await asyncio.sleep(_LOOK)
    return True


async def _until_noted(data: Path) -> None:
    until = time.monotonic() + _LONGEST
    while "pid" not in running_daemon(data) and time.monotonic() < until:  # noqa: ASYNC110 - another process
        await asyncio.sleep(_LOOK)
