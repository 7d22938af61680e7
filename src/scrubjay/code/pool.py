"""The worker processes: a few that are warm, each for one program at a time, replaced when one does not stop."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, nullcontext, suppress
from contextvars import ContextVar
from importlib import import_module
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from scrubjay.code.wall import WalledProgram, WallPolicy, build_wall
from scrubjay.errors import WrongState
from scrubjay.model.code import CodeLimits
from scrubjay.workers import Shares

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager
    from datetime import datetime

    from pydantic_monty import AsyncMonty, AsyncMontySession, ExternalModule, OSPolicy

_MIN_PROCESSES = 1
# A worker is replaced after so many programs, so that nothing can add up in it.
_MAX_PROGRAMS = 500
_GRACE_SECONDS = 1.0
_KILOBYTE = 1024
# The memory of a process and its peak, in /proc/PID/status, and what resets the peak in /proc/PID/clear_refs.
_NOW, _PEAK = "VmRSS:", "VmHWM:"
_RESET_PEAK = "5"
# How many programs run within each other; each has a worker.
_MAX_DEPTH = 2
_depth: ContextVar[int] = ContextVar("depth", default=0)


class WorkerPool:
    """The workers of one engine; they are started with the first program."""

    def __init__(self, *, limits: CodeLimits, policy: WallPolicy) -> None:
        self.limits = limits
        self._policy = policy
        self._lock = asyncio.Lock()
        self._turns = Shares(limits.workers)
        self._pool: AsyncMonty | None = None
        self._walled: WalledProgram | None = None

    @property
    def is_started(self) -> bool:
        """Whether there are workers."""
        return self._pool is not None

    async def wall(self) -> WalledProgram:
        """Return the wall around the workers; raises WrongState if it is not the demanded one."""
        async with self._lock:
            return await self._build_wall()

    async def start(self) -> "AsyncMonty":
        """Start the workers, unless they are there."""
        async with self._lock:
            if self._pool is None:
                walled = await self._build_wall()
                monty = await asyncio.to_thread(import_module, "pydantic_monty")
                pool: AsyncMonty = monty.AsyncMonty(
                    binary_path=walled.path, min_processes=_MIN_PROCESSES, max_processes=2 * self.limits.workers,
                    max_checkouts_per_worker=_MAX_PROGRAMS, feed_duration_limit_grace=_GRACE_SECONDS,
                    turn_duration_limit_grace=_GRACE_SECONDS,
                )  # fmt: skip
                self._pool = await pool.__aenter__()
            return self._pool

    @asynccontextmanager
    async def session(
        self, *, now: "datetime | None", modules: "Mapping[str, ExternalModule]"
    ) -> AsyncGenerator["AsyncMontySession"]:
        """Lend a worker with an empty interpreter; a caller waits until one is free.

        The clock of the interpreter stands still at `now`, if that is given. A program that saves a skill, which is
        tried in a worker of its own, has its turn already: if both had to wait, they might wait for each other.
        """
        depth = _depth.get()
        if depth >= _MAX_DEPTH:
            raise WrongState("a skill that is tried cannot save skills", hint="Save them one by one")
        async with nullcontext() if depth else self._turns.turn():
            _depth.set(depth + 1)
            try:
                async with self._checkout(await self.start(), now=now, modules=modules) as session:
                    yield session
            finally:
                _depth.set(depth)

    async def close(self) -> None:
        """End the workers."""
        async with self._lock:
            if self._pool is not None:
                await self._pool.__aexit__(None, None, None)
                self._pool = None
            if self._walled is not None:
                self._walled.close()
                self._walled = None

    def _checkout(
        self, pool: "AsyncMonty", *, now: "datetime | None", modules: "Mapping[str, ExternalModule]"
    ) -> "AbstractAsyncContextManager[AsyncMontySession]":
        limits = self.limits
        policy: OSPolicy = {"sleep_system_max": inf, "timezone": "utc"}
        if now:
            policy["datetime"] = now
        return pool.checkout(
            script_name="program.py",
            limits={
                "max_feed_duration_secs": limits.seconds, "max_memory": limits.memory_mb << 20,
                "max_recursion_depth": limits.recursion, "max_suspensions": limits.calls,
                "max_total_sleep_secs": limits.sleep_seconds,
            },
            os_policy=policy,
            external_modules=modules,
        )  # fmt: skip

    async def _build_wall(self) -> WalledProgram:
        if self._walled is None:
            program = await asyncio.to_thread(_find_program)
            self._walled = await build_wall(program, limits=self.limits, policy=self._policy)
        return self._walled


class MemoryGauge:
    """Measures the most memory that a worker has at once from now on, beyond what it has now.

    Linux records the peak of a process, and can reset it. Where it may not, the gauge shows the memory at the end
    instead of the peak; where the system shows nothing, and for a worker that was killed, 0.
    """

    def __init__(self, pid: int | None) -> None:
        self._folder: Path | None = None
        self._field = _NOW
        self._before = 0.0
        if pid is None:
            return
        # It is another user's process, another system, or gone.
        with suppress(OSError, ValueError):
            self._folder = Path(f"/proc/{innermost_child(pid)}")
            (self._folder / "clear_refs").write_text(_RESET_PEAK, encoding="ascii")
            self._field = _PEAK
        self._before = self._megabytes(_NOW)

    def peak_mb(self) -> float:
        """Return the megabytes since the gauge was made."""
        return max(0.0, self._megabytes(self._field) - self._before)

    def _megabytes(self, field: str) -> float:
        if self._folder is None:
            return 0.0
        try:
            status = (self._folder / "status").read_text(encoding="ascii")
        except (OSError, ValueError):
            return 0.0
        line = next((line for line in status.splitlines() if line.startswith(field)), f"{field} 0 kB")
        return int(line.split()[1]) / _KILOBYTE


def innermost_child(pid: int) -> int:
    """Return the process that is the worker itself behind a wall; raises OSError where the system does not tell."""
    while children := Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split():
        pid = int(children[0])
    return pid


def _find_program() -> Path:
    # It imports nothing of the package but this function.
    try:
        return Path(import_module("pydantic_monty._binary").find_monty_binary())
    except (ImportError, FileNotFoundError) as error:
        raise WrongState(
            "the interpreter for programs is not installed", hint="Install pydantic-monty for this platform"
        ) from error
