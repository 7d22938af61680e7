"""The measurements of capacity on PostgreSQL, by size, in a JSON file."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.effort import Effort
from benchmarks.load import Work
from benchmarks.projection import Measured
from benchmarks.weights import Relation, Weights

SAMPLES_FILE = Path(__file__).with_name("capacity.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The measurements at one size; a database that was only weighed has no more than weights."""

    weights: Weights
    recall: Effort | None = None
    remember: Effort | None = None
    embedding: float = 0.0
    embedded_per_second: float = 0.0
    remembered_per_second: float = 0.0
    indexed_per_second: float = 0.0
    notes: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """The intended number of memories: timed remembers have added a few."""
        return round(self.weights.memories, -3)


def load_samples(path: Path = SAMPLES_FILE) -> tuple[Sample, ...]:
    """Read the stored samples, the smallest first."""
    return tuple(_sample(load) for load in json.loads(path.read_text(encoding="utf-8"))) if path.exists() else ()


def save_sample(sample: Sample, path: Path = SAMPLES_FILE) -> None:
    """Store a sample; it replaces the one of the same size."""
    samples = {stored.size: stored for stored in load_samples(path)} | {sample.size: sample}
    ordered = [asdict(samples[size]) for size in sorted(samples)]
    path.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")


def measured_from(sample: Sample) -> Measured:
    """Return the input of a projection."""
    recall, remember, weights = sample.recall, sample.remember, sample.weights
    assert recall is not None
    assert remember is not None
    index = weights.of_vector_index()
    return Measured(
        memories=weights.memories,
        store_bytes=weights.size - index,
        vector_index_bytes=index,
        vectors=weights.vectors,
        dimension=weights.dimension,
        recall=Work(embedding=sample.embedding, server=recall.server, database=recall.database),
        remember=Work(embedding=sample.embedding, server=remember.server, database=remember.database),
        embedded_per_second=sample.embedded_per_second,
        imported_per_second=sample.remembered_per_second,
        indexed_per_second=sample.indexed_per_second,
    )


def _sample(plain: dict[str, Any]) -> Sample:
    weights: dict[str, Any] = plain.pop("weights")
    relations: list[dict[str, Any]] = weights.pop("relations")
    efforts: dict[str, dict[str, float] | None] = {name: plain.pop(name) for name in ("recall", "remember")}
    recall, remember = (Effort(**effort) if effort else None for effort in efforts.values())
    notes = tuple(plain.pop("notes"))
    weighed = Weights(**weights, relations=tuple(Relation(**relation) for relation in relations))
    return Sample(**plain, weights=weighed, recall=recall, remember=remember, notes=notes)
