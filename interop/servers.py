"""The servers that are tried: the daemon as people start it, and the same with the fixture's tools."""

import asyncio
import json
import socket
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from interop.paths import Workshop
from interop.processes import Failed, in_background
from scrubjay.paths import socket_file

STDIO, HTTP = "stdio", "http"
WAYS = (STDIO, HTTP)
OLDER, NEWER = "2025-11-25", "2026-07-28"
ERAS = (OLDER, NEWER)
_STARTING = 60.0
_LOOK = 0.05
_IDLE = "300"


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A server that is running."""

    data: Path
    url: str
    log: Path

    @property
    def mcp(self) -> str:
        """Where MCP is spoken over HTTP."""
        return f"{self.url}/mcp"

    def bridge(self, *options: str) -> list[str]:
        """The command that speaks MCP on standard input and output."""
        return [sys.executable, "-m", "scrubjay", "mcp", "--data", str(self.data), *options]

    async def has_logged_no_error(self) -> str:
        """What clients did not notice; raises Failed with what the log says."""
        lines = self.log.read_text(encoding="utf-8").splitlines()
        events = [json.loads(line) for line in lines if line.startswith("{")]
        if errors := [event for event in events if event["level"] in ("error", "critical")]:
            raise Failed("\n".join(json.dumps(error)[:1_000] for error in errors[:5]))
        return f"{len(events)} events, no error"

    def reached_by(self, way: str) -> list[str]:
        """What a client is given to find it: an address, or a command."""
        return [self.mcp] if way == HTTP else self.bridge()


@asynccontextmanager
async def serving(
    job_runner: Workshop, *, module: str, tools: str, name: str = "", options: Sequence[str] = ()
) -> AsyncGenerator[Served]:
    """A daemon on a fresh data folder, until the end of the block."""
    data = job_runner.folder / (name or module)
    log = job_runner.folder / f"{name or module}.log"
    command = [sys.executable, "-m", module, "serve", "--data", data, "--http", "127.0.0.1:0", "--tools", tools]
    # If we are killed, it leaves by itself.
    command += ["--idle", _IDLE, *options]
    async with in_background(command, environment=job_runner.environment, folder=job_runner.folder, log=log) as child:
        end = asyncio.get_running_loop().time() + _STARTING
        while not _is_open(data):
            if child.returncode is not None or asyncio.get_running_loop().time() > end:
                raise Failed(f"{module} does not start: {log.read_text()[-2_000:]}")
            await asyncio.sleep(_LOOK)
        yield Served(data=data, url=str(json.loads((data / "daemon.lock").read_text())["http"]), log=log)


def _is_open(data: Path) -> bool:
    """Whether it lets clients in; the socket opens last."""
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(socket_file(data))) == 0
