"""A clock and an embedder that tests control, and builders of records."""

from tests.fakes.clock import FakeClock
from tests.fakes.embedder import FakeEmbedder

__all__ = ["FakeClock", "FakeEmbedder"]
