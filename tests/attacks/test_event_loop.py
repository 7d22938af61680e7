"""No text, however long and however strange, keeps the others waiting."""

import asyncio
import json
import re
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, cast

import httpx2
import pytest

from scrubjay.errors import ScrubjayError
from scrubjay.paths import read_daemon_record
from scrubjay.settings import Settings
from tests.attacks.long_texts import LONG, TEXT_FUNCTIONS, long_text, long_texts
from tests.surfaces.daemon_process import Daemon
from tests.surfaces.rest.http_stack import open_stack

# Machines that run tests are busy; before, the daemon stood still for up to a minute.
MAX_SECONDS = 5.0
# In so many calls nothing can work through a long text, character by character or line by line.
MAX_CALLS = 20_000
# Two seconds for a megabyte would be a fiftieth of this, since machines are busy; the square of the length takes more.
SIZE, MAX_CPU_SECONDS = 20_000, 2.0
API = "/api/v1"
# Rooms that work on texts: what they do with a long one has no place on the event loop.
_TEXT_ROOMS = re.compile(r"scrubjay\.(?:text|detection|conflicts|versions|extraction|notes\.markdown)\b")
_SOME = ("words", "lists", "links", "one word")


@pytest.mark.embedded
def test_long_duplicates_stop_no_one(home: Path) -> None:
    """Nearly the same megabyte, written again and again, delays no request of others."""
    text = long_text("sentences", size=990_000)
    with Daemon(home) as daemon:
        address = str(read_daemon_record(home)["http"])

        def attack() -> None:
            with httpx2.Client(base_url=address, timeout=120) as attacker:
                for number in range(4):
                    attacker.post(f"{API}/memories", json={"text": f"{text} The last port is {number}."})

        attacking = threading.Thread(target=attack)
        attacking.start()
        with httpx2.Client(base_url=address, timeout=60) as neighbour:
            waited = [0.0]
            while attacking.is_alive():
                began = time.monotonic()
                assert neighbour.get("/healthz").status_code == 200
                waited.append(time.monotonic() - began)
                time.sleep(0.05)
            metrics = neighbour.get("/metrics").text
        assert max(waited) < MAX_SECONDS
        assert _lags_over(metrics, MAX_SECONDS) == 0
        assert [place for place in _stalls(daemon) if _TEXT_ROOMS.match(place)] == []


@pytest.mark.parametrize("kind", _SOME)
async def test_the_event_loop_works_through_no_long_text(settings: Settings, kind: str) -> None:
    """Whatever is written, read, compared or extracted, the event loop never works through a long text itself."""
    text = long_text(kind, size=LONG)
    async with open_stack(settings) as stack, httpx2.AsyncClient(base_url=stack.address, timeout=60) as client:
        # The first requests load modules.
        await _write_and_read(client, "The harbour has two piers, and the boats leave at noon on every day but Sunday.")
        with counted_calls() as steps:
            await _write_and_read(client, text)
    assert steps.most <= MAX_CALLS, steps.summary


async def test_two_long_versions_are_compared_in_time(settings: Settings) -> None:
    """The difference of two versions of half a megabyte comes within the time of a request, and is complete."""
    lines = [f"{number % 90} boats" for number in range(40_000)]
    before, after = "\n".join(lines), "\n".join(["changed", *reversed(lines[1:])])
    async with open_stack(settings) as stack, httpx2.AsyncClient(base_url=stack.address, timeout=60) as client:
        created = (await client.post(f"{API}/memories", json={"text": before})).json()
        await client.patch(f"{API}/memories/{created['id']}", json={"text": after})
        response = await client.get(f"{API}/memories/{created['id']}/diff", params={"from": 1, "to": 2})
    (changed,) = [each for each in response.json()["diff"] if each["field"] == "content"]
    assert (changed["before"], changed["after"]) == (before, after)
    assert "-0 boats" in changed["lines"]
    assert "+changed" in changed["lines"]


