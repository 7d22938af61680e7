"""A day of requests on so many servers and databases, simulated event by event: see docs/explanation/capacity.md."""

from collections import deque
from dataclasses import dataclass

import numpy as np

from benchmarks.simulation import Clock, Station

Numbers = np.ndarray[tuple[int], np.dtype[np.float64]]
Places = np.ndarray[tuple[int], np.dtype[np.int64]]
Marks = np.ndarray[tuple[int], np.dtype[np.bool_]]
HOURS = 24
_QUIETEST = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What one kind of request takes of each station, in milliseconds; `alone` is how long it holds its space after."""

    embedding: float
    server: float
    database: float
    alone: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """Who asks for what, of how many. The rate is that of a whole day; the busiest hour has `peak` times as much."""

    recall: Work
    remember: Work
    requests_per_second: float
    servers: int
    shards: int
    shard_cores: int = 8
    embedding_lanes: int = 1
    writes: float = 0.2
    peak: float = 2.5
    spaces: int = 100_000
    # Sizes of spaces fall as their rank to this power; requests follow the sizes.
    tail: float = 0.8
    # How much service times vary: 0 not at all, 1 as much as at random (exponentially).
    variation: float = 0.5
    requests: int = 60_000
    seed: int = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How it went, in the busiest hour: latencies in milliseconds, and the share of time that a kind of core works."""

    recall_p50: float
    recall_p99: float
    remember_p50: float
    remember_p99: float
    embedding_busy: float
    server_busy: float
    shard_busy: float
    hottest_shard_busy: float
    # Beside the mean of all shards.
    hottest_shard_requests: float
    fullest_shard_memories: float
    largest_space: float


def simulate(scenario: Scenario) -> Outcome:
    """A day, each hour of which is stood for by as many seconds as the requests suffice for."""
    source = np.random.default_rng(scenario.seed)
    rates = scenario.requests_per_second * hourly(scenario.peak)
    seconds = scenario.requests / float(rates.sum())
    counts: Places = source.poisson(rates * seconds)
    arrivals = np.concatenate([(np.sort(source.random(n)) + hour) * seconds for hour, n in enumerate(counts.tolist())])
    sizes = space_sizes(scenario.spaces, scenario.tail)
    request = np.minimum(np.searchsorted(np.cumsum(sizes), source.random(len(arrivals))), scenario.spaces - 1)
    homes = shard_of(np.arange(scenario.spaces), scenario.shards)
    is_write = source.random(len(arrivals)) < scenario.writes
    busiest = int(np.argmax(rates))
    marks = (busiest * seconds, (busiest + 1) * seconds)
    store_ = _House(scenario, marks=marks, taken=_drawn(scenario, is_write, source))
    ends = store_.run(arrivals, homes=homes[request], asked=request, is_write=is_write)
    chosen = (arrivals >= marks[0]) & (arrivals < marks[1])
    latencies = (ends - arrivals) * 1000
    by_shard = np.bincount(homes[request], minlength=scenario.shards)
    stored = np.bincount(homes, weights=sizes, minlength=scenario.shards)
    shards = store_.busy(store_.shards)
    return Outcome(
        recall_p50=_percentile(latencies[chosen & ~is_write], 50),
        recall_p99=_percentile(latencies[chosen & ~is_write], 99),
        remember_p50=_percentile(latencies[chosen & is_write], 50),
        remember_p99=_percentile(latencies[chosen & is_write], 99),
        embedding_busy=float(np.mean(store_.busy(store_.embedders))),
        server_busy=float(np.mean(store_.busy(store_.servers))),
        shard_busy=float(np.mean(shards)),
        hottest_shard_busy=max(shards),
        hottest_shard_requests=float(by_shard.max() / by_shard.mean()),
        fullest_shard_memories=float(stored.max() / stored.mean()),
        largest_space=float(sizes[0]),
    )


def ceilings(scenario: Scenario, *, machine_cores: int = 0) -> dict[str, float]:
    """Requests a second at which each kind of core has no time left; the least of them is the bottleneck.

    `machine_cores`: all stations share the cores of one machine, as where servers and database are benched together.
    """
    share = scenario.writes
    embedding, server, database = (
        ((1 - share) * request + share * written) / 1000
        for request, written in (
            (scenario.recall.embedding, scenario.remember.embedding),
            (scenario.recall.server, scenario.remember.server),
            (scenario.recall.database, scenario.remember.database),
        )
    )
    results = {
        "embedding": scenario.servers * scenario.embedding_lanes / embedding if embedding else float("inf"),
        "server": scenario.servers / server,
        "database": scenario.shards * scenario.shard_cores / database,
    }
    if machine_cores:
        results["machine"] = machine_cores / (embedding + server + database)
    return results


