"""How long requests took, day by day: counts in buckets, which can be added up over servers and restarts."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta

from scrubjay.health.daily import KEPT_DAYS
from scrubjay.lookup.daily import DailyDocuments
from scrubjay.model.document import HEALTH
from scrubjay.model.health import VerbLatency
from scrubjay.model.memory import Json
from scrubjay.ports import DocumentStore

LATENCY_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0)
"""The upper bounds of the buckets in seconds; one more bucket has what took longer."""
# The documents of the whole store.
_SPACE = ""
_FIELD = "latency"
# Of a day, the verbs that were used most; the others are few requests.
_MAX_VERBS = 12
_SHARES = (0.5, 0.95, 0.99)

BucketCounts = Mapping[str, Sequence[int]]
"""How many requests of each verb were in each bucket."""


class LatencyLog:
    """Stores the latencies of a daemon in one document a day, together with those of other servers.

    `counts` returns those since the daemon was started, which sets it.
    """

    def __init__(self, documents: DocumentStore) -> None:
        self._documents = DailyDocuments(documents, HEALTH)
        self._stored: BucketCounts = {}
        self.counts: Callable[[], BucketCounts] = dict

    async def save(self, *, now: datetime) -> None:
        """Add what was not stored yet to the document of the day."""
        counts = {verb: tuple(buckets) for verb, buckets in self.counts().items()}
        fresh = _difference(counts, self._stored)
        if not fresh:
            return

        async def add(value: Mapping[str, Json]) -> Mapping[str, Json]:
            return {**value, _FIELD: {verb: list(buckets) for verb, buckets in _busiest(_sum(_read(value), fresh))}}

        day = now.date().isoformat()
        is_new = await self._documents.change(_SPACE, day, add, at=now)
        self._stored = counts
        if is_new:
            first = date.fromisoformat(day) - timedelta(days=KEPT_DAYS - 1)
            await self._documents.delete(_SPACE, before=first.isoformat())

    async def days(self, *, since: str, now: datetime) -> dict[str, tuple[VerbLatency, ...]]:
        """Return the latencies of each day, with those that are not stored yet."""
        days: dict[str, BucketCounts] = {}
        async for document in self._documents.all(_SPACE, since=since):
            days[document.key] = _read(document.value)
        today = now.date().isoformat()
        days[today] = _sum(days.get(today, {}), _difference(self.counts(), self._stored))
        return {day: latencies_of(counts) for day, counts in sorted(days.items()) if counts}


def latencies_of(counts: BucketCounts) -> tuple[VerbLatency, ...]:
    """Return the percentiles of each verb, that with the most requests first."""
    return tuple(
        VerbLatency(verb=verb, count=sum(buckets), p50=p50, p95=p95, p99=p99)
        for verb, buckets in _busiest(counts)
        for p50, p95, p99 in [[quantile(buckets, LATENCY_BOUNDS, share=share) for share in _SHARES]]
    )


def quantile(counts: Sequence[int], bounds: Sequence[float], *, share: float) -> float:
    """Return below how many milliseconds a share is, as if the durations of a bucket were spread evenly over it."""
    rank, before = share * sum(counts), 0
    for bucket, count in enumerate(counts):
        if count and before + count >= rank:
            low = bounds[bucket - 1] if bucket else 0.0
            high = bounds[min(bucket, len(bounds) - 1)]
            return round(1000 * (low + (high - low) * (rank - before) / count), 2)
        before += count
    return 0.0


def _read(value: Mapping[str, Json]) -> BucketCounts:
    """Read the counts of a stored day; damaged ones count nothing."""
    stored = value.get(_FIELD)
    if not isinstance(stored, dict):
        return {}
    return {
        verb: [count if isinstance(count, int) else 0 for count in buckets]
        for verb, buckets in stored.items()
        if isinstance(buckets, list) and len(buckets) == len(LATENCY_BOUNDS) + 1
    }


def _sum(counts: BucketCounts, more: BucketCounts) -> BucketCounts:
    nothing = (0,) * (len(LATENCY_BOUNDS) + 1)
    return {
        verb: [a + b for a, b in zip(counts.get(verb, nothing), more.get(verb, nothing), strict=True)]
        for verb in {**counts, **more}
    }


def _difference(counts: BucketCounts, before: BucketCounts) -> BucketCounts:
    negative = {verb: [-count for count in buckets] for verb, buckets in before.items()}
    return {verb: buckets for verb, buckets in _sum(counts, negative).items() if any(buckets)}


def _busiest(counts: BucketCounts) -> list[tuple[str, Sequence[int]]]:
    return sorted(counts.items(), key=lambda item: (-sum(item[1]), item[0]))[:_MAX_VERBS]