@pytest.mark.parametrize("name", TEXT_FUNCTIONS)
def test_any_long_text_is_read_in_time(name: str) -> None:
    """Every function that reads texts takes a time in proportion to the text, whatever is in it."""
    function = TEXT_FUNCTIONS[name]
    seconds = {kind: _cpu_seconds(function, text) for kind, text in long_texts(size=SIZE).items()}
    assert {kind: taken for kind, taken in seconds.items() if taken > MAX_CPU_SECONDS} == {}


async def _write_and_read(client: httpx2.AsyncClient, text: str) -> None:
    created = (await client.post(f"{API}/memories", json={"text": text})).json()
    await client.post(f"{API}/memories", json={"text": f"{text[:-40]} and a new end"})
    place = f"{API}/memories/{created['id']}"
    assert (await client.patch(place, json={"text": f"A new beginning. {text[:-40]}"})).status_code == 200
    assert (await client.get(f"{place}/diff", params={"from": 1, "to": 2})).status_code == 200
    assert (await client.get(f"{place}/versions")).status_code == 200
    assert (await client.get(place)).status_code == 200
    items = [{"text": f"{number} {text[number:]}"} for number in range(2)]
    assert (await client.post(f"{API}/memories/batch", json={"items": items})).status_code == 200
    # Some of these are no conversations.
    assert (await client.post(f"{API}/extract", json={"text": text})).status_code in (200, 422)
    assert (await client.post(f"{API}/search", json={"query": "boats", "detail": "full"})).status_code == 200
    assert (await client.get(f"{API}/conflicts")).status_code == 200
    assert (await client.post(f"{API}/tags/preview", json={"text": text})).status_code == 200


@dataclass
class LoopSteps:
    """The calls of the longest step of an event loop, by their code."""

    most: int = 0
    calls: int = 0
    worst: dict[CodeType, int] = field(default_factory=dict[CodeType, int])
    current: dict[CodeType, int] = field(default_factory=dict[CodeType, int])

    @property
    def summary(self) -> list[str]:
        """The functions that made the most calls."""
        ordered = sorted(self.worst.items(), key=lambda item: -item[1])[:5]
        return [f"{code.co_qualname} ({Path(code.co_filename).name}): {times}" for code, times in ordered]


@contextmanager
def counted_calls() -> Generator[LoopSteps]:
    """Count the calls in each step of the running event loop: the work, whatever the machine does besides."""
    steps = LoopSteps()
    step = asyncio.Handle._run.__code__

    def count(frame: FrameType, event: str, _: object) -> None:
        if event not in ("call", "c_call"):
            return
        if frame.f_code is step:
            if steps.calls > steps.most:
                steps.most, steps.worst = steps.calls, steps.current
            steps.calls, steps.current = 0, {}
        steps.calls += 1
        steps.current[frame.f_code] = steps.current.get(frame.f_code, 0) + 1

    sys.setprofile(count)
    try:
        yield steps
    finally:
        sys.setprofile(None)


def _cpu_seconds(function: Callable[[str], object], text: str) -> float:
    began = time.thread_time()
    # To refuse a text is an answer too.
    with suppress(ScrubjayError):
        function(text)
    return time.thread_time() - began


def _lags_over(metrics: str, seconds: float) -> float:
    counts = {
        bound: float(count)
        for bound, count in re.findall(
            r'^scrubjay_loop_lag_seconds_bucket\{le="([^"]+)"\} (\S+)', metrics, re.MULTILINE
        )
    }
    return counts["+Inf"] - counts[str(seconds)]


def _stalls(daemon: Daemon) -> list[str]:
    """Return where in the project the event loop stood at each stall that the daemon has logged.

    What called that place does not matter: on a busy machine a short read of the store may take so long.
    """
    lines = [cast("dict[str, Any]", json.loads(line)) for line in daemon.log.splitlines() if line.startswith("{")]
    stacks = [line["stack"] for line in lines if line["event"] == "the event loop stalls"]
    return [next((place for place in stack if place.startswith("scrubjay.")), "") for stack in stacks]
