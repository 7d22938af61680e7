"""Builds a generation of the index from the stored vectors, usually in a child process."""

import asyncio
import os
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from scrubjay.errors import IndexUnavailable
from scrubjay.indexing.protocol import IndexKind, IndexSource
from scrubjay.ports import Progress
from scrubjay.ports.cluster import settled_position

_PAGE = 1_000
_NICENESS = 10
_MAX_CAUSE = 500
_STANDARD_INPUT = 0


async def build_generation(
    store: IndexSource,
    kind: IndexKind,
    target: Path,
    *,
    model: str,
    dimension: int,
    progress: Progress | None = None,
) -> None:
    """Build a complete, optimised index in a folder. It blocks the process for long: use a child process."""
    # Changes that are committed meanwhile have higher numbers; the process that opens the index applies them.
    cursor = await settled_position(store)
    total = await store.point_count(model) if progress else 0
    index = kind.create(target, store_id=store.store_id, model=model, dimension=dimension, cursor=cursor)
    try:
        after, done = -1, 0
        while page := await store.points(model, after=after, limit=_PAGE):
            await index.apply(page, [], cursor=cursor)
            after, done = page[-1].id, done + len(page)
            if progress:
                progress(done, max(done, total))
        index.optimise()
    except BaseException:
        # Closing would mark half an index as complete.
        index.abandon()
        raise
    await index.close()


async def run_niced(command: Sequence[str]) -> None:
    """Run a child process at low priority; raises IndexUnavailable if it fails. Cancelling kills it."""
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
        cause = errors.decode("utf-8", "replace").strip()[-_MAX_CAUSE:]
        raise IndexUnavailable("the vector index could not be built", exit=process.returncode, cause=cause)


def end_with_parent() -> None:
    """Exit as soon as the parent ends, however it ends; for a child of `run_niced`."""

    def wait() -> None:
        # The parent holds the other end of our standard input, which closes with it.
        while os.read(_STANDARD_INPUT, 1):
            pass
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
