"""The resident memory of a daemon with the bundled model: with one client, with many, and with many agents."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from benchmarks.daemons import Daemon, connected
from scrubjay.paths import socket_file
from scrubjay.rpc.frames import LineReader, encode_frame, hello
from scrubjay.settings import Settings

_PROTOCOL = "2025-11-25"
_ANSWERING = 30.0
_WARM_UP = 25


async def weigh_clients(running: Daemon, questions: Sequence[str], *, clients: int) -> tuple[float, float]:
    """Return the MB with one client after some questions, then with many clients after one question each."""
    async with AsyncExitStack() as stack:
        memory = await stack.enter_async_context(connected(running.settings))
        for question in questions[:_WARM_UP]:
            await memory.recall(question)
        alone = running.resident
        for number in range(1, clients):
            memory = await stack.enter_async_context(connected(running.settings))
            await memory.recall(questions[number % len(questions)])
        return alone, running.resident


async def weigh_agents(running: Daemon, questions: Sequence[str], *, agents: int) -> float:
    """Return the MB with many agents over MCP, each after listing the tools and one question."""
    async with AsyncExitStack() as stack:
        for number in range(agents):
            agent = await stack.enter_async_context(open_agent(running.settings))
            await agent.request("tools/list", {})
            arguments = {"query": questions[number % len(questions)]}
            await agent.request("tools/call", {"name": "recall", "arguments": arguments})
        return running.resident


class Agent:
    """An MCP client on the daemon's socket."""

    def __init__(self, lines: LineReader, writer: asyncio.StreamWriter) -> None:
        self._lines = lines
        self._writer = writer
        self._number = 0

    async def request(self, method: str, params: Mapping[str, object]) -> None:
        """Send a request and wait for its result; exit if it is an error."""
        self._number += 1
        self.send({"id": self._number, "method": method, "params": dict(params)})
        while line := await asyncio.wait_for(self._lines.line(), _ANSWERING):
            message: dict[str, Any] = json.loads(line)
            if message.get("id") == self._number:
                if "result" not in message or message["result"].get("isError"):
                    raise SystemExit(f"{method} failed: {line[:500]!r}")
                return
        raise SystemExit(f"the daemon hung up during {method}")

    def send(self, message: Mapping[str, object]) -> None:
        """Send a message without waiting for an answer."""
        self._writer.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


@asynccontextmanager
async def open_agent(settings: Settings, *, tools: str = "") -> AsyncGenerator[Agent]:
    """Connect an agent over MCP, with the tools of these toolsets."""
    reader, writer = await asyncio.open_unix_connection(str(socket_file(settings.data)))
    try:
        lines = LineReader(reader)
        toolsets = {"tools": tools} if tools else {}
        writer.write(encode_frame(hello("mcp", space=settings.space, **toolsets)))
        await asyncio.wait_for(lines.line(), _ANSWERING)
        agent = Agent(lines, writer)
        who = {"name": "benchmark", "version": "1"}
        await agent.request("initialize", {"protocolVersion": _PROTOCOL, "capabilities": {}, "clientInfo": who})
        agent.send({"method": "notifications/initialized"})
        yield agent
    finally:
        writer.close()
        await writer.wait_closed()
