"""Somebody who listens to telemetry and writes everything down."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from scrubjay.telemetry import Span


@dataclass(kw_only=True)
class Ear:
    """Notes what it hears, in order. `deaf` fails at everything instead."""

    deaf: bool = False
    from_the_beginning: bool = True
    began_names: list[str] = field(default_factory=list[str])
    ended_spans: list[tuple[str, str, bool]] = field(default_factory=list[tuple[str, str, bool]])
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    counts: dict[tuple[str, ...], int] = field(default_factory=dict[tuple[str, ...], int])

    def began(self, span: Span) -> object:
        self._fail_if_deaf()
        self.began_names.append(span.name)
        return span.name

    def ended(self, span: Span, mark: object) -> None:
        self._fail_if_deaf()
        self.ended_spans.append((span.name, span.outcome, mark == span.name))
        self.seconds[span.name] = span.seconds

    def counted(self, name: str, amount: int, labels: Mapping[str, str]) -> None:
        self._fail_if_deaf()
        key = (name, *labels.values())
        self.counts[key] = self.counts.get(key, 0) + amount

    @property
    def names(self) -> list[str]:
        """What is over, in the order in which it ended."""
        return [name for name, _, _ in self.ended_spans]

    def _fail_if_deaf(self) -> None:
        if self.deaf:
            raise RuntimeError("I cannot hear you")
