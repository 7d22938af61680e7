"""All measurements, as plain values for a JSON file."""

from dataclasses import dataclass, field

from benchmarks.timing import Spread


@dataclass(frozen=True, slots=True, kw_only=True)
class Filling:
    """Filling a new store by concurrent remembers and by import, without embedding."""

    remembered_per_second: float
    exported_per_second: float
    imported_per_second: float
    index_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Bytes on disk, and the bytes of bodies in other formats."""

    store: int
    index: int
    body_json: int
    body_stored: int
    body_pickled: int
    raw_bodies: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearness:
    """The share of the nearest passages that the index finds."""

    questions: int
    at_10: float
    at_100: float
    filtered_at_10: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """One process that opens a filled folder, recalls and remembers. Times in milliseconds, memory in MB."""

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
    """Everything at one size; the second probe with the models that read two texts."""

    size: int
    filling: Filling
    sizes: Sizes
    nearness: Nearness
    probe: Probe
    with_readers: Probe
    reference: Reference | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharing:
    """Sequential writes, and the same number of concurrent writes, which share their fsyncs."""

    writes: int
    alone_per_second: float
    together_per_second: float
    writes_per_commit: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Bridges:
    """The time from the start of a bridge to its answer to `tools/list`, with a running daemon; and its memory."""

    start: Spread
    resident: float
    reference: Spread | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ColdStarts:
    """The start of a daemon, until it accepts a client and until it answers `status`; and of a bridge without one."""

    open: Spread
    daemon: Spread
    bridge: Spread


@dataclass(frozen=True, slots=True, kw_only=True)
class TransportFigures:
    """One operation, without embedding, in this process, over the socket, over HTTP and by REST.

    A transport adds the median of the differences, operation by operation, in milliseconds.
    """

    here: Spread
    socket: Spread
    socket_adds: float
    web: Spread
    web_adds: float
    rest: Spread
    rest_adds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ConcurrentClients:
    """Clients that recall and remember without a pause; `busy` is in cores, of the daemon and of all clients."""

    clients: int
    processes: int
    per_second: float
    all: Spread
    recall: Spread
    remember: Spread
    errors: tuple[str, ...]
    lost: int
    daemon_busy: float
    clients_busy: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Requests:
    """Recalls by REST over several connections without a pause, every question embedded before; `busy` in cores.

    `repeated` is the same with cached answers.
    """

    connections: int
    questions: int
    per_second: float
    recall: Spread
    repeated_per_second: float
    repeated: Spread
    errors: tuple[str, ...]
    daemon_busy: float
    clients_busy: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryUse:
    """The memory of a daemon with the bundled model, in MB: with clients of the socket, then with agents over MCP."""

    one_client: float
    clients: float
    agents: float
    after_crowd: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """The daemon and its clients, on a store of this many memories; twice also with the models that read two texts."""

    size: int
    bridges: Bridges
    cold_starts: ColdStarts
    recall: TransportFigures
    remember: TransportFigures
    alone: ConcurrentClients
    crowd: ConcurrentClients
    requests: Requests
    residence: MemoryUse
    crowd_with_readers: ConcurrentClients
    requests_with_readers: Requests


@dataclass(frozen=True, slots=True, kw_only=True)
class Watching:
    """A scrape of this many lines of metrics, and the time that counting adds to a recall (medians, milliseconds)."""

    lines: int
    scrape: Spread
    recall: float
    recall_adds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Bulk:
    """Many writes at once with the bundled model, in seconds: embedding the texts alone, and storing them.

    `entities` is the verb `create_entities`, `graph_entities` the tool of `kg` of the same name, for the same ten.
    """

    texts: int
    embedding: float
    many: float
    gathered: float
    entities: float
    graph_entities: float
    entities_embedding: float


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
    serving: Serving | None = None
    watching: Watching | None = None
    bulk: Bulk | None = None
    notes: tuple[str, ...] = field(default=())
