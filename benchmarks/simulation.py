"""The parts of a simulation of load: a clock that jumps from event to event, and stations with queues."""

import heapq
import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

Then = Callable[[], None]


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
