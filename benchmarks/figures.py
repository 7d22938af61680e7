"""All that is measured, as plain values that become a JSON file."""

from dataclasses import dataclass, field

from benchmarks.timing import Spread


@dataclass(frozen=True, slots=True, kw_only=True)
class Filling:
    """Filling a fresh store: by concurrent remembers, and by import. Embedding is not in any of it."""

    remembered_per_second: float
    exported_per_second: float
    imported_per_second: float
    index_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Bytes on disk, and what bodies would take otherwise."""

    store: int
    index: int
    body_json: int
    body_stored: int
    body_pickled: int
    raw_bodies: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearness:
    """The share of the truly nearest passages that the index finds."""

    questions: int
    at_10: float
    at_100: float
    filtered_at_10: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """One process that opens a filled folder, asks and remembers. Times in milliseconds, memory in MB."""

    index: str
    open_store: float
    first_recall: float
    first_recall_embedding: float
    recall: Spread
    recall_embedding: Spread
    recall_rest: Spread
    recall_filtered: dict[str, Spread]
    remember: Spread
    remember_embedding: Spread
    remember_rest: Spread
    resident_open: float
    resident_loaded: float
    resident_after: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """The reference knowledge-graph server at one size."""

    version: str
    create: Spread
    search: Spread


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Everything at one size."""

    size: int
    filling: Filling
    sizes: Sizes
    nearness: Nearness
    probe: Probe
    reference: Reference | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharing:
    """Writes one after the other, and the same number at once, that share their fsyncs."""

    writes: int
    alone_per_second: float
    together_per_second: float
    writes_per_commit: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """A whole run."""

    version: str
    machine: str
    corpus: str
    model: str
    embedded_per_second: float
    sharing: Sharing
    sizes: tuple[Measured, ...]
    notes: tuple[str, ...] = field(default=())
