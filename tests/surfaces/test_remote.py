"""A client whose daemon goes away: offline answers, repeated calls, and lost writes."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import cast

import pytest
from tests.surfaces.background_daemon import background_daemon

from scrubjay import MemoryClient, Settings
from scrubjay.errors import DaemonUnavailable, InvalidInput, NotAllowed, ScrubjayError
from scrubjay.model.memory import Json
from scrubjay.paths import socket_file
from scrubjay.rpc import client
from scrubjay.rpc.client import RpcClient
from scrubjay.rpc.frames import LineReader, decode_frame, encode_frame
from scrubjay.rpc.socket_transport import SocketTransport
from scrubjay.version import PROTOCOL, VERSION


@pytest.fixture(autouse=True)
def _short_delays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_FIRST_DELAY", 0.001)


async def test_over_http_the_verbs_are_the_same(settings: Settings, tmp_path: Path) -> None:
    with background_daemon(settings) as running:
        async with MemoryClient(url=running.http, settings=settings, space="talk") as memory:
            await _recall_with_everything(memory)
        async with MemoryClient(url=running.http, settings=settings, space="work", agent="bot") as memory:
            done = await memory.remember("Sarah of Acme prefers voice calls", entities=["Sarah", "Acme"])
            assert (await memory.recall("how does Sarah like voice calls?")).hits[0].passage.startswith("Sarah")
            assert (await memory.revise(done.ids[0], text="Sarah prefers mail")).version == 2
            assert (await memory.history(done.ids[0], diff=[1, 2])).diff[0].field == "content"
            lines = [line async for line in memory.export()]
            assert len(lines) == 3
            reports: list[tuple[int, int]] = []
            imported = await memory.import_lines(lines, progress=lambda done, total: reports.append((done, total)))
            assert (imported.imported, imported.known) == (0, 2)
            assert reports
            reports.clear()
            log = "Ann: I prefer tea.\nBen: Well."
            extracted = await memory.extract(log, me="Ann", progress=lambda done, total: reports.append((done, total)))
            assert (extracted.facts[0].action, reports[-1]) == ("created", (2, 2))
            await memory.forget(extracted.facts[0].id)
            with pytest.raises(InvalidInput, match="line 1"):
                await memory.import_lines(["nonsense"])
            vector = '{"vector": {"model": "m", "text": "00", "data": "ADw="}}'
            with pytest.raises(InvalidInput, match="not over HTTP"):
                await memory.import_lines([*lines, vector])
            with pytest.raises(NotAllowed, match="not over HTTP"):
                assert [line async for line in memory.export(include=["vectors"])]
            with pytest.raises(InvalidInput, match="machine of the daemon"):
                await memory.backup(tmp_path / "copy.db")
            assert (await memory.doctor()).checks
            await memory.forget(done.ids)
            assert len((await memory.purge(done.ids)).done) == 2
    with pytest.raises(DaemonUnavailable, match="cannot be reached"):
        async with MemoryClient(url=running.http):
            pass
    with pytest.raises(InvalidInput, match="not the address"):
        async with MemoryClient(url="localhost"):
            pass


async def _recall_with_everything(memory: MemoryClient) -> None:
    for text in ("Shall we go?", "On Monday!"):
        await memory.remember(text, source={"session": "talk"})
    (hit,) = (await memory.recall("", contains="MONDAY", around=1, today="2026-05-31", explain=True)).hits
    assert [(neighbour.place, neighbour.passage, neighbour.date.tzinfo) for neighbour in hit.around] == [
        (-1, "Shall we go?", UTC)
    ]
    assert hit.why
    for wrong in ({"around": 11}, {"contains": "x" * 200_000}, {"today": datetime(2021, 1, 1)}):  # noqa: DTZ001
        with pytest.raises(ScrubjayError, match=next(iter(wrong))):
            await memory.recall("", **wrong)  # pyright: ignore[reportArgumentType]


async def test_a_backup_by_the_daemon_is_at_the_requested_path(settings: Settings, tmp_path: Path) -> None:
    with background_daemon(settings):
        async with MemoryClient(settings=settings) as memory:
            await memory.remember("tea")
            reports: list[tuple[int, int]] = []
            copy = await memory.backup(tmp_path / "copy.db", progress=lambda done, total: reports.append((done, total)))
            assert copy == tmp_path / "copy.db"
            assert copy.stat().st_size > 0


async def _count_connects(memory: MemoryClient) -> list[int]:
    """Return a list that grows with each attempt of a client to reach its daemon."""
    attempts: list[int] = []
    transport = cast("RpcClient", await memory._connection.ready())._transport
    assert isinstance(transport, SocketTransport)
    connect = transport._connect

    async def counted() -> None:
        attempts.append(len(attempts))
        await connect()

    transport._connect = counted
    return attempts


async def test_reads_come_from_memory_while_the_daemon_is_away_and_writes_fail(settings: Settings) -> None:
    with background_daemon(settings):
        memory = await MemoryClient(settings=settings).__aenter__()
        done = await memory.remember("green tea")
        fresh = await memory.recall("tea")
        assert not fresh.stale
        await memory.read(done.id)
    attempts = await _count_connects(memory)
    offline = await memory.recall("tea")
    # Not as many as a restarting daemon may take.
    tried = len(attempts)
    assert tried <= 4
    assert offline.stale
    assert offline.hits == fresh.hits
    assert (await memory.read(done.id)).stale
    others = (
        memory.recall("tea", around=1),
        memory.recall("tea", contains="t"),
        memory.recall("tea", today="2026-05-31"),
    )
    assert len(attempts) == tried + 1
    for call in (memory.recall("milk"), *others, memory.status(), memory.remember("lost?")):
        with pytest.raises(DaemonUnavailable, match="cannot be reached") as caught:
            await call
        assert "scrubjay serve" in caught.value.hint
    with background_daemon(settings):
        assert not (await memory.recall("tea")).stale
        assert (await memory.remember("back again")).action == "created"
        await memory.__aexit__(None, None, None)


@asynccontextmanager
async def forgetful_daemon(path: Path, *, committed: bool | None) -> AsyncGenerator[list[Json]]:
    """Run a daemon that drops the connection on every write, and then knows the outcome or is gone."""
    calls: list[Json] = []
    pids = count(1)
    path.parent.mkdir(parents=True)

    async def receive(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        lines = LineReader(reader)
        await lines.line()
        writer.write(encode_frame({"scrubjay": VERSION, "protocol": PROTOCOL, "pid": next(pids)}))
        while (line := await lines.line()) is not None:
            frame = decode_frame(line)
            calls.append(frame["verb"])
            if frame["verb"] != "outcome":
                if committed is None:
                    server.close()
                    path.unlink()
                break
            arguments = frame["args"]
            assert isinstance(arguments, dict)
            (run,) = cast("list[str]", arguments["runs"])
            writer.write(encode_frame({"id": frame["id"], "result": {run: committed}}))
        writer.close()

    server = await asyncio.start_unix_server(receive, path=str(path))
    async with server:
        yield calls


@pytest.mark.parametrize(
    ("committed", "words"), [(True, "was committed"), (False, "nothing was written"), (None, "it is unknown")]
)
async def test_the_error_of_a_lost_write_says_whether_it_was_committed(
    settings: Settings, *, committed: bool | None, words: str
) -> None:
    async with (
        forgetful_daemon(socket_file(settings.data), committed=committed) as calls,
        MemoryClient(settings=settings) as memory,
    ):
        with pytest.raises(DaemonUnavailable, match=words) as caught:
            await memory.remember("did it get there?")
        assert caught.value.fields["committed"] is committed
        assert calls[0] == "remember"
        assert calls.count("remember") == 1


async def test_a_read_that_was_cut_off_is_repeated(settings: Settings) -> None:
    async with (
        forgetful_daemon(socket_file(settings.data), committed=True) as calls,
        MemoryClient(settings=settings) as memory,
    ):
        with pytest.raises(DaemonUnavailable, match="went away"):
            await memory.recall("tea")
        assert calls == ["recall"] * 8


async def test_a_daemon_with_another_protocol_is_not_bypassed(settings: Settings) -> None:
    path = socket_file(settings.data)
    path.parent.mkdir(parents=True)

    async def receive(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(encode_frame({"scrubjay": "99.0", "protocol": PROTOCOL + 1}))
        writer.close()

    async with await asyncio.start_unix_server(receive, path=str(path)):
        with pytest.raises(DaemonUnavailable, match=r"99\.0"):
            async with MemoryClient(settings=settings):
                pass
