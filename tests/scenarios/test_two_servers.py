"""Two servers on one database: a client may use either, and loses nothing when one of them dies."""

import asyncio
import json
import signal
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

import httpx2
import psycopg
import pytest
from websockets.sync.client import connect

from tests.patience import PATIENCE
from tests.postgres import a_database, private_server, shared_server
from tests.scenarios.servers import API, Server, WritingClients, servers

T = TypeVar("T")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    with asyncio.Runner() as runner:
        made = a_database()
        yield shared_server().url(runner.run(made.__aenter__()))
        runner.run(made.__aexit__(None, None, None))


@pytest.fixture(scope="module")
def pair(database: str) -> Iterator[tuple[Server, Server]]:
    with servers(database) as (one_server, other_server):
        yield one_server, other_server


def test_a_token_made_at_one_opens_the_other_until_it_is_revoked_at_either(pair: tuple[Server, Server]) -> None:
    one_server, other_server = pair
    token = one_server.token(name="laptop")
    assert [server.ask("GET", f"{API}/status", token=token).status_code for server in pair] == [200, 200]
    other_server.revoke("laptop")
    refused = [server.ask("GET", f"{API}/status", token=token) for server in pair]
    assert [answer.status_code for answer in refused] == [401, 401]
    assert "revoked" in refused[0].json()["detail"]


def test_each_server_enforces_its_own_rate_limit(pair: tuple[Server, Server]) -> None:
    token = pair[0].token("--requests-per-minute", "30", name="limited")
    answers = [server.ask("GET", f"{API}/status", token=token) for _ in range(30) for server in pair]
    assert [answer.status_code for answer in answers].count(200) == 30
    late = answers[-1]
    assert (late.status_code, late.json()["limit"]) == (429, 30)
    assert 0 < int(late.headers["retry-after"]) <= 60


def test_a_write_at_one_is_found_at_the_other_at_once(pair: tuple[Server, Server]) -> None:
    one_server, other_server = pair
    expected: list[str] = []
    for number, (here, there) in enumerate([(one_server, other_server), (other_server, one_server)] * 5):
        assert set(there.search("acorns", space="woods")) == set(expected)
        expected.append(here.remember(f"acorns at place {number}", space="woods")["id"])
        assert set(there.search("acorns", space="woods")) == set(expected)


def test_a_key_used_at_one_gets_the_first_answer_at_the_other(pair: tuple[Server, Server]) -> None:
    one_server, other_server = pair
    first = one_server.remember("walnuts", key="one-key", space="once")
    assert other_server.remember("walnuts", key="one-key", space="once")["id"] == first["id"]
    other = other_server.ask(
        "POST", f"{API}/memories", params={"space": "once"}, json={"text": "twice", "intent": "new"},
        headers={"idempotency-key": "one-key"},
    )  # fmt: skip
    assert (other.status_code, other.json()["code"]) == (422, "key_reused")
    assert len(other_server.search("walnuts", space="once")) == 1


def test_pages_may_come_from_different_servers(pair: tuple[Server, Server]) -> None:
    for number in range(9):
        pair[number % 2].remember(f"page {number}", space="pages")
    seen: list[str] = []
    cursor = ""
    for turn in range(5):
        params = {"q": "page", "space": "pages", "limit": "2"} | ({"cursor": cursor} if cursor else {})
        page = pair[turn % 2].ask("GET", f"{API}/search", params=params).json()
        seen += [hit["id"] for hit in page["hits"]]
        cursor = page["cursor"]
    assert (len(set(seen)), cursor) == (9, "")


def test_a_stream_of_one_has_the_writes_of_the_other_and_continues_there(pair: tuple[Server, Server]) -> None:
    one_server, other_server = pair
    with event_stream(other_server, space="stream") as events:
        first = one_server.remember("told at the other", space="stream")["id"]
        received = next(events)
        assert received["id"] == first
    missed = other_server.remember("while nobody listens", space="stream")["id"]
    with event_stream(one_server, space="stream", last=received["seq"]) as events:
        assert next(events)["id"] == missed
        retries = other_server.remember("told at the first", space="stream")["id"]
        assert next(events)["id"] == retries
    url = other_server.url.replace("http://", "ws://", 1) + f"{API}/changes?space=stream&after={received['seq']}"
    with connect(url, open_timeout=PATIENCE, proxy=None) as socket:
        last = one_server.remember("by websocket", space="stream")["id"]
        assert [json.loads(socket.recv(timeout=PATIENCE))["id"] for _ in range(3)] == [missed, retries, last]


def test_agents_need_no_session_at_either(pair: tuple[Server, Server]) -> None:
    one_server, other_server = pair
    for number, server in enumerate((one_server, other_server, one_server, other_server)):
        text = call_tool(server, "remember", text=f"agents said {number}")
        assert not text.get("isError"), text
    for server in pair:
        assert call_tool(server, "recall", query="agents said")["structuredContent"]["hits"]


