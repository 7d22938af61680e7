"""A branch editor over each store."""

import pytest
from tests.unit.harness import Harness
from tests.unit.versions.branch_editor import BranchEditor


@pytest.fixture
def editor(harness: Harness) -> BranchEditor:
    return BranchEditor(harness=harness)


@pytest.fixture
def small(quick: Harness) -> BranchEditor:
    """A branch editor over the in-memory store, where the store does not matter."""
    return BranchEditor(harness=quick)
