"""Third-party programs as child processes, each in its own process group with a time limit."""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_STOP_TIMEOUT = 10.0
_TAIL = 1_500


class Failed(Exception):
    """A check failed; the text has the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The exit code and the output of a program."""

    code: int
    out: str
    errors: str

    def must_succeed(self) -> str:
        """Return the output; raise Failed with the end of the errors if the program failed."""
        if self.code:
            raise Failed(f"exit code {self.code}: {(self.errors or self.out).strip()[-_TAIL:]}")
        return self.out


async def run(
    command: Sequence[str | Path], *, environment: Mapping[str, str], folder: Path, seconds: float = 60.0
) -> Done:
    """Run a program to its end; raise Failed after the time limit."""
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
        raise Failed(f"the program did not end within {seconds:.0f} s: {' '.join(map(str, command))[:300]}") from None
    finally:
        # Even after its end, because its children must end too.
        await _kill(child)
    return Done(
        code=child.returncode or 0, out=out.decode("utf-8", "replace"), errors=errors.decode("utf-8", "replace")
    )


@asynccontextmanager
async def in_background(
    command: Sequence[str | Path], *, environment: Mapping[str, str], folder: Path, log: Path
) -> AsyncGenerator[asyncio.subprocess.Process]:
    """Run a program during the block; then terminate it, and kill it if it does not end."""
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
                await asyncio.wait_for(child.wait(), _STOP_TIMEOUT)
        await _kill(child)


async def _kill(child: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    await child.wait()
