"""Histograms of durations. They are most of what is told, and the package's own take several times as long to tell."""

import threading
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate

from scrubjay.observability.exposition import escaped, heading


class Timings:
    """How long things took, by one label. The heads of the lines are made once."""

    def __init__(self, name: str, what: str, *, label: str, bounds: Sequence[float]) -> None:
        self.name = name
        self._what = what
        self._label = label
        self._bounds = tuple(bounds)
        self._series: dict[str, _Series] = {}
        self._changing = threading.Lock()

    def add(self, value: str, seconds: float) -> None:
        """Something took so long."""
        series = self._series.get(value) or self._begun(value)
        place = bisect_left(self._bounds, seconds)
        with self._changing:
            series.counts[place] += 1
            series.seconds += seconds

    def lines(self) -> Iterator[str]:
        """The lines of the family, which are the same in both formats."""
        yield from heading(self.name, self._what, "histogram")
        for series in list(self._series.values()):
            with self._changing:
                counts, seconds = tuple(series.counts), series.seconds
            totals = tuple(accumulate(counts))
            yield from map("{}{}.0".format, series.heads, totals)
            yield f"{series.count}{totals[-1]}.0"
            yield f"{series.sum}{seconds!r}"

    def _begun(self, value: str) -> "_Series":
        with self._changing:
            return self._series.setdefault(value, _Series(self.name, f'{self._label}="{escaped(value)}"', self._bounds))


class _Series:
    """The counts of one value of the label, and how their lines begin."""

    __slots__ = ("count", "counts", "heads", "seconds", "sum")

    def __init__(self, name: str, label: str, bounds: Sequence[float]) -> None:
        self.counts = [0] * (len(bounds) + 1)
        self.seconds = 0.0
        self.heads = [f'{name}_bucket{{{label},le="{bound}"}} ' for bound in (*map(repr, bounds), "+Inf")]
        self.count = f"{name}_count{{{label}}} "
        self.sum = f"{name}_sum{{{label}}} "
