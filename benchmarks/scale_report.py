"""What was measured of the embedded store and of PostgreSQL, side by side, and which promises are kept."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.figures import Probe
from benchmarks.scale_servers import Throughput
from benchmarks.tables import Table, Verdict, both, rows_of

_RECALL_AT_MOST, _REMEMBER_AT_MOST = 3.0, 2.0
_POINTS_AT_MOST = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """One size on both. `same` is the share of the embedded store's first ten that PostgreSQL finds."""

    size: int
    embedded: Probe
    postgres: Probe
    moved_per_second: float
    index: str
    index_seconds: float
    same: float

    @property
    def recall_times(self) -> float:
        """How many times as long a recall takes on PostgreSQL, embedding apart."""
        return self.postgres.recall_rest.p50 / self.embedded.recall_rest.p50

    @property
    def remember_times(self) -> float:
        """The same of a remember."""
        return self.postgres.remember_rest.p50 / self.embedded.remember_rest.p50


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
    lines += [f"- {'kept' if kept else 'missed'}: {promise}" for promise, kept in verdicts(scale)]
    return "\n".join(lines) + "\n"


def verdicts(scale: Scale) -> list[Verdict]:
    """What was promised, what was measured, and whether it holds."""
    found: list[Verdict] = []
    for one in scale.sizes:
        at = f"at {one.size:,}"
        points = 100 * (1 - one.same)
        found += [
            (
                f"recall on PostgreSQL {at}: {one.recall_times:.1f} times embedded, {_RECALL_AT_MOST:g} at most",
                one.recall_times <= _RECALL_AT_MOST,
            ),
            (
                f"remember on PostgreSQL {at}: {one.remember_times:.1f} times embedded, {_REMEMBER_AT_MOST:g} at most",
                one.remember_times <= _REMEMBER_AT_MOST,
            ),
            (
                f"results on PostgreSQL {at}: {points:.1f} points from embedded, {_POINTS_AT_MOST:g} at most",
                points <= _POINTS_AT_MOST,
            ),
        ]
    return found


def _sizes(sizes: Sequence[Size]) -> Table:
    rows: list[tuple[str, Callable[[Size], str]]] = [
        ("recall without embedding, embedded, ms", lambda one: both(one.embedded.recall_rest)),
        ("- PostgreSQL", lambda one: both(one.postgres.recall_rest)),
        ("- times", lambda one: f"{one.recall_times:.1f}"),
    ]
    for name in sizes[0].embedded.recall_filtered:
        rows += [
            (f"filter that {name} pass, embedded", _filtered("embedded", name)),
            ("- PostgreSQL", _filtered("postgres", name)),
        ]
    more: list[tuple[str, Callable[[Size], str]]] = [
        ("remember without embedding, embedded, ms", lambda one: both(one.embedded.remember_rest)),
        ("- PostgreSQL", lambda one: both(one.postgres.remember_rest)),
        ("- times", lambda one: f"{one.remember_times:.1f}"),
        ("of the first 10 embedded, found on PostgreSQL", lambda one: f"{one.same:.1%}"),
        ("moved, memories/s", lambda one: f"{one.moved_per_second:,.0f}"),
        ("searched by", lambda one: one.index),
        ("- built in, s", lambda one: f"{one.index_seconds:.1f}"),
    ]
    head = ("", *(f"{one.size:,}" for one in sizes))
    cells = tuple((name, *(told(one) for one in sizes)) for name, told in rows + more)
    return Table(title="Embedded and PostgreSQL", head=head, rows=cells)


def _filtered(side: str, name: str) -> Callable[[Size], str]:
    def told(one: Size) -> str:
        probe = one.embedded if side == "embedded" else one.postgres
        return both(probe.recall_filtered[name])

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
    head = ("", *(f"{one.servers} server{'s' if one.servers > 1 else ''}" for one in scale.throughput))
    cells = tuple((name, *(told(one) for one in scale.throughput)) for name, told in rows)
    return Table(title=f"20 connections at {scale.served:,} memories", head=head, rows=cells)
