"""What was measured and what follows from it, as tables of a Markdown page."""

from collections.abc import Callable, Sequence
from dataclasses import asdict

from benchmarks.capacity_samples import Sample, measured_of
from benchmarks.projection import Assumed, Plan, plan

SIZES = (1_000_000, 10_000_000, 100_000_000, 1_000_000_000)
# Tables that take less than this for a memory are told together.
_SMALL = 20
Row = tuple[str, Callable[[Plan], str]]


def page(samples: Sequence[Sample], assumed: Assumed) -> str:
    """All tables."""
    parts = [_weights(samples), _indexes(samples[-1]), _efforts(samples)]
    whole = [sample for sample in samples if sample.recall is not None]
    if whole:
        measured = measured_of(whole[-1])
        plans = [plan(measured, assumed, memories=size) for size in SIZES]
        parts += [_table("Needed", plans, _NEEDED), _table("The busiest hour, simulated", plans, _BUSIEST)]
        parts.append(_assumptions(assumed))
    return "\n\n".join(parts) + "\n"


def _weights(samples: Sequence[Sample]) -> str:
    """Bytes a memory, by table with its indexes."""
    tables = list(samples[-1].weights.by_table())
    large = [name for name in tables if _bytes(samples[-1], name) >= _SMALL]
    rows = [(f"`{name}`", *(_split(sample, name) for sample in samples)) for name in large]
    rest = [sum(_bytes(sample, name) for name in tables if name not in large) for sample in samples]
    rows.append(("all others", *(f"{value:,.0f}" for value in rest)))
    rows.append(("**all**", *(f"**{sample.weights.per_memory:,.0f}**" for sample in samples)))
    rows.append(
        ("- of it HNSW", *(f"{sample.weights.of_vector_index() / sample.weights.memories:,.0f}" for sample in samples))
    )
    rows += [
        (
            f"{name} to a memory",
            *(f"{getattr(sample.weights, name) / sample.weights.memories:.2f}" for sample in samples),
        )
        for name in ("versions", "passages", "vectors", "changes")
    ]
    head = ("bytes a memory: rows + indexes", *(f"{sample.size:,}" for sample in samples))
    return f"### Bytes\n\n{_markdown(head, rows)}"


def _indexes(sample: Sample) -> str:
    """The indexes that count."""
    results = [
        (f"`{one.index}`", one.kind, f"{one.size / sample.weights.memories:,.0f}")
        for one in sorted(sample.weights.relations, key=lambda one: -one.size)
        if one.index and one.size / sample.weights.memories >= _SMALL
    ]
    return f"### Indexes\n\n{_markdown(('index', 'kind', f'bytes a memory at {sample.size:,}'), results)}"


def _efforts(samples: Sequence[Sample]) -> str:
    whole = [sample for sample in samples if sample.recall is not None and sample.remember is not None]
    rows: list[tuple[str, ...]] = []
    for verb in ("recall", "remember"):
        for part, name in (("wall", "waits"), ("server", "server computes"), ("database", "database computes")):
            values = [getattr(getattr(item, verb), part) for item in whole]
            rows.append((f"{verb}, {name}, ms", *(f"{value:.1f}" for value in values)))
    rows.append(("embedding a question, ms of a core", *(f"{item.embedding:.1f}" for item in whole)))
    rows.append(("texts embedded in batches, a second", *(f"{item.embedded_per_second:,.0f}" for item in whole)))
    rows.append(
        ("64 remembering at once, memories a second", *(f"{item.remembered_per_second:,.0f}" for item in whole))
    )
    rows.append(("HNSW built, vectors a second", *(f"{item.indexed_per_second:,.0f}" for item in whole)))
    return f"### Work\n\n{_markdown(('', *(f'{item.size:,}' for item in whole)), rows)}"


def _assumptions(assumed: Assumed) -> str:
    rows = [(f"`{name}`", f"{value:g}") for name, value in asdict(assumed).items() if not isinstance(value, dict)]
    rows += [(f"`prices.{name}`", f"{value:g}") for name, value in asdict(assumed.prices).items()]
    return f"### Assumed\n\n{_markdown(('assumption', 'value'), rows)}"


def _table(title: str, plans: Sequence[Plan], rows: Sequence[Row]) -> str:
    head = ("", *(_short(plan.memories) for plan in plans))
    return f"### {title}\n\n{_markdown(head, [(name, *(show(plan) for plan in plans)) for name, show in rows])}"


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, [":--", *("--:" for _ in head[1:])], *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _bytes(sample: Sample, table: str) -> float:
    return sum(sample.weights.by_table().get(table, (0, 0))) / sample.weights.memories


def _split(sample: Sample, table: str) -> str:
    rows, indexes = sample.weights.by_table().get(table, (0, 0))
    return f"{rows / sample.weights.memories:,.0f} + {indexes / sample.weights.memories:,.0f}"


def _short(memories: int) -> str:
    million = memories / 1_000_000
    return f"{million:,.0f} million" if million < 1000 else f"{million / 1000:,.0f} billion"


def _gb(value: float) -> str:
    return f"{value:,.1f}" if value < 100 else f"{value:,.0f}"


def _percent(value: float) -> str:
    return f"{value:.0%}"


_NEEDED: list[Row] = [
    ("requests a second, mean of the day", lambda one: f"{one.requests_per_second:,.1f}"),
    ("Scrubjay servers", lambda one: f"{one.servers}"),
    ("PostgreSQL shards", lambda one: f"{one.shards}"),
    ("tables and their indexes, GB", lambda one: _gb(one.store_gb)),
    ("HNSW, GB of disk and memory", lambda one: _gb(one.vector_index_gb)),
    ("memory of all shards, GB", lambda one: _gb(one.memory_gb)),
    ("base backups and a day's log, GB", lambda one: _gb(one.backup_gb)),
    ("or Qdrant: memory, GB", lambda one: _gb(one.qdrant_memory_gb)),
    ("- disk, GB", lambda one: _gb(one.qdrant_disk_gb)),
    ("importing all, hours", lambda one: _gb(one.import_hours)),
    ("- embedding all, hours", lambda one: _gb(one.embed_hours)),
    ("building HNSW anew, hours", lambda one: _gb(one.index_hours)),
    ("cost of a month", lambda one: f"{one.cost:,.0f}"),
    ("- for a million memories", lambda one: f"{one.cost_per_million:,.2f}"),
]
_BUSIEST: list[Row] = [
    ("recall, p50 / p99, ms", lambda one: f"{one.outcome.recall_p50:.0f} / {one.outcome.recall_p99:.0f}"),
    ("remember, p50 / p99, ms", lambda one: f"{one.outcome.remember_p50:.0f} / {one.outcome.remember_p99:.0f}"),
    ("embedding cores busy", lambda one: _percent(one.outcome.embedding_busy)),
    ("servers' cores busy", lambda one: _percent(one.outcome.server_busy)),
    ("shards' cores busy", lambda one: _percent(one.outcome.shard_busy)),
    ("- the hottest shard's", lambda one: _percent(one.outcome.hottest_shard_busy)),
    ("requests of the hottest shard, times the mean", lambda one: f"{one.outcome.hottest_shard_requests:.2f}"),
    ("memories of the fullest shard, times the mean", lambda one: f"{one.outcome.fullest_shard_memories:.2f}"),
    ("the largest space has, of all memories", lambda one: f"{one.outcome.largest_space:.2%}"),
]
