"""Work that was refused stops, and one token leaves half of the machine to the others."""

import asyncio
import os
import subprocess
import threading
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from scrubjay import workers
from scrubjay.errors import Busy, InvalidInput, TooLarge
from scrubjay.settings import Settings
from scrubjay.surfaces.daemon.limiter import RequestLimiter
from scrubjay.workers import Shares, run_in_child, run_in_thread
from tests.patience import PATIENCE
from tests.surfaces.rest.checked_client import CheckedClient, open_client
from tests.surfaces.rest.http_stack import HttpStack, open_stack
from tests.surfaces.rest.polling import wait_until
from tests.surfaces.rest.raw_client import open_raw_client, request

ROOT = Path(__file__).parents[2]
# A paragraph that fills hundreds of pages takes minutes.
LARGE_NOTE = "word " * 150_000
PDF = {"format": "pdf"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A server with a note whose export takes longer than it allows."""

    stack: HttpStack
    client: CheckedClient
    note: str
    token: str

    @property
    def export(self) -> str:
        """The path of the note's export."""
        return f"/notes/{self.note}/export"


@pytest.fixture
async def target(settings: Settings) -> AsyncGenerator[Target]:
    workers.close_idle()
    impatient = replace(settings, require_token=True, operation_seconds=2)
    async with open_stack(settings) as patient, open_client(patient.address) as owner:
        note = (await owner.post("/notes", {"title": "Large", "content": LARGE_NOTE}, status=201))["id"]
    async with open_stack(impatient) as stack:
        token = (await stack.token("attacker", "*", access="read")).secret
        async with open_client(stack.address, token=token) as client:
            yield Target(stack=stack, client=client, note=note, token=token)


async def test_an_export_that_is_refused_stops(target: Target) -> None:
    """An export that takes too long is refused with 503, and nothing of it goes on."""
    await target.client.refused("GET", target.export, 503, "busy", params=PDF)
    await _wait_until_nothing_works(target)


async def test_an_export_ends_with_its_client(target: Target) -> None:
    """An export whose client hangs up stops at once."""
    async with open_raw_client(target.stack.address) as raw:
        await raw.send(request("GET", f"/api/v1{target.export}?format=pdf", f"authorization: Bearer {target.token}"))
        await _wait_for_processes(1)
        raw.writer.transport.abort()
    await _wait_until_nothing_works(target)


async def test_one_token_gets_half_of_the_machine(target: Target) -> None:
    """Exports of one token take at most half of the processors, and those of another begin at once."""
    workers._shares[asyncio.get_running_loop()] = Shares(2)
    target.stack.gate._seconds = PATIENCE
    other = (await target.stack.token("neighbour", "*", access="read")).secret
    async with open_client(target.stack.address, token=other) as neighbour:
        exports = [asyncio.create_task(_export(target, target.client)) for _ in range(4)]
        await _wait_for_processes(1)
        exports.append(asyncio.create_task(_export(target, neighbour)))
        await _wait_for_processes(2)
        for export in exports:
            export.cancel()
        await asyncio.wait(exports)
    await _wait_until_nothing_works(target)


async def test_turns_go_round() -> None:
    """A caller that waits for heavy work waits for one turn of each other caller, however many they ask for."""
    shares, order = Shares(2), list[str]()

    async def work(caller: str) -> None:
        await shares.take(caller)
        order.append(caller)
        await asyncio.sleep(0)
        shares.give_back(caller)

    async with asyncio.TaskGroup() as tasks:
        for caller in ("first", "second"):
            for _ in range(10):
                tasks.create_task(work(caller))
        tasks.create_task(work("third"))
    assert len(order) == 21
    assert order.index("third") <= 6


async def test_a_cancelled_wait_takes_no_turn() -> None:
    """A request that ends while it waits for its turn takes none from the others."""
    shares = Shares(2)
    await shares.take("caller")
    waiting = [asyncio.create_task(shares.take("caller")) for _ in range(3)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    shares.give_back("caller")
    # The next in turn is cancelled at the moment at which it gets it.
    waiting[1].cancel()
    await asyncio.wait(waiting, timeout=PATIENCE)
    assert [task.cancelled() for task in waiting] == [True, True, False]
    shares.give_back("caller")
    assert not shares._running
    assert not shares._waiting


async def test_one_token_gets_half_of_the_requests(settings: Settings) -> None:
    """One token can fill half of the server's room for requests, and no more."""
    async with open_stack(replace(settings, max_requests=4)) as stack:
        attacker, neighbour = [await stack.token(name, "*") for name in ("attacker", "neighbour")]
        done = asyncio.Event()
        running = [
            asyncio.create_task(stack.gate.run("status", done.wait(), caller=attacker.token.id)) for _ in range(2)
        ]
        await asyncio.sleep(0)
        async with open_client(stack.address, token=attacker.secret) as client:
            await client.refused("GET", "/status", 503, "busy")
        async with open_client(stack.address, token=neighbour.secret) as client:
            await client.get("/status")
        done.set()
        await asyncio.gather(*running)


async def test_work_that_cannot_be_stopped_is_counted_until_its_end() -> None:
    """A request that was refused keeps its place, and its turn, until its last thread has ended."""
    limiter, release = RequestLimiter(max_requests=9, seconds=0.05), threading.Event()
    with pytest.raises(Busy, match="took longer"):
        await limiter.run("export", run_in_thread(release.wait, PATIENCE), caller="token", reads=True)
    assert (limiter.active, workers.shares()._running) == (1, {"token": 1})
    release.set()
    assert await limiter.close(seconds=PATIENCE) == 0
    assert not workers.shares()._running


@pytest.fixture
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """New children can import this module."""
    workers.close_idle()
    monkeypatch.setenv("PYTHONPATH", f"{ROOT / 'src'}{os.pathsep}{ROOT}")


@pytest.mark.usefixtures("importable")
async def test_a_child_has_limited_memory() -> None:
    """Work that needs gigabytes of memory fails by itself, and the server does not."""
    with pytest.raises(TooLarge, match="memory"):
        await run_in_child(take_memory, b"4096")
    assert await run_in_child(take_memory, b"1") == b"1048576"


@pytest.mark.usefixtures("importable")
async def test_errors_of_a_child_arrive() -> None:
    """An error of work in a child process is the error of its request."""
    with pytest.raises(RuntimeError, match="ValueError: invalid literal"):
        await run_in_child(take_memory, b"none")
    with pytest.raises(InvalidInput, match="no memory") as caught:
        await run_in_child(take_memory, b"0")
    assert (caught.value.hint, caught.value.fields) == ("Take some", {"field": "size"})


async def test_an_ordinary_day_needs_no_child(stack: HttpStack) -> None:
    """A server without heavy work starts no process."""
    workers.close_idle()
    token = (await stack.token("agent", "*")).secret
    async with open_client(stack.address, token=token) as client:
        await client.remember("The user likes tea")
        await client.get("/search", params={"q": "tea"})
    assert not _processes()


def take_memory(megabytes: bytes) -> bytes:
    """Take so much memory, and return its size."""
    if not int(megabytes):
        raise InvalidInput("no memory", hint="Take some", field="size")
    return str(len(bytearray(int(megabytes) << 20))).encode()


async def _export(target: Target, client: CheckedClient) -> None:
    await client.request("GET", target.export, params=PDF)


def _processes() -> list[int]:
    """Return the ids of the children of this process that do heavy work."""
    lines = subprocess.run(["ps", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in lines.splitlines()]
    return [int(pid) for pid, parent, command in rows if int(parent) == os.getpid() and workers.__name__ in command]


async def _wait_for_processes(count: int) -> None:
    """Wait until so many children work; there are never more."""
    until = time.monotonic() + PATIENCE
    while (now := len(_processes())) < count:
        assert time.monotonic() < until
        await asyncio.sleep(0.02)
    assert now == count


async def _wait_until_nothing_works(target: Target) -> None:
    async def is_idle() -> bool:
        return not target.stack.gate.active and len(_processes()) == len(workers._idle)

    await wait_until(is_idle)
