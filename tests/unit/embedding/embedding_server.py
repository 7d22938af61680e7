"""A real HTTP server on this machine for `/v1/embeddings`, with good and bad replies."""

import base64
import hashlib
import json
from collections import deque
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

import numpy as np
from tests.unit.loopback import Loopback

DIMENSION = 8


@dataclass(frozen=True, kw_only=True)
class Reply:
    """A reply instead of vectors. `missing` bytes are announced but not sent; `hang` sends nothing."""

    status: int = 200
    body: object = None
    headers: dict[str, str] = field(default_factory=dict[str, str])
    missing: int = 0
    hang: bool = False

    @property
    def content(self) -> bytes:
        if isinstance(self.body, bytes):
            return self.body
        return json.dumps(self.body).encode()


@dataclass(frozen=True, kw_only=True)
class ReceivedRequest:
    """A received request."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class EmbeddingServer(Loopback):
    """Sends vectors made from the texts' hashes; scripted replies go first, one for each request."""

    def __init__(self) -> None:
        self.requests: list[ReceivedRequest] = []
        self.script: deque[Reply] = deque()
        self.refused_text: str | None = None
        super().__init__(_make_handler(self), path="/v1")

    def reply_to(self, request: ReceivedRequest) -> Reply:
        self.requests.append(request)
        if self.script:
            return self.script.popleft()
        texts: list[str] = request.body["input"]
        if self.refused_text in texts:
            return Reply(status=400, body={"error": {"message": "a text is too long"}})
        size = request.body.get("dimensions") or request.body.get("output_dimension") or DIMENSION
        as_text = request.body.get("encoding_format") == "base64"
        entries = [{"index": index, "embedding": _embedding(text, size, as_text)} for index, text in enumerate(texts)]
        # Backwards, because only `index` gives the order.
        return Reply(body={"data": entries[::-1], "model": request.body["model"]})


def vector_of(text: str, size: int = DIMENSION) -> list[float]:
    """Return the server's vector of a text; it is not of unit length, which services may do."""
    digest = hashlib.sha512(text.encode()).digest()
    return [byte / 16 - 8 for byte in (digest * size)[:size]]


def unit_vector_of(text: str, size: int = DIMENSION) -> list[float]:
    vector = np.array(vector_of(text, size))
    return list(vector / np.linalg.norm(vector))


def _embedding(text: str, size: int, as_text: bool) -> object:
    vector = vector_of(text, size)
    return base64.b64encode(np.array(vector, dtype="<f4").tobytes()).decode() if as_text else vector


def _make_handler(server: EmbeddingServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        # Headers and body are sent separately; the algorithm would delay the body by 40 ms.
        disable_nagle_algorithm = True

        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            reply = server.reply_to(ReceivedRequest(path=self.path, headers=dict(self.headers), body=body))
            if reply.hang:
                server.released.wait(timeout=60)
                self.close_connection = True
                return
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(reply.content) + reply.missing))
            self.end_headers()
            self.wfile.write(reply.content)
            self.close_connection = bool(reply.missing)

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing."""

    return Handler
