"""From what was measured to what a billion memories need, with every assumption a field that can be set."""

import math
from dataclasses import dataclass, field, replace

from benchmarks.load import Outcome, Scenario, Work, simulate

GB = 1_000_000_000
DAY = 86_400
# What an hour of a simulated day may have by chance more than it should.
_SPREAD = 1.05
_TRIES = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """Assumed prices of a month, in any currency: replace them by your own."""

    core: float = 25.0
    memory_gb: float = 3.0
    disk_gb: float = 0.10
    archive_gb: float = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What the bench has found at one size: bytes, milliseconds, and things a second."""

    memories: int
    store_bytes: float
    vector_index_bytes: float
    vectors: float
    dimension: int
    recall: Work
    remember: Work
    # The bundled model on two cores, the import of memories whose vectors are known, an index over vectors.
    embedded_per_second: float
    imported_per_second: float
    indexed_per_second: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumed:
    """What was not measured, or is up to whoever runs it."""

    memories_per_space: int = 5_000
    # What the agents of one person do in a day.
    recalls_per_day: int = 200
    remembers_per_day: int = 50
    peak: float = 2.5
    # What REST adds to a request on the server, and a flush to the disk during which a space is held, milliseconds.
    rest: float = 1.5
    flush: float = 2.0
    # Work of the database grows by so much when its data grows tenfold.
    growth: float = 0.2
    server_cores: int = 4
    # Of them, besides the one that the server itself computes on.
    embedding_cores: int = 2
    server_memory_gb: int = 2
    shard_cores: int = 8
    shard_disk_gb: int = 1_000
    # Of the tables and their indexes so much is in use; an index over vectors is all in use.
    hot: float = 0.25
    # No kind of core is busier than this in the busiest hour, nobody waits longer than this at the 99th percentile.
    busiest: float = 0.6
    slowest: float = 150.0
    # Old row versions and room to grow; base backups kept, and a day's log beside the day's new data.
    slack: float = 1.3
    backups: int = 4
    log: float = 3.0
    # So many requests stand for a day.
    simulated: int = 40_000
    prices: Prices = field(default_factory=Prices)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A house for so many memories."""

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
        """What a million of them cost in a month."""
        return self.cost / self.memories * 1_000_000


def plan(measured: Measured, assumed: Assumed, *, memories: int) -> Plan:
    """The smallest house that is not too busy, found by simulating one after the other."""
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
    """Qdrant's memory for a point: the vector in halves, sixteen neighbours both ways, and what finds it."""
    return dimension * 2 + 2 * 16 * 4 + 100


def on_disk_bytes(dimension: int) -> float:
    """Qdrant's disk for a point: what it holds in memory, and its payload."""
    return held_bytes(dimension) + 300


def _scenario(measured: Measured, assumed: Assumed, *, memories: int, disk_gb: float) -> Scenario:
    spaces = max(1, memories // assumed.memories_per_space)
    request, written = assumed.recalls_per_day, assumed.remembers_per_day
    rate = spaces * (request + written) / DAY
    shards = max(1, math.ceil(disk_gb / assumed.shard_disk_gb))
    tenfolds = max(0.0, math.log10(memories / shards / measured.memories))
    recall = _work(measured.recall, assumed, growth=1 + assumed.growth * tenfolds)
    remember = _work(measured.remember, assumed, growth=1 + assumed.growth * tenfolds)
    share = written / (request + written)
    lane = max(
        (1 - share) * recall.server + share * remember.server,
        ((1 - share) * recall.embedding + share * remember.embedding) / assumed.embedding_cores,
    )
    # Two at least: one may be killed at any time.
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
    """Something at least as large as a first guess that is not too busy and not too full."""
    for _ in range(_TRIES):
        outcome = simulate(scenario)
        # Hashing never spreads evenly: the fullest has to fit too.
        fullest = disk / scenario.shards * outcome.fullest_shard_memories
        if outcome.hottest_shard_busy > assumed.busiest or fullest > assumed.shard_disk_gb:
            scenario = replace(scenario, shards=scenario.shards + max(1, scenario.shards // 8))
        elif _servers_too_few(outcome, assumed):
            scenario = replace(scenario, servers=scenario.servers + max(1, scenario.servers // 8))
        else:
            return scenario, outcome
    raise SystemExit("no number of servers and shards will do: one space is too busy for one shard")


def _servers_too_few(outcome: Outcome, assumed: Assumed) -> bool:
    busy = max(outcome.embedding_busy, outcome.server_busy)
    return busy > assumed.busiest * _SPREAD or outcome.recall_p99 > assumed.slowest


def _cost(scenario: Scenario, assumed: Assumed, *, disk: float, memory: float, backup: float) -> float:
    prices = assumed.prices
    cores = scenario.servers * assumed.server_cores + scenario.shards * assumed.shard_cores
    held = memory + scenario.servers * assumed.server_memory_gb
    return cores * prices.core + held * prices.memory_gb + disk * prices.disk_gb + backup * prices.archive_gb
