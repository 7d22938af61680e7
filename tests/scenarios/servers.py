"""Servers of one database in separate processes, and clients that fail over to the next server."""

import asyncio
import json
import tempfile
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import httpx2

from scrubjay.paths import daemon_file
from tests.patience import PATIENCE
from tests.surfaces.daemon_process import Daemon
from tests.surfaces.shell import run_json
from tests.temp_folders import quick_place

API = "/api/v1"
# A balancer sends the request to another server after these answers.
_FAIL_OVER = (502, 503)


@dataclass(frozen=True, kw_only=True)
class Server:
    """A running server and its HTTP client."""

    daemon: Daemon
    url: str
    http: httpx2.Client

    def token(self, *options: str, name: str) -> str:
        """Create a token on this server."""
        answer = run_json(
            "tokens", "create", "--name", name, "--spaces", "*", "--access", "write", *options, *self._here
        )
        return str(answer["secret"])

    def revoke(self, name: str) -> None:
        """Revoke a token on this server."""
        run_json("tokens", "revoke", name, *self._here)

    def ask(self, method: str, path: str, *, token: str = "", **options: Any) -> httpx2.Response:
        """Send a request."""
        headers = {"authorization": f"Bearer {token}"} if token else {}
        return self.http.request(method, path, headers=headers | options.pop("headers", {}), **options)

    def remember(self, text: str, *, key: str = "", space: str = "default") -> dict[str, Any]:
        """Remember a text; return the answer."""
        headers = {"idempotency-key": key} if key else {}
        body = {"text": text, "intent": "new"}
        answer = self.ask("POST", f"{API}/memories", params={"space": space}, json=body, headers=headers)
        assert answer.status_code == 201, answer.text
        return cast("dict[str, Any]", answer.json())

    def search(self, query: str, *, space: str = "default") -> list[str]:
        """Return the ids of the hits of a question."""
        answer = self.ask("GET", f"{API}/search", params={"q": query, "space": space, "limit": 50})
        assert answer.status_code == 200, answer.text
        return [hit["id"] for hit in answer.json()["hits"]]

    @property
    def _here(self) -> tuple[str, str]:
        return ("--data", str(self.daemon.home))


@contextmanager
def servers(database: str, *, count: int = 2, **environment: str) -> Generator[list[Server]]:
    """Start servers on one database, and kill those that still run at the end."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="scrubjay-", dir=quick_place())))
        daemons = [
            stack.enter_context(
                _UnopenedDaemon(
                    folder / f"server-{number}",
                    SCRUBJAY_DATABASE_URL=database,
                    SCRUBJAY_LOG_LEVEL="debug",
                    **environment,
                )
            )
            for number in range(count)
        ]
        yield [_connect(daemon, stack) for daemon in daemons]


class _UnopenedDaemon(Daemon):
    """A daemon that does not wait until it is open, so that servers start in parallel."""

    def wait_until_open(self) -> None:
        """Do not wait yet."""


def _connect(daemon: Daemon, stack: ExitStack) -> Server:
    Daemon.wait_until_open(daemon)
    url = str(json.loads(daemon_file(daemon.home).read_text(encoding="utf-8"))["http"])
    http = stack.enter_context(httpx2.Client(base_url=url, timeout=PATIENCE, verify=False))
    return Server(daemon=daemon, url=url, http=http)


class WritingClients:
    """Clients that write all the time. Each retries with its key, on the next server, until it gets an answer."""

    def __init__(self, urls: Sequence[str], *, space: str) -> None:
        self._urls = urls
        self._space = space
        self._changed = asyncio.Condition()
        self._stopped = asyncio.Event()
        self.acknowledged: dict[str, str] = {}
        self.retries = 0

    async def wait_for_more(self, count: int) -> None:
        """Wait for this many more acknowledged writes."""
        enough = len(self.acknowledged) + count
        async with asyncio.timeout(PATIENCE), self._changed:
            await self._changed.wait_for(lambda: len(self.acknowledged) >= enough)

    def stop(self) -> None:
        """Let all clients finish their present write."""
        self._stopped.set()

    async def write(self, number: int) -> None:
        """Run one client."""
        async with httpx2.AsyncClient(timeout=PATIENCE, verify=False) as http:
            written = 0
            while not self._stopped.is_set():
                key = f"key-{number}-{written}"
                memory = await self._write(http, key, first=number)
                written += 1
                async with self._changed:
                    self.acknowledged[key] = memory
                    self._changed.notify_all()

    async def _write(self, http: httpx2.AsyncClient, key: str, *, first: int) -> str:
        body = {"text": f"acknowledged {key}", "intent": "new"}
        async with asyncio.timeout(PATIENCE):
            for turn in range(first, first + 10_000):
                try:
                    answer = await http.post(
                        f"{self._urls[turn % len(self._urls)]}{API}/memories", params={"space": self._space}, json=body,
                        headers={"idempotency-key": key},
                    )  # fmt: skip
                except httpx2.TransportError:
                    answer = None
                if answer is not None and answer.status_code not in _FAIL_OVER:
                    assert answer.status_code == 201, answer.text
                    return str(answer.json()["id"])
                self.retries += 1
                await asyncio.sleep(0.02)
        raise AssertionError(key)
