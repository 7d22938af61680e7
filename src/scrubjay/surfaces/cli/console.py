"""How lines reach the screen: plain for a file or a pipe, in colour and without tricks for a terminal."""

import re
import sys
from collections.abc import Iterable, Sequence

Span = tuple[str, str]
"""Words and their style, such as `bold` or `green`; an empty style is none."""

# All but tab and newline: an escape sequence in a memory must not move the cursor or set the clipboard.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def say(text: str) -> None:
    """Print text as it is, byte for byte; only a terminal gets no control characters, which could take it over."""
    sys.stdout.write((_harmless(text) if sys.stdout.isatty() else text) + "\n")


def say_each(lines: Iterable[str], *, none: str) -> None:
    """Print lines below each other, and where there are none, that."""
    is_empty = True
    for line in lines:
        say(line)
        is_empty = False
    if is_empty:
        say(none)


def say_warnings(warnings: Iterable[str]) -> None:
    """Print what the caller should know."""
    for warning in warnings:
        say(f"warning: {warning}")


def paint(spans: Sequence[Span]) -> None:
    """Print one line; in colour where a terminal shows it, which NO_COLOR turns off."""
    if not sys.stdout.isatty():
        say("".join(words for words, _ in spans).rstrip())
        return
    # Colours are for a terminal alone, and no program that reads us should wait for them.
    from rich.console import Console  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    console = Console(file=sys.stdout, highlight=False, emoji=False, markup=False)
    line = Text.assemble(*((_harmless(words), style) for words, style in spans))
    line.rstrip()
    console.print(line, soft_wrap=True)


def paint_table(head: Sequence[str], rows: Sequence[Sequence[Span]]) -> None:
    """Print rows below each other, each column as wide as its widest words."""
    table = [[(one, "bold") for one in head], *rows]
    widths = [max(len(words) for words, _ in column) for column in zip(*table, strict=True)]
    for row in table:
        paint([(words.ljust(width + 2), style) for (words, style), width in zip(row, widths, strict=True)])


def _harmless(text: str) -> str:
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
