"""A branch editor over each store."""

import pytest
from tests.unit.harness import Harness
from tests.unit.versions.branch_editor import BranchEditor


@pytest.fixture
def editor(harness: Harness) -> BranchEditor:
    return BranchEditor(harness=harness)


@pytest.fixture
def small(quick: Harness) -> BranchEditor:
    """The same over the store in memory, where the store is not the point."""
    return BranchEditor(harness=quick)
