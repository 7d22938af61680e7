"""The daemon's socket and HTTP server: access control, bad input, and survival of both."""

import asyncio
import json
import os
import socket
import stat
import time
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest
from tests.patience import PATIENCE
from tests.surfaces.backend import IS_EMBEDDED
from tests.surfaces.background_daemon import background_daemon
from tests.surfaces.daemon_process import Daemon

from scrubjay import MemoryClient, Settings
from scrubjay.errors import Busy, DaemonRunning, DaemonUnavailable, InvalidInput, NotAllowed, NotFound, TooLarge
from scrubjay.model.memory import Json
from scrubjay.paths import daemon_file, socket_file
from scrubjay.rpc.frames import Frame, LineReader, decode_frame, encode_frame, hello
from scrubjay.surfaces.daemon.serve import RunningDaemon
from scrubjay.surfaces.daemon.socket_server import SocketServer


@pytest.fixture
def running(settings: Settings) -> Iterator[RunningDaemon]:
    with background_daemon(settings) as results:
        yield results


class RawSocket:
    """A client that sends exactly the given bytes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._lines = LineReader(reader)
        self._writer = writer

    async def send(self, line: bytes) -> None:
        self._writer.write(line)
        await self._writer.drain()

    async def receive(self) -> Frame:
        line = await asyncio.wait_for(self._lines.line(), PATIENCE)
        assert line is not None
        return decode_frame(line)

    async def is_closed(self) -> bool:
        """Whether the other side has closed the connection."""
        return await asyncio.wait_for(self._lines.line(), PATIENCE) is None


@asynccontextmanager
async def wire(path: Path, *, greet: bool = True) -> AsyncGenerator[RawSocket]:
    reader, writer = await asyncio.open_unix_connection(str(path))
    client = RawSocket(reader, writer)
    try:
        if greet:
            await client.send(encode_frame(hello("verbs")))
            assert "pid" in await client.receive()
        yield client
    finally:
        writer.close()
        await writer.wait_closed()


async def until_live(memory: MemoryClient, count: int) -> None:
    """Wait until there are so many live memories, and no others."""
    async with asyncio.timeout(PATIENCE):
        while (await memory.status()).memories != {"live": count}:  # noqa: ASYNC110 - no event reports it
            await asyncio.sleep(0.02)


def code(frame: Frame) -> Json:
    error = frame["error"]
    assert isinstance(error, dict)
    return error["code"]


def test_only_the_owner_can_use_the_socket(running: RunningDaemon, home: Path) -> None:
    assert running.socket == socket_file(home)
    assert stat.S_IMODE(running.socket.stat().st_mode) == 0o600
    assert stat.S_IMODE(running.socket.parent.stat().st_mode) == 0o700


def test_a_second_daemon_is_refused_with_the_pid_of_the_first(running: RunningDaemon, settings: Settings) -> None:
    with pytest.raises(DaemonRunning, match=f"pid {os.getpid()}") as caught, background_daemon(settings):
        pass
    assert caught.value.fields["pid"] == os.getpid()
    assert running.socket.exists()


def test_the_files_of_a_dead_daemon_are_replaced(settings: Settings, home: Path) -> None:
    path = socket_file(home)
    path.parent.mkdir(parents=True)
    daemon_file(home).write_text('{"pid": 999999999}\n')
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    with background_daemon(settings) as running:
        assert json.loads(daemon_file(home).read_text())["pid"] == os.getpid()
        assert running.socket == path
    assert not path.exists()
    with background_daemon(settings):
        pass


async def test_a_socket_file_without_a_daemon_is_no_daemon(settings: Settings, home: Path) -> None:
    path = socket_file(home)
    path.parent.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    async with MemoryClient(settings=settings) as memory:
        assert (await memory.remember("opened here")).action == "created"


async def test_another_user_is_refused(tmp_path: Path) -> None:
    socket_server = SocketServer({}, owner=os.getuid() + 1)
    server = await asyncio.start_unix_server(socket_server.accept, path=str(tmp_path / "s"))
    async with server, wire(tmp_path / "s", greet=False) as client:
        answer = await client.receive()
        assert code(answer) == NotAllowed.code
        assert await client.is_closed()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"\n", InvalidInput.code),
        (b"GET / HTTP/1.1\r\n", InvalidInput.code),
        (b"[]\n", InvalidInput.code),
        (b"{}\n", DaemonUnavailable.code),
        (b'{"protocol": 0, "scrubjay": "0.0.1"}\n', DaemonUnavailable.code),
        (b'{"protocol": 2, "speak": "klingon"}\n', InvalidInput.code),
        (b'{"protocol": 2, "speak": ["verbs"]}\n', InvalidInput.code),
        (b'{"protocol": 1, "x": "' + b"y" * 70_000 + b'"}\n', InvalidInput.code),
    ],
)
async def test_a_bad_hello_gets_an_error_and_the_connection_is_closed(
    running: RunningDaemon, line: bytes, expected: str
) -> None:
    async with wire(running.socket, greet=False) as client:
        await client.send(line)
        assert code(await client.receive()) == expected
        assert await client.is_closed()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"not json\n", InvalidInput.code),
        (b"5\n", InvalidInput.code),
        (b"[" * 100_000 + b"\n", InvalidInput.code),
        (b'{"verb": "status"}\n', InvalidInput.code),
        (b'{"id": 1}\n', InvalidInput.code),
        (b'{"id": 1, "verb": "drop_tables"}\n', InvalidInput.code),
        (b'{"id": 1, "verb": "close"}\n', InvalidInput.code),
        (b'{"id": 1, "verb": "status", "args": []}\n', InvalidInput.code),
        (b'{"id": 1, "verb": "status", "args": {"colour": 1}}\n', InvalidInput.code),
        (b'{"id": 1, "verb": "status", "who": {"space": ""}}\n', InvalidInput.code),
        (b'{"id": 1, "verb": "status", "who": {"space": 5}}\n', InvalidInput.code),
        (b'{"id": 1, "verb": "status", "who": "me"}\n', InvalidInput.code),
        (b'{"id": 1, "verb": "remember", "args": {}}\n', InvalidInput.code),
        (b'{"id": 1, "verb": "remember", "args": {"text": ""}}\n', InvalidInput.code),
        (b'{"id": 1, "verb": "revise", "args": {"id": "nobody"}}\n', NotFound.code),
    ],
)
async def test_a_bad_frame_gets_an_error_and_the_connection_stays_open(
    running: RunningDaemon, line: bytes, expected: str
) -> None:
    async with wire(running.socket) as client:
        await client.send(line)
        assert code(await client.receive()) == expected
        await client.send(b'{"id": 2, "verb": "status"}\n')
        assert (await client.receive())["id"] == 2


async def test_a_line_of_100_mb_is_refused_and_the_connection_stays_open(running: RunningDaemon) -> None:
    async with wire(running.socket) as client:
        for _ in range(100):
            await client.send(b"x" * 1_000_000)
        await client.send(b'\n{"id": 2, "verb": "status"}\n')
        assert code(await client.receive()) == "too_large"
        assert (await client.receive())["id"] == 2


async def test_half_a_frame_is_ignored(running: RunningDaemon, settings: Settings) -> None:
    async with wire(running.socket) as client:
        await client.send(b'{"id": 1, "verb": "remember", "args": {"te')
    async with MemoryClient(settings=settings) as memory:
        assert (await memory.status()).memories == {}


async def test_two_calls_with_the_same_id_are_distinguished(running: RunningDaemon) -> None:
    async with wire(running.socket) as client:
        await client.send(b'{"id": 1, "verb": "import", "pushes": true}\n{"id": 1, "lines": 5}\n')
        assert code(await client.receive()) == InvalidInput.code
        await client.send(b'{"id": 1, "lines": ["not an export"]}\n{"id": 1, "end": true}\n')
        assert code(await client.receive()) == InvalidInput.code
        await client.send(b'{"id": 3, "cancel": true}\n{"id": 4, "verb": "status"}\n{"id": 4, "verb": "status"}\n')
        answers = [await client.receive(), await client.receive()]
        assert sorted("error" in answer for answer in answers) == [False, True]


async def test_no_write_is_lost_when_the_client_disconnects(running: RunningDaemon, settings: Settings) -> None:
    async with wire(running.socket) as client:
        for number in range(20):
            draft: Json = {"text": f"the last word number {number}"}
            await client.send(encode_frame({"id": number, "verb": "remember", "args": draft}))
    async with MemoryClient(settings=settings) as memory:
        await until_live(memory, 20)


async def test_200_clients_at_once(running: RunningDaemon, settings: Settings) -> None:
    async def use_client(number: int) -> None:
        async with MemoryClient(settings=settings) as memory:
            await memory.remember(f"visitor {number} was here")
            assert (await memory.recall(f"visitor {number}")).hits

    await asyncio.gather(*(use_client(number) for number in range(200)))
    async with MemoryClient(settings=settings) as memory:
        assert (await memory.status()).memories == {"live": 200}
    assert running.http


async def test_too_many_requests_get_a_retry_after(settings: Settings) -> None:
    with background_daemon(replace(settings, max_requests=1)) as running:
        async with wire(running.socket) as client:
            for number in range(40):
                await client.send(encode_frame({"id": number, "verb": "status"}))
            answers = [await client.receive() for _ in range(40)]
            assert any("result" in answer for answer in answers)
            refused = [answer["error"] for answer in answers if "error" in answer]
            assert refused
            for error in refused:
                assert isinstance(error, dict)
                assert (error["code"], error["retry_after"]) == (Busy.code, 1)
        async with MemoryClient(settings=settings) as memory:
            await asyncio.gather(*(memory.status() for _ in range(4)))


async def test_an_accepted_write_is_finished_before_the_daemon_exits(settings: Settings) -> None:
    with background_daemon(settings) as running:
        async with wire(running.socket) as client:
            for number in range(50):
                draft: Json = {"text": f"just before the end, number {number}"}
                await client.send(encode_frame({"id": number, "verb": "remember", "args": draft}))
            answered = [await client.receive()]
            running.stopping.set()
            answered += [await client.receive() for _ in range(49)]
    done = sum("result" in answer for answer in answered)
    async with MemoryClient(settings=settings) as memory:
        assert (await memory.status()).memories == {"live": done}


def test_an_idle_daemon_exits(settings: Settings) -> None:
    with background_daemon(settings, idle=0.05) as running:
        end = time.monotonic() + PATIENCE
        while not running.stopping.is_set():
            assert time.monotonic() < end
            time.sleep(0.01)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"host": "localhost"}, 200),
        ({"host": "[::1]:99"}, 200),
        ({"origin": "own"}, 200),
        ({"origin": "http://127.0.0.1:1"}, 403),
        ({"origin": "http://127.0.0.1:port"}, 403),
        ({"host": "evil.example"}, 403),
        ({"host": "127.0.0.1.evil.example"}, 403),
        ({"host": ""}, 403),
        ({"host": "[::1"}, 403),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": ""}, 403),
    ],
)
async def test_a_page_of_another_site_is_refused(running: RunningDaemon, headers: dict[str, str], status: int) -> None:
    if headers.get("origin") == "own":
        headers = {"origin": running.http}
    async with httpx2.AsyncClient() as web:
        for path in ("/healthz", "/call/status", "/mcp", "/nowhere"):
            response = await web.request("POST" if "call" in path else "GET", running.http + path, headers=headers)
            expected = {"/nowhere": 404, "/mcp": 405}.get(path, 200)
            assert response.status_code == (expected if status == 200 else status)
            if status == 403:
                assert response.json()["code"] == NotAllowed.code


async def test_http_is_for_this_machine_only(settings: Settings) -> None:
    for address in ("0.0.0.0:0", "nonsense", "127.0.0.1:99999999", "127.0.0.1:http"):
        with pytest.raises(InvalidInput), background_daemon(settings, http=address):
            pass


async def test_a_taken_default_port_is_no_error(running: RunningDaemon, tmp_path: Path, settings: Settings) -> None:
    other = replace(settings, home=str(tmp_path / "other"))
    address = running.http.removeprefix("http://")
    with background_daemon(other, http=address) as second:
        assert second.http == ""


async def test_http_clients_cannot_write_files(running: RunningDaemon, home: Path) -> None:
    async with httpx2.AsyncClient() as web:
        for target in (home / "memory.db", home.parent / "elsewhere.db"):
            response = await web.post(f"{running.http}/call/backup", json={"args": {"target": str(target)}})
            assert response.status_code == 403
        assert not (home.parent / "elsewhere.db").exists()
        assert (await web.post(f"{running.http}/call/status")).status_code == 200


async def test_a_backup_replaces_nothing(
    running: RunningDaemon, settings: Settings, home: Path, tmp_path: Path
) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    async with MemoryClient(settings=settings) as memory:
        for target in (*[home / "memory.db"][:IS_EMBEDDED], tmp_path / "mine.txt", tmp_path / "link", tmp_path):
            with pytest.raises(InvalidInput, match="exists already"):
                await memory.backup(target)
        copy = await memory.backup(tmp_path / "copy.db")
        assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert (tmp_path / "mine.txt").read_text() == "mine"


async def test_texts_longer_than_a_frame_are_sent_and_received(
    running: RunningDaemon, settings: Settings, tmp_path: Path
) -> None:
    texts = [f"{number} " + "long é 😀\n" * 30_000 for number in range(2)]
    async with MemoryClient(settings=settings, space="here") as memory:
        for number, text in enumerate(texts):
            await memory.remember(text, name=f"long-{number}", intent="new")
        for turn in range(3):
            await memory.revise("long-0", text=f"{turn} {texts[0]}")
        whole = [line async for line in memory.export()]
        assert len(whole) == 3
        assert max(map(len, whole)) > 1_000_000
        assert len((await memory.read(["long-0", "long-1"])).memories) == 2
    async with MemoryClient(settings=settings, space="there") as memory:
        assert (await memory.import_lines(whole)).imported == 2
        # Compare before the first read, because reads are counted a little later.
        assert [line async for line in memory.export()][1:] == whole[1:]
        assert (await memory.read("long-1")).memories[0].content == texts[1]


async def test_an_import_is_finished_after_its_client_disconnects(running: RunningDaemon, settings: Settings) -> None:
    async with MemoryClient(settings=settings, space="here") as memory:
        for number in range(300):
            await memory.remember(f"line number {number}", intent="new")
        lines: list[Json] = [line async for line in memory.export()]
    async with wire(running.socket) as client:
        frame: Json = {"id": 1, "verb": "import", "pushes": True, "who": {"space": "there"}}
        await client.send(
            encode_frame(frame) + encode_frame({"id": 1, "lines": lines}) + encode_frame({"id": 1, "end": True})
        )
        # The import has started.
        assert "progress" in await client.receive()
    async with MemoryClient(settings=settings, space="there") as memory:
        await until_live(memory, 300)


async def test_a_frame_that_got_lost_fails_the_import(running: RunningDaemon, settings: Settings) -> None:
    async with wire(running.socket) as client:
        await client.send(b'{"id": 1, "verb": "import", "pushes": true}\n')
        for _ in range(70):
            await client.send(b"x" * 1_000_000)
        await client.send(b"\n")
        answer = await client.receive()
        assert (answer["id"], code(answer)) == (None, "too_large")
        await client.send(b'{"id": 1, "cancel": true}\n{"id": 1, "verb": "status"}\n')
        assert "result" in await client.receive()


@pytest.mark.parametrize("options", [{"tools": "hammer"}, {"space": "  "}, {"agent": 5}])
async def test_invalid_options_of_an_agent_are_refused_before_the_greeting(
    running: RunningDaemon, options: dict[str, Json]
) -> None:
    async with wire(running.socket, greet=False) as client:
        await client.send(encode_frame(hello("mcp") | options))
        answer = await client.receive()
        assert code(answer) == InvalidInput.code
        assert "pid" not in answer
        assert await client.is_closed()


async def test_invalid_bodies_are_refused(running: RunningDaemon) -> None:
    async with httpx2.AsyncClient() as web:
        deep = b"[" * 100_000
        for body, status in (
            (b"not json", 422), (b"[]", 422), (b'{"args": 5}', 422), (deep, 422), (b"x" * 17_000_000, 413),
        ):  # fmt: skip
            response = await web.post(
                f"{running.http}/call/status", content=body, headers={"content-type": "application/json"}
            )
            assert response.status_code == status
        assert (await web.post(f"{running.http}/call/fly")).status_code == 422
        assert (await web.get(f"{running.http}/call/status")).status_code == 405
        answer = await web.post(f"{running.http}/call/read", json={"args": {"ids": ["nobody"]}})
        assert answer.json()["result"]["missing"][0]["ref"] == "nobody"


async def test_a_batch_over_the_limit_is_refused_by_the_client_and_by_the_daemon(
    running: RunningDaemon, settings: Settings
) -> None:
    items: list[Mapping[str, Json]] = [{"text": "tea"}] * 100_001
    async with MemoryClient(settings=settings) as memory:
        with pytest.raises(TooLarge) as refused:
            await memory.remember_many(items)
        expected = {"code": "too_large", "message": refused.value.message, "field": "items", "limit": 100_000}
        async with wire(running.socket) as client:
            await client.send(
                b'{"id": 1, "verb": "remember_many", "args": ' + json.dumps({"items": items}).encode() + b"}\n"
            )
            answer = await client.receive()
            assert isinstance(answer["error"], dict)
            assert {name: answer["error"][name] for name in expected} == expected
        async with httpx2.AsyncClient() as web:
            response = await web.post(f"{running.http}/api/v1/memories/batch", json={"items": items})
            assert response.status_code == 413
            assert (response.json()["code"], response.json()["field"]) == ("too_large", "items")
            assert "100,000" in response.json()["detail"]
        assert (await memory.status()).memories == {}


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system does not tell the memory of a process")
async def test_a_thousand_programs_over_the_socket_leave_nothing_behind(settings: Settings, home: Path) -> None:
    code = "words = ['word'] * 1000\nwrite_file('a', str(n))\nresult = [n, len(search_nodes('', limit=5)), words[:9]]"

    async def run(memory: MemoryClient, number: int) -> None:
        answer = await memory.run_code(code if number % 10 else "1 / 0", context_vars={"n": number})
        assert answer.error == ("" if number % 10 else "ZeroDivisionError: division by zero")
        assert not number % 10 or answer.result == [number, 1, ["word"] * 9]

    async def run_each(memory: MemoryClient, numbers: range) -> None:
        for number in numbers:
            await run(memory, number)

    with Daemon(home) as daemon:
        folder = Path(f"/proc/{daemon.pid}")
        async with MemoryClient(settings=settings) as first, MemoryClient(settings=settings) as second:
            await first.remember("one memory")
            await asyncio.gather(*(run(memory, number) for memory in (first, second) for number in range(1, 21)))
            await run_each(first, range(100))
            memory_before, files_before = _resident_mb(folder), len([*(folder / "fd").iterdir()])
            await asyncio.gather(run_each(first, range(500)), run_each(second, range(500)))
            assert _resident_mb(folder) - memory_before < 20
            assert len([*(folder / "fd").iterdir()]) - files_before < 10


def _resident_mb(process: Path) -> float:
    return int((process / "statm").read_text(encoding="ascii").split()[1]) / 256
