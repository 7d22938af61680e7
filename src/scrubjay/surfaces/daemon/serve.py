"""`scrubjay serve`: opens the memory, accepts clients, and stops without losing an accepted write."""

import asyncio
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from dataclasses import field
from functools import partial
from pathlib import Path
from types import FrameType

from scrubjay import telemetry
from scrubjay.app import open_engine_and_store
from scrubjay.app.notes import open_notes
from scrubjay.app.stores import is_encrypted
from scrubjay.cancelling import cancel
from scrubjay.curation.runner import CurationRunner
from scrubjay.engine import Engine
from scrubjay.errors import ScrubjayError
from scrubjay.lazy import dataclass
from scrubjay.locking import FileLock
from scrubjay.observability.prometheus import Metrics
from scrubjay.observability.tracing import tracing
from scrubjay.observability.watchdog import watch_loop
from scrubjay.paths import socket_file
from scrubjay.ports import RecordStore
from scrubjay.rpc.frames import LineReader
from scrubjay.settings import DEFAULT_TOOLS, Settings
from scrubjay.surfaces.changes import ChangeBroadcaster
from scrubjay.surfaces.daemon.alerts import Webhook, look_at_health
from scrubjay.surfaces.daemon.command_session import CommandSession
from scrubjay.surfaces.daemon.http_access import make_authenticator
from scrubjay.surfaces.daemon.http_on_demand import Connections, HttpOnDemand, listen_on_demand
from scrubjay.surfaces.daemon.limiter import RequestLimiter
from scrubjay.surfaces.daemon.lock import hold_daemon_lock, record_daemon
from scrubjay.surfaces.daemon.mcp_sessions import McpSessions
from scrubjay.surfaces.daemon.rpc_dispatch import RpcDispatcher
from scrubjay.surfaces.daemon.rpc_session import RpcSession
from scrubjay.surfaces.daemon.socket_server import BACKLOG, SocketServer, bind_socket
from scrubjay.surfaces.daemon.upkeep import Look, follow_model, keep_latencies, run_jobs, run_notes_sync, run_upkeep
from scrubjay.surfaces.http.address import bind_http, http_address, http_addresses
from scrubjay.surfaces.http.limits import ACCEPTED_AT_ONCE, ConnectionLimits, allowed_connections
from scrubjay.text import related_words

_log = logging.getLogger(__name__)
# Accepted requests get this much more time than one operation before the daemon stops without them.
_GRACE_SECONDS = 5.0
_IDLE_POLL_SECONDS = 1.0
_FOLDER_POLL_SECONDS = 2.0
_SWITCH_SECONDS = 0.001


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """The options of a daemon."""

    settings: Settings
    tools: str = ""
    http: str = ""
    # An address that the user named is required; the default one may be in use by another daemon.
    http_required: bool = False
    idle: float = 0.0


@dataclass(slots=True, kw_only=True)
class RunningDaemon:
    """A daemon that accepts clients."""

    data: Path
    socket: Path
    http: str
    stopping: asyncio.Event
    restart: bool = False
    pid: int = field(default_factory=os.getpid)


async def serve(options: ServeOptions, *, ready: Callable[[RunningDaemon], None]) -> bool:
    """Serve until a signal stops the daemon; return whether to restart it."""
    # While a thread computes, the event loop waits for it so long whenever it comes back from the system.
    sys.setswitchinterval(_SWITCH_SECONDS)
    if is_encrypted(options.settings):
        _forbid_core_dumps()
    async with open_daemon(options) as running:
        _handle_signals(running)
        ready(running)
        await running.stopping.wait()
        _log.info("stopping", extra={"fields": {"restart": running.restart}})
    return running.restart


