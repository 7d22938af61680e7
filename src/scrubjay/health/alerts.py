"""Alerts: figures beyond their thresholds, with what to do about each."""

from collections.abc import Iterator
from dataclasses import field

from scrubjay.lazy import dataclass
from scrubjay.model.health import Alert, ServerHealth, SpaceHealth, Thresholds, WriteCounts, share

MAX_UNEMBEDDED = 1_000
"""So many memories without a vector are counted."""
# A share of a few says nothing.
_LEAST_WRITES = 20
_LEAST_MEMORIES = 50
_LEAST_CALLS = 10
_MEBIBYTE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class _Figure:
    """A figure with its threshold, and the words of the alert."""

    name: str
    value: float
    message: str
    fix: str
    is_low: bool = field(default=False, kw_only=True)


def alerts_of_space(space: SpaceHealth, *, recent: WriteCounts, thresholds: Thresholds) -> tuple[Alert, ...]:
    """Return the alerts about a space; `recent` are its writes of the last week."""
    return _beyond(_figures_of_space(space, recent), space=space.space, thresholds=thresholds)


def alerts_of_server(server: ServerHealth, *, thresholds: Thresholds) -> tuple[Alert, ...]:
    """Return the alerts about the whole store."""
    return _beyond(_figures_of_server(server), space="", thresholds=thresholds)


def _beyond(figures: Iterator[_Figure], *, space: str, thresholds: Thresholds) -> tuple[Alert, ...]:
    alerts: list[Alert] = []
    for figure in figures:
        threshold = float(getattr(thresholds, figure.name))
        is_beyond = figure.value < threshold if figure.is_low else figure.value > threshold
        if threshold and is_beyond:
            alert = Alert(
                name=figure.name, space=space, value=figure.value, threshold=threshold, message=figure.message,
                fix=figure.fix,
            )  # fmt: skip
            alerts.append(alert)
    return tuple(alerts)


def _figures_of_space(space: SpaceHealth, recent: WriteCounts) -> Iterator[_Figure]:
    if recent.total >= _LEAST_WRITES:
        yield _Figure(
            "duplicates", recent.repeats, f"{recent.repeats:.0%} of the writes of a week said what was known",
            "Let agents `recall` before they `remember`; `agents` names those that repeat themselves",
        )  # fmt: skip
        refused = share(recent.rejected, recent.total)
        yield _Figure(
            "rejected", refused, f"{refused:.0%} of the writes of a week were refused",
            "Read the warnings that the agents got, and relax the `rules` if they are too strict",
        )  # fmt: skip
    if space.live >= _LEAST_MEMORIES:
        yield _Figure(
            "thin", space.thin_rate, f"{space.thin:,} of {space.live:,} memories say too little",
            "Let agents write whole statements, or set the rule `density` to reject or reconstruct",
        )  # fmt: skip
        yield _Figure(
            "tags", round(space.tags / space.live, 4), f"{space.tags:,} different tags for {space.live:,} memories",
            "`curate` with the job `tags` joins those that mean the same",
        )  # fmt: skip
    yield _Figure(
        "conflicts", space.conflicts, f"{space.conflicts:,} conflicts wait for a decision",
        "`conflicts` lists them, and `resolve_conflict` decides one",
    )  # fmt: skip
    many = "+" if space.unembedded >= MAX_UNEMBEDDED else ""
    yield _Figure(
        "unembedded", space.unembedded, f"{space.unembedded:,}{many} memories have no vector of the model in use",
        "A running daemon makes them, or `scrubjay doctor --repair`; `status` says whether the model is available",
    )  # fmt: skip


def _figures_of_server(server: ServerHealth) -> Iterator[_Figure]:
    yield _Figure(
        "lag", server.lag, f"the vector index is {server.lag:,} changes behind",
        "It recovers by itself; if it does not, `scrubjay doctor --repair` rebuilds it",
    )  # fmt: skip
    free = round(server.disk_free_bytes / _MEBIBYTE, 1)
    yield _Figure(
        "free_mb", free, f"{free:,.0f} MB are free on the disk of the store",
        "Free some space: on a full disk writes fail, though nothing is lost", is_low=True,
    )  # fmt: skip
    calls, failures = (server.llm.get(name, 0) for name in ("calls_today", "failures_today"))
    if isinstance(calls, int) and isinstance(failures, int) and calls >= _LEAST_CALLS:
        failed = share(failures, calls)
        yield _Figure(
            "llm_failures", failed, f"{failed:.0%} of today's calls of the language model failed",
            "`status` says why; SCRUBJAY_LLM=off stops the calls",
        )  # fmt: skip
