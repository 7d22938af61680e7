"""The bridge as a client starts it: the lines that it passes on, and its messages for the others."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.patience import PATIENCE
from tests.surfaces.mcp.fake_daemon import BridgeProcess, FakeDaemon

from scrubjay.paths import daemon_file, socket_file
from scrubjay.surfaces.mcp import bridge
from scrubjay.version import PROTOCOL, VERSION

MEGABYTE = 1024 * 1024


def test_the_hello_identifies_the_client(data: Path, fake_daemon: FakeDaemon, tmp_path: Path) -> None:
    arguments = ("--tools", "core,kg", "--space=work", "--agent", "jay", "--project", "nest")
    with BridgeProcess(data, *arguments) as client:
        client.request(1, "tools/list")
        assert client.answer()["id"] == 1
    expected = {"scrubjay": VERSION, "protocol": PROTOCOL, "speak": "mcp"}
    assert fake_daemon.hellos == [{**expected, "tools": "core,kg", "space": "work", "agent": "jay", "project": "nest"}]


def test_the_environment_speaks_where_the_command_line_does_not(data: Path, fake_daemon: FakeDaemon) -> None:
    environment = {"SCRUBJAY_SPACE": "home", "SCRUBJAY_AGENT": "owl", "SCRUBJAY_TOOLS": "kg"}
    with BridgeProcess(data, "--space", "work", "--project=", environment=environment) as client:
        client.request(1, "ping")
        client.answer()
    hello = fake_daemon.hellos[0]
    assert (hello["space"], hello["agent"], hello["tools"], hello["project"]) == ("work", "owl", "kg", "")


def test_the_folder_that_the_client_works_in_gives_the_project(
    data: Path, fake_daemon: FakeDaemon, tmp_path: Path
) -> None:
    inside = tmp_path / "scrubs" / "src" / "deep"
    inside.mkdir(parents=True)
    (tmp_path / "scrubs" / ".git").write_text("gitdir: elsewhere")
    with BridgeProcess(data, cwd=inside) as client:
        client.request(1, "ping")
        client.answer()
    assert fake_daemon.hellos[0]["project"] == "scrubs"


def test_lines_go_through_byte_for_byte(data: Path, fake_daemon: FakeDaemon) -> None:
    sent = [
        b'{"jsonrpc":"2.0","id":"a","method":"tools/list","params":{"big":1E400,"twice":1,"twice":2}}\n',
        '{ "method" : "prompts/get", "id": 2,\t"params": {"name": "café \\ud800 ☕"}, "jsonrpc": "2.0" }\r\n'.encode(),
        b'{"jsonrpc":"2.0","method":"notifications/progress","params":{}}\n',
        b'{"jsonrpc":"2.0","id":7,"result":{"roots":[]}}\n',
    ]
    with BridgeProcess(data) as client:
        client.write(b"".join(sent[:2]))
        assert [client.answer()["id"], client.answer()["id"]] == ["a", 2]
        pushed = b'{"jsonrpc": "2.0",  "method":"notifications/message","params":{"data":"\\u2615"}}\n'
        fake_daemon.push(pushed)
        assert client.line() == pushed
        client.write(b"".join(sent[2:]))
        client.request(9, "ping")
        assert client.answer()["id"] == 9
    assert fake_daemon.lines[:4] == sent


def test_a_call_gets_a_run_and_keeps_the_one_it_has(data: Path, fake_daemon: FakeDaemon) -> None:
    with BridgeProcess(data) as client:
        client.call(1, "first")
        client.call(2, "second", _meta={"progressToken": 5})
        client.call(3, "third", _meta={"scrubjay/run": "mine"})
        assert {client.answer()["id"] for _ in range(3)} == {1, 2, 3}
    first, second, third = (fake_daemon.calls(name)[0]["params"]["_meta"] for name in ("first", "second", "third"))
    assert len(first["scrubjay/run"]) == 32
    assert second["progressToken"] == 5
    assert first["scrubjay/run"] != second["scrubjay/run"]
    assert third == {"scrubjay/run": "mine"}


def test_large_lines_go_both_ways(data: Path, fake_daemon: FakeDaemon) -> None:
    with BridgeProcess(data) as client:
        client.request(1, "prompts/get", text="x" * (5 * MEGABYTE))
        assert client.answer()["result"]["size"] > 5 * MEGABYTE
        pushed = json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": "y" * (3 * MEGABYTE)})
        fake_daemon.push(pushed.encode() + b"\n")
        assert client.line() == pushed.encode() + b"\n"


@pytest.mark.parametrize("id_comes_last", [False, True])
def test_a_line_that_is_too_long_is_refused_by_its_id(data: Path, fake_daemon: FakeDaemon, id_comes_last: bool) -> None:
    with BridgeProcess(data) as client:
        client.write(b'{"jsonrpc":"2.0",' + (b"" if id_comes_last else b'"id":4,') + b'"method":"x","params":{"t":"')
        for _ in range(65):
            client.write(b"x" * MEGABYTE)
        client.write(b'"}' + (b',"id":4}' if id_comes_last else b"}") + b"\n")
        client.request(5, "ping")
        refused, fine = client.answer(), client.answer()
    assert refused["id"] == 4
    assert refused["error"]["data"] == {"code": "too_large", "limit": 64 * MEGABYTE}
    assert fine["id"] == 5
    assert fake_daemon.methods() == ["ping"]


def test_invalid_json_is_left_to_the_daemon(data: Path, fake_daemon: FakeDaemon) -> None:
    with BridgeProcess(data) as client:
        client.write(b"{nonsense\n\xff\xfe\n")
        assert client.answer()["error"]["code"] == -32700
        assert client.answer()["error"]["code"] == -32700
        client.request(1, "ping")
        assert client.answer()["id"] == 1


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
def test_a_constant_that_json_lacks_is_refused_by_its_id(data: Path, fake_daemon: FakeDaemon, constant: str) -> None:
    line = f'{{"jsonrpc":"2.0","method":"tools/call","params":{{"arguments":{{"n":[{constant}]}}}},"id":"n"}}\n'
    with BridgeProcess(data) as client:
        client.write(line.encode())
        refused = client.answer()
        assert (refused["id"], refused["error"]["code"]) == ("n", -32700)
        assert refused["error"]["message"].startswith(f"{constant} is not JSON")
        client.request(1, "ping")
        assert client.answer()["id"] == 1
        assert client.close() == 0
    assert fake_daemon.methods() == ["ping"]


NAMELESS = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"what?","data":{"x":1}}}\n'


def test_an_error_without_an_id_answers_the_only_waiting_request(data: Path, fake_daemon: FakeDaemon) -> None:
    with BridgeProcess(data) as client:
        client.call("h", "hold")
        fake_daemon.wait_until(lambda: bool(fake_daemon.calls("hold")))
        fake_daemon.push(NAMELESS)
        assert client.answer() == {**json.loads(NAMELESS), "id": "h"}
        assert client.close() == 0
        assert client.line() == b""


def test_an_error_without_an_id_waits_until_one_request_is_left(data: Path, fake_daemon: FakeDaemon) -> None:
    with BridgeProcess(data) as client:
        client.call(1, "hold")
        client.call(2, "hold")
        fake_daemon.wait_until(lambda: len(fake_daemon.calls("hold")) == 2)
        client.stdin.close()
        fake_daemon.push(NAMELESS + b'{"jsonrpc":"2.0","id":1,"result":{}}\n')
        assert client.answer() == {"jsonrpc": "2.0", "id": 1, "result": {}}
        assert client.answer() == {**json.loads(NAMELESS), "id": 2}
        assert client.wait() == 0


@pytest.mark.parametrize("sent", [b"{nonsense\n", b'{"jsonrpc":"2.0","method":"notifications/x","params":[NaN]}\n'])
def test_an_error_about_a_line_without_an_id_answers_no_other_request(
    data: Path, fake_daemon: FakeDaemon, sent: bytes
) -> None:
    with BridgeProcess(data) as client:
        client.call(1, "hold")
        client.write(sent)
        fake_daemon.wait_until(lambda: sent in fake_daemon.lines)
        if b"NaN" in sent:  # Python accepts this, a daemon does not.
            fake_daemon.push(NAMELESS)
        assert client.answer()["id"] is None
        fake_daemon.release()
        assert client.answer()["result"]
        assert client.close() == 0


def test_a_number_and_a_text_are_two_ids(data: Path, fake_daemon: FakeDaemon) -> None:
    with BridgeProcess(data) as client:
        client.call(1, "hold")
        client.request("1", "ping")
        assert client.answer()["id"] == "1"
        client.stdin.close()
        fake_daemon.release()
        answer = client.answer()
        assert (answer["id"], "result" in answer) == (1, True)
        assert client.wait() == 0


def test_half_a_line_at_the_end_is_passed_on_and_its_answer_still_heard(data: Path, fake_daemon: FakeDaemon) -> None:
    with BridgeProcess(data) as client:
        client.write(b'{"jsonrpc":"2.0","id":1,"met')
        assert client.close() == 0
        assert client.answer()["error"]["code"] == -32700
        assert client.line() == b""


def test_the_last_line_may_lack_its_end(data: Path, fake_daemon: FakeDaemon) -> None:
    with BridgeProcess(data) as client:
        client.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
        assert client.close() == 0
        assert client.answer()["id"] == 1


def test_a_client_that_leaves_gets_the_answers_it_waits_for(data: Path, fake_daemon: FakeDaemon) -> None:
    with BridgeProcess(data) as client:
        client.call(1, "hold")
        client.request(2, "ping")
        assert client.answer()["id"] == 2
        client.stdin.close()
        fake_daemon.release()
        assert client.answer()["id"] == 1
        assert client.wait() == 0
        assert client.line() == b""


def test_cancelled_and_endless_requests_are_not_waited_for(data: Path, fake_daemon: FakeDaemon) -> None:
    with BridgeProcess(data) as client:
        client.call(1, "hold")
        client.notify("notifications/cancelled", requestId=1)
        assert client.close() == 0


def test_a_client_that_sends_much_before_it_reads_is_no_deadlock(data: Path, fake_daemon: FakeDaemon) -> None:
    request = b'{"jsonrpc":"2.0","id":%d,"method":"ping","params":{"pad":"' + b"x" * 500 + b'"}}\n'
    client = subprocess.Popen(
        [sys.executable, "-m", "scrubjay", "mcp", "--data", str(data)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with client:
        assert client.stdin is not None
        assert client.stdout is not None
        client.stdin.write(b"".join(request % number for number in range(4000)))
        client.stdin.close()
        answers = [json.loads(line)["id"] for line in client.stdout]
    assert answers == list(range(4000))


def test_a_client_that_stops_reading_ends_the_bridge(data: Path, fake_daemon: FakeDaemon) -> None:
    client = subprocess.Popen(
        [sys.executable, "-m", "scrubjay", "mcp", "--data", str(data)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with client:
        assert client.stdin is not None
        assert client.stdout is not None
        assert client.stderr is not None
        client.stdout.close()
        client.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        client.stdin.flush()
        assert client.wait(PATIENCE) == 0
        assert client.stderr.read() == b""


@pytest.fixture
def _interruptible() -> Iterator[None]:
    """Restore the handler of interrupts: tests in the background ignore them, and so would their child processes."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_interruptible")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, -signal.SIGTERM), (signal.SIGINT, 130)])
