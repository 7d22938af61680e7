"""The results of the recall benchmark as tables of a Markdown page, and its targets."""

from collections.abc import Sequence

from benchmarks.recall_figures import Measured, RecallResults
from benchmarks.recall_metrics import Quality
from benchmarks.tables import Check, Table, at_most, both, rows_of

_HEAD = ("R@5", "R@10", "all@10", "MRR", "nDCG@10")
# The same ranking on every backend: only the candidates may differ a little.
_POINTS_APART = 2.0


def page(results: RecallResults) -> str:
    """Return the run as Markdown."""
    lines = [
        f"- Scrubjay {results.version} on {results.machine}",
        f"- Model: {results.model}; ranking: {results.ranking}",
    ]
    for dataset in results.datasets:
        lines += ["", f"## {dataset.dataset}", "", *(f"- {fact}" for fact in _facts(dataset))]
        for table in tables(dataset):
            lines += ["", f"### {table.title}", "", *rows_of(table)]
        targets = checks(dataset)
        if targets:
            lines += ["", *(f"- {'met' if is_met else '**missed**'}: {target}" for target, is_met in targets)]
    return "\n".join(lines) + "\n"


def tables(measured: Measured) -> list[Table]:
    """Return all tables of a data set."""
    tables_ = [
        _table("Recall", [(method.name, method.quality) for method in measured.methods], baseline=measured.product),
        _table("By category", list(measured.categories.items()), counted=True),
    ]
    if measured.sessions is not None:
        tables_.append(
            _table("By session", [("sessions, each at the rank of its first turn", measured.sessions)], counted=True)
        )
    if len(measured.backends) > 1:
        tables_.append(_table("By backend", list(measured.backends.items()), baseline=measured.product))
    return [*tables_, _pace(measured)]


def checks(measured: Measured) -> list[Check]:
    """Compare the results of the backends."""
    first, *others = measured.backends.values()
    comparisons: list[Check] = []
    for name, other in zip(list(measured.backends)[1:], others, strict=True):
        for metric, here, there in (("R@5", first.r5, other.r5), ("R@10", first.r10, other.r10)):
            difference = 100 * abs(here - there)
            comparisons.append(
                at_most(f"{metric} on {name}", difference, _POINTS_APART, "points from the embedded store")
            )
    return comparisons


def _facts(measured: Measured) -> list[str]:
    spaces = f"{measured.collections} space{'s' if measured.collections > 1 else ''}"
    return [
        f"{measured.origin}: {measured.memories:,} memories in {spaces}, {measured.product.questions:,} questions",
        "R: share of the relevant memories among the first 5 and 10; all: questions with all of them found; p50 / p95",
    ]


def _table(
    title: str, rows: Sequence[tuple[str, Quality]], *, baseline: Quality | None = None, counted: bool = False
) -> Table:
    head = ("", *(("questions",) if counted else ()), *_HEAD, *(("R@10 against the first",) if baseline else ()))
    return Table(
        title=title,
        head=head,
        rows=tuple(
            (
                name,
                *((f"{quality.questions:,}",) if counted else ()),
                *(_share(value) for value in (quality.r5, quality.r10, quality.all10, quality.mrr, quality.ndcg10)),
                *((_points(quality.r10 - baseline.r10) if quality is not baseline else "",) if baseline else ()),
            )
            for name, quality in rows
        ),
    )


def _pace(measured: Measured) -> Table:
    return Table(
        title="Latency and tokens with the defaults",
        head=("", "recall, ms", "without embedding, ms", "tokens, mean", "tokens, most"),
        rows=tuple(
            (name, both(pace.recall), both(pace.recall_rest), f"{pace.tokens_mean:,.0f}", f"{pace.tokens_most:,}")
            for name, pace in measured.paces.items()
        ),
    )


def _share(value: float) -> str:
    return f"{value:.3f}"


def _points(value: float) -> str:
    return f"{100 * value:+.1f}"
