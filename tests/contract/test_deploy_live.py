"""The roles, the setup and the load balancer of `deploy/`, with a real PostgreSQL, Caddy, and two servers."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import psycopg
import pytest
import websockets.sync.client
from psycopg import errors

from scrubjay.paths import daemon_file
from tests.contract.deployed import a_database, make_roles, scrubjay
from tests.contract.deployment import DEPLOY, container, services
from tests.patience import PATIENCE
from tests.postgres import shared_server
from tests.surfaces.daemon_process import Daemon

SPACE = "work"
# The public host name of the balancer.
NAME = "memory.test"
CADDY = Path(sys.executable).with_name("caddy")


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """Two servers behind the balancer, and a token for both."""

    url: str
    token: str
    servers: tuple[Daemon, Daemon]
    balancer: subprocess.Popen[bytes]

    def client(self) -> httpx2.Client:
        return httpx2.Client(base_url=self.url, headers=self.headers, timeout=PATIENCE)

    @property
    def headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.token}", "host": NAME}


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    with a_database(shared_server(), "deploy") as name:
        # Running it twice changes nothing.
        make_roles(shared_server(), name)
        yield name


@pytest.fixture(scope="module")
def deployment(database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    server, folder = shared_server(), tmp_path_factory.mktemp("deploy")
    # By the role that owns the tables, as in the compose file and the job.
    assert services()["setup"]["command"] == container("scrubjay-setup").spec["args"] == ["status"]
    scrubjay("status", url=server.url(database, user="memory_owner"), home=folder / "setup")
    url = server.url(database, user="memory")
    made = scrubjay(
        "tokens", "create", "--name", "first", "--spaces", SPACE, "--access", "write", "--json",
        url=url, home=folder / "admin",
    )  # fmt: skip
    settings = {"SCRUBJAY_DATABASE_URL": url, "SCRUBJAY_HOSTS": NAME, "SCRUBJAY_REQUIRE_TOKEN": "true"}
    first, second = Daemon(folder / "first", **settings), Daemon(folder / "second", **settings)
    with ExitStack() as stack, ThreadPoolExecutor(2) as pool:
        for starting in [pool.submit(stack.enter_context, server) for server in (first, second)]:
            starting.result(PATIENCE)
        address, balancer = stack.enter_context(
            run_balancer([_address(first), _address(second)], log=folder / "caddy.log")
        )
        token = json.loads(made)["secret"]
        yield Deployment(url=address, token=token, servers=(first, second), balancer=balancer)


@contextmanager
def run_balancer(servers: list[str], *, log: Path) -> Generator[tuple[str, subprocess.Popen[bytes]]]:
    """Run the load balancer of the deployment in front of servers, and yield its address and its process."""
    with socket.socket() as reserved, log.open("wb") as file:
        # The balancer shares its port with this socket, which keeps it from all others and accepts nothing.
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        reserved.bind(("127.0.0.1", 0))
        port = reserved.getsockname()[1]
        environment = {"HOME": str(log.parent), "SITE_ADDRESS": f":{port}", "UPSTREAMS": " ".join(servers)}
        command = [CADDY, "run", "--config", DEPLOY / "Caddyfile", "--adapter", "caddyfile"]
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, env={**os.environ, **environment}
        )
        try:
            address = f"http://127.0.0.1:{port}"
            _wait_for(address, process, log)
            yield address, process
        finally:
            process.kill()
            process.wait(PATIENCE)


def test_the_role_of_the_servers_cannot_change_tables(deployment: Deployment, database: str) -> None:
    with psycopg.connect(shared_server().url(database, user="memory"), autocommit=True) as connection:
        for statement in (
            "CREATE TABLE scrubjay.another(no integer)",
            "CREATE TABLE public.another(no integer)",
            "ALTER TABLE scrubjay.memories DISABLE ROW LEVEL SECURITY",
            "DROP TABLE scrubjay.memories",
        ):
            with pytest.raises((errors.InsufficientPrivilege, errors.ObjectNotInPrerequisiteState)):
                connection.execute(statement)
        assert connection.execute("SELECT count(*) FROM scrubjay.memories").fetchall() == [(0,)]


def test_both_servers_answer_from_the_same_store(deployment: Deployment) -> None:
    with deployment.client() as web:
        made = web.post("/api/v1/memories", json={"text": "The jay hid an acorn under the oak"})
        assert made.status_code == 201, made.text
        path = f"/api/v1/memories/{made.json()['id']}"
    for _ in range(24):
        # A connection for each request, as from many clients.
        with deployment.client() as web:
            assert "The jay hid an acorn under the oak" in web.get(path).text
    assert all(server.log.count('"status": 200') > 1 for server in deployment.servers)


def test_another_host_name_is_refused(deployment: Deployment) -> None:
    with httpx2.Client(base_url=deployment.url) as web:
        assert web.get("/healthz", headers={"host": NAME}).status_code == 200
        assert web.get("/healthz", headers={"host": "elsewhere.test"}).status_code == 403


def test_a_stream_of_events_passes_the_balancer_without_delay(deployment: Deployment) -> None:
    with deployment.client() as web, deployment.client() as other, web.stream("GET", "/api/v1/changes") as stream:
        lines = stream.iter_lines()
        assert next(lines) == ": hello"
        other.post("/api/v1/memories", json={"text": "Events come while the stream is open"})
        event = next(line for line in lines if line.startswith("data:"))
        assert json.loads(event.removeprefix("data:"))["action"] == "created"


def test_a_websocket_passes_the_balancer(deployment: Deployment) -> None:
    address = f"ws{deployment.url.removeprefix('http')}/api/v1/changes"
    headers = {"authorization": f"Bearer {deployment.token}"}
    with websockets.sync.client.connect(address, additional_headers=headers, open_timeout=PATIENCE) as events:
        with deployment.client() as web:
            web.post("/api/v1/memories", json={"text": "A WebSocket tells of it too"})
        assert json.loads(events.recv(timeout=PATIENCE))["action"] == "created"


def test_a_large_body_passes_the_balancer(deployment: Deployment) -> None:
    with deployment.client() as web:
        # The refusal comes from a server, not from the balancer.
        for size, field in ((12, "ids.0"), (20, None)):
            refused = web.post("/api/v1/memories/read", json={"ids": ["x" * 2**20] * size})
            assert refused.status_code == 413
            assert refused.json().get("field") == field


def test_requests_succeed_after_a_server_dies(deployment: Deployment) -> None:
    def write(number: int) -> httpx2.Response:
        with deployment.client() as web:
            return web.post(
                "/api/v1/memories",
                json={"text": f"Written after a server had died, number {number}"},
                headers={"idempotency-key": f"number-{number}"},
            )

    assert {write(number).status_code for number in range(4)} == {201}
    with ThreadPoolExecutor(8) as pool:
        # The balancer still has open connections to the server when requests come, and does not know that it died.
        deployment.balancer.send_signal(signal.SIGSTOP)
        deployment.servers[0].stop(signal.SIGKILL)
        answers = [pool.submit(write, number) for number in range(4, 12)]
        time.sleep(0.5)
        deployment.balancer.send_signal(signal.SIGCONT)
        assert {made.result(PATIENCE).status_code for made in answers} == {201}
    assert {write(number).status_code for number in range(12, 16)} == {201}


def _address(server: Daemon) -> str:
    return str(json.loads(daemon_file(server.home).read_text())["http"]).removeprefix("http://")


def _wait_for(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        assert process.poll() is None, log.read_text()
        try:
            if httpx2.get(f"{address}/healthz").status_code == 200:
                return
        except httpx2.TransportError:
            pass
        time.sleep(0.02)
    raise AssertionError(log.read_text())
