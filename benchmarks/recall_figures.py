"""The results of the recall benchmark, as plain values for a JSON file."""

from dataclasses import dataclass, field

from benchmarks.recall_metrics import Quality
from benchmarks.timing import Spread


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """The latency of a recall with the defaults, with and without embedding, and the tokens of its answer."""

    recall: Spread
    recall_rest: Spread
    tokens_mean: float
    tokens_most: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """One method of answering all questions, and its quality."""

    name: str
    quality: Quality


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One data set: the product first, then the baselines, then the product without each stage."""

    dataset: str
    origin: str
    collections: int
    memories: int
    methods: tuple[Method, ...]
    categories: dict[str, Quality]
    # By backend.
    backends: dict[str, Quality]
    paces: dict[str, Pace]
    sessions: Quality | None = None

    @property
    def product(self) -> Quality:
        """The quality of the product."""
        return self.methods[0].quality


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallResults:
    """A whole run."""

    version: str
    machine: str
    model: str
    ranking: str
    datasets: tuple[Measured, ...] = field(default=())
