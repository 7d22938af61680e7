"""A child process that takes its time, so that this one need not."""

import asyncio
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from scrubjay.errors import IndexUnavailable

_NICENESS = 10
_LONGEST_CAUSE = 500


async def run_niced(command: Sequence[str]) -> None:
    """Run a child process out of everyone's way; raises IndexUnavailable when it fails. Cancelling ends it."""
    process = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
    )
    if sys.platform != "win32":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, process.pid, _NICENESS)
    try:
        _, errors = await process.communicate()
    except BaseException:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        raise
    if process.returncode:
        cause = errors.decode("utf-8", "replace").strip()[-_LONGEST_CAUSE:]
        raise IndexUnavailable("the vector index could not be built", exit=process.returncode, cause=cause)
