"""ASGI without a server: what a client says, and what it hears."""

from collections.abc import Iterable
from typing import Any

from starlette.types import Message, Receive, Scope


def scope_of(
    method: str = "GET", path: str = "/", *headers: tuple[str, str], kind: str = "http", query: str = ""
) -> Scope:
    inputs = [(name.encode(), value.encode("latin-1")) for name, value in (("host", "localhost"), *headers)]
    scope: dict[str, Any] = {"type": kind, "path": path, "raw_path": path.encode(), "query_string": query.encode()}
    return {**scope, "method": method, "headers": inputs, "root_path": "", "scheme": "http", "state": {}}


def saying(*pieces: bytes, ends: bool = True) -> Receive:
    """A client that sends a body in pieces; `ends`: it says that this was all, else it hangs up."""
    messages = list(_messages(pieces, ends=ends))

    async def receive() -> Message:
        return messages.pop(0) if messages else {"type": "http.disconnect"}

    return receive


def _messages(pieces: Iterable[bytes], *, ends: bool) -> Iterable[Message]:
    inputs = list(pieces)
    for number, piece in enumerate(inputs, start=1):
        yield {"type": "http.request", "body": piece, "more_body": not ends or number < len(inputs)}
    if not inputs and ends:
        yield {"type": "http.request", "body": b"", "more_body": False}


class Hearing:
    """Keeps what is sent."""

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
