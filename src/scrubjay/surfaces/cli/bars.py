"""A bar that shows how far something long has come."""

from collections.abc import Generator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from scrubjay.ports import Progress as Report

__all__ = ["progress"]


@contextmanager
def progress(label: str) -> Generator[Report]:
    """Show a bar on a terminal until the block is over; what it gives is told how many of how many are done."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    # On standard error, so that what is printed can be piped.
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
