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
class Bridges:
    """From the start of a process until it has answered `tools/list`, the daemon being up; and what it then holds."""

    start: Spread
    resident: float
    reference: Spread | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ColdStarts:
    """A daemon, until it has let a client in and until `status` is answered; and a bridge that has to start one."""

    open: Spread
    daemon: Spread
    bridge: Spread


@dataclass(frozen=True, slots=True, kw_only=True)
class TransportFigures:
    """One operation, without embedding, in this process, over the socket, over HTTP and by REST.

    What a way adds, in milliseconds, is the median of the differences, operation by operation.
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
    """Clients that ask and remember without a pause; `busy` is in cores, of the daemon and of all clients."""

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

    `repeated` is the same where also the answers are known from before.
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
    """What a daemon with the bundled model holds, in MB: with clients of the socket, then with agents over MCP."""

    one_client: float
    clients: float
    agents: float
    after_crowd: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """The daemon and what talks to it, on a store of so many memories."""

    size: int
    bridges: Bridges
    cold_starts: ColdStarts
    recall: TransportFigures
    remember: TransportFigures
    alone: ConcurrentClients
    crowd: ConcurrentClients
    requests: Requests
    residence: MemoryUse


@dataclass(frozen=True, slots=True, kw_only=True)
class Watching:
    """A scrape of so many lines of metrics, and what counting adds to a recall (medians, in milliseconds)."""

    lines: int
    scrape: Spread
    recall: float
    recall_adds: float


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
    notes: tuple[str, ...] = field(default=())