def test_a_signal_ends_it_at_once(data: Path, fake_daemon: FakeDaemon, number: int, code: int) -> None:
    with BridgeProcess(data) as client:
        client.call(1, "hold")
        client.request(2, "ping")
        client.answer()
        os.kill(client.pid, number)
        assert client.wait() == code
        assert client.stderr_text() == ""


@pytest.mark.parametrize(
    ("protocol", "older"), [(0, "The daemon is older: stop it (`kill 1000`)"), (PROTOCOL + 1, "This bridge is older")]
)
def test_sides_that_do_not_understand_each_other_say_which_is_older(data: Path, protocol: int, older: str) -> None:
    with (
        FakeDaemon(data, greeting={"scrubjay": "9.9.9", "protocol": protocol}),
        BridgeProcess(data) as client,
    ):
        client.request(1, "initialize")
        client.call(2, "remember")
        client.notify("notifications/initialized")
        first, second = client.answer(), client.answer()
        assert (first["id"], second["id"]) == (1, 2)
        for answer in (first, second):
            assert answer["error"]["code"] == -31023
            assert older in answer["error"]["message"]
        assert second["error"]["data"]["committed"] is False
        assert client.close() == 69
        assert client.stderr_text().count(older) == 1
        assert client.stderr_text().startswith("scrubjay: ")


