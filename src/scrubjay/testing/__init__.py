"""Fakes that keep every rule of the ports, and, in `conformance`, the suites that prove it of any backend."""

from scrubjay.testing.clock import FakeClock
from scrubjay.testing.embedder import FakeEmbedder
from scrubjay.testing.store import FakeStore
from scrubjay.testing.vectors import FakeIndex

__all__ = ["FakeClock", "FakeEmbedder", "FakeIndex", "FakeStore"]
