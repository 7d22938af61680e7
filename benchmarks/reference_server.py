"""The reference knowledge-graph server, installed by npm and asked over its own protocol, to compare with."""

import asyncio
import json
import os
import shutil
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from benchmarks.cache import FOLDER
from benchmarks.figures import Reference
from benchmarks.timing import Spread, spread

VERSION = "2026.8.31"
_PACKAGE = "@modelcontextprotocol/server-memory"
_HOME = FOLDER / "node"
_INSTALLING = 60.0
_ANSWERING = 30.0
# One call may carry many entities: so it is filled, since one by one would take the square of the size.
_PORTION = 500
_LONGEST_LINE = 256 * 1024 * 1024
_PROTOCOL = "2025-06-18"


class Unavailable(Exception):
    """There is nothing to compare with, and why."""


async def install() -> str:
    """Have the server in the cache folder; returns the path of its program."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        raise Unavailable("Node or npm is not on this machine")
    folder = _HOME / "node_modules" / _PACKAGE
    if _installed(folder) != VERSION:
        _HOME.mkdir(parents=True, exist_ok=True)
        await _run_npm(
            "install", "--prefix", str(_HOME), "--no-audit", "--no-fund", "--ignore-scripts", f"{_PACKAGE}@{VERSION}"
        )
    if _installed(folder) != VERSION:
        raise Unavailable("npm installed something else")
    return str(folder / "dist" / "index.js")


async def measure(
    program: str, sentences: Sequence[str], questions: Sequence[str], *, file: Path, operations: int, seconds: float
) -> Reference:
    """Fill the server with all but the last sentences, then time those and the questions, one by one."""
    filled, timed = sentences[:-operations], sentences[-operations:]
    async with _session(program, file=file) as server:
        for start in range(0, len(filled), _PORTION):
            batch = [_entity(one, number) for number, one in enumerate(filled[start : start + _PORTION], start=start)]
            await server.call("create_entities", entities=batch)
        entities = [_entity(sentence, number) for number, sentence in enumerate(timed, start=len(filled))]
        create = await _timed(server, "create_entities", [{"entities": [one]} for one in entities], seconds=seconds)
        words = [{"query": max(question.strip("?").split(), key=len)} for question in questions[:operations]]
        search = await _timed(server, "search_nodes", words, seconds=seconds)
    return Reference(version=VERSION, create=create, search=search)


class _Server:
    """One conversation with the server, a line for each message."""

    def __init__(self, child: asyncio.subprocess.Process) -> None:
        assert child.stdin is not None
        assert child.stdout is not None
        self._input, self._output = child.stdin, child.stdout
        self._number = 0

    async def greet(self) -> None:
        """What the protocol wants said first."""
        who = {"name": "scrubjay-benchmark", "version": "1"}
        await self._ask("initialize", {"protocolVersion": _PROTOCOL, "capabilities": {}, "clientInfo": who})
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    async def call(self, tool: str, **arguments: object) -> None:
        """Call a tool and wait for its answer."""
        result = await self._ask("tools/call", {"name": tool, "arguments": arguments})
        if result.get("isError"):
            raise Unavailable(f"{tool} failed: {str(result.get('content'))[:200]}")

    async def _ask(self, method: str, params: dict[str, object]) -> dict[str, Any]:
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        while line := await asyncio.wait_for(self._output.readline(), _ANSWERING):
            message: dict[str, Any] = json.loads(line)
            if message.get("id") == self._number:
                if "error" in message:
                    raise Unavailable(f"{method} failed: {message['error']}")
                return message["result"]
        raise Unavailable("the server ended")

    def _send(self, message: dict[str, object]) -> None:
        self._input.write(json.dumps(message).encode() + b"\n")


@asynccontextmanager
async def _session(program: str, *, file: Path) -> AsyncGenerator[_Server]:
    child = await asyncio.create_subprocess_exec(
        "node",
        program,
        env={**os.environ, "MEMORY_FILE_PATH": str(file)},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        limit=_LONGEST_LINE,
    )
    try:
        server = _Server(child)
        await server.greet()
        yield server
    except (TimeoutError, OSError, ValueError) as error:
        raise Unavailable(f"the server does not answer: {error or 'it takes too long'}") from error
    finally:
        if child.returncode is None:
            child.kill()
        await child.wait()


async def _timed(server: _Server, tool: str, calls: Sequence[Mapping[str, object]], *, seconds: float) -> Spread:
    """How long calls take one by one, as many of them as there is time for."""
    durations: list[float] = []
    until = time.perf_counter() + seconds
    for arguments in calls:
        began = time.perf_counter()
        await server.call(tool, **arguments)
        durations.append(time.perf_counter() - began)
        if time.perf_counter() > until:
            break
    return spread(durations)


def _entity(sentence: str, number: int) -> dict[str, object]:
    return {"name": f"memory-{number}", "entityType": "fact", "observations": [sentence]}


def _installed(folder: Path) -> str:
    try:
        found: dict[str, Any] = json.loads((folder / "package.json").read_bytes())
    except (OSError, ValueError):
        return ""
    return str(found.get("version", ""))


async def _run_npm(*arguments: str) -> None:
    child = await asyncio.create_subprocess_exec(
        "npm",
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
        raise Unavailable(f"npm failed: {' '.join(last)}")
