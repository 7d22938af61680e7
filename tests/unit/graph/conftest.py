"""Graphs for tests."""

import pytest
from tests.unit.graph.graph_world import GraphHarness
from tests.unit.harness import Harness


@pytest.fixture
def graph_harness(harness: Harness) -> GraphHarness:
    return GraphHarness(harness=harness)
