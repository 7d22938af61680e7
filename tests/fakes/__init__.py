"""Fakes that implement the ports in memory; the conformance suites prove it."""

from tests.fakes.clock import FakeClock
from tests.fakes.embedder import FakeEmbedder
from tests.fakes.index import FakeIndex
from tests.fakes.store import FakeStore

__all__ = ["FakeClock", "FakeEmbedder", "FakeIndex", "FakeStore"]
