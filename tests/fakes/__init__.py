"""A clock, an embedder and a pair model that tests control, and builders of records."""

from tests.fakes.clock import FakeClock
from tests.fakes.embedder import FakeEmbedder
from tests.fakes.pair_reader import KnowingReader

__all__ = ["FakeClock", "FakeEmbedder", "KnowingReader"]
