"""`history`: the versions of a memory and their differences."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from tests.fakes.build import START, a_memory
from tests.unit.harness import SPACE, Harness
from tests.unit.strategies import few_examples, memories

from scrubjay.errors import InvalidInput, NotFound
from scrubjay.model.draft import Draft
from scrubjay.model.memory import Memory, Observation, Source, State
from scrubjay.versions.history import compare, diff, history


async def test_versions_come_newest_first_in_pages(harness: Harness) -> None:
    memory = await harness.store_draft(Draft(text="one", name="tea"))
    for text in ("two", "three", "four"):
        await harness.revise(memory.id, content=text)
    newest = await history("tea", limit=2, before=None, space=SPACE, store=harness.store)
    assert (newest.id, newest.name, newest.diff) == (memory.id, "tea", ())
    assert [version.number for version in newest.versions] == [4, 3]
    older = await history("tea", limit=9, before=3, space=SPACE, store=harness.store)
    assert [(version.number, version.memory.content) for version in older.versions] == [(2, "two"), (1, "one")]


@pytest.mark.parametrize(("limit", "before"), [(0, None), (-1, None), (True, None), (5, 0), (5, "3")])
async def test_the_arguments_of_a_page_are_checked(harness: Harness, limit: int, before: int | None) -> None:
    await harness.remember(Draft(text="one", name="tea"))
    with pytest.raises(InvalidInput):
        await history("tea", limit=limit, before=before, space=SPACE, store=harness.store)


async def test_how_one_version_became_another(harness: Harness) -> None:
    memory = await harness.store_draft(Draft(text="first line\nsecond line", name="tea"))
    await harness.revise(memory.id, content="first line\nlast line", tags=["new"])
    comparison = await compare("tea", versions=(1, 2), space=SPACE, store=harness.store)
    content, tags = comparison.diff
    assert (content.field, content.before, content.after) == (
        "content", "first line\nsecond line", "first line\nlast line",
    )  # fmt: skip
    assert content.lines == ("@@ -1,2 +1,2 @@", " first line", "-second line", "+last line")
    assert (tags.field, tags.before, tags.after) == ("tags", "", "new")
    back = await compare("tea", versions=[2, 1], space=SPACE, store=harness.store)
    assert "+second line" in back.diff[0].lines
    assert (await compare("tea", versions=(1, 1), space=SPACE, store=harness.store)).diff == ()


@pytest.mark.parametrize("versions", [(), (1,), (1, 2, 3), "12", 12, (0, 1), ("1", "2"), (True, 2)])
async def test_a_diff_needs_two_version_numbers(harness: Harness, versions: tuple[int, ...]) -> None:
    memory = await harness.store_draft(Draft(text="one", name="tea"))
    await harness.revise(memory.id, content="two")
    with pytest.raises(InvalidInput):
        await compare("tea", versions=versions, space=SPACE, store=harness.store)


async def test_an_error_about_an_unknown_version_names_the_versions(harness: Harness) -> None:
    memory = await harness.store_draft(Draft(text="one", name="tea"))
    await harness.revise(memory.id, content="two")
    with pytest.raises(NotFound, match="no version 7") as caught:
        await compare("tea", versions=(1, 7), space=SPACE, store=harness.store)
    assert "1 to 2" in caught.value.hint


def test_every_kind_of_field_is_spelled_for_people() -> None:
    before = a_memory("x")
    facts = (Observation(text="likes tea", recorded_at=START), Observation(text="no milk", recorded_at=START))
    after = replace(
        before, pinned=True, metadata={"a": [1]}, observations=facts, relevance=0.5, state=State.ARCHIVED,
        source=Source(agent="bot"),
    )  # fmt: skip
    changes = {change.field: change.after for change in diff(before, after)}
    assert changes == {
        "pinned": "true",
        "metadata": '{"a": [1]}',
        "observations": "likes tea\nno milk",
        "relevance": "0.5",
        "state": "archived",
        "source": '{"agent": "bot"}',
    }


def test_fields_that_always_change_are_no_difference() -> None:
    before = a_memory("x")
    later = START + timedelta(days=1)
    after = replace(before, version=2, updated_at=later, last_confirmed=later, last_reviewed=later, access_count=5)
    assert diff(before, after) == ()


@given(memories)
@few_examples
def test_a_memory_does_not_differ_from_itself(memory: Memory) -> None:
    assert diff(memory, memory) == ()


@given(memories, memories)
@few_examples
def test_a_difference_goes_both_ways(memory: Memory, other: Memory) -> None:
    there = {(part.field, part.before, part.after) for part in diff(memory, other)}
    back = {(part.field, part.after, part.before) for part in diff(other, memory)}
    assert there == back
