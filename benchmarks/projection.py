"""Projects the measurements to a billion memories; every assumption is a field that you can set."""

import math
from dataclasses import dataclass, field, replace

from benchmarks.load import Outcome, Scenario, Work, simulate

GB = 1_000_000_000
DAY = 86_400
# The random excess that an hour of a simulated day may have.
_SPREAD = 1.05
_TRIES = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """Assumed monthly prices in any currency; replace them with your own."""

    core: float = 25.0
    memory_gb: float = 3.0
    disk_gb: float = 0.10
    archive_gb: float = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The measurements at one size: bytes, milliseconds, and rates per second."""

    memories: int
    store_bytes: float
    vector_index_bytes: float
    vectors: float
    dimension: int
    recall: Work
    remember: Work
    # The bundled model on two cores, the import of memories with vectors, the build of an index.
    embedded_per_second: float
    imported_per_second: float
    indexed_per_second: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumed:
    """Assumptions: values that were not measured, or that depend on the operator."""

    memories_per_space: int = 5_000
    # Requests per day of the agents of one person.
    recalls_per_day: int = 200
    remembers_per_day: int = 50
    peak: float = 2.5
    # The milliseconds that REST adds on the server, and of a flush to disk, which locks a space.
    rest: float = 1.5
    flush: float = 2.0
    # The growth of the database's work when its data grows tenfold.
    growth: float = 0.2
    server_cores: int = 4
    # The part of them for embedding; the server itself computes on another one.
    embedding_cores: int = 2
    server_memory_gb: int = 2
    shard_cores: int = 8
    shard_disk_gb: int = 1_000
    # The share of tables and their indexes in use; an index over vectors is used as a whole.
    hot: float = 0.25
    # Upper limits for the load of cores in the busiest hour, and for the 99th percentile of latency.
    busiest: float = 0.6
    slowest: float = 150.0
    # Old row versions and room to grow; the number of base backups, and a day's log relative to its new data.
    slack: float = 1.3
    backups: int = 4
    log: float = 3.0
    # The number of simulated requests for a day.
    simulated: int = 40_000
    prices: Prices = field(default_factory=Prices)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The machines for this many memories, and their cost."""

    memories: int
    requests_per_second: float
    servers: int
    shards: int
    store_gb: float
    vector_index_gb: float
    memory_gb: float
    backup_gb: float
    qdrant_memory_gb: float
    qdrant_disk_gb: float
    import_hours: float
    embed_hours: float
    index_hours: float
    cost: float
    outcome: Outcome

    @property
    def cost_per_million(self) -> float:
        """The monthly cost of a million memories."""
        return self.cost / self.memories * 1_000_000


def plan(measured: Measured, assumed: Assumed, *, memories: int) -> Plan:
    """Find the smallest set of machines that is not overloaded, by simulation."""
    scale = memories / measured.memories
    store, index = measured.store_bytes * scale / GB, measured.vector_index_bytes * scale / GB
    disk = (store + index) * assumed.slack
    scenario, outcome = _smallest(_scenario(measured, assumed, memories=memories, disk_gb=disk), assumed, disk=disk)
    vectors = measured.vectors * scale
    memory = index + assumed.hot * store
    new_in_a_day = store * assumed.remembers_per_day / assumed.memories_per_space
    backup = (store + index) * assumed.backups + new_in_a_day * assumed.log
    return Plan(
        memories=memories,
        requests_per_second=scenario.requests_per_second,
        servers=scenario.servers,
        shards=scenario.shards,
        store_gb=store,
        vector_index_gb=index,
        memory_gb=memory,
        backup_gb=backup,
        qdrant_memory_gb=vectors * held_bytes(measured.dimension) / GB,
        qdrant_disk_gb=vectors * on_disk_bytes(measured.dimension) / GB,
        import_hours=memories / (measured.imported_per_second * scenario.servers) / 3600,
        embed_hours=vectors / (measured.embedded_per_second * scenario.servers) / 3600,
        index_hours=vectors / (measured.indexed_per_second * scenario.shards * assumed.shard_cores / 2) / 3600,
        cost=_cost(scenario, assumed, disk=disk, memory=memory, backup=backup),
        outcome=outcome,
    )


def held_bytes(dimension: int) -> float:
    """Return Qdrant's memory for a point: the half-precision vector, sixteen links in both directions, and its id."""
    return dimension * 2 + 2 * 16 * 4 + 100


def on_disk_bytes(dimension: int) -> float:
    """Return Qdrant's disk space for a point: the same bytes and its payload."""
    return held_bytes(dimension) + 300


def _scenario(measured: Measured, assumed: Assumed, *, memories: int, disk_gb: float) -> Scenario:
    spaces = max(1, memories // assumed.memories_per_space)
    recalls, remembers = assumed.recalls_per_day, assumed.remembers_per_day
    rate = spaces * (recalls + remembers) / DAY
    shards = max(1, math.ceil(disk_gb / assumed.shard_disk_gb))
    tenfolds = max(0.0, math.log10(memories / shards / measured.memories))
    recall = _work(measured.recall, assumed, growth=1 + assumed.growth * tenfolds)
    remember = _work(measured.remember, assumed, growth=1 + assumed.growth * tenfolds)
    share = remembers / (recalls + remembers)
    lane = max(
        (1 - share) * recall.server + share * remember.server,
        ((1 - share) * recall.embedding + share * remember.embedding) / assumed.embedding_cores,
    )
    # At least two, because one may be killed at any time.
    servers = max(2, math.ceil(rate * assumed.peak * lane / 1000 / assumed.busiest))
    return Scenario(
        recall=recall,
        remember=replace(remember, alone=assumed.flush),
        requests_per_second=rate,
        servers=servers,
        shards=shards,
        shard_cores=assumed.shard_cores,
        embedding_lanes=assumed.embedding_cores,
        writes=share,
        peak=assumed.peak,
        spaces=spaces,
        requests=assumed.simulated,
    )


def _work(work: Work, assumed: Assumed, *, growth: float) -> Work:
    return replace(work, server=work.server + assumed.rest, database=work.database * growth)


def _smallest(scenario: Scenario, assumed: Assumed, *, disk: float) -> tuple[Scenario, Outcome]:
    """Grow a first guess until no machine is overloaded or full."""
    for _ in range(_TRIES):
        outcome = simulate(scenario)
        # Hashing never spreads evenly, and the fullest shard must fit too.
        fullest = disk / scenario.shards * outcome.fullest_shard_memories
        if outcome.hottest_shard_busy > assumed.busiest or fullest > assumed.shard_disk_gb:
            scenario = replace(scenario, shards=scenario.shards + max(1, scenario.shards // 8))
        elif _servers_too_few(outcome, assumed):
            scenario = replace(scenario, servers=scenario.servers + max(1, scenario.servers // 8))
        else:
            return scenario, outcome
    raise SystemExit("no number of servers and shards suffices: one space is too busy for one shard")


def _servers_too_few(outcome: Outcome, assumed: Assumed) -> bool:
    busy = max(outcome.embedding_busy, outcome.server_busy)
    return busy > assumed.busiest * _SPREAD or outcome.recall_p99 > assumed.slowest


def _cost(scenario: Scenario, assumed: Assumed, *, disk: float, memory: float, backup: float) -> float:
    prices = assumed.prices
    cores = scenario.servers * assumed.server_cores + scenario.shards * assumed.shard_cores
    held = memory + scenario.servers * assumed.server_memory_gb
    return cores * prices.core + held * prices.memory_gb + disk * prices.disk_gb + backup * prices.archive_gb
