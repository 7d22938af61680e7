"""Memories that say the same form groups, and become one memory that says all of it."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.build import a_memory, moment
from tests.unit.conflicts.test_scan import stored
from tests.unit.harness import SPACE, Harness

from scrubjay.conflicts.clusters import group_pairs
from scrubjay.conflicts.duplicates import SameMemories, find_duplicates, merge_group, without_additions
from scrubjay.errors import StaleVersion
from scrubjay.model.change import Origin
from scrubjay.model.memory import Memory, Source, State, Trust
from scrubjay.model.requests import RecallRequest
from scrubjay.model.rules import Rules
from scrubjay.versions.undo import undo

KILN = "The kiln in the old pottery is fired on the first Monday of the month."
TEA = "Tea is served at four in the garden house behind the orchards."


def memory(text: str, place: int, **fields: object) -> Memory:
    return replace(a_memory(text, created_at=moment(place), updated_at=moment(place)), **fields)


async def groups_of(harness: Harness, *, blind: bool = False) -> list[SameMemories]:
    profile = None if blind else await harness.embedder.profile()
    return await find_duplicates(
        SPACE, now=harness.clock.now(), rules=Rules(), profile=profile, store=harness.store
    )  # fmt: skip


async def merge(harness: Harness, group: SameMemories, origin: Origin) -> Memory:
    return await merge_group(
        group.memories, origin=origin, most_tags=8, limits=harness.limits, embedder=harness.embedder,
        store=harness.store,
    )  # fmt: skip


async def test_a_group_becomes_one_memory_that_says_all_and_can_be_taken_apart(harness: Harness) -> None:
    harness.clock.set(moment(100))
    by_user = memory(KILN, 3, source=Source(trust=Trust.USER))
    memories = [
        memory(KILN, 0), memory(KILN, 1), by_user, memory(TEA, 4), memory(KILN.replace("first", "second"), 5),
        memory(TEA, 6, pinned=True), memory(TEA, 7, project="else"),
    ]  # fmt: skip
    memories[3] = replace(memories[3], project="here")
    await stored(harness, *memories)
    (group,) = await groups_of(harness)
    # The most trusted remains; what differs, is pinned or belongs to another project is left alone.
    assert group.ids == (by_user.id, memories[0].id, memories[1].id)
    assert group.confidence > 0.9
    assert [each.ids for each in await groups_of(harness, blind=True)] == [group.ids]

    origin = harness.origin(run="night")
    merged = await merge(harness, group, origin)
    assert (merged.id, merged.content, len(merged.merged)) == (by_user.id, KILN, 2)
    current = await harness.store.get(SPACE, group.ids)
    assert [current[each].state for each in group.ids] == [State.LIVE, State.MERGED, State.MERGED]
    hits = (await harness.recall(RecallRequest.of(query="When is the kiln fired?"))).hits
    assert [hit.id for hit in hits if hit.passage == KILN] == [by_user.id]
    assert await groups_of(harness) == []
    with pytest.raises(StaleVersion):
        await merge(harness, group, origin)

    await undo(run="night", agent="", space=SPACE, origin=harness.origin(), store=harness.store)
    assert [each.ids for each in await groups_of(harness)] == [group.ids]


async def test_of_one_giant_group_a_part_is_merged_at_a_time(harness: Harness) -> None:
    harness.clock.set(moment(1_000))
    await stored(harness, *(memory(KILN, place) for place in range(130)))
    groups = await groups_of(harness)
    assert sum(len(group.ids) for group in groups) == 130
    assert max(len(group.ids) for group in groups) <= 50


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30))), st.integers(2, 8))
def test_groups_share_no_member_and_have_a_limited_size(pairs: list[tuple[int, int]], most: int) -> None:
    groups = group_pairs(pairs, most=most)
    members = [member for group in groups for member in group]
    assert len(members) == len(set(members))
    assert all(1 < len(group) <= most for group in groups)
    related = {member for first, second in pairs if first != second for member in (first, second)}
    assert related >= set(members)
    # A pair whose members are both alone was joined, or is full.
    alone = related - set(members)
    assert not any({first, second} <= alone and first != second for first, second in pairs)


def test_what_would_add_words_to_the_first_is_left_out() -> None:
    same, fuller = memory(KILN, 1), memory(KILN.replace("fired", "always fired"), 2)
    other = memory("The kiln in the old pottery is fired monthly. Ann brings the wood for it.", 3)
    group = SameMemories(memories=(memory(KILN, 0), other, same, fuller), similarities=(0.8, 1.0, 0.95))
    rest = without_additions(group, at=moment(9), most_tags=8)
    assert rest is not None
    assert (rest.ids[1:], rest.similarities) == ((same.id, fuller.id), (1.0, 0.95))
    alone = SameMemories(memories=(memory(KILN, 0), other), similarities=(0.8,))
    assert without_additions(alone, at=moment(9), most_tags=8) is None