def test_both_are_ready_and_name_their_store(pair: tuple[Server, Server]) -> None:
    for server in pair:
        assert server.ask("GET", "/readyz").json()["ready"] is True
        store = server.ask("GET", f"{API}/status").json()["store"]
        assert store["backend"] == "postgresql"
        assert store["walls"] == "in order"
        assert store["server"].startswith("postgresql://")
        assert {"postgresql", "pgvector", "schema", "partitions", "connections", "connections_at_most"} <= set(store)
        result = json.loads(server.ask("POST", "/call/doctor", json={}).text.splitlines()[-1])["result"]
        details = {check["name"]: check["detail"] for check in result["checks"]}
        assert details["backend"].startswith("postgresql, server postgresql://")
        assert "partitions 0" in details["backend"]


async def test_one_of_them_leads(pair: tuple[Server, Server]) -> None:
    def leaders() -> int | None:
        return sum("\nscrubjay_leading 1.0\n" in server.ask("GET", "/metrics").text for server in pair) or None

    assert await eventually(leaders) == 1


async def test_a_killed_server_loses_no_acknowledged_write(pair: tuple[Server, Server], database: str) -> None:
    with servers(database, count=1) as (doomed,):
        clients = WritingClients([doomed.url, pair[0].url], space="clients")
        writers = [asyncio.create_task(clients.write(number)) for number in range(6)]
        await clients.wait_for_more(60)
        doomed.daemon.stop(signal.SIGKILL)
        await clients.wait_for_more(60)
        clients.stop()
        await asyncio.gather(*writers)
    assert clients.retries > 0
    await require_all(clients, database)


async def test_a_database_restarted_under_load_keeps_acknowledged_writes() -> None:
    with private_server() as server:
        async with a_database(server) as name:
            database = server.url(name)
            with servers(database) as (one_server, other_server):
                clients = WritingClients([one_server.url, other_server.url], space="clients")
                writers = [asyncio.create_task(clients.write(number)) for number in range(4)]
                await clients.wait_for_more(30)
                await asyncio.to_thread(server.restart)
                await clients.wait_for_more(30)
                clients.stop()
                await asyncio.gather(*writers)
                await require_all(clients, database)
                await asyncio.to_thread(server.halt, "fast")
                # The server lives but is not ready, and its answer does not name the database.
                assert one_server.ask("GET", "/healthz").status_code == 200
                away = await until(one_server, 503)
                assert (away.json()["code"], away.headers["content-type"]) == ("store_busy", "application/problem+json")
                assert "postgres" not in away.text
                await asyncio.to_thread(server.start)
                assert (await until(one_server, 200)).json()["store"] == "ok"
                assert set(one_server.search("acknowledged", space="clients")) <= set(clients.acknowledged.values())


async def require_all(clients: WritingClients, database: str) -> None:
    """Require that every acknowledged write is in the log exactly once."""
    async with await psycopg.AsyncConnection.connect(database) as connection:
        cursor = await connection.execute(
            """SELECT c.memory_id::text FROM scrubjay.changes c JOIN scrubjay.spaces s ON s.no = c.space_no
               WHERE s.name = 'clients' AND c.action = 'created'"""
        )
        logged = [str(row[0]) for row in await cursor.fetchall()]
    assert len(logged) == len(set(logged)) == len(clients.acknowledged)
    assert set(logged) == set(clients.acknowledged.values())


async def until(server: Server, status: int) -> httpx2.Response:
    """Wait until the readiness check has this status; return the answer."""

    def look() -> httpx2.Response | None:
        answer = server.ask("GET", "/readyz")
        return answer if answer.status_code == status else None

    return await eventually(look)


async def eventually(look: Callable[[], T | None]) -> T:
    """Wait until the function returns a value."""
    async with asyncio.timeout(PATIENCE):
        while True:
            if (results := await asyncio.to_thread(look)) is not None:
                return results
            await asyncio.sleep(0.1)


@contextmanager
def event_stream(server: Server, *, space: str, last: int | None = None) -> Generator[Iterator[dict[str, Any]]]:
    """Yield server-sent events from now on, or after the last one received."""
    headers = {} if last is None else {"last-event-id": str(last)}
    with server.http.stream("GET", f"{API}/changes", params={"space": space}, headers=headers) as response:
        assert response.status_code == 200
        lines = response.iter_lines()
        # The stream is open once it sends its first line.
        assert next(lines) == ": hello"
        yield (json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: "))


def call_tool(server: Server, name: str, **arguments: str) -> dict[str, Any]:
    """Call a tool without a session; return its answer."""
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    answer = server.ask("POST", "/mcp", json=message)
    assert answer.status_code == 200, answer.text
    return cast("dict[str, Any]", answer.json()["result"])
