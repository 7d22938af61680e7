"""A clock that is set back: a newer version never gets an older date."""

from datetime import timedelta
from itertools import pairwise

from tests.unit.harness import SPACE
from tests.unit.versions.branch_editor import BranchEditor


async def test_versions_stay_in_order_when_the_clock_is_set_back(small: BranchEditor) -> None:
    tea = await small.plant()
    early = tea.created_at - timedelta(days=1)
    await small.write(content="Tea is black.")
    small.harness.clock.set(early)
    await small.branch()
    await small.write(content="Tea is white.", branch="draft")
    await small.merge()
    await small.commit("a mark")
    await small.revert(1)
    await small.undo()
    await small.drop()
    await small.harness.forget("tea")
    await small.harness.restore("tea")
    assert small.harness.clock.now() < tea.created_at
    for record in (await small.harness.get(tea.id), await small.shadow()):
        versions = await small.harness.store.versions(SPACE, record.id, limit=99)
        assert len(versions) > 2
        assert all(newer.created_at >= older.created_at for newer, older in pairwise(versions))
        newest = await small.harness.store.version_at(SPACE, record.id, at=record.updated_at)
        assert newest is not None
        assert newest.number == record.version
