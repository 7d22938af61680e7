"""`forget`, `restore` and `purge` of memories that have branches."""

from dataclasses import replace

import pytest
from tests.unit.branching.orchard import TEA, Orchard
from tests.unit.workshop import SPACE

from scrubjay.branches import DRAWER, branch_id
from scrubjay.errors import Ambiguous, NotFound, WrongState
from scrubjay.model.draft import Draft
from scrubjay.model.memory import MAIN, State
from scrubjay.model.query import Filter
from scrubjay.writing.dispose import Selection

OF_PROJECT = Filter(project="tearoom")


async def test_purging_a_memory_takes_its_branches_along(orchard: Orchard) -> None:
    tea = await orchard.plant()
    for name in ("draft", "gone"):
        await orchard.branch(name, switch=True)
        await orchard.add("Zanzibar", branch=name)
    await orchard.drop("gone")
    await orchard.switch("draft")
    await orchard.shop.forget("tea")
    done = await orchard.shop.purge("tea")
    assert [(one.id, one.branch) for one in done.done] == [(tea.id, MAIN)]
    assert done.done[0].warnings == ("its branches go with it: draft, gone",)
    ids = [tea.id, branch_id(tea.id, "draft"), branch_id(tea.id, "gone")]
    assert await orchard.shop.store.get(SPACE, ids) == {}
    assert await orchard.shop.store.versions(SPACE, ids[1], limit=9) == []
    assert await orchard.shop.store.paper(SPACE, DRAWER, tea.id) is None
    with pytest.raises(NotFound):
        await orchard.branches("tea")


async def test_a_dry_run_tells_of_the_branches_and_purges_nothing(small: Orchard) -> None:
    await small.plant()
    await small.branch()
    await small.shop.forget("tea")
    done = await small.shop.purge(wanted=Selection(refs=("tea",), dry_run=True))
    assert "draft" in done.done[0].warnings[0]
    assert (await small.shadow()).state is State.BRANCHED


async def test_forgetting_by_filter_leaves_branches_where_they_are(small: Orchard) -> None:
    await small.plant(replace(TEA, project="tearoom"))
    await small.branch("draft")
    await small.branch("gone")
    await small.drop("gone")
    done = await small.shop.forget(wanted=Selection(wanted=OF_PROJECT))
    assert [(one.name, one.branch) for one in done.done] == [("tea", MAIN)]
    assert (await small.shadow("draft")).state is State.BRANCHED
    back = await small.shop.restore(wanted=Selection(wanted=OF_PROJECT))
    assert [(one.name, one.branch) for one in back.done] == [("tea", MAIN)]
    assert (await small.shadow("gone")).state is State.TRASHED
    assert await small.names() == [MAIN, "draft"]


async def test_purging_by_filter_empties_the_trash_of_dropped_branches(orchard: Orchard) -> None:
    await orchard.plant(replace(TEA, project="tearoom"))
    await orchard.branch("draft")
    await orchard.branch("gone")
    await orchard.drop("gone")
    record = await orchard.shadow("gone")
    done = await orchard.shop.purge(wanted=Selection(wanted=OF_PROJECT))
    assert [(one.id, one.branch) for one in done.done] == [(record.id, "gone")]
    assert await orchard.names() == [MAIN, "draft"]


async def test_a_memory_and_its_dropped_branch_share_a_name_in_the_trash(orchard: Orchard) -> None:
    tea = await orchard.plant()
    await orchard.branch("gone")
    await orchard.drop("gone")
    await orchard.branch("draft")
    await orchard.shop.forget("tea")
    assert [one.id for one in (await orchard.shop.read("tea")).memories] == [tea.id]
    done = await orchard.shop.restore("tea")
    assert [(one.id, one.action) for one in done.done] == [(tea.id, "restored")]


async def test_two_memories_in_the_trash_are_still_told_apart(small: Orchard) -> None:
    await small.plant()
    await small.branch()
    await small.drop()
    await small.shop.forget("tea")
    await small.shop.remember(Draft(text="Another tea", name="tea"))
    await small.shop.forget("tea")
    with pytest.raises(Ambiguous, match="2 memories"):
        await small.shop.restore("tea")


async def test_a_branch_comes_and_goes_by_its_own_id(small: Orchard) -> None:
    tea = await small.plant()
    await small.branch(switch=True)
    record = await small.shadow()
    gone = await small.shop.forget(record.id)
    assert [(one.action, one.id, one.branch) for one in gone.done] == [("trashed", record.id, "draft")]
    assert (await small.branches()).current == MAIN
    again = await small.shop.forget(record.id)
    assert [one.action for one in again.done] == ["unchanged"]
    back = await small.shop.restore(record.id)
    assert [(one.action, one.branch) for one in back.done] == [("restored", "draft")]
    assert (await small.shadow()).state is State.BRANCHED
    assert [one.action for one in (await small.shop.restore(record.id)).done] == ["unchanged"]
    with pytest.raises(WrongState, match="only what is in the trash") as caught:
        await small.shop.purge(record.id)
    assert record.id in caught.value.hint
    assert (await small.record(MAIN)).id == tea.id
    assert await small.record("draft") == await small.shadow()