@asynccontextmanager
async def open_daemon(options: ServeOptions) -> AsyncGenerator[RunningDaemon]:
    """Accept clients until the end of the block, and then finish the accepted requests."""
    settings = options.settings
    _require_tools(options.tools)
    async with AsyncExitStack() as stack:
        # One that a person starts replaces one that an agent has started, whose clients then come to it.
        lock = await hold_daemon_lock(settings.data, seconds=0.0 if options.idle else _patience(settings))
        stack.callback(lock.release)
        path = socket_file(settings.data)
        record_daemon(settings.data, socket=path, http="", idle=options.idle)
        listener = bind_http(options.http, required=options.http_required) if options.http else None
        if listener is not None:
            stack.callback(listener.close)
        http = http_address(listener) if listener else ""
        running = RunningDaemon(data=settings.data, socket=path, http=http, stopping=asyncio.Event())
        engine, store = await stack.enter_async_context(open_engine_and_store(settings, has_worker=True))
        notes = await stack.enter_async_context(open_notes(settings, engine))
        limiter = RequestLimiter(max_requests=settings.max_requests, seconds=settings.operation_seconds)
        if isinstance(engine.curator, CurationRunner):
            engine.curator.active_requests = lambda: limiter.active
        metrics = Metrics(engine=engine, limiter=limiter)
        look = _watch_health(engine, metrics, settings)
        stack.enter_context(telemetry.observe(metrics))
        stack.enter_context(watch_loop(metrics.loop_lag))
        await stack.enter_async_context(tracing(settings.traces))
        changes = await stack.enter_async_context(ChangeBroadcaster(store, purged=engine.answers.clear))
        sessions = McpSessions(
            engine=engine, limiter=limiter, changes=changes, space=settings.space, tools=options.tools, notes=notes
        )
        addresses = {"socket": str(path), **(http_addresses(http) if http else {})}
        dispatcher = RpcDispatcher(engine=engine, limiter=limiter, notes=notes, addresses=addresses)
        record_daemon(settings.data, socket=path, http=http, idle=options.idle)
        http_server: HttpOnDemand | None = None
        if listener is not None:
            http_server = await stack.enter_async_context(
                _serve_http(listener, dispatcher, store=store, sessions=sessions, metrics=metrics, settings=settings)
            )
        # The socket comes last, so that its clients find everything else open.
        socket_server = await stack.enter_async_context(
            _serve_socket(path, dispatcher=dispatcher, sessions=sessions, data=settings.data)
        )
        metrics.clients("socket", lambda: socket_server.connections)

        def connections() -> int:
            return socket_server.connections + (http_server.connections if http_server else 0)

        idle = _stop_when_idle(options.idle, running, limiter, connections=connections)
        async with _in_background(
            _warm_up(engine), run_upkeep(engine, store, look=look), run_jobs(engine, store, look=look),
            run_notes_sync(notes, changes), follow_model(engine), keep_latencies(engine), idle,
            _stop_without_folder(lock, running, settings),
        ):  # fmt: skip
            yield running
        # New requests are refused from here on, and running ones get their answers before the sockets close.
        await changes.close()
        unfinished = await limiter.close(seconds=_patience(settings))
        if unfinished:
            _log.warning("requests are unfinished", extra={"fields": {"requests": unfinished}})


def _watch_health(engine: Engine, metrics: Metrics, settings: Settings) -> Look:
    """Let `health` show the latencies of this daemon; return a function that looks at the health once."""
    webhook = Webhook(settings.alert_webhook) if settings.alert_webhook else None
    if engine.reporter is not None:
        engine.reporter.latency.counts = metrics.latencies
    return partial(look_at_health, engine, webhook=webhook, publish=metrics.health)


def _require_tools(tools: str) -> None:
    """Raise InvalidInput if there are no such tools."""
    if tools not in {"", DEFAULT_TOOLS}:
        from scrubjay.surfaces.mcp.toolsets import pick  # noqa: PLC0415 - a daemon without agents does not need it

        pick(tools)


@asynccontextmanager
async def _serve_http(
    listener: socket.socket, dispatcher: RpcDispatcher, *, store: RecordStore, sessions: McpSessions, metrics: Metrics,
    settings: Settings,
) -> AsyncGenerator[HttpOnDemand]:  # fmt: skip
    """Accept clients by HTTP."""
    authenticator = await make_authenticator(dispatcher.engine, store, settings, listener)
    limits = ConnectionLimits(connections=allowed_connections())

    def load() -> Callable[[], AbstractAsyncContextManager[Connections]]:
        from scrubjay.surfaces.daemon.http_server import HttpServer  # noqa: PLC0415 - many daemons have no such client

        server = HttpServer(
            dispatcher=dispatcher, store=store, mcp_sessions=sessions, metrics=metrics, settings=settings, limits=limits
        )
        return partial(server.serve, listener, authenticator)

    async with listen_on_demand(listener, load) as http:
        metrics.clients("http", lambda: http.connections)
        yield http


