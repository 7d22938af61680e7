"""No daemon runs: the bridge starts one. A shell script replaces Python, so that the tests choose what starts."""

import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.surfaces.mcp import fake_daemon as fake_daemon_module
from tests.surfaces.mcp.fake_daemon import BridgeProcess, FakeDaemon

STAND_IN = Path(fake_daemon_module.__file__)


def starting(data: Path, script: str, *arguments: str, **environment: str) -> BridgeProcess:
    """Start a bridge whose `python` is a shell script."""
    interpreter = data.parent / "python"
    if not interpreter.exists():
        interpreter.write_text(f"#!/bin/sh\n{script}\n")
        interpreter.chmod(0o700)
    code = (
        f"import sys; sys.executable = {str(interpreter)!r}\n"
        "from scrubjay.surfaces.mcp import bridge; sys.exit(bridge.main(sys.argv[1:]))"
    )
    may_start = {"SCRUBJAY_NO_DAEMON": "", **environment}
    return BridgeProcess(data, *arguments, command=(sys.executable, "-c", code), environment=may_start)


def fake_daemon_script(data: Path) -> str:
    """Return a script that notes how it was started, and runs the fake daemon."""
    noted = data.parent / "started"
    return f'echo "$@" >> "{noted}"; env > "{noted}.with"\nexec "{sys.executable}" "{STAND_IN}" "$@"'


def test_it_starts_a_daemon_says_so_and_goes_on(data: Path) -> None:
    with starting(data, fake_daemon_script(data)) as client:
        client.request(1, "initialize")
        assert client.answer()["id"] == 1
        assert "starting one" in client.stderr_text()
        assert client.close() == 0
    started = (data.parent / "started").read_text()
    # Without a setting, the daemon opens no port: all users of the machine could reach it.
    assert started == f"-P -m scrubjay serve --data {data} --idle 600 --http off\n"
    assert (data / "daemon.log").stat().st_mode & 0o777 == 0o600


def test_a_daemon_that_it_starts_serves_http_where_the_user_says_so(data: Path) -> None:
    with starting(data, fake_daemon_script(data), SCRUBJAY_HTTP="127.0.0.1:7999") as client:
        client.request(1, "initialize")
        assert client.answer()["id"] == 1
    assert "--http" not in (data.parent / "started").read_text()
    assert "SCRUBJAY_HTTP=127.0.0.1:7999" in (data.parent / "started.with").read_text()


def test_the_daemon_is_everybodys_and_gets_nothing_of_one_clients_own(data: Path) -> None:
    own = {"SCRUBJAY_SPACE": "s", "SCRUBJAY_AGENT": "a", "SCRUBJAY_TOOLS": "kg", "PYTHONPATH": "/x", "OTHER_KEY": "k"}
    needed = {"SCRUBJAY_EMBEDDER": "none", "SCRUBJAY_KEY_FILE": "secret/key"}
    with starting(data, fake_daemon_script(data), **own, **needed) as client:
        client.request(1, "initialize")
        assert client.answer()["id"] == 1
    variables = dict(
        line.split("=", 1) for line in (data.parent / "started.with").read_text().splitlines() if "=" in line
    )
    assert not set(own) & set(variables)
    assert (variables["SCRUBJAY_EMBEDDER"], variables["PWD"]) == ("none", str(data))
    assert variables["SCRUBJAY_KEY_FILE"] == str(Path.cwd() / "secret" / "key")


def test_several_bridges_at_once_start_one(data: Path) -> None:
    with ExitStack() as stack:
        clients = [stack.enter_context(starting(data, fake_daemon_script(data))) for _ in range(4)]
        for client in clients:
            client.request(1, "ping")
        for client in clients:
            assert client.answer()["result"]
    assert (data.parent / "started").read_text().count("\n") == 1


@pytest.mark.parametrize(
    ("size", "expected"), [(1024 * 1024, "the one before"), (1024 * 1024 + 1, "x" * 1024 * 1024 + "x")]
)
def test_a_long_log_is_put_aside_once(data: Path, size: int, expected: str) -> None:
    data.mkdir()
    log, old = data / "daemon.log", data / "daemon.log.old"
    log.write_text("x" * size)
    old.write_text("the one before")
    with starting(data, f"echo 'a new one' >&2\n{fake_daemon_script(data)}") as client:
        client.request(1, "ping")
        assert client.answer()["result"]
    assert log.read_text().removeprefix("x" * 1024 * 1024) == "a new one\n"
    assert old.read_text() == expected


def test_a_long_log_that_cannot_be_put_aside_is_gone_on_with(data: Path) -> None:
    data.mkdir()
    (data / "daemon.log").write_text("x" * (1024 * 1024 + 1))
    (data / "daemon.log.old" / "in the way").mkdir(parents=True)
    with starting(data, f"echo 'goes on' >&2\n{fake_daemon_script(data)}") as client:
        client.request(1, "ping")
        assert client.answer()["result"]
    assert (data / "daemon.log").read_text().endswith("xgoes on\n")


def test_a_daemon_that_cannot_start_is_quoted(data: Path) -> None:
    data.mkdir()
    (data / "daemon.log").write_text("something of long ago\n")
    with starting(data, "echo 'the disk is on fire' >&2; exit 5") as client:
        client.request(1, "initialize")
        error = client.answer()["error"]
        assert error["code"] == -31023
        assert "code 5" in error["message"]
        assert "the disk is on fire" in error["message"]
        assert "long ago" not in error["message"]
        assert client.close() == 69
        assert "the disk is on fire" in client.stderr_text()


def test_a_daemon_that_another_process_started_meanwhile_is_waited_for(data: Path) -> None:
    tried = data.parent / "tried"
    with starting(data, f'touch "{tried}"; exit 75') as client:
        client.request(1, "ping")
        FakeDaemon.wait_until(tried.exists)
        with FakeDaemon(data):
            assert client.answer()["result"]


def test_a_daemon_that_was_killed_is_replaced(data: Path) -> None:
    with starting(data, fake_daemon_script(data)) as client:
        client.request(1, "initialize")
        assert client.answer()["result"]
        client.call(2, "exit")
        assert client.answer()["error"]["data"]["committed"] is None
        client.request(3, "ping")
        assert client.answer()["result"]
    assert (data.parent / "started").read_text().count("\n") == 2


def test_a_stale_socket_is_no_daemon(data: Path) -> None:
    left = FakeDaemon(data)
    left.crash()
    assert left.path.exists()
    with starting(data, f'rm "{left.path}"\n{fake_daemon_script(data)}') as client:
        client.request(1, "ping")
        assert client.answer()["result"]


def test_a_folder_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with starting(tmp_path / "data", "exit 1", "--data", str(tmp_path / "file" / "data")) as client:
        client.request(1, "ping")
        assert "--data" in client.answer()["error"]["message"]
