"""What was measured of the embedded store and of PostgreSQL, side by side, and which promises are kept."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.scale_servers import Throughput
from benchmarks.scale_turns import Turns
from benchmarks.tables import Table, Verdict, at_most, both, rows_of

_RECALL_AT_MOST, _REMEMBER_AT_MOST = 3.0, 2.0
_POINTS_AT_MOST = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """One size on both."""

    size: int
    turns: Turns
    moved_per_second: float
    index: str
    index_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """A whole run."""

    corpus: str
    sizes: tuple[Size, ...]
    served: int
    throughput: tuple[Throughput, ...]


def page(scale: Scale) -> str:
    """The run as Markdown."""
    lines = [f"- Memories: {scale.corpus}", ""]
    for table in (_sizes(scale.sizes), _throughput(scale)):
        lines += [f"### {table.title}", "", *rows_of(table), ""]
    lines += [f"- {'kept' if stored else 'missed'}: {promise}" for promise, stored in verdicts(scale)]
    return "\n".join(lines) + "\n"


def verdicts(scale: Scale) -> list[Verdict]:
    """What was promised, what was measured, and whether it holds."""
    results: list[Verdict] = []
    for size in scale.sizes:
        at = f"at {size.size:,}"
        results += [
            at_most(f"recall on PostgreSQL {at}", size.turns.recall.times, _RECALL_AT_MOST, "times embedded"),
            at_most(f"remember on PostgreSQL {at}", size.turns.remember.times, _REMEMBER_AT_MOST, "times embedded"),
            at_most(f"results on PostgreSQL {at}", 100 * (1 - size.turns.same), _POINTS_AT_MOST, "points away"),
        ]
    return results


def _sizes(sizes: Sequence[Size]) -> Table:
    rows: list[tuple[str, Callable[[Size], str]]] = [
        ("recall without embedding, embedded, ms", lambda one: both(one.turns.recall.embedded)),
        ("- PostgreSQL", lambda one: both(one.turns.recall.postgres)),
        ("- times", lambda one: f"{one.turns.recall.times:.1f}"),
    ]
    for name in sizes[0].turns.filtered:
        rows += [
            (f"filter that {name} pass, embedded", _filtered("embedded", name)),
            ("- PostgreSQL", _filtered("postgres", name)),
        ]
    more: list[tuple[str, Callable[[Size], str]]] = [
        ("remember without embedding, embedded, ms", lambda one: both(one.turns.remember.embedded)),
        ("- PostgreSQL", lambda one: both(one.turns.remember.postgres)),
        ("- times", lambda one: f"{one.turns.remember.times:.1f}"),
        ("of the first 10 embedded, found on PostgreSQL", lambda one: f"{one.turns.same:.1%}"),
        ("moved, memories/s", lambda one: f"{one.moved_per_second:,.0f}"),
        ("searched by", lambda one: one.index),
        ("- built in, s", lambda one: f"{one.index_seconds:.1f}"),
    ]
    head = ("", *(f"{size.size:,}" for size in sizes))
    cells = tuple((name, *(reported(size) for size in sizes)) for name, reported in rows + more)
    return Table(title="Embedded and PostgreSQL", head=head, rows=cells)


def _filtered(side: str, name: str) -> Callable[[Size], str]:
    def told(one: Size) -> str:
        pair = one.turns.filtered[name]
        return both(pair.embedded if side == "embedded" else pair.postgres)

    return told


def _throughput(scale: Scale) -> Table:
    rows: list[tuple[str, Callable[[Throughput], str]]] = [
        ("recalls a second", lambda one: f"{one.per_second:.0f}"),
        ("- ms", lambda one: both(one.recall)),
        ("cores busy: servers", lambda one: f"{one.servers_busy:.2f}"),
        ("- database", lambda one: f"{one.database_busy:.2f}"),
        ("- clients", lambda one: f"{one.clients_busy:.2f}"),
        ("what runs out", lambda one: one.bottleneck),
        ("errors", lambda one: str(len(one.errors))),
    ]
    head = ("", *(f"{item.servers} server{'s' if item.servers > 1 else ''}" for item in scale.throughput))
    cells = tuple((name, *(reported(item) for item in scale.throughput)) for name, reported in rows)
    return Table(title=f"20 connections at {scale.served:,} memories", head=head, rows=cells)
