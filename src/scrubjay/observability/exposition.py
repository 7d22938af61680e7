"""Metrics as text, in both formats that Prometheus reads: counters, gauges, and histograms of durations."""

import math
import threading
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prometheus_client import Metric

PLAIN = "text/plain; version=0.0.4; charset=utf-8"
OPEN = "application/openmetrics-text; version=1.0.0; charset=utf-8"
_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})


def content_type(accept: str) -> str:
    """Return the format for an `Accept` header."""
    return OPEN if OPEN.partition(";")[0] in accept else PLAIN


def document(lines: Iterable[str], *, of: str) -> bytes:
    """Return the whole text of one content type."""
    return ("\n".join([*lines, *(["# EOF"] if of == OPEN else [])]) + "\n").encode()


def lines_of(families: "Iterable[Metric]", *, of: str) -> Iterator[str]:
    """Yield the lines of the package's families. Its own writer takes twice as long."""
    for family in families:
        # In one format the name of a counter ends in `_total`, in the other only the names of its samples do.
        name = family.name if of == OPEN or family.type != "counter" else f"{family.name}_total"
        yield from _heading(name, family.documentation, family.type)
        for sample in family.samples:
            yield f"{sample.name}{_labels(sample.labels)} {_number(sample.value)}"


class _Family:
    """A number by the values of some labels.

    The families of the package do the same, but loading it takes a fortieth of the start of a daemon.
    """

    kind = ""

    def __init__(self, name: str, help_text: str, *labels: str) -> None:
        self.name = name
        self._help_text = help_text
        self._labels = labels
        self._values: dict[tuple[str, ...], float] = {}
        self._lock = threading.Lock()

    def lines(self, *, of: str) -> Iterator[str]:
        """Yield the lines of the family."""
        # In one format the name of a counter ends in `_total`, in the other only the names of its samples do.
        sample = f"{self.name}_total" if self.kind == "counter" else self.name
        yield from _heading(self.name if of == OPEN else sample, self._help_text, self.kind)
        with self._lock:
            values = [*self._values.items()]
        for key, value in values:
            yield f"{sample}{_labels(dict(zip(self._labels, key, strict=True)))} {_number(value)}"


class CounterFamily(_Family):
    """A number that only grows."""

    kind = "counter"

    def add(self, amount: float, *values: str) -> None:
        """Add to the number of these values of the labels."""
        with self._lock:
            self._values[values] = self._values.get(values, 0.0) + amount


class GaugeFamily(_Family):
    """A number that goes up and down; without labels it is 0 at first."""

    kind = "gauge"

    def __init__(self, name: str, help_text: str, *labels: str) -> None:
        super().__init__(name, help_text, *labels)
        if not labels:
            self.set(0.0)

    def set(self, value: float, *values: str) -> None:
        """Set the number of these values of the labels."""
        with self._lock:
            self._values[values] = value


class DurationHistogram:
    """A histogram of durations by one label, or without a label.

    Histograms are most of the text, and the package's own take several times as long to write: here, the beginnings of
    the lines are made once.
    """

    def __init__(self, name: str, help_text: str, *, label: str = "", bounds: Sequence[float]) -> None:
        self.name = name
        self._help_text = help_text
        self._label = label
        self._bounds = tuple(bounds)
        self._series: dict[str, _Series] = {}
        self._lock = threading.Lock()
        if not label:
            self._add_series("")

    def add(self, value: str, seconds: float) -> None:
        """Count a duration."""
        series = self._series.get(value) or self._add_series(value)
        bucket = bisect_left(self._bounds, seconds)
        with self._lock:
            series.counts[bucket] += 1
            series.seconds += seconds

    def counts(self) -> dict[str, tuple[int, ...]]:
        """Return the number of durations in each bucket, by the values of the label."""
        with self._lock:
            return {value: tuple(series.counts) for value, series in self._series.items()}

    def lines(self) -> Iterator[str]:
        """Yield the lines of the family, which are the same in both formats."""
        yield from _heading(self.name, self._help_text, "histogram")
        for series in list(self._series.values()):
            with self._lock:
                counts, seconds = tuple(series.counts), series.seconds
            totals = tuple(accumulate(counts))
            yield from map("{}{}.0".format, series.buckets, totals)
            yield f"{series.count}{totals[-1]}.0"
            yield f"{series.sum}{seconds!r}"

    def _add_series(self, value: str) -> "_Series":
        label = f'{self._label}="{_escape(value)}"' if self._label else ""
        with self._lock:
            return self._series.setdefault(value, _Series(self.name, label, self._bounds))


class _Series:
    """The counts for one value of the label, and the beginnings of their lines."""

    __slots__ = ("buckets", "count", "counts", "seconds", "sum")

    def __init__(self, name: str, label: str, bounds: Sequence[float]) -> None:
        self.counts = [0] * (len(bounds) + 1)
        self.seconds = 0.0
        first, labels = (f"{label},", f"{{{label}}}") if label else ("", "")
        self.buckets = [f'{name}_bucket{{{first}le="{bound}"}} ' for bound in (*map(repr, bounds), "+Inf")]
        self.count = f"{name}_count{labels} "
        self.sum = f"{name}_sum{labels} "


def _heading(name: str, help_text: str, kind: str) -> tuple[str, str]:
    return f"# HELP {name} {_escape(help_text)}", f"# TYPE {name} {kind}"


def _escape(text: str) -> str:
    return text.translate(_ESCAPES)


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    pairs = ",".join([f'{name}="{_escape(value)}"' for name, value in labels.items()])
    return f"{{{pairs}}}"


def _number(value: float) -> str:
    if math.isfinite(value):
        return repr(float(value))
    return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
