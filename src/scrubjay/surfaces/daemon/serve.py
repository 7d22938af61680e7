"""`scrubjay serve`: opens the memory, lets clients in, and leaves without losing an accepted write."""

import asyncio
import logging
import os
import signal
import time
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import FrameType

from scrubjay import telemetry
from scrubjay.app import open_engine
from scrubjay.app.notes import open_notes
from scrubjay.engine import Engine
from scrubjay.errors import ScrubjayError
from scrubjay.observability.prometheus import Metrics
from scrubjay.observability.tracing import tracing
from scrubjay.paths import socket_file
from scrubjay.rpc.frames import LineReader
from scrubjay.settings import Settings
from scrubjay.surfaces.changes import ChangeBroadcaster
from scrubjay.surfaces.daemon.http_server import HttpServer, address_of, web_socket
from scrubjay.surfaces.daemon.lazy import loaded
from scrubjay.surfaces.daemon.limiter import RequestLimiter
from scrubjay.surfaces.daemon.listen import BACKLOG, bound_socket
from scrubjay.surfaces.daemon.lock import hold_daemon_lock, note_daemon
from scrubjay.surfaces.daemon.mcp_sessions import McpSessions, load_protocol
from scrubjay.surfaces.daemon.rpc_dispatch import Counter
from scrubjay.surfaces.daemon.rpc_session import RpcSession
from scrubjay.surfaces.daemon.socket_server import SocketServer
from scrubjay.surfaces.daemon.upkeep import keep_notes, keep_up, keep_working
from scrubjay.surfaces.http.server import RunningServer
from scrubjay.surfaces.mcp.toolsets import pick
from scrubjay.text import related_words

_log = logging.getLogger(__name__)
# Accepted work gets this much longer than one operation may take before the daemon leaves without it.
_GRACE = 5.0
_IDLE_LOOK = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """How to serve."""

    settings: Settings
    tools: str = ""
    http: str = ""
    # An address that was asked for must be had; the default one may be taken by another daemon.
    http_must: bool = False
    idle: float = 0.0


@dataclass(slots=True, kw_only=True)
class Running:
    """A daemon that lets clients in."""

    data: Path
    socket: Path
    http: str
    leaving: asyncio.Event
    restart: bool = False
    pid: int = field(default_factory=os.getpid)


async def serve(orders: Orders, *, ready: Callable[[Running], None]) -> bool:
    """Serve until told to stop; returns whether to start again."""
    async with daemon(orders) as running:
        _obey_signals(running)
        ready(running)
        await running.leaving.wait()
        _log.info("leaving", extra={"fields": {"restart": running.restart}})
    return running.restart


@asynccontextmanager
async def daemon(orders: Orders) -> AsyncGenerator[Running]:
    """A daemon that lets clients in until the end of the block, and then finishes what it has accepted."""
    settings = orders.settings
    pick(orders.tools)
    async with AsyncExitStack() as stack:
        stack.callback(hold_daemon_lock(settings.data).release)
        note_daemon(settings.data, socket=socket_file(settings.data), http="")
        web = web_socket(orders.http, must=orders.http_must) if orders.http else None
        if web is not None:
            stack.callback(web.close)
        running = Running(
            data=settings.data,
            socket=socket_file(settings.data),
            http=address_of(web) if web else "",
            leaving=asyncio.Event(),
        )
        engine = await stack.enter_async_context(open_engine(settings, has_worker=True))
        notes = await stack.enter_async_context(open_notes(settings, engine))
        gate = RequestLimiter(most=settings.max_requests, seconds=settings.operation_seconds)
        metrics = Metrics(engine=engine, limiter=gate)
        stack.enter_context(telemetry.observe(metrics))
        await stack.enter_async_context(tracing(settings.traces))
        changes = await stack.enter_async_context(ChangeBroadcaster(engine.store, purged=engine.answers.clear))
        agents = McpSessions(
            engine=engine, gate=gate, changes=changes, space=settings.space, tools=orders.tools, notes=notes
        )
        counter = Counter(engine=engine, gate=gate, notes=notes)
        note_daemon(settings.data, socket=running.socket, http=running.http)
        served: RunningServer | None = None
        if web is not None:
            shop = HttpServer(counter=counter, agents=agents, metrics=metrics, settings=settings)
            served = await stack.enter_async_context(shop.open(web))
        # The socket last: whoever gets in finds everything else open.
        reception = await stack.enter_async_context(_local(running.socket, counter=counter, agents=agents))
        metrics.clients("socket", lambda: reception.guests)

        def guests() -> int:
            return reception.guests + (served.connections if served else 0)

        idle = _leave_when_idle(orders.idle, running, gate, guests=guests)
        async with _beside(_warm_up(engine), keep_up(engine), keep_working(engine), keep_notes(notes, changes), idle):
            yield running
        # Nobody is let in from here on, and who is in gets an answer before the doors close.
        changes.close()
        left = await gate.close(seconds=settings.operation_seconds + _GRACE)
        if left:
            _log.warning("left undone", extra={"fields": {"requests": left}})


@asynccontextmanager
async def _local(path: Path, *, counter: Counter, agents: McpSessions) -> AsyncGenerator[SocketServer]:
    """Let clients of this machine in."""

    async def verbs(lines: LineReader, writer: asyncio.StreamWriter) -> None:
        await RpcSession(lines, writer, counter=counter).hold()

    reception = SocketServer({"verbs": lambda _: verbs, "mcp": agents.speak})
    server = await asyncio.start_unix_server(reception.receive, sock=bound_socket(path), backlog=BACKLOG)
    _log.info("listening", extra={"fields": {"socket": str(path), "pid": os.getpid()}})
    try:
        yield reception
    finally:
        server.close()
        await reception.close()
        os.unlink(path)  # noqa: PTH108 - at the end nobody waits for the loop


@asynccontextmanager
async def _beside(*works: Coroutine[object, object, None]) -> AsyncGenerator[None]:
    """Have things done in the background of a block."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _warm_up(engine: Engine) -> None:
    """Load words, model, index and protocol before somebody waits; without model and index search by words goes on."""
    await asyncio.to_thread(related_words.load)
    with suppress(ScrubjayError):
        await engine.index.open()
        await engine.embedder.embed_query("warm")
    await loaded(load_protocol)


async def _leave_when_idle(
    seconds: float, running: Running, gate: RequestLimiter, *, guests: Callable[[], int]
) -> None:
    served, since = gate.served, time.monotonic()
    while seconds > 0:
        await asyncio.sleep(min(_IDLE_LOOK, seconds))
        if guests() or gate.inside or gate.served != served:
            served, since = gate.served, time.monotonic()
        elif time.monotonic() - since >= seconds:
            _log.info("nobody was here for a while", extra={"fields": {"seconds": seconds}})
            running.leaving.set()
            return


def _obey_signals(running: Running) -> None:
    loop = asyncio.get_running_loop()

    def leave(*, restart: bool) -> None:
        running.restart = restart
        running.leaving.set()

    def obey(number: int, *, restart: bool) -> None:
        # Not by the loop's own handler: that drops a signal that comes while its pipe is full.
        def come(_: int, __: FrameType | None) -> None:
            loop.call_soon_threadsafe(partial(leave, restart=restart))

        signal.signal(number, come)

    for number in (signal.SIGTERM, signal.SIGINT):
        obey(number, restart=False)
    # `nohup` asks for a hang-up to be ignored.
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        obey(signal.SIGHUP, restart=True)
