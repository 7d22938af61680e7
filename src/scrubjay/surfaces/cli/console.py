"""Output to the screen: plain for a file or a pipe, coloured and without control characters for a terminal."""

import re
import sys
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager

from scrubjay.model.transfer import Progress as ReportProgress

Span = tuple[str, str]
"""A text and its style, such as `bold` or `green`; an empty style is none."""

# All but tab and newline: an escape sequence in a memory must not move the cursor or set the clipboard.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def say(text: str) -> None:
    """Print text byte for byte; on a terminal, escape control characters that could take it over."""
    sys.stdout.write((_escape_control(text) if sys.stdout.isatty() else text) + "\n")


def say_each(lines: Iterable[str], *, none: str) -> None:
    """Print lines below each other, or the text for none."""
    is_empty = True
    for line in lines:
        say(line)
        is_empty = False
    if is_empty:
        say(none)


def say_warnings(warnings: Iterable[str]) -> None:
    """Print warnings, one per line."""
    for warning in warnings:
        say(f"warning: {warning}")


def paint(spans: Sequence[Span]) -> None:
    """Print one line, in colour on a terminal unless NO_COLOR is set."""
    if not sys.stdout.isatty():
        say("".join(text for text, _ in spans).rstrip())
        return
    # Only a terminal shows colours, so a program that reads the output does not wait for this import.
    from rich.console import Console  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    console = Console(file=sys.stdout, highlight=False, emoji=False, markup=False)
    line = Text.assemble(*((_escape_control(text), style) for text, style in spans))
    line.rstrip()
    console.print(line, soft_wrap=True)


def paint_table(head: Sequence[str], rows: Sequence[Sequence[Span]]) -> None:
    """Print rows below each other, each column as wide as its widest text."""
    table = [[(title, "bold") for title in head], *rows]
    widths = [max(len(text) for text, _ in column) for column in zip(*table, strict=True)]
    for row in table:
        paint([(text.ljust(width + 2), style) for (text, style), width in zip(row, widths, strict=True)])


def align(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows as lines, each column as wide as its widest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def shorten(text: str, *, limit: int | None) -> str:
    """Return text on one line, cut with an ellipsis after the limit."""
    line = " ".join(text.split())
    return line if limit is None or len(line) <= limit else f"{line[:limit].rstrip()}…"


@contextmanager
def progress(label: str) -> Generator[ReportProgress]:
    """Show a progress bar on a terminal until the end of the block; yield the function that advances it."""
    # Only long operations show a bar; other commands do not wait for this import.
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    # The bar goes to standard error, so that the output can be piped.
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _escape_control(text: str) -> str:
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)
