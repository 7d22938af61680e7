"""A telemetry observer that records everything it receives."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from scrubjay.telemetry import Span


@dataclass(kw_only=True)
class RecordingObserver:
    """Records spans and counts in order; with `fails` it raises on every call instead."""

    fails: bool = False
    needs_starts: bool = True
    started_names: list[str] = field(default_factory=list[str])
    ended_spans: list[tuple[str, str, bool]] = field(default_factory=list[tuple[str, str, bool]])
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    counts: dict[tuple[str, ...], int] = field(default_factory=dict[tuple[str, ...], int])

    def on_start(self, span: Span) -> object:
        self._fail_if_set()
        self.started_names.append(span.name)
        return span.name

    def on_end(self, span: Span, mark: object) -> None:
        self._fail_if_set()
        self.ended_spans.append((span.name, span.outcome, mark == span.name))
        self.seconds[span.name] = span.seconds

    def on_count(self, name: str, amount: int, labels: Mapping[str, str]) -> None:
        self._fail_if_set()
        key = (name, *labels.values())
        self.counts[key] = self.counts.get(key, 0) + amount

    @property
    def names(self) -> list[str]:
        """The names of the spans, in the order in which they ended."""
        return [name for name, _, _ in self.ended_spans]

    def _fail_if_set(self) -> None:
        if self.fails:
            raise RuntimeError("this observer fails")
