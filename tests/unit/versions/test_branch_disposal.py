"""`forget`, `restore` and `purge` of memories that have branches."""

from dataclasses import replace

import pytest
from tests.new_files import NewStores
from tests.unit.harness import SPACE, Harness, OvertakenStore
from tests.unit.versions.branch_editor import TEA, BranchEditor

from scrubjay.errors import Ambiguous, InvalidInput, NotFound, WrongState
from scrubjay.lookup.branches import CURRENT_COLLECTION, branch_id
from scrubjay.model.draft import Draft
from scrubjay.model.memory import MAIN, State
from scrubjay.model.query import Filter
from scrubjay.model.requests import Selection

OF_PROJECT = Filter(project="tearoom")


async def test_purging_a_memory_takes_its_branches_along(editor: BranchEditor) -> None:
    tea = await editor.plant()
    for name in ("draft", "gone"):
        await editor.branch(name, switch=True)
        await editor.add("Zanzibar", branch=name)
    await editor.drop("gone")
    await editor.switch("draft")
    await editor.harness.forget("tea")
    done = await editor.harness.purge("tea")
    assert [(change.id, change.branch) for change in done.done] == [(tea.id, MAIN)]
    assert done.done[0].warnings == ("its branches go with it: draft, gone",)
    ids = [tea.id, branch_id(tea.id, "draft"), branch_id(tea.id, "gone")]
    assert await editor.harness.store.get(SPACE, ids) == {}
    assert await editor.harness.store.versions(SPACE, ids[1], limit=9) == []
    assert await editor.harness.store.document(SPACE, CURRENT_COLLECTION, tea.id) is None
    with pytest.raises(NotFound):
        await editor.branches("tea")


async def test_a_dry_run_tells_of_the_branches_and_purges_nothing(editor: BranchEditor) -> None:
    await editor.plant()
    await editor.branch()
    await editor.harness.forget("tea")
    done = await editor.harness.purge(selection=Selection(ids=("tea",), dry_run=True))
    assert "draft" in done.done[0].warnings[0]
    assert (await editor.shadow()).state is State.BRANCHED


async def test_forgetting_by_filter_leaves_branches_where_they_are(editor: BranchEditor) -> None:
    await editor.plant(replace(TEA, project="tearoom"))
    await editor.branch("draft")
    await editor.branch("gone")
    await editor.drop("gone")
    done = await editor.harness.forget(selection=Selection(filter=OF_PROJECT))
    assert [(change.name, change.branch) for change in done.done] == [("tea", MAIN)]
    assert (await editor.shadow("draft")).state is State.BRANCHED
    back = await editor.harness.restore(selection=Selection(filter=OF_PROJECT))
    assert [(change.name, change.branch) for change in back.done] == [("tea", MAIN)]
    assert (await editor.shadow("gone")).state is State.TRASHED
    assert await editor.names() == [MAIN, "draft"]


async def test_purging_by_filter_empties_the_trash_of_dropped_branches(editor: BranchEditor) -> None:
    await editor.plant(replace(TEA, project="tearoom"))
    await editor.branch("draft")
    await editor.branch("gone")
    await editor.drop("gone")
    record = await editor.shadow("gone")
    done = await editor.harness.purge(selection=Selection(filter=OF_PROJECT))
    assert [(change.id, change.branch) for change in done.done] == [(record.id, "gone")]
    assert await editor.harness.store.get(SPACE, [record.id]) == {}
    assert await editor.names() == [MAIN, "draft"]


async def test_a_memory_and_its_dropped_branch_share_a_name_in_the_trash(editor: BranchEditor) -> None:
    tea = await editor.plant()
    await editor.branch("gone")
    await editor.drop("gone")
    await editor.branch("draft")
    await editor.harness.forget("tea")
    assert [memory.id for memory in (await editor.harness.read("tea")).memories] == [tea.id]
    done = await editor.harness.restore("tea")
    assert [(change.id, change.action) for change in done.done] == [(tea.id, "restored")]


async def test_two_memories_of_one_name_in_the_trash_stay_distinct(editor: BranchEditor) -> None:
    await editor.plant()
    await editor.branch()
    await editor.drop()
    await editor.harness.forget("tea")
    await editor.harness.remember(Draft(text="Another tea", name="tea"))
    await editor.harness.forget("tea")
    with pytest.raises(Ambiguous, match="2 memories"):
        await editor.harness.restore("tea")


