"""A real HTTP server on this machine that speaks `/v1/chat/completions`, well or badly."""

import json
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.unit.loopback import Loopback


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What to answer. `hang`: nothing; `hang_up`: nothing, and close; `flood`: bytes without end."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict[str, str])
    hang: bool = False
    hang_up: bool = False
    flood: bool = False


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A request as it arrived."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def said(self) -> str:
        """All that was said to the model."""
        return "\n".join(str(message["content"]) for message in self.body["messages"])


def saying(text: str, *, tokens: int = 30, cut_off: bool = False) -> Reply:
    """A whole answer of the protocol with a text in it."""
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": text},
        "finish_reason": "length" if cut_off else "stop",
    }
    answer = {"id": "one", "object": "chat.completion", "created": 1, "model": "tiny", "choices": [choice]}
    usage = {"prompt_tokens": tokens - 10, "completion_tokens": 10, "total_tokens": tokens}
    return Reply(body=json.dumps(answer | {"usage": usage}).encode())


def answering(**fields: object) -> Reply:
    """An answer in fields."""
    return saying(json.dumps(fields))


class ChatServer(Loopback):
    """Answers with what is in the script, one a request, and then what `usual` says."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.script: deque[Reply] = deque()
        self.usual: Callable[[Asked], Reply] = lambda _: saying("I would rather talk.")
        super().__init__(_handler_of(self), path="/v1")

    def reply_to(self, asked: Asked) -> Reply:
        self.asked.append(asked)
        return self.script.popleft() if self.script else self.usual(asked)


def _handler_of(server: ChatServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            request = Asked(path=self.path, headers=dict(self.headers), body=json.loads(body))
            reply = server.reply_to(request)
            if reply.hang:
                server.released.wait(30)
            if reply.hang or reply.hang_up:
                self.close_connection = True
                return
            self.send_response(reply.status)
            self.send_header("Content-Type", "application/json")
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(1 << 40 if reply.flood else len(reply.body)))
            self.end_headers()
            if reply.flood:
                self._pour()
            else:
                self.wfile.write(reply.body)

        def _pour(self) -> None:
            self.close_connection = True
            try:
                while not server.released.is_set():
                    self.wfile.write(b" " * 65_536)
            except OSError:
                return

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    return Handler
