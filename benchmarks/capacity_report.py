"""The measurements of capacity and the projection from them, as tables of a Markdown page."""

from collections.abc import Callable, Sequence
from dataclasses import asdict

from benchmarks.capacity_samples import Sample, measured_from
from benchmarks.projection import Assumed, Plan, plan

SIZES = (1_000_000, 10_000_000, 100_000_000, 1_000_000_000)
# Tables that take fewer bytes per memory share one row.
_SMALL = 20
Row = tuple[str, Callable[[Plan], str]]


def page(samples: Sequence[Sample], assumed: Assumed) -> str:
    """Return all tables."""
    parts = [_weights(samples), _indexes(samples[-1]), _efforts(samples)]
    complete = [sample for sample in samples if sample.recall is not None]
    if complete:
        measured = measured_from(complete[-1])
        plans = [plan(measured, assumed, memories=size) for size in SIZES]
        parts += [_table("Needed", plans, _NEEDED), _table("The busiest hour, simulated", plans, _BUSIEST)]
        parts.append(_assumptions(assumed))
    return "\n\n".join(parts) + "\n"


def _weights(samples: Sequence[Sample]) -> str:
    """Return the table of bytes per memory, by table with its indexes."""
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
    """Return the table of the larger indexes."""
    rows = [
        (f"`{relation.index}`", relation.kind, f"{relation.size / sample.weights.memories:,.0f}")
        for relation in sorted(sample.weights.relations, key=lambda relation: -relation.size)
        if relation.index and relation.size / sample.weights.memories >= _SMALL
    ]
    return f"### Indexes\n\n{_markdown(('index', 'kind', f'bytes a memory at {sample.size:,}'), rows)}"


def _efforts(samples: Sequence[Sample]) -> str:
    complete = [sample for sample in samples if sample.recall is not None and sample.remember is not None]
    rows: list[tuple[str, ...]] = []
    for verb in ("recall", "remember"):
        for part, name in (("wall", "waits"), ("server", "server computes"), ("database", "database computes")):
            values = [getattr(getattr(sample, verb), part) for sample in complete]
            rows.append((f"{verb}, {name}, ms", *(f"{value:.1f}" for value in values)))
    rows.append(("embedding a question, ms of a core", *(f"{sample.embedding:.1f}" for sample in complete)))
    rows.append(("texts embedded in batches, a second", *(f"{sample.embedded_per_second:,.0f}" for sample in complete)))
    rows.append(
        ("64 concurrent remembers, memories a second", *(f"{sample.remembered_per_second:,.0f}" for sample in complete))
    )
    rows.append(("HNSW built, vectors a second", *(f"{sample.indexed_per_second:,.0f}" for sample in complete)))
    head = ("", *(f"{sample.size:,}" for sample in complete))
    return f"### Work\n\n{_markdown(head, rows)}"


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
    ("requests a second, mean of the day", lambda plan: f"{plan.requests_per_second:,.1f}"),
    ("Scrubjay servers", lambda plan: f"{plan.servers}"),
    ("PostgreSQL shards", lambda plan: f"{plan.shards}"),
    ("tables and their indexes, GB", lambda plan: _gb(plan.store_gb)),
    ("HNSW, GB of disk and memory", lambda plan: _gb(plan.vector_index_gb)),
    ("memory of all shards, GB", lambda plan: _gb(plan.memory_gb)),
    ("base backups and a day's log, GB", lambda plan: _gb(plan.backup_gb)),
    ("or Qdrant: memory, GB", lambda plan: _gb(plan.qdrant_memory_gb)),
    ("- disk, GB", lambda plan: _gb(plan.qdrant_disk_gb)),
    ("importing all, hours", lambda plan: _gb(plan.import_hours)),
    ("- embedding all, hours", lambda plan: _gb(plan.embed_hours)),
    ("rebuilding HNSW, hours", lambda plan: _gb(plan.index_hours)),
    ("cost of a month", lambda plan: f"{plan.cost:,.0f}"),
    ("- for a million memories", lambda plan: f"{plan.cost_per_million:,.2f}"),
]
_BUSIEST: list[Row] = [
    ("recall, p50 / p99, ms", lambda plan: f"{plan.outcome.recall_p50:.0f} / {plan.outcome.recall_p99:.0f}"),
    ("remember, p50 / p99, ms", lambda plan: f"{plan.outcome.remember_p50:.0f} / {plan.outcome.remember_p99:.0f}"),
    ("embedding cores busy", lambda plan: _percent(plan.outcome.embedding_busy)),
    ("servers' cores busy", lambda plan: _percent(plan.outcome.server_busy)),
    ("shards' cores busy", lambda plan: _percent(plan.outcome.shard_busy)),
    ("- the hottest shard's", lambda plan: _percent(plan.outcome.hottest_shard_busy)),
    ("requests of the hottest shard, times the mean", lambda plan: f"{plan.outcome.hottest_shard_requests:.2f}"),
    ("memories of the fullest shard, times the mean", lambda plan: f"{plan.outcome.fullest_shard_memories:.2f}"),
    ("the largest space has, of all memories", lambda plan: f"{plan.outcome.largest_space:.2%}"),
]
