"""Graphs for tests."""

import pytest
from tests.unit.graph.graph_world import Garden
from tests.unit.harness import Harness


@pytest.fixture
def garden(harness: Harness) -> Garden:
    return Garden(harness=harness)
