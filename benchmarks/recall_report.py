"""What the recall benchmark found, as tables of a Markdown page and as promises."""

from collections.abc import Sequence

from benchmarks.recall_figures import Measured, RecallResults
from benchmarks.recall_metrics import Quality
from benchmarks.tables import Table, Verdict, at_most, both, rows_of

_HEAD = ("R@5", "R@10", "all@10", "MRR", "nDCG@10")
# The same ranking on every backend: only the candidates may differ a little.
_POINTS_APART = 2.0


def page(results: RecallResults) -> str:
    """The run as Markdown."""
    lines = [
        f"- Scrubjay {results.version} on {results.machine}",
        f"- Model: {results.model}; ranking: {results.ranking}",
    ]
    for dataset in results.datasets:
        lines += ["", f"## {dataset.dataset}", "", *(f"- {fact}" for fact in _facts(dataset))]
        for table in tables(dataset):
            lines += ["", f"### {table.title}", "", *rows_of(table)]
        promises = verdicts(dataset)
        if promises:
            lines += ["", *(f"- {'kept' if stored else '**missed**'}: {promise}" for promise, stored in promises)]
    return "\n".join(lines) + "\n"


def tables(one: Measured) -> list[Table]:
    """All tables of a data set."""
    results = [
        _table("Recall", [(way.name, way.quality) for way in one.ways], beside=one.product),
        _table("By category", list(one.categories.items()), counted=True),
    ]
    if one.sessions is not None:
        results.append(
            _table("By session", [("sessions, each where its first turn stands", one.sessions)], counted=True)
        )
    if len(one.backends) > 1:
        results.append(_table("By backend", list(one.backends.items()), beside=one.product))
    return [*results, _pace(one)]


def verdicts(one: Measured) -> list[Verdict]:
    """Whether the backends find the same."""
    first, *others = one.backends.values()
    results: list[Verdict] = []
    for name, other in zip(list(one.backends)[1:], others, strict=True):
        for what, here, there in (("R@5", first.r5, other.r5), ("R@10", first.r10, other.r10)):
            away = 100 * abs(here - there)
            results.append(at_most(f"{what} on {name}", away, _POINTS_APART, "points from the embedded store"))
    return results


def _facts(one: Measured) -> list[str]:
    spaces = f"{one.collections} space{'s' if one.collections > 1 else ''}"
    return [
        f"{one.origin}: {one.memories:,} memories in {spaces}, {one.product.questions:,} questions",
        "R: share of what was sought among the first 5 and 10; all: questions of which all was found; p50 / p95",
    ]


def _table(
    title: str, rows: Sequence[tuple[str, Quality]], *, beside: Quality | None = None, counted: bool = False
) -> Table:
    head = ("", *(("questions",) if counted else ()), *_HEAD, *(("R@10 beside the first",) if beside else ()))
    return Table(
        title=title,
        head=head,
        rows=tuple(
            (
                name,
                *((f"{results.questions:,}",) if counted else ()),
                *(_share(value) for value in (results.r5, results.r10, results.all10, results.mrr, results.ndcg10)),
                *((_points(results.r10 - beside.r10) if results is not beside else "",) if beside else ()),
            )
            for name, results in rows
        ),
    )


def _pace(one: Measured) -> Table:
    return Table(
        title="Latency and tokens, asked with the defaults",
        head=("", "recall, ms", "without embedding, ms", "tokens, mean", "tokens, most"),
        rows=tuple(
            (name, both(pace.recall), both(pace.recall_rest), f"{pace.tokens_mean:,.0f}", f"{pace.tokens_most:,}")
            for name, pace in one.paces.items()
        ),
    )


def _share(value: float) -> str:
    return f"{value:.3f}"


def _points(value: float) -> str:
    return f"{100 * value:+.1f}"
