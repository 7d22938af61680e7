"""All that a run of the recall benchmark finds, as plain values that become a JSON file."""

from dataclasses import dataclass, field

from benchmarks.recall_metrics import Quality
from benchmarks.timing import Spread


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How long a recall with the defaults takes, with and without embedding the question, and what it returns."""

    recall: Spread
    recall_rest: Spread
    tokens_mean: float
    tokens_most: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One way of answering all questions."""

    name: str
    quality: Quality


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One data set: the product first, then what it is held against, then without each stage."""

    dataset: str
    origin: str
    collections: int
    memories: int
    ways: tuple[Way, ...]
    categories: dict[str, Quality]
    # By backend.
    backends: dict[str, Quality]
    paces: dict[str, Pace]
    sessions: Quality | None = None

    @property
    def product(self) -> Quality:
        """What the product reaches."""
        return self.ways[0].quality


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallResults:
    """A whole run."""

    version: str
    machine: str
    model: str
    ranking: str
    datasets: tuple[Measured, ...] = field(default=())