def hourly(peak: float) -> Numbers:
    """How much each hour of a day has, 1 being the mean: quiet at night, busiest in the afternoon."""
    curve = np.maximum(0.0, np.sin((np.arange(HOURS) - 8) * np.pi / 14)) ** 2
    shares = np.maximum(_QUIETEST, 1 + (peak - 1) * (curve - curve.mean()) / (curve.max() - curve.mean()))
    return shares * peak / shares.max()


def space_sizes(spaces: int, tail: float) -> Numbers:
    """The share of each space, the largest first."""
    raw = np.arange(1, spaces + 1, dtype=np.float64) ** -tail
    return raw / raw.sum()


def shard_of(spaces: Places, shards: int) -> Places:
    """Where spaces live: by a hash of their number, whatever their size."""
    mixed = spaces.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return ((mixed ^ (mixed >> np.uint64(31))) % np.uint64(shards)).astype(np.int64)


class _House:
    """All stations, and the way of a request through them: embedding, server, and the database of its space."""

    def __init__(self, scenario: Scenario, *, marks: tuple[float, float], taken: dict[str, Numbers]) -> None:
        self._clock = Clock()
        self._marks = marks
        self._taken = {name: values.tolist() for name, values in taken.items()}
        self.embedders = [Station(self._clock, scenario.embedding_lanes, marks) for _ in range(scenario.servers)]
        # A server computes on one core; what embeds has others.
        self.servers = [Station(self._clock, 1, marks) for _ in range(scenario.servers)]
        self.shards = [Station(self._clock, scenario.shard_cores, marks) for _ in range(scenario.shards)]
        self._inside = [0] * scenario.servers
        # Commits of one space come one after the other.
        self._waiting: dict[int, deque[tuple[int, int]]] = {}
        self._ends: list[float] = []
        self._way: list[tuple[int, int, bool]] = []

    def run(self, arrivals: Numbers, *, homes: Places, asked: Places, is_write: Marks) -> Numbers:
        """When each request was answered."""
        self._ends = [0.0] * len(arrivals)
        self._way = list(zip(homes.tolist(), asked.tolist(), is_write.tolist(), strict=True))
        for number, moment in enumerate(arrivals.tolist()):
            self._clock.run_until(moment)
            self._arrive(number)
        self._clock.run_until(float("inf"))
        return np.array(self._ends)

    def busy(self, stations: list[Station]) -> list[float]:
        """The share of the busiest hour that each of them works."""
        seconds = self._marks[1] - self._marks[0]
        return [station.worked[1] / (seconds * station.lanes) for station in stations]

    def _arrive(self, number: int) -> None:
        # As the balancer does it: to whoever has the fewest, by turns.
        least = min(self._inside)
        options = [place for place, inside in enumerate(self._inside) if inside == least]
        server = options[number % len(options)]
        self._inside[server] += 1
        compute = self.servers[server]

        def serve() -> None:
            compute.take(self._taken["server"][number], lambda: self._store(number, server))

        self.embedders[server].take(self._taken["embedding"][number], serve)

    def _store(self, number: int, server: int) -> None:
        home, space, is_write = self._way[number]
        shard, seconds = self.shards[home], self._taken["database"][number]
        if not is_write:
            shard.take(seconds, lambda: self._end(number, server))
        elif space in self._waiting:
            self._waiting[space].append((number, server))
        else:
            self._waiting[space] = deque()
            shard.take(seconds, lambda: self._commit(number, server))

    def _commit(self, number: int, server: int) -> None:
        """A write holds its space until it is on the disk, which takes no core."""
        self._clock.after(self._taken["alone"][number], lambda: self._release(number, server))

    def _release(self, number: int, server: int) -> None:
        home, space, _ = self._way[number]
        if self._waiting[space]:
            following, its_server = self._waiting[space].popleft()
            seconds = self._taken["database"][following]
            self.shards[home].take(seconds, lambda: self._commit(following, its_server))
        else:
            del self._waiting[space]
        self._end(number, server)

    def _end(self, number: int, server: int) -> None:
        self._inside[server] -= 1
        self._ends[number] = self._clock.now


def _drawn(scenario: Scenario, is_write: Marks, source: np.random.Generator) -> dict[str, Numbers]:
    """How long each request takes of each station, in seconds."""
    recall, remember, many = scenario.recall, scenario.remember, len(is_write)
    means = {
        "embedding": np.where(is_write, remember.embedding, recall.embedding),
        "server": np.where(is_write, remember.server, recall.server),
        "database": np.where(is_write, remember.database, recall.database),
        "alone": np.where(is_write, remember.alone, recall.alone),
    }
    return {name: mean / 1000 * varied(source, many, scenario.variation) for name, mean in means.items()}


def varied(source: np.random.Generator, many: int, variation: float) -> Numbers:
    """Factors with the mean 1 that vary so much (gamma; 1 is exponential)."""
    if not variation:
        return np.ones(many)
    shape = 1 / variation**2
    return source.gamma(shape, 1 / shape, many)


def _percentile(values: Numbers, share: int) -> float:
    return float(np.percentile(values, share)) if len(values) else 0.0
