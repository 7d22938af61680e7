"""A collector of traces on this machine, which receives OTLP over HTTP."""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import cast

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from tests.patience import PATIENCE


@dataclass(kw_only=True)
class Collector:
    """The address of the collector and the spans that it received. `status` is its response."""

    url: str = ""
    status: int = 200
    paths: list[str] = field(default_factory=list[str])
    kinds: list[str] = field(default_factory=list[str])
    services: set[str] = field(default_factory=set[str])
    names: list[str] = field(default_factory=list[str])

    def take(self, path: str, kind: str, body: bytes) -> None:
        """Parse a request."""
        self.paths.append(path)
        self.kinds.append(kind)
        for of in ExportTraceServiceRequest.FromString(body).resource_spans:
            self.services |= {
                attribute.value.string_value for attribute in of.resource.attributes if attribute.key == "service.name"
            }
            self.names += [span.name for scope in of.scope_spans for span in scope.spans]


@contextmanager
def collector(status: int = 200) -> Generator[Collector]:
    """Run a collector until the end of the block."""
    running = Collector(status=status)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            running.take(self.path, str(self.headers["content-type"]), body)
            answer = ExportTraceServiceResponse().SerializeToString()
            self.send_response(running.status)
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    host, port = cast("tuple[str, int]", server.server_address)
    running.url = f"http://{host}:{port}"
    try:
        yield running
    finally:
        server.shutdown()
        server.server_close()
        thread.join(PATIENCE)
