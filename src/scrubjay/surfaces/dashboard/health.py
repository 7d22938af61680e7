"""The page of health: alerts, figures, who writes what, and charts over time, which the server draws."""

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import date, timedelta

from starlette.responses import Response

from scrubjay.lazy import dataclass
from scrubjay.model.health import HealthDay, ServerDay
from scrubjay.model.requests import HealthRequest
from scrubjay.surfaces.dashboard.page import PageCall

__all__ = ["health"]

_PERIODS = (7, 30, 90, 365)
# So many verbs are drawn over time, two lines each.
_BUSIEST_VERBS = 3
_HEIGHT = 100.0
_WIDTH = 720.0
_OUTCOMES = ("created", "merged", "updated", "unchanged", "rejected")
# The figures that are measured once a day, with their labels.
_MEASURED: tuple[tuple[str, Callable[[HealthDay], float | None]], ...] = (
    ("Memories", lambda day: day.memories),
    ("Memories that say too little", lambda day: day.thin),
    ("Tags", lambda day: day.tags),
    ("Entropy of the tags, in bits", lambda day: day.tag_entropy),
    ("Conflicts that wait", lambda day: day.conflicts),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartBar:
    """A part of a day's column: where it is drawn, and which outcome it counts."""

    x: float
    y: float
    width: float
    height: float
    outcome: str
    about: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartLine:
    """A figure over time: the points of its line, its range and its last value."""

    label: str
    points: str
    most: float
    last: float


async def health(page: PageCall) -> Response:
    """Show how the memory of the space fares."""
    days = page.number("days", 30) or 30
    report = await page.call(HealthRequest.of(days=days))
    (space,) = report.spaces
    every = _every_day(space.days, since=report.since)
    figures = [(label, [figure(day) for day in every]) for label, figure in _MEASURED]
    figures += _server_figures(report.server.days) if report.server else []
    lines = [line for label, values in figures if (line := _line(label, values)) is not None]
    return page.render(
        "health.html", report=report, health=space, days=days, periods=_PERIODS, bars=_bars(every), lines=lines,
        outcomes=_OUTCOMES, most=max((day.writes.total for day in every), default=0),
    )  # fmt: skip


def _every_day(days: Sequence[HealthDay], *, since: str) -> list[HealthDay]:
    """Return the days of the period without gaps, from the first that has figures."""
    by_date = {day.date: day for day in days}
    if not by_date:
        return []
    first, last = date.fromisoformat(max(since, min(by_date))), date.fromisoformat(max(by_date))
    dates = [(first + timedelta(days=number)).isoformat() for number in range((last - first).days + 1)]
    return [by_date.get(day) or HealthDay(date=day) for day in dates]


def _server_figures(days: Sequence[ServerDay]) -> list[tuple[str, list[float | None]]]:
    """Return how long the busiest verbs took on each day, and the use of the language model."""
    if not days:
        return []
    first, last = date.fromisoformat(days[0].date), date.fromisoformat(days[-1].date)
    dates = [(first + timedelta(days=number)).isoformat() for number in range((last - first).days + 1)]
    counts: Counter[str] = Counter()
    for day in days:
        counts.update({latency.verb: latency.count for latency in day.latencies})
    figures: list[tuple[str, list[float | None]]] = []
    for verb, _ in counts.most_common(_BUSIEST_VERBS):
        by_date = {day.date: latency for day in days for latency in day.latencies if latency.verb == verb}
        figures.append((f"{verb}, p50 in ms", [by_date[at].p50 if at in by_date else None for at in dates]))
        figures.append((f"{verb}, p95 in ms", [by_date[at].p95 if at in by_date else None for at in dates]))
    uses = {day.date: day.llm for day in days}
    if any(use.calls for use in uses.values()):
        figures.append(("Calls of the language model", [uses[at].calls if at in uses else 0 for at in dates]))
    if any(use.cost for use in uses.values()):
        figures.append(("Cost of the language model", [round(uses[at].cost, 4) if at in uses else 0 for at in dates]))
    return figures


def _bars(days: Sequence[HealthDay]) -> list[ChartBar]:
    """Draw the writes of each day as a column of their outcomes."""
    most = max((day.writes.total for day in days), default=0)
    step = _WIDTH / max(1, len(days))
    bars: list[ChartBar] = []
    for number, day in enumerate(days):
        top = _HEIGHT
        for outcome in _OUTCOMES:
            count: int = getattr(day.writes, outcome)
            if count:
                height = _HEIGHT * count / most
                top -= height
                bars.append(
                    ChartBar(
                        x=round(number * step, 2),
                        y=round(top, 2),
                        width=round(min(40.0, 0.8 * step), 2),
                        height=round(height, 2),
                        outcome=outcome,
                        about=f"{day.date}: {count:,} {outcome}",
                    )
                )
    return bars


def _line(label: str, values: Sequence[float | None]) -> ChartLine | None:
    """Draw a figure over the days on which it was measured; None if it was on fewer than two."""
    measured = [(number, value) for number, value in enumerate(values) if value is not None]
    if len(measured) < 2:  # noqa: PLR2004
        return None
    most = max(value for _, value in measured)
    step = _WIDTH / (len(values) - 1)
    points = " ".join(
        f"{number * step:.1f},{_HEIGHT - _HEIGHT * value / (most or 1):.1f}" for number, value in measured
    )
    return ChartLine(label=label, points=points, most=most, last=measured[-1][1])
