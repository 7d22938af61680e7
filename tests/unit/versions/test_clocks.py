"""A clock that is set back: a newer version never gets an older date."""

from datetime import timedelta
from itertools import pairwise

from tests.unit.harness import SPACE
from tests.unit.versions.branch_editor import BranchEditor


async def test_versions_stay_in_order_when_the_clock_is_set_back(editor: BranchEditor) -> None:
    tea = await editor.plant()
    early = tea.created_at - timedelta(days=1)
    await editor.write(content="Tea is black.")
    editor.harness.clock.set(early)
    await editor.branch()
    await editor.write(content="Tea is white.", branch="draft")
    await editor.merge()
    await editor.commit("a mark")
    await editor.revert(1)
    await editor.undo()
    await editor.drop()
    await editor.harness.forget("tea")
    await editor.harness.restore("tea")
    assert editor.harness.clock.now() < tea.created_at
    for record in (await editor.harness.get(tea.id), await editor.shadow()):
        versions = await editor.harness.store.versions(SPACE, record.id, limit=99)
        assert len(versions) > 2
        assert all(newer.created_at >= older.created_at for newer, older in pairwise(versions))
        newest = await editor.harness.store.version_at(SPACE, record.id, at=record.updated_at)
        assert newest is not None
        assert newest.number == record.version
