"""Programs of others, run as child processes: each in a group of its own that does not outlive its time."""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_LEAVING = 10.0
_TAIL = 1_500


class Failed(Exception):
    """A check did not come out as it must; the text says how."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """How a program ended, and what it said."""

    code: int
    out: str
    errors: str

    def must_succeed(self) -> str:
        """What it printed; raises Failed with the end of what it complained of."""
        if self.code:
            raise Failed(f"exit code {self.code}: {(self.errors or self.out).strip()[-_TAIL:]}")
        return self.out


async def run(
    command: Sequence[str | Path], *, environment: Mapping[str, str], folder: Path, seconds: float = 60.0
) -> Done:
    """Run a program to its end, or raise Failed when it takes too long."""
    child = await asyncio.create_subprocess_exec(
        *map(str, command),
        env=dict(environment),
        cwd=folder,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(seconds):
            out, errors = await child.communicate()
    except TimeoutError:
        raise Failed(f"it did not end within {seconds:.0f} s: {' '.join(map(str, command))[:300]}") from None
    finally:
        # Also when it has ended: what it has started must not stay.
        await _kill(child)
    return Done(
        code=child.returncode or 0, out=out.decode("utf-8", "replace"), errors=errors.decode("utf-8", "replace")
    )


@asynccontextmanager
async def in_background(
    command: Sequence[str | Path], *, environment: Mapping[str, str], folder: Path, log: Path
) -> AsyncGenerator[asyncio.subprocess.Process]:
    """A program for as long as the block lasts; then it is asked to leave, and killed if it stays."""
    with log.open("wb") as file:
        child = await asyncio.create_subprocess_exec(
            *map(str, command),
            env=dict(environment),
            cwd=folder,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            start_new_session=True,
        )
    try:
        yield child
    finally:
        if child.returncode is None:
            child.send_signal(signal.SIGTERM)
            with suppress(TimeoutError):
                await asyncio.wait_for(child.wait(), _LEAVING)
        await _kill(child)


async def _kill(child: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    await child.wait()
