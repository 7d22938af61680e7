"""The servers under test: the daemon as users start it, and the same with the tools of the fixture."""

import asyncio
import json
import socket
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from interop.paths import Workspace
from interop.processes import Failed, in_background
from scrubjay.paths import socket_file

STDIO, HTTP = "stdio", "http"
TRANSPORTS = (STDIO, HTTP)
OLDER, NEWER = "2025-11-25", "2026-07-28"
ERAS = (OLDER, NEWER)
_START_TIMEOUT = 60.0
_POLL_SECONDS = 0.05
_IDLE = "300"


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A running server."""

    data: Path
    url: str
    log: Path

    @property
    def mcp(self) -> str:
        """The address of MCP over HTTP."""
        return f"{self.url}/mcp"

    def bridge(self, *options: str) -> list[str]:
        """Return the command that serves MCP on standard input and output."""
        return [sys.executable, "-m", "scrubjay", "mcp", "--data", str(self.data), *options]

    async def has_logged_no_error(self) -> str:
        """Raise Failed if the log has errors, which clients may not have noticed."""
        lines = self.log.read_text(encoding="utf-8").splitlines()
        events = [json.loads(line) for line in lines if line.startswith("{")]
        if errors := [event for event in events if event["level"] in ("error", "critical")]:
            raise Failed("\n".join(json.dumps(error)[:1_000] for error in errors[:5]))
        return f"{len(events)} events, no error"

    def reached_by(self, transport: str) -> list[str]:
        """Return the address or the command for a client."""
        return [self.mcp] if transport == HTTP else self.bridge()


@asynccontextmanager
async def serving(
    workspace: Workspace, *, module: str, tools: str, name: str = "", options: Sequence[str] = ()
) -> AsyncGenerator[Served]:
    """Run a daemon on a new data folder until the end of the block."""
    data = workspace.folder / (name or module)
    log = workspace.folder / f"{name or module}.log"
    command = [sys.executable, "-m", module, "serve", "--data", data, "--http", "127.0.0.1:0", "--tools", tools]
    # If this process is killed, the daemon stops by itself.
    command += ["--idle", _IDLE, *options]
    async with in_background(command, environment=workspace.environment, folder=workspace.folder, log=log) as child:
        end = asyncio.get_running_loop().time() + _START_TIMEOUT
        while not _is_open(data):
            if child.returncode is not None or asyncio.get_running_loop().time() > end:
                raise Failed(f"{module} does not start: {log.read_text()[-2_000:]}")
            await asyncio.sleep(_POLL_SECONDS)
        yield Served(data=data, url=str(json.loads((data / "daemon.lock").read_text())["http"]), log=log)


def _is_open(data: Path) -> bool:
    """Return whether the daemon accepts clients; the socket opens last."""
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(socket_file(data))) == 0
