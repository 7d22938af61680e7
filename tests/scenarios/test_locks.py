"""The event loop waits for no thread: a lock that both take is held for a few instructions only."""

import asyncio
import sys
import threading
import time
from collections import defaultdict
from pathlib import Path
from types import TracebackType

import pytest

from scrubjay import telemetry
from scrubjay.app import open_engine
from scrubjay.model import identity
from scrubjay.model.caller import Caller
from scrubjay.model.draft import Draft
from scrubjay.model.requests import RecallRequest, RememberManyRequest
from scrubjay.settings import Settings

WHO = Caller(space="default", agent="tester")
# A commit, a run of the model or the reading of a file takes longer than this; a few instructions take microseconds.
MAX_SECONDS = 0.001
# One thread loads the model, and the system may interrupt another one.
MOST_LONG = 2
NUMBERS = 24

Holds = dict[str, list[float]]


class WatchedLock:
    """A lock that notes how long threads hold it, and whether the event loop takes it."""

    def __init__(self, place: str, holds: Holds, on_loop: set[str]) -> None:
        self._lock = _make_lock()
        self._loop = threading.main_thread()
        self._place, self._holds, self._on_loop = place, holds, on_loop
        self._since = 0.0

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        taken = self._lock.acquire(blocking, timeout)
        self._since = time.perf_counter()
        return taken

    def release(self) -> None:
        if threading.current_thread() is self._loop:
            self._on_loop.add(self._place)
        else:
            self._holds[self._place].append(time.perf_counter() - self._since)
        self._lock.release()

    def locked(self) -> bool:
        return self._lock.locked()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


_make_lock = threading.Lock


async def test_locks_of_the_event_loop_are_held_briefly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    holds: Holds = defaultdict(list)
    on_loop: set[str] = set()

    def lock() -> object:
        place = str(sys._getframe(1).f_globals["__name__"])
        return WatchedLock(place, holds, on_loop) if place.startswith("scrubjay") else _make_lock()

    monkeypatch.setattr(threading, "Lock", lock)
    # Those that modules have made already.
    monkeypatch.setattr(identity, "_lock", WatchedLock(identity.__name__, holds, on_loop))
    monkeypatch.setattr(telemetry, "_changing", WatchedLock(telemetry.__name__, holds, on_loop))
    async with open_engine(Settings(home=str(tmp_path / "data"), pair_model="off", reader=False)) as engine:
        texts = [f"Crane {number} at pier {number % 7} was painted in week {number}" for number in range(3 * NUMBERS)]
        drafts = [Draft(text=text) for text in texts]
        questions = [RecallRequest(query=f"When was crane {number} painted?") for number in range(NUMBERS)]
        many = RememberManyRequest(items=tuple(drafts[2 * NUMBERS :]))
        await asyncio.gather(
            *(engine.remember(draft, who=WHO) for draft in drafts[:NUMBERS]),
            *(engine.recall(question, who=WHO) for question in questions),
            engine.remember_many(many, who=WHO),
        )
        for draft in drafts[NUMBERS : 2 * NUMBERS]:
            await engine.remember(draft, who=WHO)
    assert "scrubjay.embedding.onnx" in on_loop.intersection(holds)
    long = {place: [seconds for seconds in holds[place] if seconds > MAX_SECONDS] for place in on_loop}
    assert {place: seconds for place, seconds in long.items() if len(seconds) > MOST_LONG} == {}
