"""Output to the screen: plain for a file or a pipe, coloured and without control characters for a terminal."""

import os
import re
import sys
import time
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrubjay.model.transfer import Progress as ReportProgress

Span = tuple[str, str]
"""A text and its style, such as `bold` or `green`; an empty style is none."""

Line = str | list[Span]
"""A line of text, or its spans."""

# What is printed while a daemon carries out a command; its user's process prints it.
_collected: ContextVar[list[Line] | None] = ContextVar("collected", default=None)
# How far each operation is that shows its progress, the last one last.
_made: dict[str, tuple[int, int]] = {}
# Of the terminal, by the words of a style.
_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "magenta": "35", "cyan": "36"}
_SECONDS_SHOWN = 100
_MINUTES_SHOWN = 100
_COLOURS = frozenset(_CODES) - {"bold", "dim"}
_FIT = "fit"
_ERROR = "error"
_WIDTH, _LEAST_ROOM = 80, 20

# All but tab and newline: an escape sequence in a memory must not move the cursor or set the clipboard.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@contextmanager
def collect_lines() -> Generator[list[Line]]:
    """Collect the lines that are printed until the end of the block."""
    lines: list[Line] = []
    token = _collected.set(lines)
    try:
        yield lines
    finally:
        _collected.reset(token)


def say(text: str) -> None:
    """Print text byte for byte; on a terminal, escape control characters that could take it over."""
    if (lines := _collected.get()) is not None:
        lines.append(text)
    else:
        print_line(text)


def print_line(text: str) -> None:
    """Print text on this process's standard output."""
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
    """Print one line, in colour on a terminal or with FORCE_COLOR, unless NO_COLOR is set.

    The style `fit` is for the last text: on a terminal it is cut at the end of the line.
    """
    if (lines := _collected.get()) is not None:
        lines.append(list(spans))
    else:
        print_spans(spans)


def print_spans(spans: Sequence[Span]) -> None:
    """Print the spans of one line on this process's standard output."""
    is_terminal = sys.stdout.isatty()
    if not is_terminal and not _forces_colour():
        print_line("".join(text for text, _ in spans).rstrip())
        return
    shown = _fitted(spans) if is_terminal else list(spans)
    while shown and not shown[-1][0].rstrip():
        shown.pop()
    if shown:
        shown[-1] = (shown[-1][0].rstrip(), shown[-1][1])
    sys.stdout.write("".join(_styled(_escape_control(text), style) for text, style in shown) + "\n")


def print_error(text: str) -> None:
    """Print a message on standard error, on a terminal in colour and without control characters."""
    if sys.stderr.isatty():
        label, separator, rest = text.partition(":")
        is_error = label == _ERROR and bool(separator)
        text = _styled(f"{label}:", "red") + _escape_control(rest) if is_error else _escape_control(text)
    sys.stderr.write(text)


def _fitted(spans: Sequence[Span]) -> list[Span]:
    """Return the spans with the last one cut, or below the others if there is hardly any room for it."""
    if not spans or _FIT not in spans[-1][1].split():
        return list(spans)
    *before, (text, style) = spans
    used, width = sum(len(other) for other, _ in before), _columns()
    if width - used >= _LEAST_ROOM:
        return [*before, (_cut(text, width - used), style)]
    return [*before, (f"\n  {_cut(text, max(width - 2, _LEAST_ROOM))}", style)]


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1].rstrip()}…"


def _columns() -> int:
    try:
        return int(os.environ.get("COLUMNS", "")) or _WIDTH
    except ValueError:
        pass
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or _WIDTH
    except (OSError, ValueError):
        return _WIDTH


def _forces_colour() -> bool:
    return os.environ.get("FORCE_COLOR", "") not in ("", "0")


def _styled(text: str, style: str) -> str:
    if os.environ.get("TERM", "") in ("", "dumb", "unknown") and not _forces_colour():
        return text
    words = [word for word in style.split() if word in _CODES]
    words = [word for word in words if not (os.environ.get("NO_COLOR") and word in _COLOURS)]
    codes = ";".join(_CODES[word] for word in words)
    return f"\x1b[{codes}m{text}\x1b[0m" if codes and text else text


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
def progress(label: str) -> "Generator[ReportProgress]":
    """Show a progress bar on a terminal until the end of the block; yield the function that advances it."""
    # Only long operations show a bar; other commands do not wait for this import.
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn  # noqa: PLC0415

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[left]}"))
    # The bar goes to standard error, so that the output can be piped.
    console = Console(stderr=True)
    began = time.monotonic()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(label, total=None, left="")

        def report(done: int, total: int) -> None:
            _made[label] = done, total
            left = remaining_time(time.monotonic() - began, done=done, total=total)
            bar.update(task, completed=done, total=total, left=left)

        yield report


def progress_made() -> str:
    """Return how far the operation is whose progress was shown last; nothing if none was."""
    if not _made:
        return ""
    done, total = list(_made.values())[-1]
    return f" after {done:,} of {total:,}"


def remaining_time(seconds: float, *, done: int, total: int) -> str:
    """Return how long the rest will take if it goes on as before; empty as long as nothing is known."""
    if not 0 < done < total:
        return ""
    left = seconds * (total - done) / done
    if left < _SECONDS_SHOWN:
        return f"about {max(1, round(left))} s left"
    return f"about {round(left / 60)} min left" if left < _MINUTES_SHOWN * 60 else f"about {left / 3600:.1f} h left"


def _escape_control(text: str) -> str:
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)
