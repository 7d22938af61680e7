"""A fake of the daemon's side of the socket, and a bridge process to reach it through."""

import json
import os
import queue
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast

from scrubjay.paths import socket_file
from scrubjay.version import PROTOCOL

Json = dict[str, Any]
# That of the other tests, whose modules this one cannot import where it runs as a program.
PATIENCE = 180.0


class FakeDaemon:
    """Greets bridges and answers requests by echoing their method, on a real Unix socket.

    A tool called `die` ends the connection unanswered, and the next client meets another process; `drop` ends it too,
    but the process stays the same; `exit` ends a fake daemon that runs as a process of its own; `hold` is answered when
    `release` is called. `deadly` methods act like `die`, as often as they are counted. It has no other behaviour of a
    daemon.
    """

    def __init__(self, data: Path, *, greeting: Json | None = None) -> None:
        self.greeting: Json = {"scrubjay": "0.1.0", "protocol": PROTOCOL} if greeting is None else greeting
        # For clients that connect after a death; None: the same as before.
        self.later_greeting: Json | None = None
        self.committed: bool | None = None
        self.deadly: Counter[str] = Counter()
        self.pid = 1000
        self.hellos: list[Json] = []
        self.received: list[Json] = []
        self.lines: list[bytes] = []
        # Set when a client has left.
        self.client_left = threading.Event()
        self._held: list[tuple[socket.socket, bytes]] = []
        self._connections: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self.path = socket_file(data)
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self.path))
        self._listener.listen(50)

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        for thread in self._threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()

    def stop(self) -> None:
        """Stop in good order: remove the socket and disconnect the clients."""
        self.path.unlink(missing_ok=True)
        _disconnect(self._listener)
        for connection in self._connections:
            _disconnect(connection)

    def methods(self) -> list[str]:
        return [str(message.get("method")) for message in self.received]

    def calls(self, name: str) -> list[Json]:
        return [message for message in self.received if _tool(message) == name]

    def release(self) -> None:
        """Answer the held calls."""
        for connection, answer in self._held:
            connection.sendall(answer)
        self._held.clear()

    def restart(self) -> None:
        """End the newest connection, and act as another process from then on."""
        self.pid += 1
        self._connections[-1].shutdown(socket.SHUT_RDWR)

    def crash(self) -> None:
        """Leave the socket's file behind, like a killed daemon."""
        self._listener.close()

    @staticmethod
    def wait_until(condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline
            time.sleep(0.005)

    def push(self, data: bytes) -> None:
        """Send bytes without a request."""
        self._connections[-1].sendall(data)

    def _start(self, work: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._connections.append(connection)
            self._start(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as lines:
            try:
                self.hellos.append(json.loads(lines.readline()))
                connection.sendall(_line({**self.greeting, "pid": self.pid}))
                if "error" in self.greeting:
                    return
                for line in lines:
                    self.lines.append(line)
                    if not self._answer(connection, line):
                        return
            except OSError:
                return
            finally:
                self.client_left.set()

    def _answer(self, connection: socket.socket, line: bytes) -> bool:
        """Answer one line; return False if the connection ends with it."""
        try:
            message = cast("Json", json.loads(line))
        except ValueError:
            connection.sendall(_line({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "no JSON"}}))
            return True
        self.received.append(message)
        if "id" not in message or "method" not in message:
            return True
        tool = _tool(message)
        if tool == "exit":
            self.path.unlink()
            os._exit(9)
        answer = _line({"jsonrpc": "2.0", "id": message["id"], **self._outcome(message)})
        is_deadly = tool == "die" or self.deadly[message["method"]] > 0
        if is_deadly or tool == "drop":
            self.deadly[message["method"]] -= 1
            self.pid += is_deadly
            self.greeting = self.later_greeting or self.greeting
            connection.shutdown(socket.SHUT_RDWR)
            return False
        if tool == "hold":
            self._held.append((connection, answer))
        else:
            connection.sendall(answer)
        return True

    def _outcome(self, message: Json) -> Json:
        if message["method"] != "scrubjay/outcome":
            size = len(json.dumps(message))
            return {"result": {"method": message["method"], "size": size}}
        if self.committed is None:
            return {"error": {"code": -32601, "message": "no such method"}}
        return {"result": {"committed": dict.fromkeys(message["params"]["runs"], self.committed)}}


class BridgeProcess:
    """A real `scrubjay mcp`, with its output collected line by line."""

    def __init__(
        self,
        data: Path,
        *arguments: str,
        cwd: Path | None = None,
        command: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        names = [name for name in os.environ if name.startswith(("SCRUBJAY_", "MEMORY_DIR"))]
        clean = {name: value for name, value in os.environ.items() if name not in names}
        self._stderr = (data.parent / f"{data.name}.stderr").open("w+b")
        self._process = subprocess.Popen(
            [*(command or (sys.executable, "-m", "scrubjay", "mcp")), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            cwd=cwd,
            env={**clean, "SCRUBJAY_HOME": str(data), "SCRUBJAY_NO_DAEMON": "1", **(environment or {})},
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self.stdin, self.stdout = self._process.stdin, self._process.stdout
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._reader = threading.Thread(target=self._collect)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        self.stdout.close()
        self._stderr.close()
        with suppress(BrokenPipeError):
            self.stdin.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    def write(self, data: bytes) -> None:
        self.stdin.write(data)
        self.stdin.flush()

    def request(self, id: int | str, method: str, **params: object) -> None:
        self.write(_line({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))

    def call(self, id: int | str, tool: str, **params: object) -> None:
        self.request(id, "tools/call", name=tool, arguments={}, **params)

    def notify(self, method: str, **params: object) -> None:
        self.write(_line({"jsonrpc": "2.0", "method": method, "params": params}))

    def line(self) -> bytes:
        """Return the next line, unchanged; empty at the end."""
        return self._lines.get(timeout=PATIENCE)

    def answer(self) -> Json:
        return cast("Json", json.loads(self.line()))

    def close(self) -> int:
        """Close the bridge's input, like a client that leaves; return the exit code."""
        self.stdin.close()
        return self.wait()

    def wait(self) -> int:
        return self._process.wait(PATIENCE)

    def stderr_text(self) -> str:
        self._stderr.seek(0)
        return self._stderr.read().decode()

    def _collect(self) -> None:
        for line in self.stdout:
            self._lines.put(line)
        self._lines.put(b"")


def _tool(message: Json) -> str:
    return str(message.get("params", {}).get("name", "")) if message.get("method") == "tools/call" else ""


def _line(message: Json) -> bytes:
    return json.dumps(message).encode() + b"\n"


def _disconnect(connection: socket.socket) -> None:
    with suppress(OSError):  # It may be closed already.
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()


if __name__ == "__main__":
    # Runs as the process that a bridge starts.
    with FakeDaemon(Path(sys.argv[sys.argv.index("--data") + 1])) as started:
        started.client_left.wait(PATIENCE)
