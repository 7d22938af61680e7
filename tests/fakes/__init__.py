"""Fakes that keep every rule of the ports, and, in `conformance`, the suites that prove it of any backend."""

from tests.fakes.clock import FakeClock
from tests.fakes.embedder import FakeEmbedder
from tests.fakes.index import FakeIndex
from tests.fakes.store import FakeStore

__all__ = ["FakeClock", "FakeEmbedder", "FakeIndex", "FakeStore"]
