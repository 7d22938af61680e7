"""Measures REST: the time it adds to an operation, and its throughput. `python -m benchmarks.rest` runs a load.

The client is a plain one on a persistent connection, so that the server is measured and not a library.
"""

import asyncio
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self, cast
from urllib.parse import quote, urlsplit

from benchmarks.daemons import Daemon
from benchmarks.figures import Requests
from benchmarks.timing import spread
from scrubjay.model.draft import Draft
from scrubjay.rpc.codec import from_json, to_json

_ROOT = Path(__file__).parent.parent
_CONNECTIONS = 20
_SECONDS = 5.0
_WARM_UP_SECONDS = 4.0
_LEAVING = 30.0
# The cache of embedded questions holds more than these.
_QUESTIONS = 200


class RestClient:
    """One connection to a server."""

    def __init__(self, url: str, *, space: str, token: str = "") -> None:
        self._url = urlsplit(url)
        self._space = quote(space)
        self._authorization = f"authorization: Bearer {token}\r\n" if token else ""
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def __aenter__(self) -> Self:
        self._streams = await asyncio.open_connection(self._url.hostname, self._url.port)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._streams is not None:
            self._streams[1].close()

    async def recall(self, question: str, *, tokens: int = 1_500) -> object:
        """Search, and parse the answer."""
        return await self._ask(f"GET /api/v1/search?space={self._space}&q={quote(question)}&max_tokens={tokens}")

    async def remember(self, draft: Draft) -> object:
        """Remember a draft."""
        request = {
            "text": draft.text, "kind": draft.kind, "entities": draft.entities, "tags": draft.tags,
            "project": draft.project, "scope": draft.scope,
        }  # fmt: skip
        return await self._ask(f"POST /api/v1/memories?space={self._space}", json.dumps(request).encode())

    async def health(self) -> object:
        """Ask whether the server answers."""
        return await self._ask("GET /healthz")

    async def get(self, path: str) -> object:
        """Ask for anything under `/api/v1`."""
        return await self._ask(f"GET /api/v1{path}")

    async def _ask(self, line: str, body: bytes = b"") -> object:
        assert self._streams is not None
        reader, writer = self._streams
        kind = f"content-type: application/json\r\ncontent-length: {len(body)}\r\n" if body else ""
        head = f"{line} HTTP/1.1\r\nhost: {self._url.netloc}\r\n{self._authorization}{kind}\r\n"
        writer.write(head.encode() + body)
        status, *headers = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower().split("\r\n")
        length = next(int(header.partition(":")[2]) for header in headers if header.startswith("content-length:"))
        answer = json.loads(await reader.readexactly(length))
        if not status.split()[1].startswith("2"):
            raise OSError(f"{status}: {answer}")
        return answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """The parameters of a load."""

    url: str
    space: str
    questions: tuple[str, ...]
    is_repeated: bool
    connections: int = _CONNECTIONS
    seconds: float = _SECONDS


@dataclass(slots=True, kw_only=True)
class LoadResult:
    """The result of a load: durations in seconds, and errors."""

    recalls: list[float] = field(default_factory=list[float])
    errors: list[str] = field(default_factory=list[str])
    seconds: float = 0.0
    busy: float = 0.0


async def measure_requests(running: Daemon, questions: Sequence[str]) -> Requests:
    """Recall without a pause over several connections, in a new process, with cached embeddings."""
    job = Job(
        url=running.url,
        space=running.settings.space,
        questions=tuple(questions[:_QUESTIONS]),
        is_repeated=False,
    )
    async with RestClient(job.url, space=job.space) as client:
        for question in job.questions:
            await client.recall(question)
    # Under load a daemon starts another process, which has nothing in memory yet.
    await load(replace(job, seconds=_WARM_UP_SECONDS))
    busy = running.busy
    result = await load(job)
    busy = running.busy - busy
    repeated = await load(replace(job, is_repeated=True))
    return Requests(
        connections=job.connections,
        questions=len(job.questions),
        per_second=len(result.recalls) / result.seconds,
        recall=spread(result.recalls),
        repeated_per_second=len(repeated.recalls) / repeated.seconds,
        repeated=spread(repeated.recalls),
        errors=(*result.errors, *repeated.errors),
        daemon_busy=busy / result.seconds,
        clients_busy=result.busy / result.seconds,
    )


async def load(job: Job) -> LoadResult:
    """Run a job in a new process."""
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "benchmarks.rest", cwd=_ROOT,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        output, _ = await asyncio.wait_for(child.communicate(json.dumps(to_json(job)).encode()), job.seconds + _LEAVING)
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    return cast("LoadResult", from_json(LoadResult, json.loads(output)))


async def _work(job: Job) -> LoadResult:
    result = LoadResult()
    clients = [await RestClient(job.url, space=job.space).__aenter__() for _ in range(job.connections)]
    began, busy = time.perf_counter(), time.process_time()
    await asyncio.gather(
        *(_client(client, number, job, result, until=began + job.seconds) for number, client in enumerate(clients))
    )
    result.seconds, result.busy = time.perf_counter() - began, time.process_time() - busy
    for client in clients:
        await client.__aexit__()
    return result


async def _client(client: RestClient, number: int, job: Job, result: LoadResult, *, until: float) -> None:
    while (began := time.perf_counter()) < until:
        # Another budget makes it another question, of which only the embedding is cached.
        tokens = 1_500 if job.is_repeated else 1_500 + number
        try:
            await client.recall(job.questions[number % len(job.questions)], tokens=tokens)
            result.recalls.append(time.perf_counter() - began)
        except (OSError, ValueError) as error:
            result.errors.append(f"{type(error).__name__}: {error}"[:200])
            return
        number += job.connections


def main() -> None:
    """Run the job on stdin, and print its result."""
    job = cast("Job", from_json(Job, json.loads(sys.stdin.read())))
    print(json.dumps(to_json(asyncio.run(_work(job)))))


if __name__ == "__main__":
    main()