REFUSAL = {"code": "invalid_input", "message": "there is no toolset 'kgg'", "hint": "Did you mean kg?"}
REFUSED = "the daemon refuses this client: there is no toolset 'kgg'. Did you mean kg?"


@pytest.mark.parametrize("more", [{}, {"scrubjay": VERSION, "protocol": PROTOCOL}])
def test_a_refusal_of_the_daemon_is_passed_on_verbatim(data: Path, more: dict[str, object]) -> None:
    with (
        FakeDaemon(data, greeting={"error": REFUSAL, **more}) as daemon,
        BridgeProcess(data, "--tools", "kgg") as client,
    ):
        client.request(1, "initialize")
        assert client.answer()["error"]["message"] == REFUSED
        # At most once at the start and once for the request; never in a loop.
        assert len(daemon.hellos) <= 2
        assert client.close() == 69
        assert client.stderr_text() == f"scrubjay: {REFUSED}\n"


def test_a_client_refused_before_its_first_line_gets_the_reason(data: Path) -> None:
    path = socket_file(data)
    path.parent.mkdir(parents=True, mode=0o700)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        listener.settimeout(PATIENCE)
        with BridgeProcess(data) as client:
            first, _ = listener.accept()
            first.sendall(json.dumps({"error": REFUSAL}).encode() + b"\n")
            first.close()
            client.stdin.close()
            assert client.wait() == 69
            assert client.stderr_text() == f"scrubjay: {REFUSED}\n"


