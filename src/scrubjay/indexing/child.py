"""A child process that takes its time, so that this one need not."""

import asyncio
import os
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress

from scrubjay.errors import IndexUnavailable

_NICENESS = 10
_LONGEST_CAUSE = 500
_STANDARD_INPUT = 0


async def run_niced(command: Sequence[str]) -> None:
    """Run a child process out of everyone's way; raises IndexUnavailable when it fails. Cancelling ends it."""
    pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=nothing, stderr=pipe)
    assert process.stderr is not None
    if sys.platform != "win32":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, process.pid, _NICENESS)
    try:
        errors = await process.stderr.read()
        await process.wait()
    except BaseException:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        raise
    if process.returncode:
        cause = errors.decode("utf-8", "replace").strip()[-_LONGEST_CAUSE:]
        raise IndexUnavailable("the vector index could not be built", exit=process.returncode, cause=cause)


def end_with_parent() -> None:
    """For a child of `run_niced`: end when the parent does, however it does. Its end of our input closes then."""

    def wait() -> None:
        while os.read(_STANDARD_INPUT, 1):
            pass
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
