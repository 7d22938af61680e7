"""Merging a branch: both sides are combined, or the clashes are reported and nothing is written."""

import asyncio
from dataclasses import replace

import pytest
from tests.fakes.build import MODEL
from tests.unit.harness import SPACE
from tests.unit.versions.branch_editor import TEA, BranchEditor

from scrubjay.errors import InvalidInput, KeyReused, NameTaken, TooLarge
from scrubjay.model.draft import Draft, Limits
from scrubjay.model.memory import MAIN, State


async def test_separate_changes_of_both_sides_are_combined(editor: BranchEditor) -> None:
    tea = await editor.plant()
    await editor.branch()
    await editor.add("iced", branch="draft")
    await editor.write("draft", content="Tea is black. It is hot. Good.", tags=["drink", "cold"])
    await editor.remove("one cup", branch=MAIN)
    await editor.write(MAIN, content="Tea is green. It is hot. Very good.", pinned=True)
    done = await editor.merge(message="let us drink it cold")
    assert (done.action, done.id, done.name) == ("merged", tea.id, "tea")
    assert (done.branch, done.into, done.version, done.clashes) == ("draft", MAIN, 4, ())
    main = await editor.record(MAIN)
    assert main.content == "Tea is black. It is hot. Very good."
    assert (main.tags, main.pinned, main.state, main.branch, main.trunk) == (
        ("drink", "cold"),
        True,
        State.LIVE,
        MAIN,
        "",
    )
    assert await editor.facts(MAIN) == ["no milk", "iced"]
    newest = (await editor.history(branch=MAIN)).versions[0]
    assert (newest.action, newest.message, newest.agent) == ("joined", "let us drink it cold", "tester")


async def test_after_a_merge_both_say_the_same_and_only_new_things_come(editor: BranchEditor) -> None:
    await editor.plant()
    await editor.branch()
    await editor.add("iced", branch="draft")
    await editor.add("warm", branch=MAIN)
    await editor.merge()
    assert await editor.facts("draft") == await editor.facts(MAIN)
    draft = await editor.record("draft")
    assert (draft.state, draft.branch, draft.forked) == (State.BRANCHED, "draft", 3)
    assert (await editor.merge()).action == "unchanged"
    assert await editor.diff(MAIN, "draft") == {}
    # A text that main removed meanwhile does not return with the next merge.
    await editor.remove("iced", branch=MAIN)
    await editor.add("sweet", branch="draft")
    assert (await editor.merge()).action == "merged"
    assert await editor.facts(MAIN) == ["no milk", "one cup", "warm", "sweet"]
    assert (await editor.history(branch=MAIN)).versions[0].message == "draft merged into main"


async def test_clashes_are_reported_and_nothing_is_written(editor: BranchEditor) -> None:
    await editor.plant()
    await editor.branch()
    await editor.write("draft", content="Tea is black. It is hot. Good.", title="Black")
    await editor.write(MAIN, content="Tea is white. It is hot. Good.", title="White")
    before = await editor.record(MAIN), await editor.record("draft")
    done = await editor.merge()
    assert (done.action, done.version) == ("conflict", before[0].version)
    assert [(clash.field, clash.base, clash.ours, clash.theirs) for clash in done.clashes] == [
        ("title", "", "White", "Black"),
        ("content", "Tea is green.", "Tea is white.", "Tea is black."),
    ]
    assert (await editor.record(MAIN), await editor.record("draft")) == before


@pytest.mark.parametrize(("prefer", "text"), [("ours", "Tea is white."), ("theirs", "Tea is black.")])
async def test_a_preference_settles_clashes(editor: BranchEditor, prefer: str, text: str) -> None:
    await editor.plant()
    await editor.branch()
    await editor.write("draft", content="Tea is black. It is hot. Good.", kind="fact")
    await editor.write(MAIN, content="Tea is white. It is hot. Good.")
    done = await editor.merge(prefer=prefer)
    assert (done.action, done.clashes) == ("merged", ())
    for branch in (MAIN, "draft"):
        record = await editor.record(branch)
        assert (record.content, record.kind) == (f"{text} It is hot. Good.", "fact")


async def test_main_is_merged_into_a_branch(editor: BranchEditor) -> None:
    tea = await editor.plant()
    await editor.branch()
    await editor.add("iced", branch="draft")
    await editor.add("warm", branch=MAIN)
    done = await editor.merge(MAIN, into="draft")
    assert (done.action, done.id, done.branch, done.into, done.version) == ("merged", tea.id, MAIN, "draft", 4)
    assert await editor.facts("draft") == ["no milk", "one cup", "iced", "warm"]
    assert await editor.facts(MAIN) == ["no milk", "one cup", "warm"]
    draft = await editor.record("draft")
    assert (draft.forked, draft.state, draft.trunk) == (2, State.BRANCHED, tea.id)
    assert (await editor.merge(MAIN, into="draft")).action == "unchanged"
    # The earlier changes of the branch are still new to main.
    assert (await editor.merge()).action == "merged"
    assert await editor.facts(MAIN) == ["no milk", "one cup", "iced", "warm"]


async def test_the_result_of_a_merge_is_the_base_of_the_next(editor: BranchEditor) -> None:
    await editor.plant()
    await editor.branch()
    await editor.add("iced", branch="draft")
    await editor.add("iced", branch=MAIN)
    done = await editor.merge()
    assert (done.action, done.version) == ("unchanged", 2)
    await editor.remove("iced", branch="draft")
    assert (await editor.merge()).action == "merged"
    assert await editor.facts(MAIN) == ["no milk", "one cup"]