def test_another_version_with_the_same_speech_works_and_is_mentioned(data: Path) -> None:
    with FakeDaemon(data, greeting={"scrubjay": "9.9.9", "protocol": PROTOCOL}), BridgeProcess(data) as client:
        client.request(1, "ping")
        assert client.answer()["result"]
        assert "9.9.9" in client.stderr_text()


def test_another_server_on_the_socket_is_recognised(data: Path) -> None:
    with FakeDaemon(data, greeting={}), BridgeProcess(data) as client:
        client.request(1, "ping")
        assert "refuses" in client.answer()["error"]["message"]


def test_a_daemon_that_is_too_busy_to_greet_is_asked_again(data: Path) -> None:
    busy = {"error": {"code": "busy", "message": "too many clients"}, "protocol": PROTOCOL}
    with FakeDaemon(data, greeting=busy) as daemon, BridgeProcess(data) as client:
        client.request(1, "ping")
        daemon.wait_until(lambda: len(daemon.hellos) >= 2)
        daemon.greeting = {"scrubjay": VERSION, "protocol": PROTOCOL}
        assert client.answer()["result"]


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Return a folder with a short name, because the path of a socket has a limit."""
    with tempfile.TemporaryDirectory(prefix="scrubjay-") as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        yield


@pytest.mark.usefixtures("runtime")
def test_a_folder_with_a_long_name_has_its_socket_elsewhere(tmp_path: Path) -> None:
    data = tmp_path / ("long" * 25)
    with FakeDaemon(data) as daemon, BridgeProcess(data) as client:
        assert not daemon.path.is_relative_to(data)
        client.request(1, "ping")
        assert client.answer()["result"]


@pytest.mark.usefixtures("runtime")
def test_a_daemon_that_has_another_runtime_folder_is_found_all_the_same(tmp_path: Path) -> None:
    data = tmp_path / ("long" * 25)
    data.mkdir()
    (tmp_path / "name").symlink_to(data)
    with FakeDaemon(data) as daemon:
        daemon_file(data).write_text(json.dumps({"socket": str(daemon.path)}))
        for runtime in ("", str(tmp_path / "other")):
            with BridgeProcess(tmp_path / "name", environment={"XDG_RUNTIME_DIR": runtime}) as client:
                client.request(1, "ping")
                assert client.answer()["result"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")
def test_a_socket_in_the_folder_of_another_user_is_not_trusted(data: Path, fake_daemon: FakeDaemon) -> None:
    os.chown(fake_daemon.path.parent, 12345, -1)
    with BridgeProcess(data) as client:
        client.request(1, "ping")
        assert "belongs to another user" in client.answer()["error"]["message"]
    assert fake_daemon.hellos == []


def test_without_a_daemon_and_without_leave_to_start_one(data: Path) -> None:
    with BridgeProcess(data) as client:
        client.request(1, "initialize")
        error = client.answer()["error"]
        assert error["code"] == -31023
        assert "scrubjay serve" in error["message"]
        assert client.close() == 69
        assert "SCRUBJAY_NO_DAEMON" in client.stderr_text()
    assert not data.exists()


def test_a_daemon_that_comes_later_is_found(data: Path) -> None:
    with BridgeProcess(data) as client:
        client.request(1, "ping")
        assert "error" in client.answer()
        with FakeDaemon(data):
            client.request(2, "ping")
            assert "result" in client.answer()


def test_options_that_it_does_not_have(data: Path) -> None:
    for arguments, words in ((["--toolz", "x"], "--toolz"), (["--tools"], "needs a value"), (["x"], "'x'")):
        with BridgeProcess(data, *arguments) as client:
            assert client.wait() == 2
            assert client.stderr_text().startswith("scrubjay: ")
            assert words in client.stderr_text()


def test_without_standard_input_it_explains_that_clients_start_it(data: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", f'exec "{sys.executable}" -m scrubjay mcp <&-'], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "MCP client" in done.stderr


def test_a_system_without_unix_sockets_is_sent_to_http(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delattr(socket, "AF_UNIX")
    assert bridge.main(["--project", "nest"]) == 69
    assert "http://127.0.0.1:7272/mcp" in capfd.readouterr().err


def test_it_loads_nothing_but_the_quick_part_of_the_standard_library(data: Path, fake_daemon: FakeDaemon) -> None:
    code = (
        "import sys\n"
        # Modules that site-packages loads into every process do not count.
        "before = {*sys.modules}\n"
        "from scrubjay.surfaces.mcp import bridge\n"
        "code = bridge.main([])\n"
        "sys.stderr.write(' '.join(sys.modules.keys() - before))\n"
        "sys.exit(code)\n"
    )
    with BridgeProcess(data, command=(sys.executable, "-I", "-c", code)) as client:
        client.call(1, "remember")
        client.answer()
        assert client.close() == 0
        loaded = client.stderr_text().split()
    ours = {name for name in loaded if name.startswith("scrubjay")}
    own = "scrubjay.surfaces.mcp.bridge"
    packages = {"scrubjay", "scrubjay.surfaces", "scrubjay.surfaces.mcp", "scrubjay.paths", "scrubjay.version"}
    assert {name for name in ours if not name.startswith(own)} == packages
    slow = {"asyncio", "argparse", "dataclasses", "inspect", "subprocess", "tempfile", "hashlib", "uuid", "logging"}
    assert not slow.intersection(loaded)
    tops = {name.partition(".")[0] for name in loaded} - {"scrubjay"}
    assert tops <= set(sys.stdlib_module_names)


def test_help_and_all_other_commands_go_to_the_command_line() -> None:
    helped = subprocess.run(
        [sys.executable, "-m", "scrubjay", "mcp", "--help"], capture_output=True, text=True, check=False
    )
    assert helped.returncode == 0
    assert "--tools" in helped.stdout
    version = subprocess.run([sys.executable, "-m", "scrubjay", "--version"], capture_output=True, check=True)
    assert version.stdout.decode() == f"scrubjay {VERSION}\n"
