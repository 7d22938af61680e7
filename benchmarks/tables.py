"""The presentation of figures: tables, durations, and targets."""

from dataclasses import dataclass

from benchmarks.timing import Spread

Check = tuple[str, bool]
"""A target with its measurement, and whether it is met."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table; the first column names the measured quantity."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def rows_of(table: Table) -> list[str]:
    """Return a table as lines of Markdown."""
    rule = (":--", *("--:" for _ in table.head[1:]))
    return [f"| {' | '.join(row)} |" for row in (table.head, rule, *table.rows)]


def ms(value: float) -> str:
    """Format milliseconds with meaningful digits."""
    return f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def both(spread: Spread) -> str:
    """Format p50 and p95."""
    return f"{ms(spread.p50)} / {ms(spread.p95)}"


def at_most(quantity: str, value: float, limit: float, unit: str) -> Check:
    """Check that a quantity is within a limit."""
    return f"{quantity}: {value:.2f} {unit}, at most {limit:g}", value <= limit
