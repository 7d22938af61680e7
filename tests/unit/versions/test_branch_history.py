"""History, diff, revert and undo on branches."""

import asyncio
from dataclasses import replace

import pytest
from tests.fakes.build import START, a_commit, a_rewrite, an_origin
from tests.unit.harness import SPACE
from tests.unit.versions.branch_editor import BranchEditor

from scrubjay.errors import InvalidInput, NotFound
from scrubjay.lookup.branches import START_COLLECTION
from scrubjay.model.identity import new_id
from scrubjay.model.memory import MAIN, Merged, State
from scrubjay.model.requests import Edit


async def test_the_past_of_a_branch_goes_on_from_that_of_main(editor: BranchEditor) -> None:
    tea = await editor.plant()
    await editor.write(title="Two")
    await editor.branch()
    await editor.write(MAIN, title="Three")
    await editor.write("draft", title="Four")
    past = await editor.history(branch="draft")
    assert (past.id, past.name, past.branch) == (tea.id, "tea", "draft")
    summaries = [
        (version.number, version.branch, version.action, version.memory.id, version.memory.title)
        for version in past.versions
    ]
    assert summaries == [
        (4, "draft", "revised", tea.id, "Four"),
        (3, "draft", "branched", tea.id, "Two"),
        (2, MAIN, "revised", tea.id, "Two"),
        (1, MAIN, "created", tea.id, ""),
    ]
    assert {version.memory.state for version in past.versions} == {State.LIVE}
    assert [version.memory.title for version in (await editor.history(branch=MAIN)).versions] == ["Three", "Two", ""]
    await editor.switch("draft")
    assert (await editor.history()).versions == past.versions


@pytest.mark.parametrize(
    ("limit", "before", "numbers"),
    [(1, None, [4]), (3, None, [4, 3, 2]), (9, 4, [3, 2, 1]), (2, 3, [2, 1]), (9, 1, [])],
)
async def test_pages_go_over_where_it_was_begun(
    editor: BranchEditor, limit: int, before: int | None, numbers: list[int]
) -> None:
    await editor.plant()
    await editor.write(title="Two")
    await editor.branch()
    await editor.write("draft", title="Four")
    past = await editor.history(branch="draft", limit=limit, before=before)
    assert [version.number for version in past.versions] == numbers


async def test_a_merge_does_not_change_where_a_branch_was_begun(editor: BranchEditor) -> None:
    await editor.plant()
    await editor.branch()
    for number in range(3):
        await editor.write(MAIN, title=f"Title {number}")
    await editor.add("iced", branch="draft")
    await editor.merge()
    assert await editor.numbers(branch="draft") == [4, 3, 2, 1]
    assert (await editor.record("draft")).forked == 5
    assert (await editor.diff(1, 2, branch="draft")) == {}
    assert (await editor.diff(2, 3, branch="draft")) == {"observations": ("+iced",)}


async def test_a_long_past_is_paged_through(editor: BranchEditor) -> None:
    await editor.plant()
    await editor.branch()
    for number in range(120):
        await editor.commit(f"number {number}", branch="draft")
    assert (await editor.numbers(branch="draft"))[-1] == 73
    assert (await editor.history(branch="draft", limit=200)).versions[-1].number == 1
    assert (await editor.branches()).branches[1].version == 122


async def test_versions_and_branches_are_compared(editor: BranchEditor) -> None:
    await editor.plant()
    await editor.branch()
    await editor.write("draft", content="Tea is green. It is cold. Good.")
    await editor.add("iced", branch="draft")
    await editor.remove("no milk", branch="draft")
    await editor.write(MAIN, title="Tea")
    expected = {
        "title": ("@@ -1 +0,0 @@", "-Tea"),
        "content": ("@@ -1 +1 @@", "-Tea is green. It is hot. Good.", "+Tea is green. It is cold. Good."),
        "observations": ("-no milk", "+iced"),
    }
    assert await editor.diff(MAIN, "draft") == expected
    assert await editor.diff(2, 5, branch="draft") == {field: expected[field] for field in ("content", "observations")}
    assert await editor.diff(1, "draft") == await editor.diff(1, 5, branch="draft")
    assert await editor.diff("draft", "draft") == {}
    await editor.switch("draft")
    assert await editor.diff(1, 3) == {"content": expected["content"]}


