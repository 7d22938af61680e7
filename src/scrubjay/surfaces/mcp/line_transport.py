"""MCP over lines of JSON on the daemon's socket, in both revisions of the protocol."""

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from typing import cast

import anyio
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
)

from scrubjay.errors import ScrubjayError, TooLarge
from scrubjay.model.memory import Json
from scrubjay.model.requests import OutcomeRequest
from scrubjay.rpc.frames import LineReader
from scrubjay.surfaces.mcp.messages import RejectedMessage, parse_message, reject
from scrubjay.surfaces.mcp.protocol import protocol_error
from scrubjay.surfaces.mcp.subscriptions import Subscriptions
from scrubjay.surfaces.mcp.tool import ToolContext

Write = Callable[[bytes], Awaitable[None]]

OUTCOME = "scrubjay/outcome"
"""A request of our own, for a client that lost its answers: which of these runs have changed anything?"""

_LISTEN = "subscriptions/listen"
_MAX_RUNS = 1_000
_DRAIN_SECONDS = 60.0


async def serve_lines(
    server: Server[Subscriptions],
    lines: LineReader,
    write: Write,
    *,
    context: ToolContext,
    drain_seconds: float = _DRAIN_SECONDS,
) -> None:
    """Serve one connection until the client has hung up and has all its answers, or `drain_seconds` have passed."""
    await _LineConnection(server, lines, write, context=context, drain_seconds=drain_seconds).serve()


class _LineConnection:
    """One connection: passes messages to the server and writes its answers, with a single writer.

    When the client is gone, its reads are cancelled; the limiter finishes its writes.
    """

    def __init__(
        self,
        server: Server[Subscriptions],
        lines: LineReader,
        write: Write,
        *,
        context: ToolContext,
        drain_seconds: float,
    ) -> None:
        self._server = server
        self._lines = lines
        self._write = write
        self._context = context
        self._drain_seconds = drain_seconds
        self._to_server, self._from_client = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        self._to_client, self._from_server = anyio.create_memory_object_stream[SessionMessage](0)
        self._unanswered: Counter[RequestId] = Counter()
        self._answered = asyncio.Event()

    async def serve(self) -> None:
        options = self._server.create_initialization_options(NotificationOptions(resources_changed=True))
        with self._to_server, self._from_client, self._from_server:
            async with anyio.create_task_group() as group, self._to_client:
                group.start_soon(self._write_messages, group.cancel_scope)
                group.start_soon(self._read_messages, group.cancel_scope)
                await self._server.run(self._from_client, self._to_client.clone(), options)

    async def _read_messages(self, connection: anyio.CancelScope) -> None:
        try:
            while (message := await self._next()) is not None:
                await self._handle(message)
            # A client may stop sending before it has read everything: it still gets its answers.
            with anyio.move_on_after(self._drain_seconds):
                while self._unanswered:
                    self._answered.clear()
                    await self._answered.wait()
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            pass  # The server accepts no more messages, and raises the reason itself.
        except OSError:
            connection.cancel()
        self._to_server.close()

    async def _next(self) -> JSONRPCMessage | RejectedMessage | None:
        while True:
            try:
                raw = await self._lines.line()
            except TooLarge as error:
                return reject(INVALID_REQUEST, str(error))
            if raw is None:
                return None
            if raw.strip():
                return parse_message(raw)

    async def _handle(self, message: JSONRPCMessage | RejectedMessage) -> None:
        if isinstance(message, RejectedMessage):
            await self._to_client.send(SessionMessage(message.error))
            return
        if isinstance(message, JSONRPCRequest):
            if message.method == OUTCOME:
                await self._to_client.send(SessionMessage(await self._outcome(message)))
                return
            if message.method != _LISTEN:
                self._unanswered[message.id] += 1
        elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            self._mark_answered(cast("RequestId | None", (message.params or {}).get("requestId")))
        await self._to_server.send(SessionMessage(message))

    async def _write_messages(self, connection: anyio.CancelScope) -> None:
        async for item in self._from_server:
            # Plain ASCII has no character that could end the line.
            message = json.dumps(item.message.model_dump(by_alias=True, exclude_unset=True), separators=(",", ":"))
            try:
                await self._write(message.encode() + b"\n")
            except OSError:
                connection.cancel()
                return
            if isinstance(item.message, JSONRPCResponse | JSONRPCError):
                self._mark_answered(item.message.id)

    def _mark_answered(self, request_id: RequestId | None) -> None:
        if isinstance(request_id, str | int) and self._unanswered[request_id] > 0:
            self._unanswered[request_id] -= 1
        self._unanswered += Counter()  # Drops the ids with no open request.
        self._answered.set()

    async def _outcome(self, request: JSONRPCRequest) -> JSONRPCMessage:
        runs = cast("Mapping[str, Json]", request.params or {}).get("runs")
        if not isinstance(runs, list) or len(runs) > _MAX_RUNS or not all(isinstance(run, str) for run in runs):
            return reject(INVALID_PARAMS, f"runs must be a list of at most {_MAX_RUNS:,} texts", request.id).error
        try:
            committed = await self._context.engine.outcome(
                OutcomeRequest(runs=tuple(cast("list[str]", runs))), who=self._context.who
            )
        except ScrubjayError as error:
            return JSONRPCError(jsonrpc="2.0", id=request.id, error=protocol_error(error).error)
        return JSONRPCResponse(jsonrpc="2.0", id=request.id, result={"committed": committed})
