"""Id, name, title, half a title: the first level with an answer, and never a guess."""

from pathlib import Path

import pytest
from tests.unit.harness import SPACE, Harness
from tests.unit.storage.sqlite.damage import spoil_body

from scrubjay.errors import Ambiguous, InvalidInput, NotFound
from scrubjay.lookup.references import TolerantReader, not_found, resolve, resolve_all
from scrubjay.model.draft import Draft
from scrubjay.model.memory import State
from scrubjay.storage.sqlite import SqliteStore

MEETING = Draft(text="text", title="Meeting with John about Q4 goals", name="john-meeting")


@pytest.mark.parametrize(
    "ref",
    [
        "john-meeting",
        "Meeting with John about Q4 goals",
        "meeting WITH john about q4 GOALS",
        "meeting-with-john-q4-goals",
        "Meeting, John: Q4 goals!",
        "the john meeting",
    ],
)
async def test_one_memory_has_many_handles(harness: Harness, ref: str) -> None:
    memory = await harness.store_draft(MEETING)
    assert await resolve(harness.store, ref, space=SPACE) == memory
    assert await resolve(harness.store, memory.id, space=SPACE) == memory
    assert await resolve(harness.store, memory.id.upper(), space=SPACE) == memory


async def test_a_name_wins_over_a_title(harness: Harness) -> None:
    await harness.remember(Draft(text="a", title="tea", name="x"))
    named = await harness.store_draft(Draft(text="b", name="tea"))
    assert await resolve(harness.store, "tea", space=SPACE) == named


async def test_the_live_win_over_the_trashed_of_the_same_name(harness: Harness) -> None:
    first = await harness.store_draft(Draft(text="a", name="tea"))
    await harness.forget(first.id)
    assert (await resolve(harness.store, "tea", space=SPACE)).id == first.id
    second = await harness.store_draft(Draft(text="b", name="tea"))
    assert await resolve(harness.store, "tea", space=SPACE) == second
    trashed = await resolve(harness.store, "tea", space=SPACE, state=State.TRASHED)
    assert trashed.id == first.id


async def test_several_that_answer_are_listed(harness: Harness) -> None:
    ids = {(await harness.remember(Draft(text=name, title="Tea", name=name))).id for name in ("a", "b", "c")}
    with pytest.raises(Ambiguous, match="3 memories") as caught:
        await resolve(harness.store, "Tea", space=SPACE)
    matches = caught.value.fields["matches"]
    assert isinstance(matches, tuple)
    assert set(matches) == ids
    assert all(id_ in caught.value.hint for id_ in ids)


async def test_an_unknown_reference_is_reported_with_the_nearest_names(harness: Harness) -> None:
    await harness.remember(MEETING)
    with pytest.raises(NotFound, match="jon-meeting") as caught:
        await resolve(harness.store, "jon-meeting", space=SPACE)
    assert caught.value.fields["suggestions"] == ("john-meeting",)
    assert "john-meeting" in caught.value.hint
    assert "recall" in (await not_found(harness.store, "zzz", space=SPACE)).hint


async def test_a_long_reference_is_not_repeated_whole(harness: Harness) -> None:
    error = await not_found(harness.store, "x" * 5000, space=SPACE)
    assert len(str(error)) < 300


@pytest.mark.parametrize("ref", ["", " ", "☕", "the", "\x00"])
async def test_an_empty_reference_means_no_memory(harness: Harness, ref: str) -> None:
    await harness.remember(Draft(text="text", title="☕", name="☕☕"))
    if ref == "☕":
        assert (await resolve(harness.store, ref, space=SPACE)).title == "☕"
    else:
        with pytest.raises(NotFound):
            await resolve(harness.store, ref, space=SPACE)


@pytest.mark.parametrize("ref", [5, None, b"tea", "\ud800"])
async def test_a_reference_is_a_text(harness: Harness, ref: str) -> None:
    with pytest.raises(InvalidInput):
        await resolve(harness.store, ref, space=SPACE)
    with pytest.raises(InvalidInput):
        await resolve_all(harness.store, [ref], space=SPACE)


async def test_all_come_in_order_once_each(harness: Harness) -> None:
    tea, jay = (
        await harness.store_draft(Draft(text="a", name="tea")),
        await harness.store_draft(Draft(text="b", name="jay")),
    )
    memories, missing = await resolve_all(harness.store, ["jay", tea.id, jay.id, "nobody"], space=SPACE)
    assert memories == [jay, tea]
    assert [missing_ref.ref for missing_ref in missing] == ["nobody"]


async def test_one_damaged_memory_does_not_hide_the_others(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "memory.db", readers=1)
    harness = Harness(store=store)
    sound = [await harness.store_draft(f"text {number} " * 20) for number in range(3)]
    damaged = await harness.store_draft("damaged " * 20)
    spoil_body(store.path, damaged.id, 1)
    reader = TolerantReader(store, space=SPACE)
    assert await reader.get([sound[2].id, damaged.id, sound[0].id]) == [sound[2], sound[0]]
    assert list(reader.problems) == [damaged.id]
    recalled = await harness.recall("text damaged")
    assert len(recalled.hits) == 3
    assert damaged.id in recalled.degraded[0]
    await store.close()
