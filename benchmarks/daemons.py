"""Daemons to measure: separate processes with separate folders, which always end with the benchmark."""

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
from scrubjay.paths import daemon_file, read_daemon_record, socket_file
from scrubjay.rpc.client import RpcClient
from scrubjay.settings import Settings

# The command as users have it on their path.
SCRUBJAY = str(Path(sysconfig.get_path("scripts")) / "scrubjay")
_POLL_SECONDS = 0.002
_TIMEOUT = 30.0
# If the benchmark is killed, its daemons stop by themselves.
_IDLE = "60"
_OWN_PREFIXES = ("SCRUBJAY_", "MEMORY_DIR")


@dataclass(frozen=True, slots=True, kw_only=True)
class Daemon:
    """A daemon that accepts clients."""

    settings: Settings
    process: asyncio.subprocess.Process

    @property
    def pid(self) -> int:
        """The id of its process."""
        return self.process.pid

    @property
    def url(self) -> str:
        """Where it serves HTTP."""
        return str(read_daemon_record(self.settings.data)["http"])

    @property
    def resident(self) -> float:
        """Its resident memory, in MB."""
        return resident_mb(self.pid)

    @property
    def busy(self) -> float:
        """Its CPU seconds so far, on all cores."""
        return busy_seconds(self.pid)

    async def kill(self) -> None:
        """End it as a crash does, and wait for its end."""
        self.process.kill()
        await self.process.wait()


def settings_for(home: Path, *, embedder: str = "bundled") -> Settings:
    """Return the default settings for a folder; the environment has no effect."""
    return Settings.load(
        environment={}, home=str(home), space=CALLER.space, agent=CALLER.agent, embedder=embedder, http="127.0.0.1:0"
    )


def environment_for(settings: Settings) -> dict[str, str]:
    """Return the environment of a child process of the product."""
    mine = {name: value for name, value in os.environ.items() if not name.startswith(_OWN_PREFIXES)}
    chosen = {
        "SCRUBJAY_EMBEDDER": settings.embedder,
        "SCRUBJAY_HTTP": settings.http,
        "SCRUBJAY_DATABASE_URL": settings.database_url,
        "SCRUBJAY_CLOCK_FILE": settings.clock_file,
        "SCRUBJAY_PAIR_MODEL": settings.pair_model,
        "SCRUBJAY_READER": str(settings.reader).lower(),
        "SCRUBJAY_RECALL_PROCESSES": str(settings.recall_processes),
    }
    return {**mine, **chosen}


def copy_store(store: Path, home: Path) -> Path:
    """Copy a data folder."""
    shutil.copytree(store, home, ignore=shutil.ignore_patterns("*.lock", "run"))
    return home


@asynccontextmanager
async def daemon(settings: Settings) -> AsyncGenerator[Daemon]:
    """Run a daemon until the end of the block."""
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
        await _wait_for_socket(settings, child)
        yield Daemon(settings=settings, process=child)
    finally:
        if child.returncode is None:
            child.terminate()
        try:
            await asyncio.wait_for(child.wait(), _TIMEOUT)
        except TimeoutError:
            child.kill()
            await child.wait()


@asynccontextmanager
async def connected(settings: Settings) -> AsyncGenerator[MemoryClient]:
    """Connect to the daemon; fail if none runs, because a client would then open the store itself."""
    async with MemoryClient(settings=settings) as memory:
        if not isinstance(await memory._connection.ready(), RpcClient):  # noqa: SLF001 - no surface exposes it
            raise SystemExit(f"no daemon serves {settings.home}")
        yield memory


async def end_daemon_of(data: Path) -> None:
    """Stop the daemon that a bridge has started, if any, and wait for its end."""
    lock = FileLock(daemon_file(data))
    for number in (signal.SIGTERM, signal.SIGKILL):
        if await _acquire(lock, seconds=0.0 if number is signal.SIGTERM else _TIMEOUT):
            break
        # A daemon takes the lock a little before it writes its process id.
        await _wait_for_pid(data)
        with suppress(ProcessLookupError):
            os.kill(int(str(read_daemon_record(data)["pid"])), number)
    if await _acquire(lock, seconds=_TIMEOUT):
        # The next daemon must not be mistaken for this one.
        daemon_file(data).write_bytes(b"")
        lock.release()


async def _wait_for_socket(settings: Settings, child: asyncio.subprocess.Process) -> None:
    address = str(socket_file(settings.data))
    until = time.monotonic() + _TIMEOUT
    while True:
        with socket.socket(socket.AF_UNIX) as probe:
            if probe.connect_ex(address) == 0:
                return
        if child.returncode is not None or time.monotonic() > until:
            log = settings.data.with_suffix(".log").read_text(encoding="utf-8", errors="replace")
            raise SystemExit(f"the daemon of {settings.home} does not answer: {log[-1000:]}")
        await asyncio.sleep(_POLL_SECONDS)


async def _acquire(lock: FileLock, *, seconds: float) -> bool:
    """Return whether we get a daemon's lock in time; the system releases it when the daemon ends."""
    until = time.monotonic() + seconds
    while not lock.held and not lock.acquire(exclusive=True):
        if time.monotonic() > until:
            return False
        await asyncio.sleep(_POLL_SECONDS)
    return True


async def _wait_for_pid(data: Path) -> None:
    until = time.monotonic() + _TIMEOUT
    while "pid" not in read_daemon_record(data) and time.monotonic() < until:  # noqa: ASYNC110 - another process
        await asyncio.sleep(_POLL_SECONDS)