async def test_a_branch_comes_and_goes_by_its_own_id(editor: BranchEditor) -> None:
    tea = await editor.plant()
    await editor.branch(switch=True)
    record = await editor.shadow()
    gone = await editor.harness.forget(record.id)
    assert [(change.action, change.id, change.branch) for change in gone.done] == [("trashed", tea.id, "draft")]
    assert (await editor.branches()).current == MAIN
    again = await editor.harness.forget(record.id)
    assert [change.action for change in again.done] == ["unchanged"]
    back = await editor.harness.restore(record.id)
    assert [(change.action, change.branch) for change in back.done] == [("restored", "draft")]
    assert (await editor.shadow()).state is State.BRANCHED
    assert [change.action for change in (await editor.harness.restore(record.id)).done] == ["unchanged"]
    with pytest.raises(WrongState, match="only memories in the trash") as caught:
        await editor.harness.purge(record.id)
    assert record.id in caught.value.hint
    assert (await editor.record(MAIN)).id == tea.id
    assert await editor.record("draft") == await editor.shadow()


async def test_a_dropped_branch_comes_back_by_its_name(editor: BranchEditor) -> None:
    tea = await editor.plant()
    await editor.branch("draft", about="cold")
    await editor.add("iced", branch="draft")
    await editor.drop("draft")
    with pytest.raises(NotFound, match="no branch 'draft'") as caught:
        await editor.record("draft")
    assert "`restore tea --branch draft`" in caught.value.hint
    back = await editor.harness.restore(selection=Selection(ids=("tea",), branch="draft"))
    assert [(change.action, change.id, change.branch) for change in back.done] == [("restored", tea.id, "draft")]
    assert "iced" in await editor.facts("draft")
    assert [branch.description for branch in (await editor.branches()).branches] == ["", "cold"]
    again = await editor.harness.restore(selection=Selection(ids=("tea",), branch="draft"))
    assert [change.action for change in again.done] == ["unchanged"]
    await editor.drop("draft")
    assert [change.branch for change in (await editor.undo()).done] == ["draft"]
    assert await editor.names() == [MAIN, "draft"]


async def test_a_branch_that_never_was_does_not_come_back(editor: BranchEditor) -> None:
    await editor.plant()
    await editor.branch("draft")
    await editor.drop("draft")
    with pytest.raises(NotFound, match="no branch 'drafts'") as caught:
        await editor.harness.restore(selection=Selection(ids=("tea",), branch="drafts"))
    assert caught.value.fields["suggestions"] == ("draft",)
    with pytest.raises(InvalidInput, match="ids of its memories"):
        await editor.harness.restore(selection=Selection(filter=OF_PROJECT, branch="draft"))
    with pytest.raises(InvalidInput, match="branch"):
        await editor.harness.restore(selection=Selection(ids=("tea",), branch=3))  # pyright: ignore[reportArgumentType]


async def test_a_dropped_branch_takes_no_further_version(editor: BranchEditor) -> None:
    await editor.plant()
    await editor.branch("draft")
    record = await editor.shadow()
    await editor.harness.forget("tea")
    with pytest.raises(WrongState, match="only a live memory"):
        await editor.harness.revise(record.id, content="on a branch of what is gone")
    await editor.harness.restore("tea")
    await editor.drop("draft")
    for late in (
        editor.harness.revise(record.id, content="zombie"),
        editor.commit("zombie", ref=record.id),
        editor.revert(1, ref=record.id),
    ):
        with pytest.raises(WrongState, match="branch 'draft' of 'tea' was dropped"):
            await late
    assert (await editor.shadow()).state is State.TRASHED


async def test_relations_are_those_of_the_memory(editor: BranchEditor) -> None:
    tea = await editor.plant()
    milk = await editor.harness.store_draft(Draft(text="Milk is white", name="milk"))
    await editor.branch("draft")
    shadow = (await editor.shadow()).id
    done = await editor.harness.relate(shadow, "milk")
    assert (done.source, done.target) == (tea.id, milk.id)
    assert await editor.harness.store.relations(SPACE, [shadow]) == []
    with pytest.raises(InvalidInput, match="itself"):
        await editor.harness.relate(shadow, "tea")
    assert (await editor.harness.unrelate("milk", shadow)).action == "removed"


async def test_a_memory_purged_meanwhile_leaves_no_branch_behind(new_store: NewStores) -> None:
    store = new_store(OvertakenStore)
    editor = BranchEditor(harness=Harness(store=store))
    tea = await editor.plant()

    async def purge() -> None:
        await editor.harness.forget("tea")
        await editor.harness.purge("tea")

    store.first = [purge]
    with pytest.raises(NotFound):
        await editor.branch("draft")
    assert await store.get(SPACE, [tea.id, branch_id(tea.id, "draft")]) == {}
    assert await store.list_ids(SPACE, Filter(state=State.BRANCHED), limit=9) == []


async def test_a_branch_begins_at_the_version_of_main_when_it_is_stored(new_store: NewStores) -> None:
    store = new_store(OvertakenStore)
    editor = BranchEditor(harness=Harness(store=store))
    await editor.plant()
    store.first = [lambda: editor.add("iced")]
    listed = await editor.branch("draft")
    assert [(branch.version, branch.forked) for branch in listed.branches] == [(2, 0), (3, 2)]
    assert "iced" in await editor.facts("draft")