@asynccontextmanager
async def _serve_socket(
    path: Path, *, dispatcher: RpcDispatcher, sessions: McpSessions, data: Path
) -> AsyncGenerator[SocketServer]:
    """Accept clients on this machine."""

    async def handle_verbs(lines: LineReader, writer: asyncio.StreamWriter) -> None:
        await RpcSession(lines, writer, dispatcher=dispatcher).run()

    async def handle_command(lines: LineReader, writer: asyncio.StreamWriter) -> None:
        await CommandSession(lines, writer, dispatcher=dispatcher, data=data).run()

    socket_server = SocketServer(
        {"verbs": lambda _: handle_verbs, "commands": lambda _: handle_command, "mcp": sessions.handshake}
    )
    listener = bind_socket(path)
    server = await asyncio.start_unix_server(socket_server.accept, sock=listener, backlog=ACCEPTED_AT_ONCE)
    listener.listen(BACKLOG)
    _log.info("listening", extra={"fields": {"socket": str(path), "pid": os.getpid()}})
    try:
        yield socket_server
    finally:
        server.close()
        await socket_server.close()
        with suppress(FileNotFoundError):  # The folder may be gone.
            os.unlink(path)  # noqa: PTH108 - at the end no client waits for the event loop


@asynccontextmanager
async def _in_background(*works: Coroutine[object, object, None]) -> AsyncGenerator[None]:
    """Run tasks for the duration of a block."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        yield
    finally:
        await cancel(*tasks)


async def _warm_up(engine: Engine) -> None:
    """Load words, model and index early; if model or index fail, lexical search still works."""
    await asyncio.to_thread(related_words.load)
    with suppress(ScrubjayError):
        await engine.index.open()
        await engine.embedder.embed_query("warm")


async def _stop_when_idle(
    seconds: float, running: RunningDaemon, limiter: RequestLimiter, *, connections: Callable[[], int]
) -> None:
    served, since = limiter.served, time.monotonic()
    while seconds > 0:
        await asyncio.sleep(min(_IDLE_POLL_SECONDS, seconds))
        if connections() or limiter.active or limiter.served != served:
            served, since = limiter.served, time.monotonic()
        elif time.monotonic() - since >= seconds:
            _log.info("the daemon was idle", extra={"fields": {"seconds": seconds}})
            running.stopping.set()
            return


async def _stop_without_folder(lock: FileLock, running: RunningDaemon, settings: Settings) -> None:
    """Stop once the data folder is deleted: no client finds this daemon, and what it accepts is lost."""
    # A database is elsewhere.
    while not settings.database_url:
        await asyncio.sleep(_FOLDER_POLL_SECONDS)
        if not lock.is_in_place:
            _log.warning("the data folder is gone", extra={"fields": {"data": str(settings.data)}})
            running.stopping.set()
            return


def _patience(settings: Settings) -> float:
    """How long accepted requests may take."""
    return settings.operation_seconds + _GRACE_SECONDS


def _forbid_core_dumps() -> None:
    """Let no crash write the memory of this process to a file: it holds the texts and the key in clear."""
    import resource  # noqa: PLC0415 - not available on Windows

    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def _handle_signals(running: RunningDaemon) -> None:
    loop = asyncio.get_running_loop()

    def stop(*, restart: bool) -> None:
        running.restart = restart
        running.stopping.set()

    def install(number: int, *, restart: bool) -> None:
        # Not with the handler of the event loop, which loses a signal while its pipe is full.
        def handle(_: int, __: FrameType | None) -> None:
            loop.call_soon_threadsafe(partial(stop, restart=restart))

        signal.signal(number, handle)

    for number in (signal.SIGTERM, signal.SIGINT):
        install(number, restart=False)
    # `nohup` has a hang-up ignored.
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        install(signal.SIGHUP, restart=True)