async def test_an_observation_that_ended_is_a_difference(editor: BranchEditor) -> None:
    await editor.plant()
    await editor.end("one cup")
    (before, after) = (await editor.diff(1, 2))["observations"]
    assert before == "-one cup"
    assert after.startswith("+one cup (until 2026-01-01T12:")


async def test_versions_that_cannot_be_compared(editor: BranchEditor) -> None:
    await editor.plant()
    await editor.branch()
    with pytest.raises(NotFound, match="no branch 'nobody'"):
        await editor.diff(1, "nobody")
    for side in ("", "2", True, 0, 1.5, None):
        with pytest.raises(InvalidInput):
            await editor.diff(1, side)  # pyright: ignore[reportArgumentType]


async def test_an_error_about_a_version_of_another_branch_names_that_branch(editor: BranchEditor) -> None:
    await editor.plant()
    await editor.branch("draft")
    await editor.write("draft", title="Three")
    with pytest.raises(NotFound, match="version 3 of 'tea' is on branch 'draft', not on 'main'") as caught:
        await editor.revert(3, branch=MAIN)
    assert caught.value.fields["branch"] == "draft"
    for number in range(5):
        await editor.write(MAIN, title=f"Title {number}")
    with pytest.raises(NotFound, match="version 5 of 'tea' is on branch 'main', not on 'draft'"):
        await editor.revert(5, branch="draft")
    with pytest.raises(NotFound, match="no version 40 on branch 'draft'") as caught:
        await editor.revert(40, branch="draft")
    assert "1 to 3" in caught.value.hint


async def test_a_branch_goes_back_and_stays_a_branch(editor: BranchEditor) -> None:
    tea = await editor.plant()
    await editor.write(title="Two", content="Tea is black.")
    await editor.branch()
    await editor.write("draft", content="Tea is cold.")
    done = await editor.revert(1, branch="draft")
    assert (done.action, done.id, done.version, done.branch) == ("updated", tea.id, 5, "draft")
    draft = await editor.record("draft")
    assert (draft.content, draft.title) == (tea.content, "")
    assert (draft.state, draft.trunk, draft.forked, draft.branch) == (State.BRANCHED, tea.id, 2, "draft")
    assert (await editor.record(MAIN)).content == "Tea is black."
    await editor.revert(4, branch="draft")
    assert (await editor.record("draft")).content == "Tea is cold."
    newest = (await editor.history(branch="draft")).versions[0]
    assert (newest.action, newest.message, newest.parent) == ("reverted", "back to version 4", 5)


async def test_reverting_happens_once_under_its_key(editor: BranchEditor) -> None:
    await editor.plant()
    await editor.branch(switch=True)
    await editor.write(title="Three")
    first = await editor.revert(1, key="k")
    assert (await editor.revert(1, key="k"), first.version) == (first, 4)


async def test_two_concurrent_reverts_both_succeed(editor: BranchEditor) -> None:
    await editor.plant()
    for title in ("Two", "Three"):
        await editor.write(title=title)
    others = [BranchEditor(harness=editor.harness, agent=agent) for agent in ("alice", "bob", "carol", "dave")]
    done = await asyncio.gather(*(other_editor.revert(1 + at % 2) for at, other_editor in enumerate(others)))
    assert sorted(change.version for change in done) == [4, 5, 6, 7]
    past = (await editor.history()).versions
    assert [version.number for version in past] == [7, 6, 5, 4, 3, 2, 1]
    assert {version.agent for version in past[:4]} == {"alice", "bob", "carol", "dave"}
    assert [version.memory.title for version in past[4:]] == ["Three", "Two", ""]


async def test_undo_takes_back_work_on_a_branch(editor: BranchEditor) -> None:
    tea = await editor.plant()
    await editor.branch(switch=True)
    await editor.add("iced")
    done = await editor.undo()
    assert [(change.id, change.branch, change.version) for change in done.done] == [(tea.id, "draft", 4)]
    draft = await editor.record()
    assert (draft.state, draft.branch, draft.forked) == (State.BRANCHED, "draft", 1)
    assert await editor.facts() == ["no milk", "one cup"]


