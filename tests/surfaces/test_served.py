"""Commands that a daemon carries out, when something goes wrong between the two."""

import json
import socket
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.patience import PATIENCE
from tests.surfaces.background_daemon import background_daemon
from tests.surfaces.shell import run
from tests.surfaces.terminal import Terminal

from scrubjay.paths import socket_file
from scrubjay.rpc import client
from scrubjay.settings import Settings
from scrubjay.version import PROTOCOL, VERSION

_GREETING = {"scrubjay": VERSION, "protocol": PROTOCOL, "pid": 1}


@contextmanager
def _impostor(home: Path, *answers: Callable[[dict[str, object]], object]) -> Generator[list[dict[str, object]]]:
    """Listen in place of a daemon; each answer belongs to one line, None cuts the connection."""
    path = socket_file(home)
    path.parent.mkdir(parents=True)
    received: list[dict[str, object]] = []
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()

        def serve() -> None:
            connection, _ = listener.accept()
            with connection, connection.makefile("rwb") as stream:
                for answer in answers:
                    line = stream.readline()
                    received.extend([json.loads(line)] if line else [])
                    if not line or (sent := answer(received[-1])) is None:
                        break
                    stream.write(json.dumps(sent).encode() + b"\n")
                    stream.flush()
            # A later question about its outcome finds no daemon.
            listener.close()
            path.unlink()

        thread = threading.Thread(target=serve)
        thread.start()
        yield received
        thread.join(PATIENCE)
        assert not thread.is_alive()


def test_a_write_whose_daemon_goes_away_is_not_repeated(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_FIRST_DELAY", 0.001)
    with _impostor(home, lambda _: _GREETING, lambda _: None) as received:
        answer = run("remember", "Mia plays the cello")
    assert "it is unknown whether its change was committed" in answer.err
    assert answer.code != 0
    assert received[1]["arguments"] == ["remember", "Mia plays the cello"]
    assert run("recall", "cello").out.startswith("nothing found")


def test_a_read_whose_daemon_goes_away_is_repeated(home: Path) -> None:
    with _impostor(home, lambda _: _GREETING, lambda _: None):
        assert run("recall", "cello").out.startswith("nothing found")


def test_who_interrupts_a_command_learns_what_becomes_of_it(home: Path) -> None:
    is_received, may_end = threading.Event(), threading.Event()

    def keep_waiting(_: object) -> None:
        is_received.set()
        may_end.wait(PATIENCE)

    with _impostor(home, lambda _: _GREETING, keep_waiting), Terminal("remember", "Mia plays the cello") as terminal:
        assert is_received.wait(PATIENCE)
        terminal.send("\x03")
        terminal.expect("interrupted; a change that the daemon has accepted is still made")
        may_end.set()
        assert terminal.wait() == 130


@pytest.mark.parametrize("greeting", [{**_GREETING, "scrubjay": "0.0.1"}, {"error": {"code": "invalid_input"}}])
def test_a_daemon_that_speaks_otherwise_is_not_sent_a_command(home: Path, greeting: dict[str, object]) -> None:
    with _impostor(home, lambda _: greeting, lambda _: None) as received:
        run("recall", "cello")
    assert not any("arguments" in frame for frame in received)


def test_standard_input_is_sent_once_it_is_needed(home: Path, settings: Settings) -> None:
    with background_daemon(settings, http=""):
        assert run("remember", "-", "--name", "cello", stdin="Mia plays the cello").code == 0
        # A dash that was read is a text like any other.
        assert run("remember", "-", "--name", "dash", stdin="-").code == 0
        assert "Mia plays the cello" in run("read", "cello").out
        refused = run("remember", "-", stdin=b"caf\xe9")
    assert "standard input is not UTF-8 at byte 3" in refused.err


@pytest.mark.parametrize("frame", [[1], {"arguments": "recall"}, {"arguments": ["recall", "x"], "environment": 1}])
def test_a_broken_frame_is_refused_and_the_daemon_goes_on(home: Path, settings: Settings, frame: object) -> None:
    with background_daemon(settings, http="") as running:
        lines: Sequence[object] = ({"protocol": PROTOCOL, "speak": "commands"}, frame)
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(running.socket))
            with connection.makefile("rwb") as stream:
                stream.write(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
                stream.flush()
                stream.readline()
                answer = json.loads(stream.readline())
        assert answer["exit"] != 0
        assert answer["error"].startswith("error: ")
        assert run("recall", "cello").out.startswith("nothing found")
