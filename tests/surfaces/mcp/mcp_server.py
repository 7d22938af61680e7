"""The real MCP server on one end of a socket, and the SDK's client on the other."""

import asyncio
import json
import socket
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
from jsonschema.protocols import Validator
from mcp.client._transport import TransportStreams
from mcp.client.client import Client
from mcp.client.session import ClientSession, IncomingMessage
from mcp.shared.message import SessionMessage
from mcp_types import CallToolResult, TextContent, jsonrpc_message_adapter
from tests.new_files import new_file
from tests.patience import PATIENCE

from scrubjay.app import open_engine
from scrubjay.engine import Engine
from scrubjay.model.caller import Caller
from scrubjay.model.memory import Json
from scrubjay.paths import database_file
from scrubjay.rpc.frames import LineReader
from scrubjay.settings import Settings
from scrubjay.surfaces.changes import ChangeBroadcaster
from scrubjay.surfaces.daemon.limiter import RequestLimiter
from scrubjay.surfaces.mcp.line_transport import serve_lines
from scrubjay.surfaces.mcp.server import make_server
from scrubjay.surfaces.mcp.tool import Tool, ToolContext
from scrubjay.surfaces.mcp.toolsets import pick

ERAS = ("legacy", "auto")
"""2025-11-25 with its handshake, and 2026-07-28 without."""


@dataclass(kw_only=True)
class McpServer:
    """An engine with everything that a server needs."""

    engine: Engine
    changes: ChangeBroadcaster
    limiter: RequestLimiter = field(default_factory=lambda: RequestLimiter(max_requests=100, seconds=PATIENCE))
    longest: int = 1_000_000

    def context(self, *, space: str = "default", agent: str = "tester", project: str = "") -> ToolContext:
        return ToolContext(engine=self.engine, who=Caller(space=space, agent=agent), project=project)

    async def wait_for_calls(self, count: int) -> None:
        """Wait until `count` requests are running."""
        async with asyncio.timeout(PATIENCE):
            while self.limiter.active != count:  # noqa: ASYNC110 - the limiter has no event for it
                await asyncio.sleep(0)

    @asynccontextmanager
    async def raw(
        self,
        *,
        tools: tuple[Tool, ...] | str = "all",
        progress_seconds: float = 5.0,
        context: ToolContext | None = None,
    ) -> AsyncGenerator["RawClient"]:
        """Connect a client that writes its own lines."""
        ours, theirs = socket.socketpair()
        served = asyncio.create_task(self._serve(theirs, tools, progress_seconds, context or self.context()))
        reader, writer = await asyncio.open_connection(sock=ours, limit=1 << 24)
        try:
            yield RawClient(reader, writer, served)
        finally:
            writer.close()
            await writer.wait_closed()
            await asyncio.wait([served], timeout=PATIENCE)
            if not served.cancelled():
                served.result()

    @asynccontextmanager
    async def client(
        self,
        era: str,
        *,
        tools: tuple[Tool, ...] | str = "all",
        progress_seconds: float = 5.0,
        context: ToolContext | None = None,
        on_message: Callable[[IncomingMessage], None] | None = None,
    ) -> AsyncGenerator[Client]:
        """Connect the SDK's client."""

        async def handler(message: IncomingMessage) -> None:
            if on_message is not None:
                on_message(message)

        async with (
            self.raw(tools=tools, progress_seconds=progress_seconds, context=context) as raw,
            Client(_streams(raw), mode=era, message_handler=handler, read_timeout_seconds=PATIENCE) as client,
        ):
            with _share_schemas(client.session, tools):
                yield client

    async def _serve(
        self, end: socket.socket, tools: tuple[Tool, ...] | str, progress_seconds: float, context: ToolContext
    ) -> None:
        reader, writer = await asyncio.open_connection(sock=end)

        async def write(data: bytes) -> None:
            writer.write(data)
            await writer.drain()

        picked = pick(tools) if isinstance(tools, str) else tools
        server = make_server(
            picked, context=context, limiter=self.limiter, changes=self.changes, progress_seconds=progress_seconds
        )
        try:
            await serve_lines(server, LineReader(reader, longest=self.longest), write, context=context)
        finally:
            writer.close()


@dataclass(frozen=True)
class RawClient:
    """A client that sends and reads lines itself."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    served: asyncio.Task[None]

    async def send(self, *messages: Json | bytes) -> None:
        for message in messages:
            self.writer.write(message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n")
        await self.writer.drain()

    async def line(self) -> Any:
        line = await asyncio.wait_for(self.reader.readline(), PATIENCE)
        assert line, "the server has hung up"
        return json.loads(line)

    async def ask(self, *messages: Json | bytes) -> Any:
        """Send messages and return the next line."""
        await self.send(*messages)
        return await self.line()

    async def rest(self) -> list[Any]:
        """Stop sending and return all lines that still come."""
        self.writer.write_eof()
        lines = await asyncio.wait_for(self.reader.read(), PATIENCE)
        return [json.loads(line) for line in lines.splitlines()]


@asynccontextmanager
async def open_server(settings: Settings) -> AsyncGenerator[McpServer]:
    """Open an engine on a new folder."""
    if not settings.database_url:
        new_file(database_file(Path(settings.home)))
    async with open_engine(settings) as engine, ChangeBroadcaster(engine.change_log, seconds=0.05) as changes:
        yield McpServer(engine=engine, changes=changes)


async def call(client: Client, tool: str, /, **arguments: object) -> Any:
    """Call a tool that must succeed; the client checks the answer against the output schema."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, text_of(result)
    return result.structured_content


async def refusal(client: Client, tool: str, /, **arguments: object) -> str:
    """Call a tool that must fail; return its message."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    assert result.structured_content is None
    return text_of(result)


def text_of(result: CallToolResult) -> str:
    """Return the text for the model."""
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


HELLO: dict[str, Json] = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}},
}
READY: dict[str, Json] = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def request(method: str, number: int = 1, /, **params: Json) -> dict[str, Json]:
    """Return a request."""
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


_SCHEMAS: dict[str, dict[str, dict[str, Any] | None]] = {}
_VALIDATORS: dict[str, dict[str, Validator]] = {}


@contextmanager
def _share_schemas(session: ClientSession, tools: tuple[Tool, ...] | str) -> Generator[None]:
    """Share the schemas of a toolset between clients: listing and checking them takes the most time of a test."""
    if not isinstance(tools, str):
        yield
        return
    schemas, validators = _SCHEMAS.setdefault(tools, {}), _VALIDATORS.setdefault(tools, {})
    session._tool_output_schemas.update(schemas)
    session._tool_output_validators.update(validators)
    yield
    schemas.update(session._tool_output_schemas)
    validators.update(session._tool_output_validators)


@asynccontextmanager
async def _streams(raw: RawClient) -> AsyncGenerator[TransportStreams]:
    """Return the client's streams in the SDK's form."""
    to_client, from_server = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    to_server, from_client = anyio.create_memory_object_stream[SessionMessage](0)

    async def receive() -> None:
        # A notification may come after the client has stopped listening.
        with to_client, suppress(anyio.BrokenResourceError):
            while line := await raw.reader.readline():
                await to_client.send(SessionMessage(jsonrpc_message_adapter.validate_json(line)))

    async def send() -> None:
        with from_client:
            async for item in from_client:
                await raw.send(item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")

    async with anyio.create_task_group() as group, from_server, to_server:
        group.start_soon(receive)
        group.start_soon(send)
        yield from_server, to_server
        group.cancel_scope.cancel()