async def test_undo_of_a_branch_is_a_dropped_branch_and_never_a_memory(editor: BranchEditor) -> None:
    tea = await editor.plant()
    await editor.branch()
    done = await editor.undo()
    assert [(change.id, change.branch, change.version) for change in done.done] == [(tea.id, "draft", 3)]
    assert await editor.names() == [MAIN]
    record = await editor.shadow()
    assert record.state is State.TRASHED
    back = await editor.harness.restore(record.id)
    assert [(change.action, change.branch) for change in back.done] == [("restored", "draft")]
    assert (await editor.shadow()).state is State.BRANCHED
    assert await editor.names() == [MAIN, "draft"]


async def test_undo_of_dropping_brings_a_branch_back(editor: BranchEditor) -> None:
    await editor.plant()
    await editor.branch()
    await editor.add("iced", branch="draft")
    await editor.drop()
    await editor.undo()
    assert await editor.facts("draft") == ["no milk", "one cup", "iced"]
    assert await editor.numbers(branch="draft") == [5, 4, 3, 2, 1]


async def test_the_first_version_of_a_branch_comes_from_main_and_not_from_an_earlier_branch_of_its_name(
    editor: BranchEditor,
) -> None:
    await editor.plant()
    await editor.branch()
    await editor.write("draft", title="Of the first")
    await editor.drop()
    await editor.write(MAIN, title="Main")
    await editor.branch()
    past = await editor.history(branch="draft")
    assert [(version.number, version.parent) for version in past.versions] == [(5, 2), (2, 1), (1, None)]


async def test_undo_of_a_name_used_again_drops_the_second(editor: BranchEditor) -> None:
    await editor.plant()
    await editor.branch()
    await editor.add("iced", branch="draft")
    await editor.drop()
    await editor.branch()
    await editor.undo()
    record = await editor.shadow()
    assert (record.state, [observation.text for observation in record.observations]) == (
        State.TRASHED,
        ["no milk", "one cup"],
    )
    # A branch dropped earlier is another branch, and is not restored instead.
    done = await editor.undo()
    assert (done.done, len(done.skipped)) == ((), 1)


async def test_a_branch_that_others_changed_since_is_left_alone(editor: BranchEditor) -> None:
    await editor.plant()
    bob = BranchEditor(harness=editor.harness, agent="bob")
    await editor.branch()
    await bob.commit("mine now", branch="draft")
    await editor.commit("mine", branch="draft")
    await bob.commit("no, mine", branch="draft")
    done = await editor.undo()
    # Only commit messages followed: the text is unchanged.
    assert [change.version for change in done.done] == [6]


async def test_a_memory_renamed_on_main_is_found_by_its_name_there(editor: BranchEditor) -> None:
    tea = await editor.plant()
    await editor.branch()
    await editor.harness.revise(tea.id, Edit(fields={"name": "chai"}))
    assert (await editor.harness.read("tea")).memories == ()
    assert (await editor.harness.read("chai")).memories[0].id == tea.id
    other = await editor.harness.remember("A pot of it is called so too")
    await editor.harness.revise(other.id, Edit(fields={"title": "Tea"}))
    assert [memory.id for memory in (await editor.harness.read("tea")).memories] == [other.id]
    assert await editor.harness.store.find(SPACE, tea.id)


async def test_a_branch_that_came_without_its_papers_still_has_its_past(editor: BranchEditor) -> None:
    await editor.plant()
    await editor.branch(about="first")
    await editor.drop()
    await editor.write(title="Two")
    await editor.branch(about="second")
    await editor.add("iced", branch="draft")
    past = await editor.history(branch="draft")
    assert await editor.harness.store.delete_document(SPACE, START_COLLECTION, (await editor.shadow()).id)
    assert await editor.history(branch="draft") == past
    assert [version.number for version in past.versions] == [5, 4, 2, 1]
    assert (await editor.branches()).branches[1].description == "second"


async def test_a_merge_on_main_does_not_prevent_the_undo_on_a_branch(editor: BranchEditor) -> None:
    tea = await editor.plant()
    await editor.branch()
    part = Merged(id=new_id(), at=START)
    merged = replace(await editor.record(MAIN), merged=(part,), version=2)
    await editor.harness.store.commit(a_commit(a_rewrite(merged), origin=an_origin(agent="bob")))
    assert (await editor.merge(MAIN, into="draft")).action == "merged"
    assert (await editor.record("draft")).merged == (part,)
    done = await editor.undo()
    assert [(change.id, change.branch) for change in done.done] == [(tea.id, "draft")]
    assert (await editor.record("draft")).merged == ()
