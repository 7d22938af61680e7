"""`scrubjay serve` as a process: its output, its signals, and the connection of the command line."""

import json
import shutil
import signal
from pathlib import Path

import httpx2
import pytest
from tests.patience import PATIENCE
from tests.surfaces.backend import database_of
from tests.surfaces.daemon_process import Daemon, TypedDaemon, is_open
from tests.surfaces.fork_server import run_forked
from tests.surfaces.mcp.fake_daemon import BridgeProcess
from tests.surfaces.shell import run, run_json

from scrubjay.paths import daemon_file, socket_file
from scrubjay.surfaces.cli.serving import serve_plainly

_CLIENT = {"name": "agent", "version": "1"}


def test_it_serves_until_it_is_stopped(home: Path) -> None:
    with TypedDaemon(home) as daemon:
        assert run_json("remember", "green tea", "--name", "tea")["action"] == "created"
        assert run_json("recall", "tea")["hits"]
        assert f"daemon     pid {daemon.pid}" in run("status").out
        existing = json.loads(daemon_file(home).read_text())
        assert existing["pid"] == daemon.pid
        assert f"address    {existing['http']}\n" in run("status").out
        assert run("open", "--print").out == f"{existing['http']}/\n"
        assert run("open", "--print", "--space", "other").out == f"{existing['http']}/?space=other\n"
        address = run("open", "--owner", "--print").out.strip()
        assert address.startswith(f"{existing['http']}/ui/owner?ticket=")
        assert "Create a token" in httpx2.get(address).text
        assert httpx2.get(address).status_code == 403
        assert daemon.stop() == 0
    assert not socket_file(home).exists()
    # The same command works without a daemon.
    assert run_json("read", "tea")["memories"]
    assert "daemon     not running" in run("status").out
    out = [line for line in daemon.log.splitlines() if not line.startswith("{")]
    assert existing["http"] in "\n".join(out)
    (entry,) = [json.loads(line.split("for agents", 1)[1]) for line in out if "for agents" in line]
    assert entry["mcpServers"]["scrubjay"]["args"] == ["mcp", "--data", str(home)]
    # A client has another PATH than the shell whose environment is activated.
    assert Path(entry["mcpServers"]["scrubjay"]["command"]).is_absolute()
    assert f"install --data {home}" in "\n".join(out)
    assert f"curl -s {existing['http']}/mcp" in "\n".join(out)
    events = [json.loads(line)["event"] for line in daemon.log.splitlines() if line.startswith("{")]
    assert events[0] == "listening"
    assert events[-1] == "stopping"


def test_sighup_restarts_it_under_the_same_pid(home: Path) -> None:
    with Daemon(home) as daemon:
        run_json("remember", "before", "--name", "before")
        assert daemon.process is not None
        daemon.process.send_signal(signal.SIGHUP)
        # Once for each start, on the socket and on HTTP.
        daemon.wait_until(lambda: daemon.log.count('"event": "listening"') == 4)
        assert json.loads(daemon_file(home).read_text())["pid"] == daemon.pid
        assert run_json("read", "before")["memories"]
        assert daemon.stop(signal.SIGINT) == 0


def test_a_second_daemon_names_the_first(home: Path, tmp_path: Path) -> None:
    with Daemon(home) as daemon:
        code, output = run_forked("serve", "--data", str(home), log=tmp_path / "second.log")
        assert code == 75
        assert f"pid {daemon.pid}" in output
        assert is_open(home)


def test_a_daemon_of_an_agent_makes_room_and_loses_nothing(home: Path) -> None:
    environment = {"SCRUBJAY_NO_DAEMON": "", "SCRUBJAY_EMBEDDER": "none", "SCRUBJAY_DATABASE_URL": database_of(home)}
    with (
        Daemon(home, "--http", "off", "--idle", "600") as first,
        BridgeProcess(home, environment=environment) as agent,
    ):
        agent.request(0, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=_CLIENT)
        assert agent.answer()["result"]
        agent.notify("notifications/initialized")
        assert "address    no HTTP" in run("status").out
        run_json("rules", "set", "gate=off", "density=off")

        def write(number: int) -> bool:
            agent.request(
                number, "tools/call", name="remember", arguments={"text": f"Jay {number} hid {number} acorns"}
            )
            # Between the answers there are notifications.
            answer = next(answer for answer in iter(agent.answer, None) if answer.get("id") == number)
            return "result" in answer and not answer["result"].get("isError")

        stored = [number for number in range(1, 10) if write(number)]
        second = Daemon(home)
        with second:
            number = 10
            while json.loads(daemon_file(home).read_text()).get("http", "") == "":
                stored += [number] if write(number) else []
                number += 1
            last = next(more for more in range(number, number + 100) if write(more))
            assert first.process is not None
            assert first.process.wait(PATIENCE) == 0
            answer = run("status").out
            assert f"daemon     pid {second.pid}" in answer
            for name in ("socket", "address", "mcp", "rest", "docs", "metrics"):
                assert f"\n{name:<9}  " in answer
            texts = run("list", "--limit", "1000").out
            assert "a session failed" not in first.log
            assert [number for number in (*stored, last) if f"hid {number} acorns" not in texts] == []
            assert second.stop() == 0


@pytest.mark.embedded
def test_it_leaves_when_its_folder_is_deleted(home: Path) -> None:
    with Daemon(home) as daemon:
        run_json("remember", "green tea", "--name", "tea")
        shutil.rmtree(home)
        assert daemon.process is not None
        assert daemon.process.wait(PATIENCE) == 0
        assert "the data folder is gone" in daemon.log
    assert not home.exists()


def test_a_daemon_can_start_after_another_was_killed(home: Path) -> None:
    with Daemon(home) as daemon:
        run_json("remember", "remember", "--name", "remember")
        assert daemon.stop(signal.SIGKILL) == -signal.SIGKILL
        assert socket_file(home).exists()
        assert run_json("read", "remember")["memories"]
        daemon.start()
        assert run_json("read", "remember")["memories"]


def test_it_exits_when_idle(home: Path) -> None:
    with Daemon(home, "--idle", "0.2") as daemon:
        assert daemon.process is not None
        assert daemon.process.wait(PATIENCE) == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--http", "0.0.0.0:7272"), "needs a token"),
        (("--http", "nowhere"), "not an address"),
        (("--log-level", "loud"), "no log level"),
        (("--tools", "hammer"), "hammer"),
    ],
)
def test_invalid_options_are_reported(home: Path, tmp_path: Path, options: tuple[str, ...], words: str) -> None:
    code, output = run_forked("serve", "--data", str(home), *options, log=tmp_path / "refused.log")
    assert (code, words in output) == (2, True)


@pytest.mark.parametrize(
    "options",
    [
        ("--help",),
        ("--data",),
        ("--idle", "soon"),
        ("--idle=-1",),
        ("--require-token",),
        ("--http=a", "--http=b"),
        ("x",),
    ],
)
def test_unusual_options_are_left_to_the_command_line(options: tuple[str, ...]) -> None:
    assert serve_plainly(options) is None
