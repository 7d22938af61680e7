"""How figures are shown: tables, durations, and promises with whether they are kept."""

from dataclasses import dataclass

from benchmarks.timing import Spread

Verdict = tuple[str, bool]
"""A promise with what was measured, and whether it is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table: the first column names what is measured."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def rows_of(table: Table) -> list[str]:
    """A table as lines of Markdown."""
    rule = (":--", *("--:" for _ in table.head[1:]))
    return [f"| {' | '.join(row)} |" for row in (table.head, rule, *table.rows)]


def ms(value: float) -> str:
    """Milliseconds, as exactly as they are worth."""
    return f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def both(spread: Spread) -> str:
    """The middle and the slow end."""
    return f"{ms(spread.p50)} / {ms(spread.p95)}"


def at_most(what: str, value: float, most: float, unit: str) -> Verdict:
    """A promise that something stays below a limit."""
    return f"{what}: {value:.2f} {unit}, {most:g} at most", value <= most
