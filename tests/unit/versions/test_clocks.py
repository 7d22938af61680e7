"""A clock that was set back: what is newer is never told as older."""

from datetime import timedelta
from itertools import pairwise

from tests.unit.versions.orchard import Orchard
from tests.unit.write_world import SPACE


async def test_versions_stay_in_order_when_the_clock_is_set_back(small: Orchard) -> None:
    tea = await small.plant()
    early = tea.created_at - timedelta(days=1)
    await small.write(content="Tea is black.")
    small.shop.clock.set(early)
    await small.branch()
    await small.write(content="Tea is white.", branch="draft")
    await small.merge()
    await small.commit("a mark")
    await small.revert(1)
    await small.undo()
    await small.drop()
    await small.shop.forget("tea")
    await small.shop.restore("tea")
    assert small.shop.clock.now() < tea.created_at
    for record in (await small.shop.get(tea.id), await small.shadow()):
        versions = await small.shop.store.versions(SPACE, record.id, limit=99)
        assert len(versions) > 2
        assert all(newer.created_at >= older.created_at for newer, older in pairwise(versions))
        newest = await small.shop.store.version_at(SPACE, record.id, at=record.updated_at)
        assert newest is not None
        assert newest.number == record.version
