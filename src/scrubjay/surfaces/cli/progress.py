"""A bar that shows how far something long has come."""

from collections.abc import Generator
from contextlib import contextmanager

from scrubjay.model.transfer import Progress as Report

__all__ = ["progress"]


@contextmanager
def progress(label: str) -> Generator[Report]:
    """Show a bar on a terminal until the block is over; what it gives is told how many of how many are done."""
    # Only what takes long shows a bar, and nothing else waits until this is loaded.
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    # On standard error, so that what is printed can be piped.
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
