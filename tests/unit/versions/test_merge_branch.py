"""Merging a branch: both sides come together, or what clashes is told and nothing is done."""

import asyncio
from dataclasses import replace

import pytest
from tests.fakes.build import MODEL
from tests.unit.versions.orchard import TEA, Orchard
from tests.unit.write_world import SPACE

from scrubjay.errors import InvalidInput, KeyReused, NameTaken, TooLarge
from scrubjay.model.draft import Draft, Limits
from scrubjay.model.memory import MAIN, State


async def test_what_both_changed_apart_comes_together(orchard: Orchard) -> None:
    tea = await orchard.plant()
    await orchard.branch()
    await orchard.add("iced", branch="draft")
    await orchard.write("draft", content="Tea is black. It is hot. Good.", tags=["drink", "cold"])
    await orchard.remove("one cup", branch=MAIN)
    await orchard.write(MAIN, content="Tea is green. It is hot. Very good.", pinned=True)
    done = await orchard.merge(message="let us drink it cold")
    assert (done.action, done.id, done.name) == ("merged", tea.id, "tea")
    assert (done.branch, done.into, done.version, done.clashes) == ("draft", MAIN, 4, ())
    main = await orchard.record(MAIN)
    assert main.content == "Tea is black. It is hot. Very good."
    assert (main.tags, main.pinned, main.state, main.branch, main.trunk) == (
        ("drink", "cold"),
        True,
        State.LIVE,
        MAIN,
        "",
    )
    assert await orchard.facts(MAIN) == ["no milk", "iced"]
    newest = (await orchard.history(branch=MAIN)).versions[0]
    assert (newest.action, newest.message, newest.agent) == ("joined", "let us drink it cold", "tester")


async def test_after_a_merge_both_say_the_same_and_only_new_things_come(orchard: Orchard) -> None:
    await orchard.plant()
    await orchard.branch()
    await orchard.add("iced", branch="draft")
    await orchard.add("warm", branch=MAIN)
    await orchard.merge()
    assert await orchard.facts("draft") == await orchard.facts(MAIN)
    draft = await orchard.record("draft")
    assert (draft.state, draft.branch, draft.forked) == (State.BRANCHED, "draft", 3)
    assert (await orchard.merge()).action == "unchanged"
    assert await orchard.diff(MAIN, "draft") == {}
    # What main has taken out since does not come back with the next merge.
    await orchard.remove("iced", branch=MAIN)
    await orchard.add("sweet", branch="draft")
    assert (await orchard.merge()).action == "merged"
    assert await orchard.facts(MAIN) == ["no milk", "one cup", "warm", "sweet"]
    assert (await orchard.history(branch=MAIN)).versions[0].message == "draft merged into main"


async def test_what_clashes_is_told_and_nothing_is_written(orchard: Orchard) -> None:
    await orchard.plant()
    await orchard.branch()
    await orchard.write("draft", content="Tea is black. It is hot. Good.", title="Black")
    await orchard.write(MAIN, content="Tea is white. It is hot. Good.", title="White")
    before = await orchard.record(MAIN), await orchard.record("draft")
    done = await orchard.merge()
    assert (done.action, done.version) == ("conflict", before[0].version)
    assert [(clash.field, clash.base, clash.ours, clash.theirs) for clash in done.clashes] == [
        ("title", "", "White", "Black"),
        ("content", "Tea is green.", "Tea is white.", "Tea is black."),
    ]
    assert (await orchard.record(MAIN), await orchard.record("draft")) == before


@pytest.mark.parametrize(("prefer", "text"), [("ours", "Tea is white."), ("theirs", "Tea is black.")])
async def test_a_preference_settles_what_clashes(small: Orchard, prefer: str, text: str) -> None:
    await small.plant()
    await small.branch()
    await small.write("draft", content="Tea is black. It is hot. Good.", kind="fact")
    await small.write(MAIN, content="Tea is white. It is hot. Good.")
    done = await small.merge(prefer=prefer)
    assert (done.action, done.clashes) == ("merged", ())
    for branch in (MAIN, "draft"):
        record = await small.record(branch)
        assert (record.content, record.kind) == (f"{text} It is hot. Good.", "fact")


async def test_main_is_merged_into_a_branch(small: Orchard) -> None:
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
    # What was its own before is still new to main.
    assert (await small.merge()).action == "merged"
    assert await small.facts(MAIN) == ["no milk", "one cup", "iced", "warm"]


async def test_what_both_have_said_is_in_common_from_then_on(small: Orchard) -> None:
    await small.plant()
    await small.branch()
    await small.add("iced", branch="draft")
    await small.add("iced", branch=MAIN)
    done = await small.merge()
    assert (done.action, done.version) == ("unchanged", 2)
    await small.remove("iced", branch="draft")
    assert (await small.merge()).action == "merged"
    assert await small.facts(MAIN) == ["no milk", "one cup"]