async def test_an_observation_that_ended_on_a_branch_ends_on_main(editor: BranchEditor) -> None:
    await editor.plant()
    await editor.branch()
    await editor.end("one cup", branch="draft")
    await editor.add("two cups", branch="draft")
    await editor.merge()
    main = await editor.record(MAIN)
    assert [(observation.text, observation.valid_until is None) for observation in main.observations] == [
        ("no milk", True), ("one cup", False), ("two cups", True),
    ]  # fmt: skip


async def test_a_merged_text_is_found_by_its_meaning(editor: BranchEditor) -> None:
    tea = await editor.plant()
    await editor.branch()
    await editor.add("Zanzibar grows it", branch="draft")
    await editor.merge()
    assert [hit.id for hit in (await editor.harness.recall("Zanzibar")).hits] == [tea.id]
    assert await editor.harness.store.without_vectors(MODEL, limit=9) == []


@pytest.mark.parametrize(
    ("name", "into", "why"),
    [
        ("draft", "draft", "into itself"),
        (MAIN, MAIN, "into itself"),
        ("draft", "other", "not with another branch"),
        (5, MAIN, "must be a text"),
        ("draft", None, "must be a text"),
    ],
)
async def test_branches_that_cannot_be_merged(editor: BranchEditor, name: str, into: str, why: str) -> None:
    await editor.plant()
    await editor.branch()
    await editor.branch("other")
    with pytest.raises(InvalidInput, match=why):
        await editor.merge(name, into=into)


@pytest.mark.parametrize("prefer", ["mine", None, 1])
async def test_a_preference_is_one_of_two(editor: BranchEditor, prefer: str) -> None:
    await editor.plant()
    await editor.branch()
    with pytest.raises(InvalidInput, match="prefer"):
        await editor.merge(prefer=prefer)


async def test_a_name_that_is_taken_is_not_merged(editor: BranchEditor) -> None:
    await editor.plant()
    await editor.branch()
    await editor.write("draft", name="coffee")
    await editor.harness.remember(Draft(text="black", name="coffee"))
    with pytest.raises(NameTaken):
        await editor.merge()
    assert (await editor.record("draft")).forked == 1


async def test_together_it_may_be_too_much(editor: BranchEditor) -> None:
    editor = replace(editor, harness=replace(editor.harness, limits=Limits(observations=3)))
    await editor.plant()
    await editor.branch()
    await editor.add("three", branch="draft")
    await editor.add("four", branch=MAIN)
    with pytest.raises(TooLarge, match="observations"):
        await editor.merge()


async def test_together_something_must_be_left(editor: BranchEditor) -> None:
    await editor.plant(replace(TEA, text=""))
    await editor.branch()
    await editor.remove("no milk", branch="draft")
    await editor.remove("one cup", branch=MAIN)
    with pytest.raises(InvalidInput, match="leave nothing"):
        await editor.merge()


async def test_a_merge_happens_once_under_its_key(editor: BranchEditor) -> None:
    await editor.plant()
    await editor.branch()
    await editor.add("iced", branch="draft")
    first = await editor.merge(key="k")
    assert await editor.merge(key="k") == first
    assert first.action == "merged"
    with pytest.raises(KeyReused):
        await editor.merge(key="k", prefer="ours")


async def test_merges_and_edits_at_once_lose_nothing(editor: BranchEditor) -> None:
    await editor.plant()
    names = ("one", "two", "three")
    for name in names:
        await editor.branch(name)
        await editor.add(f"fact of {name}", branch=name)
    await asyncio.gather(
        *(editor.merge(name) for name in names), *(editor.add(f"fact {number}", branch=MAIN) for number in range(3))
    )
    assert sorted(await editor.facts(MAIN)) == sorted(
        ["no milk", "one cup", *(f"fact of {name}" for name in names), *(f"fact {number}" for number in range(3))]
    )


async def test_long_texts_are_merged_too(editor: BranchEditor) -> None:
    text = "".join(f"Line {number} is here.\n" for number in range(1_500))
    await editor.plant(Draft(text=text, name="tea"))
    await editor.branch()
    await editor.write("draft", content=text.replace("Line 3 ", "Line three "))
    await editor.write(MAIN, content=text.replace("Line 1400 ", "Line last "))
    assert (await editor.merge()).action == "merged"
    content = (await editor.record(MAIN)).content
    assert content == text.replace("Line 3 ", "Line three ").replace("Line 1400 ", "Line last ")


async def test_a_merge_can_be_undone_as_a_whole(editor: BranchEditor) -> None:
    await editor.plant()
    await editor.branch()
    await editor.add("iced", branch="draft")
    await editor.add("warm", branch=MAIN)
    await editor.merge()
    done = await editor.undo()
    assert sorted((change.branch, change.version) for change in done.done) == [("draft", 5), (MAIN, 4)]
    assert await editor.facts(MAIN) == ["no milk", "one cup", "warm"]
    assert await editor.facts("draft") == ["no milk", "one cup", "iced"]
    assert (await editor.record("draft")).forked == 1
    assert (await editor.merge()).action == "merged"
    assert await editor.facts(MAIN) == ["no milk", "one cup", "warm", "iced"]


async def test_a_merge_of_a_switched_memory_goes_into_the_named_branch(editor: BranchEditor) -> None:
    await editor.plant()
    await editor.branch(switch=True)
    await editor.add("iced")
    done = await editor.merge()
    assert (done.action, done.into) == ("merged", MAIN)
    assert (await editor.branches()).current == "draft"
    assert len(await editor.harness.store.versions(SPACE, done.id, limit=9)) == 2
