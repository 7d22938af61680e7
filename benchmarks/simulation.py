"""What a simulation of load is made of: a clock that jumps from event to event, and stations that work and queue."""

import heapq
import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

Then = Callable[[], None]


class Clock:
    """Simulated time, in seconds. What is to happen happens in order."""

    def __init__(self) -> None:
        self.now = 0.0
        self._events: list[tuple[float, int, Then]] = []
        self._number = 0

    def after(self, seconds: float, then: Then) -> None:
        """Let something happen later."""
        self._number += 1
        heapq.heappush(self._events, (self.now + seconds, self._number, then))

    def run_until(self, moment: float) -> None:
        """Let everything happen that does so before a moment, and go there."""
        while self._events and self._events[0][0] <= moment:
            self.now, _, then = heapq.heappop(self._events)
            then()
        if math.isfinite(moment):
            self.now = moment


@dataclass(slots=True)
class Station:
    """So many lanes that work on one thing each, and one queue before them; first come, first served."""

    clock: Clock
    lanes: int
    # The seconds worked, by when the work began: before each of these moments, and after the last.
    marks: tuple[float, ...] = ()
    worked: list[float] = field(default_factory=list[float])
    _busy: int = 0
    _queue: deque[tuple[float, Then]] = field(default_factory=deque[tuple[float, Then]])

    def __post_init__(self) -> None:
        """Nothing has been worked yet."""
        self.worked = [0.0] * (len(self.marks) + 1)

    def take(self, seconds: float, then: Then) -> None:
        """Work on something as soon as a lane is free, and then go on with it."""
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
    """Theory: how long one waits on average where arrivals and service are as random as can be (M/M/c, Erlang C)."""
    load = per_second * seconds
    busy = load / lanes
    below = sum(load**number / math.factorial(number) for number in range(lanes))
    full = load**lanes / math.factorial(lanes) / (1 - busy)
    return full / (below + full) * seconds / (lanes * (1 - busy))


def mean_wait_mg1(*, per_second: float, seconds: float, variation: float) -> float:
    """Theory: the same with one lane and any service times (Pollaczek and Khinchine); variation 0 is M/D/1."""
    busy = per_second * seconds
    return busy * seconds * (1 + variation**2) / (2 * (1 - busy))
