"""What a daemon holds in memory with the bundled model loaded: with one client, with many, and with many agents."""

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
    """MB with one client that has asked some questions, then with so many that have asked one each."""
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
    """MB with so many agents, each of which speaks MCP as a bridge does, has listed the tools and asked a question."""
    async with AsyncExitStack() as stack:
        for number in range(agents):
            agent = await stack.enter_async_context(_agent(running.settings))
            await agent.ask("tools/list", {})
            request = {"query": questions[number % len(questions)]}
            await agent.ask("tools/call", {"name": "recall", "arguments": request})
        return running.resident


class Agent:
    """Somebody who speaks MCP over the daemon's socket."""

    def __init__(self, lines: LineReader, writer: asyncio.StreamWriter) -> None:
        self._lines = lines
        self._writer = writer
        self._number = 0

    async def ask(self, method: str, params: Mapping[str, object]) -> None:
        """Send a request and wait for its result; the run is over if it is an error."""
        self._number += 1
        self.tell({"id": self._number, "method": method, "params": dict(params)})
        while line := await asyncio.wait_for(self._lines.line(), _ANSWERING):
            message: dict[str, Any] = json.loads(line)
            if message.get("id") == self._number:
                if "result" not in message or message["result"].get("isError"):
                    raise SystemExit(f"{method} failed: {line[:500]!r}")
                return
        raise SystemExit(f"the daemon hung up during {method}")

    def tell(self, message: Mapping[str, object]) -> None:
        """Send what has no answer."""
        self._writer.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


@asynccontextmanager
async def _agent(settings: Settings) -> AsyncGenerator[Agent]:
    reader, writer = await asyncio.open_unix_connection(str(socket_file(settings.data)))
    try:
        lines = LineReader(reader)
        writer.write(encode_frame(hello("mcp", space=settings.space)))
        await asyncio.wait_for(lines.line(), _ANSWERING)
        agent = Agent(lines, writer)
        who = {"name": "bench", "version": "1"}
        await agent.ask("initialize", {"protocolVersion": _PROTOCOL, "capabilities": {}, "clientInfo": who})
        agent.tell({"method": "notifications/initialized"})
        yield agent
    finally:
        writer.close()
        await writer.wait_closed()
