"""A real HTTP server on this machine for `/v1/chat/completions`, with good and bad replies."""

import json
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.patience import PATIENCE
from tests.unit.loopback import Loopback


@dataclass(frozen=True, kw_only=True)
class Reply:
    """A reply. `hang` sends nothing, `hang_up` closes the connection, `flood` sends bytes without end."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict[str, str])
    hang: bool = False
    hang_up: bool = False
    flood: bool = False


@dataclass(frozen=True, kw_only=True)
class ChatRequest:
    """A received request."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def prompt(self) -> str:
        """The texts of all messages."""
        return "\n".join(str(message["content"]) for message in self.body["messages"])


def text_reply(text: str, *, tokens: int = 30, cut_off: bool = False) -> Reply:
    """Make a complete response of the protocol around a text."""
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": text},
        "finish_reason": "length" if cut_off else "stop",
    }
    answer = {"id": "1", "object": "chat.completion", "created": 1, "model": "tiny", "choices": [choice]}
    usage = {"prompt_tokens": tokens - 10, "completion_tokens": 10, "total_tokens": tokens}
    return Reply(body=json.dumps(answer | {"usage": usage}).encode())


def json_reply(**fields: object) -> Reply:
    """Make a response with a JSON object."""
    return text_reply(json.dumps(fields))


class ChatServer(Loopback):
    """Sends the replies of the script, one for each request, and then `default_reply`."""

    def __init__(self) -> None:
        self.requests: list[ChatRequest] = []
        self.script: deque[Reply] = deque()
        self.default_reply: Callable[[ChatRequest], Reply] = lambda _: text_reply("I would rather talk.")
        super().__init__(_make_handler(self), path="/v1")

    def reply_to(self, request: ChatRequest) -> Reply:
        self.requests.append(request)
        return self.script.popleft() if self.script else self.default_reply(request)


def _make_handler(server: ChatServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            request = ChatRequest(path=self.path, headers=dict(self.headers), body=json.loads(body))
            reply = server.reply_to(request)
            if reply.hang:
                server.released.wait(PATIENCE)
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
                self._send_endlessly()
            else:
                self.wfile.write(reply.body)

        def _send_endlessly(self) -> None:
            self.close_connection = True
            try:
                while not server.released.is_set():
                    self.wfile.write(b" " * 65_536)
            except OSError:
                return

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing."""

    return Handler
