"""The measurements of the embedded store and of PostgreSQL, and the check of the targets."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.scale_servers import Throughput
from benchmarks.scale_turns import Turns
from benchmarks.tables import Check, Table, at_most, both, rows_of

_MAX_RECALL_RATIO, _MAX_REMEMBER_RATIO = 3.0, 2.0
_MAX_POINTS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """One size on both stores."""

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
    """Return the run as Markdown."""
    lines = [f"- Memories: {scale.corpus}", ""]
    for table in (_sizes(scale.sizes), _throughput(scale)):
        lines += [f"### {table.title}", "", *rows_of(table), ""]
    lines += [f"- {'met' if is_met else 'missed'}: {target}" for target, is_met in checks(scale)]
    return "\n".join(lines) + "\n"


def checks(scale: Scale) -> list[Check]:
    """Return the targets, the measurements, and whether the run meets them."""
    targets: list[Check] = []
    for size in scale.sizes:
        at = f"at {size.size:,}"
        targets += [
            at_most(f"recall on PostgreSQL {at}", size.turns.recall.times, _MAX_RECALL_RATIO, "times embedded"),
            at_most(f"remember on PostgreSQL {at}", size.turns.remember.times, _MAX_REMEMBER_RATIO, "times embedded"),
            at_most(f"results on PostgreSQL {at}", 100 * (1 - size.turns.same), _MAX_POINTS, "points away"),
        ]
    return targets


def _sizes(sizes: Sequence[Size]) -> Table:
    rows: list[tuple[str, Callable[[Size], str]]] = [
        ("recall without embedding, embedded, ms", lambda measured: both(measured.turns.recall.embedded)),
        ("- PostgreSQL", lambda measured: both(measured.turns.recall.postgres)),
        ("- times", lambda measured: f"{measured.turns.recall.times:.1f}"),
    ]
    for name in sizes[0].turns.filtered:
        rows += [
            (f"filter that {name} pass, embedded", _filtered("embedded", name)),
            ("- PostgreSQL", _filtered("postgres", name)),
        ]
    more: list[tuple[str, Callable[[Size], str]]] = [
        ("remember without embedding, embedded, ms", lambda measured: both(measured.turns.remember.embedded)),
        ("- PostgreSQL", lambda measured: both(measured.turns.remember.postgres)),
        ("- times", lambda measured: f"{measured.turns.remember.times:.1f}"),
        ("of the first 10 embedded, found on PostgreSQL", lambda measured: f"{measured.turns.same:.1%}"),
        ("moved, memories/s", lambda measured: f"{measured.moved_per_second:,.0f}"),
        ("searched by", lambda measured: measured.index),
        ("- built in, s", lambda measured: f"{measured.index_seconds:.1f}"),
    ]
    head = ("", *(f"{size.size:,}" for size in sizes))
    cells = tuple((name, *(show(size) for size in sizes)) for name, show in rows + more)
    return Table(title="Embedded and PostgreSQL", head=head, rows=cells)


def _filtered(side: str, name: str) -> Callable[[Size], str]:
    def show(measured: Size) -> str:
        pair = measured.turns.filtered[name]
        return both(pair.embedded if side == "embedded" else pair.postgres)

    return show


def _throughput(scale: Scale) -> Table:
    rows: list[tuple[str, Callable[[Throughput], str]]] = [
        ("recalls a second", lambda measured: f"{measured.per_second:.0f}"),
        ("- ms", lambda measured: both(measured.recall)),
        ("cores busy: servers", lambda measured: f"{measured.servers_busy:.2f}"),
        ("- database", lambda measured: f"{measured.database_busy:.2f}"),
        ("- clients", lambda measured: f"{measured.clients_busy:.2f}"),
        ("bottleneck", lambda measured: measured.bottleneck),
        ("errors", lambda measured: str(len(measured.errors))),
    ]
    head = (
        "",
        *(f"{throughput.servers} server{'s' if throughput.servers > 1 else ''}" for throughput in scale.throughput),
    )
    cells = tuple((name, *(show(throughput) for throughput in scale.throughput)) for name, show in rows)
    return Table(title=f"20 connections at {scale.served:,} memories", head=head, rows=cells)
