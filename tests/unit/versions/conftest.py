"""Somebody who works on branches, over each store."""

import pytest
from tests.unit.versions.orchard import Orchard
from tests.unit.write_world import Workshop


@pytest.fixture
def orchard(shop: Workshop) -> Orchard:
    return Orchard(shop=shop)


@pytest.fixture
def small(quick: Workshop) -> Orchard:
    """The same over the store in memory, where the store is not the point."""
    return Orchard(shop=quick)
