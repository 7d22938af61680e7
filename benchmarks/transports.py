"""Times the same recalls and remembers in this process, over the socket, over HTTP and by REST."""

import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from benchmarks.daemons import connected, copy_store, daemon, settings_for
from benchmarks.figures import TransportFigures
from benchmarks.memories import drafts, remember
from benchmarks.rest import RestClient
from benchmarks.timing import spread
from scrubjay.client import MemoryClient
from scrubjay.model.draft import Draft

_WARM_UP = 25
_NAMES = ("here", "socket", "web", "rest")

Clients = Sequence[MemoryClient | RestClient]


async def compare_transports(
    store: Path, questions: Sequence[str], sentences: Sequence[str], *, folder: Path, first: int
) -> tuple[TransportFigures, TransportFigures]:
    """Time recalls and remembers by each transport, on copies of a store, without embedding."""
    homes = [copy_store(store, folder / name) for name in _NAMES]
    here, by_socket, by_web, by_rest = (settings_for(home, embedder="none") for home in homes)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(daemon(by_socket))
        served = await stack.enter_async_context(daemon(by_web))
        rest = await stack.enter_async_context(daemon(by_rest))
        clients = [
            await stack.enter_async_context(MemoryClient(path=homes[0], settings=here)),
            await stack.enter_async_context(connected(by_socket)),
            await stack.enter_async_context(MemoryClient(url=served.url, settings=by_web)),
            await stack.enter_async_context(RestClient(rest.url, space=by_rest.space)),
        ]
        recall = await _in_turn(clients, [_asking(question) for question in questions])
        pending = drafts(sentences, first=first)
        return recall, await _in_turn(clients, [_remembering(draft) for draft in pending])


Operation = Callable[[MemoryClient | RestClient], Awaitable[None]]


def _asking(question: str) -> Operation:
    async def ask(memory: MemoryClient | RestClient) -> None:
        await memory.recall(question)

    return ask


def _remembering(draft: Draft) -> Operation:
    async def remember_draft(memory: MemoryClient | RestClient) -> None:
        await (memory.remember(draft) if isinstance(memory, RestClient) else remember(memory, draft))

    return remember_draft


async def _in_turn(clients: Clients, operations: Sequence[Operation]) -> TransportFigures:
    """Run each operation by every transport before the next one, and rotate their order."""
    durations: list[list[float]] = [[] for _ in clients]
    for number, operation in enumerate(operations):
        for place in range(len(clients)):
            turn = (place + number) % len(clients)
            began = time.perf_counter()
            await operation(clients[turn])
            durations[turn].append(time.perf_counter() - began)
    here, by_socket, by_web, by_rest = (duration[_WARM_UP:] for duration in durations)
    return TransportFigures(
        here=spread(here),
        socket=spread(by_socket),
        socket_adds=_added(here, by_socket),
        web=spread(by_web),
        web_adds=_added(here, by_web),
        rest=spread(by_rest),
        rest_adds=_added(here, by_rest),
    )


def _added(here: Sequence[float], by_transport: Sequence[float]) -> float:
    """Return the median of the differences, because a machine may slow down between operations."""
    return statistics.median(there - own for own, there in zip(here, by_transport, strict=True)) * 1000
