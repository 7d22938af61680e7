"""ASGI without a server: the messages that a client sends and receives."""

from collections.abc import Iterable
from typing import Any

from starlette.types import Message, Receive, Scope


def scope_of(
    method: str = "GET", path: str = "/", *headers: tuple[str, str], kind: str = "http", query: str = ""
) -> Scope:
    raw = [(name.encode(), value.encode("latin-1")) for name, value in (("host", "localhost"), *headers)]
    scope: dict[str, Any] = {"type": kind, "path": path, "raw_path": path.encode(), "query_string": query.encode()}
    return {**scope, "method": method, "headers": raw, "root_path": "", "scheme": "http", "state": {}}


def client_sending(*pieces: bytes, ends: bool = True) -> Receive:
    """Return the `receive` of a client that sends a body in pieces, and disconnects early unless `ends`."""
    messages = list(_messages(pieces, ends=ends))

    async def receive() -> Message:
        return messages.pop(0) if messages else {"type": "http.disconnect"}

    return receive


def _messages(pieces: Iterable[bytes], *, ends: bool) -> Iterable[Message]:
    bodies = list(pieces)
    for number, piece in enumerate(bodies, start=1):
        yield {"type": "http.request", "body": piece, "more_body": not ends or number < len(bodies)}
    if not bodies and ends:
        yield {"type": "http.request", "body": b"", "more_body": False}


class ResponseRecorder:
    """A `send` that records the response."""

    def __init__(self) -> None:
        self.messages: list[Message] = []

    async def __call__(self, message: Message) -> None:
        self.messages.append(message)

    @property
    def status(self) -> int:
        return int(self.messages[0]["status"])

    @property
    def headers(self) -> dict[str, str]:
        return {name.decode(): value.decode() for name, value in self.messages[0]["headers"]}

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.messages[1:])
