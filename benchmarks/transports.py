"""The same recalls and remembers in this process, over the socket, over HTTP and by REST: what each way costs."""

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
    """How long recalls and remembers take by each way, on stores that are alike; nobody embeds."""
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
        recall = await _by_turns(clients, [_asking(question) for question in questions])
        waiting = drafts(sentences, first=first)
        return recall, await _by_turns(clients, [_remembering(draft) for draft in waiting])


Operation = Callable[[MemoryClient | RestClient], Awaitable[None]]


def _asking(question: str) -> Operation:
    async def ask(memory: MemoryClient | RestClient) -> None:
        await memory.recall(question)

    return ask


def _remembering(draft: Draft) -> Operation:
    async def tell(memory: MemoryClient | RestClient) -> None:
        await (memory.remember(draft) if isinstance(memory, RestClient) else remember(memory, draft))

    return tell


async def _by_turns(clients: Clients, operations: Sequence[Operation]) -> TransportFigures:
    """Each operation by every way before the next; another way goes first each time."""
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


def _added(here: Sequence[float], by_way: Sequence[float]) -> float:
    """Between operations a machine may slow down, which medians of each way would take for the way's fault."""
    return statistics.median(there - own for own, there in zip(here, by_way, strict=True)) * 1000
