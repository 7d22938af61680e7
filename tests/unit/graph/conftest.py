"""Graphs for tests."""

import pytest
from tests.fakes import FakeStore
from tests.unit.graph.graph_world import Garden
from tests.unit.harness import Harness

from scrubjay.ports import RecordStore


@pytest.fixture
def garden(any_store: RecordStore) -> Garden:
    return Garden(harness=Harness(store=any_store))


@pytest.fixture
def bed() -> Garden:
    """The same over the store in memory."""
    return Garden(harness=Harness(store=FakeStore()))
