"""Servers of one database, as processes of their own, and clients that go to the next one when one does not answer."""

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
from tests.surfaces.daemon_process import Daemon
from tests.surfaces.shell import run_json
from tests.temp_folders import quick_place

API = "/api/v1"
_SECONDS = 30.0
# What a balancer would send elsewhere: nobody answered, or whoever did cannot now.
_ELSEWHERE = (502, 503)


@dataclass(frozen=True, kw_only=True)
class Server:
    """One of them."""

    daemon: Daemon
    url: str
    http: httpx2.Client

    def token(self, *options: str, name: str) -> str:
        """A token that is made here."""
        answer = run_json(
            "tokens", "create", "--name", name, "--spaces", "*", "--access", "write", *options, *self._here
        )
        return str(answer["secret"])

    def revoke(self, name: str) -> None:
        """End a token here."""
        run_json("tokens", "revoke", name, *self._here)

    def ask(self, method: str, path: str, *, token: str = "", **options: Any) -> httpx2.Response:
        """Any request."""
        headers = {"authorization": f"Bearer {token}"} if token else {}
        return self.http.request(method, path, headers=headers | options.pop("headers", {}), **options)

    def remember(self, text: str, *, key: str = "", space: str = "default") -> dict[str, Any]:
        """Keep a text; the answer."""
        headers = {"idempotency-key": key} if key else {}
        body = {"text": text, "intent": "new"}
        answer = self.ask("POST", f"{API}/memories", params={"space": space}, json=body, headers=headers)
        assert answer.status_code == 201, answer.text
        return cast("dict[str, Any]", answer.json())

    def found(self, query: str, *, space: str = "default") -> list[str]:
        """The ids of what answers a question."""
        answer = self.ask("GET", f"{API}/search", params={"q": query, "space": space, "limit": 50})
        assert answer.status_code == 200, answer.text
        return [hit["id"] for hit in answer.json()["hits"]]

    @property
    def _here(self) -> tuple[str, str]:
        return ("--data", str(self.daemon.home))


@contextmanager
def servers(database: str, *, count: int = 2, **environment: str) -> Generator[list[Server]]:
    """So many servers on one database; those that are left at the end are killed."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="scrubjay-", dir=quick_place())))
        daemons = [
            stack.enter_context(
                _Slow(
                    folder / f"server-{number}",
                    SCRUBJAY_DATABASE_URL=database,
                    SCRUBJAY_LOG_LEVEL="debug",
                    **environment,
                )
            )
            for number in range(count)
        ]
        yield [_met(daemon, stack) for daemon in daemons]


class _Slow(Daemon):
    """One that need not be open yet when the next is started."""

    def wait_until_open(self) -> None:
        """Later."""


def _met(daemon: Daemon, stack: ExitStack) -> Server:
    Daemon.wait_until_open(daemon)
    url = str(json.loads(daemon_file(daemon.home).read_text(encoding="utf-8"))["http"])
    http = stack.enter_context(httpx2.Client(base_url=url, timeout=_SECONDS, verify=False))
    return Server(daemon=daemon, url=url, http=http)


class Crowd:
    """Clients that write all the time. Each tries again with its key, at the next server, until it gets an answer."""

    def __init__(self, urls: Sequence[str], *, space: str) -> None:
        self._urls = urls
        self._space = space
        self._one_more = asyncio.Condition()
        self._over = asyncio.Event()
        self.kept: dict[str, str] = {}
        self.again = 0

    async def more(self, count: int) -> None:
        """Wait until so many more have been acknowledged."""
        enough = len(self.kept) + count
        async with asyncio.timeout(_SECONDS), self._one_more:
            await self._one_more.wait_for(lambda: len(self.kept) >= enough)

    def end(self) -> None:
        """Let everybody finish what they are at."""
        self._over.set()

    async def write(self, number: int) -> None:
        """One client."""
        async with httpx2.AsyncClient(timeout=_SECONDS, verify=False) as http:
            written = 0
            while not self._over.is_set():
                key = f"key-{number}-{written}"
                memory = await self._acknowledged(http, key, first=number)
                written += 1
                async with self._one_more:
                    self.kept[key] = memory
                    self._one_more.notify_all()

    async def _acknowledged(self, http: httpx2.AsyncClient, key: str, *, first: int) -> str:
        body = {"text": f"acknowledged {key}", "intent": "new"}
        async with asyncio.timeout(_SECONDS):
            for turn in range(first, first + 10_000):
                try:
                    answer = await http.post(
                        f"{self._urls[turn % len(self._urls)]}{API}/memories", params={"space": self._space}, json=body,
                        headers={"idempotency-key": key},
                    )  # fmt: skip
                except httpx2.TransportError:
                    answer = None
                if answer is not None and answer.status_code not in _ELSEWHERE:
                    assert answer.status_code == 201, answer.text
                    return str(answer.json()["id"])
                self.again += 1
                await asyncio.sleep(0.02)
        raise AssertionError(key)
