"""Many agents on one store, each through a bridge of its own, while the daemon is killed."""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.mcp.fake_daemon import BridgeProcess

from scrubjay import MemoryClient, Settings
from scrubjay.paths import daemon_file, daemon_log

BRIDGES = 20
WRITES = 10
ENVIRONMENT = {"SCRUBJAY_NO_DAEMON": "", "SCRUBJAY_EMBEDDER": "none", "SCRUBJAY_HTTP": "off"}
GREETING: dict[str, Any] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "many", "version": "1"},
}


@pytest.fixture
def data(tmp_path: Path) -> Iterator[Path]:
    """Return a folder without a daemon: bridges start one, and the test stops it at the end."""
    folder = tmp_path / "data"
    yield folder
    # After a signal it may have ended, with no bridge that still had to ask another one.
    with suppress(FileNotFoundError, ProcessLookupError):
        os.kill(daemon_pid(folder), signal.SIGTERM)


def daemon_pid(data: Path) -> int:
    return int(json.loads(daemon_file(data).read_text())["pid"])


def start_bridge(stack: ExitStack, data: Path, number: int) -> BridgeProcess:
    (data.parent / str(number)).mkdir(exist_ok=True)
    bridge = stack.enter_context(
        BridgeProcess(data, "--agent", f"agent-{number}", cwd=data.parent / str(number), environment=ENVIRONMENT)
    )
    bridge.request("hello", "initialize", **GREETING)
    return bridge


def remember(bridge: BridgeProcess, id: int, text: str) -> None:
    bridge.request(id, "tools/call", name="remember", arguments={"text": text, "intent": "new"})


def reply(bridge: BridgeProcess) -> dict[str, Any]:
    """Return the next answer; skip notifications."""
    while "id" not in (message := bridge.answer()):
        pass
    return message


async def stored_texts(data: Path) -> set[str]:
    async with MemoryClient(settings=Settings(home=str(data), embedder="none", vector_index="scan")) as memory:
        lines = [json.loads(line) async for line in memory.export()]
    return {line["versions"][-1]["body"]["content"] for line in lines if "memory" in line}


@pytest.mark.slow
async def test_twenty_bridges_write_at_once_and_every_write_is_found(data: Path) -> None:
    with ExitStack() as stack:
        # None runs yet: the bridges also race to start the one that all will use.
        bridges = [start_bridge(stack, data, number) for number in range(BRIDGES)]
        for bridge in bridges:
            welcome = reply(bridge)
            assert "result" in welcome, (welcome, bridge.stderr_text())
            bridge.notify("notifications/initialized")
        for turn in range(WRITES):
            for number, bridge in enumerate(bridges):
                remember(bridge, turn, f"bridge {number} wrote line {turn}")
        for bridge in bridges:
            answers = [reply(bridge) for _ in range(WRITES)]
            assert all("result" in answer and not answer["result"]["isError"] for answer in answers), answers
            assert bridge.close() == 0
    assert await stored_texts(data) == {
        f"bridge {number} wrote line {turn}" for number in range(BRIDGES) for turn in range(WRITES)
    }
    assert daemon_log(data).read_text().count('"event": "stopping"') == 0


@pytest.mark.slow
async def test_a_daemon_killed_under_load_is_restarted_and_nothing_acknowledged_is_lost(data: Path) -> None:
    acknowledged: set[str] = set()
    written: set[str] = set()
    unknown = 0
    with ExitStack() as stack:
        bridges = [start_bridge(stack, data, number) for number in range(3)]
        for bridge in bridges:
            reply(bridge)
            bridge.notify("notifications/initialized")
        for turn in range(2):
            texts = {at: f"turn {turn}, word {at}" for at in range(60)}
            for at, text in texts.items():
                remember(bridges[at % 3], at, text)
            # After an acknowledged write there are others in flight to interrupt.
            answers = [reply(bridges[0])]
            os.kill(daemon_pid(data), signal.SIGKILL)
            answers += [reply(bridges[0]) for _ in range(19)]
            answers += [reply(bridge) for bridge in bridges[1:] for _ in range(20)]
            for answer in answers:
                text = texts[answer["id"]]
                if "result" in answer:
                    acknowledged.add(text)
                elif answer["error"]["data"]["committed"]:
                    written.add(text)
                elif answer["error"]["data"]["committed"] is None:
                    unknown += 1
        bridges[0].request("last", "tools/call", name="remember", arguments={"text": "still here", "intent": "new"})
        assert not reply(bridges[0])["result"]["isError"]
    stored = await stored_texts(data)
    assert acknowledged
    assert acknowledged | written | {"still here"} <= stored
    assert len(stored) <= len(acknowledged) + len(written) + unknown + 1


@pytest.mark.slow
async def test_a_stopping_daemon_answers_all_it_has_accepted(data: Path) -> None:
    with ExitStack() as stack:
        bridges = [start_bridge(stack, data, number) for number in range(2)]
        for bridge in bridges:
            reply(bridge)
            bridge.notify("notifications/initialized")
        for at in range(60):
            for number, bridge in enumerate(bridges):
                remember(bridge, at, f"bridge {number}, word {at}")
        first = [reply(bridge) for bridge in bridges]
        os.kill(daemon_pid(data), signal.SIGTERM)
        answers = first + [reply(bridge) for bridge in bridges for _ in range(59)]
        # Every client knows of each of its writes whether it was committed.
        assert [answer for answer in answers if "error" in answer and answer["error"]["data"]["committed"]] == []
        done = sum("result" in answer and not answer["result"]["isError"] for answer in answers)
    assert len(await stored_texts(data)) == done
