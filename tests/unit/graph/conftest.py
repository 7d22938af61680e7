"""Graphs for tests."""

import pytest
from tests.fakes import FakeStore
from tests.unit.graph.graph_world import Garden
from tests.unit.write_world import Workshop

from scrubjay.ports import RecordStore


@pytest.fixture
def garden(any_store: RecordStore) -> Garden:
    return Garden(shop=Workshop(store=any_store))


@pytest.fixture
def bed() -> Garden:
    """The same over the store in memory."""
    return Garden(shop=Workshop(store=FakeStore()))
