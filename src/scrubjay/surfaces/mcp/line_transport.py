"""MCP over lines of JSON, as it is spoken on the socket, in both revisions of the protocol."""

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
from scrubjay.rpc.frames import LineReader
from scrubjay.surfaces.mcp.messages import Rejected, message_from, rejected
from scrubjay.surfaces.mcp.protocol import protocol_error
from scrubjay.surfaces.mcp.subscriptions import Wire
from scrubjay.surfaces.mcp.tool import ToolContext

Write = Callable[[bytes], Awaitable[None]]

OUTCOME = "scrubjay/outcome"
"""A request beside MCP: which of some runs have changed anything, for a client whose answers were lost."""

_LISTEN = "subscriptions/listen"
_MOST_RUNS = 1_000
_PATIENCE = 60.0


async def serve_lines(
    server: Server[Wire], lines: LineReader, write: Write, *, context: ToolContext, patience: float = _PATIENCE
) -> None:
    """Serve one connection until its client hangs up and has got all its answers, or `patience` seconds are over."""
    await _Line(server, lines, write, context=context, patience=patience).serve()


class _Line:
    """One connection: what comes in goes to the server, and what the server says goes out, one writer for all.

    When the client is found to be gone, what it was reading is given up; what it wrote is finished behind the gate.
    """

    def __init__(
        self, server: Server[Wire], lines: LineReader, write: Write, *, context: ToolContext, patience: float
    ) -> None:
        self._server = server
        self._lines = lines
        self._write = write
        self._context = context
        self._patience = patience
        self._to_server, self._from_client = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        self._to_client, self._from_server = anyio.create_memory_object_stream[SessionMessage](0)
        self._unanswered: Counter[RequestId] = Counter()
        self._answered = asyncio.Event()

    async def serve(self) -> None:
        options = self._server.create_initialization_options(NotificationOptions(resources_changed=True))
        with self._to_server, self._from_client, self._from_server:
            async with anyio.create_task_group() as group, self._to_client:
                group.start_soon(self._speak, group.cancel_scope)
                group.start_soon(self._hear, group.cancel_scope)
                await self._server.run(self._from_client, self._to_client.clone(), options)

    async def _hear(self, all_of_it: anyio.CancelScope) -> None:
        try:
            while (message := await self._next()) is not None:
                await self._take(message)
            await self._all_answered()
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            pass  # The server takes nothing any more; whoever ended it says why.
        except OSError:
            all_of_it.cancel()
        self._to_server.close()

    async def _next(self) -> JSONRPCMessage | Rejected | None:
        while True:
            try:
                raw = await self._lines.line()
            except TooLarge as error:
                return rejected(INVALID_REQUEST, str(error))
            if raw is None:
                return None
            if raw.strip():
                return message_from(raw)

    async def _take(self, message: JSONRPCMessage | Rejected) -> None:
        if isinstance(message, Rejected):
            await self._tell(message.error)
            return
        if isinstance(message, JSONRPCRequest):
            if message.method == OUTCOME:
                await self._tell(await self._outcome(message))
                return
            if message.method != _LISTEN:
                self._unanswered[message.id] += 1
        elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            self._settle(cast("RequestId | None", (message.params or {}).get("requestId")))
        await self._to_server.send(SessionMessage(message))

    async def _speak(self, all_of_it: anyio.CancelScope) -> None:
        async for item in self._from_server:
            try:
                await self._write(_encoded(item.message))
            except OSError:
                all_of_it.cancel()
                return
            if isinstance(item.message, JSONRPCResponse | JSONRPCError):
                self._settle(item.message.id)

    async def _tell(self, message: JSONRPCMessage) -> None:
        await self._to_client.send(SessionMessage(message))

    def _settle(self, request_id: RequestId | None) -> None:
        if isinstance(request_id, str | int) and self._unanswered[request_id] > 0:
            self._unanswered[request_id] -= 1
        self._unanswered += Counter()  # Drops those that are at zero.
        self._answered.set()

    async def _all_answered(self) -> None:
        """A client may stop sending before it has read everything: what it is owed is still sent."""
        with anyio.move_on_after(self._patience):
            while self._unanswered:
                self._answered.clear()
                await self._answered.wait()

    async def _outcome(self, request: JSONRPCRequest) -> JSONRPCMessage:
        runs = cast("Mapping[str, Json]", request.params or {}).get("runs")
        if not isinstance(runs, list) or len(runs) > _MOST_RUNS or not all(isinstance(run, str) for run in runs):
            return rejected(INVALID_PARAMS, f"runs must be a list of at most {_MOST_RUNS:,} texts", request.id).error
        try:
            committed = await self._context.engine.outcome(cast("list[str]", runs), who=self._context.who)
        except ScrubjayError as error:
            return JSONRPCError(jsonrpc="2.0", id=request.id, error=protocol_error(error).error)
        return JSONRPCResponse(jsonrpc="2.0", id=request.id, result={"committed": committed})


def _encoded(message: JSONRPCMessage) -> bytes:
    # In plain ASCII: no character can be taken for the end of the line.
    return json.dumps(message.model_dump(by_alias=True, exclude_unset=True), separators=(",", ":")).encode() + b"\n"
