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
async def test_a_preference_settles_clashes(small: BranchEditor, prefer: str, text: str) -> None:
    await small.plant()
    await small.branch()
    await small.write("draft", content="Tea is black. It is hot. Good.", kind="fact")
    await small.write(MAIN, content="Tea is white. It is hot. Good.")
    done = await small.merge(prefer=prefer)
    assert (done.action, done.clashes) == ("merged", ())
    for branch in (MAIN, "draft"):
        record = await small.record(branch)
        assert (record.content, record.kind) == (f"{text} It is hot. Good.", "fact")


async def test_main_is_merged_into_a_branch(small: BranchEditor) -> None:
    tea = await small.plant()
    await small.branch()
    await small.add("iced", branch="draft")
    await small.add("warm", branch=MAIN)
    done = await small.merge(MAIN, into="draft")
    assert (done.action, done.id, done.branch, done.into, done.version) == ("merged", tea.id, MAIN, "draft", 4)
    assert await small.facts("draft") == ["no milk", "one cup", "iced", "warm"]
    assert await small.facts(MAIN) == ["no milk", "one cup", "warm"]
    draft = await small.record("draft")
    assert (draft.forked, draft.state, draft.trunk) == (2, State.BRANCHED, tea.id)
    assert (await small.merge(MAIN, into="draft")).action == "unchanged"
    # The earlier changes of the branch are still new to main.
    assert (await small.merge()).action == "merged"
    assert await small.facts(MAIN) == ["no milk", "one cup", "iced", "warm"]


async def test_the_result_of_a_merge_is_the_base_of_the_next(small: BranchEditor) -> None:
    await small.plant()
    await small.branch()
    await small.add("iced", branch="draft")
    await small.add("iced", branch=MAIN)
    done = await small.merge()
    assert (done.action, done.version) == ("unchanged", 2)
    await small.remove("iced", branch="draft")
    assert (await small.merge()).action == "merged"
    assert await small.facts(MAIN) == ["no milk", "one cup"]


async def test_an_observation_that_ended_on_a_branch_ends_on_main(small: BranchEditor) -> None:
    await small.plant()
    await small.branch()
    await small.end("one cup", branch="draft")
    await small.add("two cups", branch="draft")
    await small.merge()
    main = await small.record(MAIN)
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
async def test_branches_that_cannot_be_merged(small: BranchEditor, name: str, into: str, why: str) -> None:
    await small.plant()
    await small.branch()
    await small.branch("other")
    with pytest.raises(InvalidInput, match=why):
        await small.merge(name, into=into)


@pytest.mark.parametrize("prefer", ["mine", None, 1])
async def test_a_preference_is_one_of_two(small: BranchEditor, prefer: str) -> None:
    await small.plant()
    await small.branch()
    with pytest.raises(InvalidInput, match="prefer"):
        await small.merge(prefer=prefer)


async def test_a_name_that_is_taken_is_not_merged(small: BranchEditor) -> None:
    await small.plant()
    await small.branch()
    await small.write("draft", name="coffee")
    await small.harness.remember(Draft(text="black", name="coffee"))
    with pytest.raises(NameTaken):
        await small.merge()
    assert (await small.record("draft")).forked == 1


async def test_together_it_may_be_too_much(small: BranchEditor) -> None:
    small = replace(small, harness=replace(small.harness, limits=Limits(observations=3)))
    await small.plant()
    await small.branch()
    await small.add("three", branch="draft")
    await small.add("four", branch=MAIN)
    with pytest.raises(TooLarge, match="observations"):
        await small.merge()


async def test_together_something_must_be_left(small: BranchEditor) -> None:
    await small.plant(replace(TEA, text=""))
    await small.branch()
    await small.remove("no milk", branch="draft")
    await small.remove("one cup", branch=MAIN)
    with pytest.raises(InvalidInput, match="leave nothing"):
        await small.merge()


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


async def test_long_texts_are_merged_too(small: BranchEditor) -> None:
    text = "".join(f"Line {number} is here.\n" for number in range(1_500))
    await small.plant(Draft(text=text, name="tea"))
    await small.branch()
    await small.write("draft", content=text.replace("Line 3 ", "Line three "))
    await small.write(MAIN, content=text.replace("Line 1400 ", "Line last "))
    assert (await small.merge()).action == "merged"
    content = (await small.record(MAIN)).content
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


async def test_a_merge_of_a_switched_memory_goes_into_the_named_branch(small: BranchEditor) -> None:
    await small.plant()
    await small.branch(switch=True)
    await small.add("iced")
    done = await small.merge()
    assert (done.action, done.into) == ("merged", MAIN)
    assert (await small.branches()).current == "draft"
    assert len(await small.harness.store.versions(SPACE, done.id, limit=9)) == 2
