"""Simulates a day of requests on servers and databases, event by event: see docs/explanation/capacity.md."""

import heapq
import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

Numbers = np.ndarray[tuple[int], np.dtype[np.float64]]
Places = np.ndarray[tuple[int], np.dtype[np.int64]]
Marks = np.ndarray[tuple[int], np.dtype[np.bool_]]
HOURS = 24
Then = Callable[[], None]
_QUIETEST = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The milliseconds that a request takes at each station; `alone` is how long it then locks its space."""

    embedding: float
    server: float
    database: float
    alone: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A load and the machines for it. The rate is the mean of a day; the busiest hour has `peak` times as much."""

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
    # The variation of service times: 0 for constant, 1 for exponential.
    variation: float = 0.5
    requests: int = 60_000
    seed: int = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The busiest hour: latencies in milliseconds, and the share of time that each kind of core is busy."""

    recall_p50: float
    recall_p99: float
    remember_p50: float
    remember_p99: float
    embedding_busy: float
    server_busy: float
    shard_busy: float
    hottest_shard_busy: float
    # Relative to the mean of all shards.
    hottest_shard_requests: float
    fullest_shard_memories: float
    largest_space: float


def simulate(scenario: Scenario) -> Outcome:
    """Simulate a day; each hour is represented by as many seconds as the requests suffice for."""
    source = np.random.default_rng(scenario.seed)
    rates = scenario.requests_per_second * hourly(scenario.peak)
    seconds = scenario.requests / float(rates.sum())
    counts: Places = source.poisson(rates * seconds)
    arrivals = np.concatenate([(np.sort(source.random(n)) + hour) * seconds for hour, n in enumerate(counts.tolist())])
    sizes = space_sizes(scenario.spaces, scenario.tail)
    spaces = np.minimum(np.searchsorted(np.cumsum(sizes), source.random(len(arrivals))), scenario.spaces - 1)
    homes = shard_of(np.arange(scenario.spaces), scenario.shards)
    is_write = source.random(len(arrivals)) < scenario.writes
    busiest = int(np.argmax(rates))
    marks = (busiest * seconds, (busiest + 1) * seconds)
    cluster = _Cluster(scenario, marks=marks, taken=_draw(scenario, is_write, source))
    ends = cluster.run(arrivals, homes=homes[spaces], spaces=spaces, is_write=is_write)
    chosen = (arrivals >= marks[0]) & (arrivals < marks[1])
    latencies = (ends - arrivals) * 1000
    by_shard = np.bincount(homes[spaces], minlength=scenario.shards)
    stored = np.bincount(homes, weights=sizes, minlength=scenario.shards)
    shards = cluster.busy(cluster.shards)
    return Outcome(
        recall_p50=_percentile(latencies[chosen & ~is_write], 50),
        recall_p99=_percentile(latencies[chosen & ~is_write], 99),
        remember_p50=_percentile(latencies[chosen & is_write], 50),
        remember_p99=_percentile(latencies[chosen & is_write], 99),
        embedding_busy=float(np.mean(cluster.busy(cluster.embedders))),
        server_busy=float(np.mean(cluster.busy(cluster.servers))),
        shard_busy=float(np.mean(shards)),
        hottest_shard_busy=max(shards),
        hottest_shard_requests=float(by_shard.max() / by_shard.mean()),
        fullest_shard_memories=float(stored.max() / stored.mean()),
        largest_space=float(sizes[0]),
    )


def ceilings(scenario: Scenario, *, machine_cores: int = 0) -> dict[str, float]:
    """Return the requests per second at which each kind of core is saturated; the least is the bottleneck.

    `machine_cores`: all stations share the cores of one machine, for example in a benchmark on one machine.
    """
    share = scenario.writes
    embedding, server, database = (
        ((1 - share) * recall + share * remember) / 1000
        for recall, remember in (
            (scenario.recall.embedding, scenario.remember.embedding),
            (scenario.recall.server, scenario.remember.server),
            (scenario.recall.database, scenario.remember.database),
        )
    )
    limits = {
        "embedding": scenario.servers * scenario.embedding_lanes / embedding if embedding else float("inf"),
        "server": scenario.servers / server,
        "database": scenario.shards * scenario.shard_cores / database,
    }
    if machine_cores:
        limits["machine"] = machine_cores / (embedding + server + database)
    return limits


def hourly(peak: float) -> Numbers:
    """Return the load of each hour relative to the mean: quiet at night, busiest in the afternoon."""
    curve = np.maximum(0.0, np.sin((np.arange(HOURS) - 8) * np.pi / 14)) ** 2
    shares = np.maximum(_QUIETEST, 1 + (peak - 1) * (curve - curve.mean()) / (curve.max() - curve.mean()))
    return shares * peak / shares.max()


def space_sizes(spaces: int, tail: float) -> Numbers:
    """Return the share of each space, the largest first."""
    raw = np.arange(1, spaces + 1, dtype=np.float64) ** -tail
    return raw / raw.sum()


def shard_of(spaces: Places, shards: int) -> Places:
    """Assign spaces to shards by a hash of their number."""
    mixed = spaces.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return ((mixed ^ (mixed >> np.uint64(31))) % np.uint64(shards)).astype(np.int64)


class Clock:
    """Simulated time in seconds, and events in order."""

    def __init__(self) -> None:
        self.now = 0.0
        self._events: list[tuple[float, int, Then]] = []
        self._number = 0

    def after(self, seconds: float, then: Then) -> None:
        """Schedule an event."""
        self._number += 1
        heapq.heappush(self._events, (self.now + seconds, self._number, then))

    def run_until(self, moment: float) -> None:
        """Run all events up to a moment, and set the clock to it."""
        while self._events and self._events[0][0] <= moment:
            self.now, _, then = heapq.heappop(self._events)
            then()
        if math.isfinite(moment):
            self.now = moment


@dataclass(slots=True)
class Station:
    """Parallel lanes with one queue, first come, first served."""

    clock: Clock
    lanes: int
    # Seconds of work by its start: before each of these moments, and after the last.
    marks: tuple[float, ...] = ()
    worked: list[float] = field(default_factory=list[float])
    _busy: int = 0
    _queue: deque[tuple[float, Then]] = field(default_factory=deque[tuple[float, Then]])

    def __post_init__(self) -> None:
        """Start with no work in any interval."""
        self.worked = [0.0] * (len(self.marks) + 1)

    def take(self, seconds: float, then: Then) -> None:
        """Occupy a lane as soon as one is free, and then call `then`."""
        if self._busy == self.lanes:
            self._queue.append((seconds, then))
            return
        self._busy += 1
        self._work(seconds, then)

    def _work(self, seconds: float, then: Then) -> None:
        place = 0
        while place < len(self.marks) and self.clock.now >= self.marks[place]:
            place += 1
        self.worked[place] += seconds
        self.clock.after(seconds, lambda: self._done(then))

    def _done(self, then: Then) -> None:
        if self._queue:
            self._work(*self._queue.popleft())
        else:
            self._busy -= 1
        then()


def mean_wait_mmc(*, per_second: float, seconds: float, lanes: int) -> float:
    """Return the mean wait in theory for random arrivals and service times (M/M/c, Erlang C)."""
    load = per_second * seconds
    busy = load / lanes
    below = sum(load**number / math.factorial(number) for number in range(lanes))
    full = load**lanes / math.factorial(lanes) / (1 - busy)
    return full / (below + full) * seconds / (lanes * (1 - busy))


def mean_wait_mg1(*, per_second: float, seconds: float, variation: float) -> float:
    """Return the mean wait in theory for one lane (Pollaczek and Khinchine); variation 0 is M/D/1."""
    busy = per_second * seconds
    return busy * seconds * (1 + variation**2) / (2 * (1 - busy))


class _Cluster:
    """All stations, and the path of a request through them: embedding, server, and the database of its space."""

    def __init__(self, scenario: Scenario, *, marks: tuple[float, float], taken: dict[str, Numbers]) -> None:
        self._clock = Clock()
        self._marks = marks
        self._taken = {name: values.tolist() for name, values in taken.items()}
        self.embedders = [Station(self._clock, scenario.embedding_lanes, marks) for _ in range(scenario.servers)]
        # A server computes on one core; embedding uses others.
        self.servers = [Station(self._clock, 1, marks) for _ in range(scenario.servers)]
        self.shards = [Station(self._clock, scenario.shard_cores, marks) for _ in range(scenario.shards)]
        self._inside = [0] * scenario.servers
        # Commits of one space are serialized.
        self._waiting: dict[int, deque[tuple[int, int]]] = {}
        self._ends: list[float] = []
        self._way: list[tuple[int, int, bool]] = []

    def run(self, arrivals: Numbers, *, homes: Places, spaces: Places, is_write: Marks) -> Numbers:
        """Return the time at which each request ends."""
        self._ends = [0.0] * len(arrivals)
        self._way = list(zip(homes.tolist(), spaces.tolist(), is_write.tolist(), strict=True))
        for number, moment in enumerate(arrivals.tolist()):
            self._clock.run_until(moment)
            self._arrive(number)
        self._clock.run_until(float("inf"))
        return np.array(self._ends)

    def busy(self, stations: list[Station]) -> list[float]:
        """Return the share of the busiest hour that each station is busy."""
        seconds = self._marks[1] - self._marks[0]
        return [station.worked[1] / (seconds * station.lanes) for station in stations]

    def _arrive(self, number: int) -> None:
        # As the balancer does: the server with the fewest requests, in turn.
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
        """Hold the lock of a space until the write is on disk, which takes no core."""
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


def _draw(scenario: Scenario, is_write: Marks, source: np.random.Generator) -> dict[str, Numbers]:
    """Draw the seconds of each request at each station."""
    recall, remember, count = scenario.recall, scenario.remember, len(is_write)
    means = {
        "embedding": np.where(is_write, remember.embedding, recall.embedding),
        "server": np.where(is_write, remember.server, recall.server),
        "database": np.where(is_write, remember.database, recall.database),
        "alone": np.where(is_write, remember.alone, recall.alone),
    }
    return {name: mean / 1000 * varied(source, count, scenario.variation) for name, mean in means.items()}


def varied(source: np.random.Generator, count: int, variation: float) -> Numbers:
    """Draw factors with mean 1 and this variation (gamma; 1 is exponential)."""
    if not variation:
        return np.ones(count)
    shape = 1 / variation**2
    return source.gamma(shape, 1 / shape, count)


def _percentile(values: Numbers, share: int) -> float:
    return float(np.percentile(values, share)) if len(values) else 0.0