async def test_what_no_longer_holds_on_a_branch_ends_on_main(small: Orchard) -> None:
    await small.plant()
    await small.branch()
    await small.end("one cup", branch="draft")
    await small.add("two cups", branch="draft")
    await small.merge()
    main = await small.record(MAIN)
    assert [(observation.text, observation.valid_until is None) for observation in main.observations] == [
        ("no milk", True), ("one cup", False), ("two cups", True),
    ]  # fmt: skip


async def test_what_is_merged_is_found_by_its_meaning(orchard: Orchard) -> None:
    tea = await orchard.plant()
    await orchard.branch()
    await orchard.add("Zanzibar grows it", branch="draft")
    await orchard.merge()
    assert [hit.id for hit in (await orchard.shop.recall("Zanzibar")).hits] == [tea.id]
    assert await orchard.shop.store.without_vectors(MODEL, limit=9) == []


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
async def test_what_cannot_be_merged(small: Orchard, name: str, into: str, why: str) -> None:
    await small.plant()
    await small.branch()
    await small.branch("other")
    with pytest.raises(InvalidInput, match=why):
        await small.merge(name, into=into)


@pytest.mark.parametrize("prefer", ["mine", None, 1])
async def test_a_preference_is_one_of_two(small: Orchard, prefer: str) -> None:
    await small.plant()
    await small.branch()
    with pytest.raises(InvalidInput, match="prefer"):
        await small.merge(prefer=prefer)


async def test_a_name_that_is_taken_is_not_merged(small: Orchard) -> None:
    await small.plant()
    await small.branch()
    await small.write("draft", name="coffee")
    await small.shop.remember(Draft(text="black", name="coffee"))
    with pytest.raises(NameTaken):
        await small.merge()
    assert (await small.record("draft")).forked == 1


async def test_together_it_may_be_too_much(small: Orchard) -> None:
    small = replace(small, shop=replace(small.shop, limits=Limits(observations=3)))
    await small.plant()
    await small.branch()
    await small.add("three", branch="draft")
    await small.add("four", branch=MAIN)
    with pytest.raises(TooLarge, match="observations"):
        await small.merge()


async def test_together_something_must_be_left(small: Orchard) -> None:
    await small.plant(replace(TEA, text=""))
    await small.branch()
    await small.remove("no milk", branch="draft")
    await small.remove("one cup", branch=MAIN)
    with pytest.raises(InvalidInput, match="leave nothing"):
        await small.merge()


async def test_a_merge_happens_once_under_its_key(orchard: Orchard) -> None:
    await orchard.plant()
    await orchard.branch()
    await orchard.add("iced", branch="draft")
    first = await orchard.merge(key="k")
    assert await orchard.merge(key="k") == first
    assert first.action == "merged"
    with pytest.raises(KeyReused):
        await orchard.merge(key="k", prefer="ours")


async def test_merges_and_edits_at_once_lose_nothing(orchard: Orchard) -> None:
    await orchard.plant()
    names = ("one", "two", "three")
    for name in names:
        await orchard.branch(name)
        await orchard.add(f"fact of {name}", branch=name)
    await asyncio.gather(
        *(orchard.merge(name) for name in names), *(orchard.add(f"fact {number}", branch=MAIN) for number in range(3))
    )
    assert sorted(await orchard.facts(MAIN)) == sorted(
        ["no milk", "one cup", *(f"fact of {name}" for name in names), *(f"fact {number}" for number in range(3))]
    )


async def test_long_texts_are_merged_too(small: Orchard) -> None:
    text = "".join(f"Line {number} is here.\n" for number in range(1_500))
    await small.plant(Draft(text=text, name="tea"))
    await small.branch()
    await small.write("draft", content=text.replace("Line 3 ", "Line three "))
    await small.write(MAIN, content=text.replace("Line 1400 ", "Line last "))
    assert (await small.merge()).action == "merged"
    content = (await small.record(MAIN)).content
    assert content == text.replace("Line 3 ", "Line three ").replace("Line 1400 ", "Line last ")


async def test_a_merge_can_be_undone_as_a_whole(orchard: Orchard) -> None:
    await orchard.plant()
    await orchard.branch()
    await orchard.add("iced", branch="draft")
    await orchard.add("warm", branch=MAIN)
    await orchard.merge()
    done = await orchard.undo()
    assert sorted((one.branch, one.version) for one in done.done) == [("draft", 5), (MAIN, 4)]
    assert await orchard.facts(MAIN) == ["no milk", "one cup", "warm"]
    assert await orchard.facts("draft") == ["no milk", "one cup", "iced"]
    assert (await orchard.record("draft")).forked == 1
    assert (await orchard.merge()).action == "merged"
    assert await orchard.facts(MAIN) == ["no milk", "one cup", "warm", "iced"]


async def test_a_merge_of_a_switched_memory_goes_where_it_is_told(small: Orchard) -> None:
    await small.plant()
    await small.branch(switch=True)
    await small.add("iced")
    done = await small.merge()
    assert (done.action, done.into) == ("merged", MAIN)
    assert (await small.branches()).current == "draft"
    assert len(await small.shop.store.versions(SPACE, done.id, limit=9)) == 2
