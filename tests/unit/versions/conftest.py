"""A branch editor over a store."""

import pytest
from tests.unit.harness import Harness
from tests.unit.versions.branch_editor import BranchEditor


@pytest.fixture
def editor(harness: Harness) -> BranchEditor:
    return BranchEditor(harness=harness)
