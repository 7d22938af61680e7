"""Merged memories under undo, restore and purge: a part never loses its whole."""

import pytest
from tests.unit.harness import SPACE, Harness

from scrubjay.errors import WrongState
from scrubjay.model.draft import Draft
from scrubjay.model.memory import Memory, State
from scrubjay.model.query import Filter
from scrubjay.model.results import Undone, Written
from scrubjay.versions.revert import revert
from scrubjay.versions.undo import undo

FIRST = Draft(text="The token is refreshed before it is read.", session_hint="auth")
SECOND = Draft(text="The command line asks again after 401.", session_hint="auth", intent="continue")
THIRD = Draft(text="The dashboards stand in the blue room.", session_hint="auth", intent="continue")


async def both(harness: Harness) -> tuple[Memory, Memory]:
    """Return the continued memory and its continuation."""
    first = await harness.remember(FIRST)
    done = await harness.remember(SECOND)
    assert (done.action, done.id) == ("merged", first.id)
    (part,) = await harness.store.list_ids(SPACE, Filter(state=State.MERGED), limit=5)
    return await harness.get(first.id), await harness.get(part)


async def go_back(harness: Harness, memory: Memory, *, to: int) -> Written:
    return await revert(memory.id, to=to, message="", space=SPACE, origin=harness.origin(), store=harness.store)


async def take_back(harness: Harness, *, run: str) -> Undone:
    return await undo(run=run, agent="tester", space=SPACE, origin=harness.origin(), store=harness.store)


async def run_of(harness: Harness, memory: Memory) -> str:
    return (await harness.store.versions(SPACE, memory.id, limit=1))[0].run


async def texts(harness: Harness) -> list[str]:
    """Return the texts of all live memories, sorted."""
    ids = await harness.store.list_ids(SPACE, Filter(), limit=9)
    return sorted(memory.content for memory in (await harness.store.get(SPACE, ids)).values())


async def test_an_undo_leaves_a_part_whose_whole_was_changed_since(harness: Harness) -> None:
    whole, part = await both(harness)
    run = await run_of(harness, part)
    assert (await harness.remember(THIRD)).action == "merged"
    done = await take_back(harness, run=run)
    assert done.done == ()
    assert any(part.name in skipped_memory and "changed since" in skipped_memory for skipped_memory in done.skipped)
    assert (await harness.get(part.id)).state is State.MERGED
    assert FIRST.text in (await harness.get(whole.id)).content
    await go_back(harness, whole, to=1)
    assert await texts(harness) == sorted([FIRST.text, SECOND.text, THIRD.text])


async def test_an_undo_of_a_revert_does_not_hide_a_part_that_its_whole_has_lost(harness: Harness) -> None:
    whole, part = await both(harness)
    await go_back(harness, whole, to=1)
    run = await run_of(harness, part)
    await harness.revise(whole.id, content="something else")
    done = await take_back(harness, run=run)
    assert done.done == ()
    assert (await harness.get(part.id)).state is State.LIVE


async def test_an_undo_of_forgetting_a_part_makes_it_a_part_again(harness: Harness) -> None:
    whole, part = await both(harness)
    await harness.forget(part.id)
    run = await run_of(harness, part)
    assert (await harness.remember(THIRD)).action == "merged"
    assert (await take_back(harness, run=run)).skipped == ()
    again = await harness.get(part.id)
    assert (again.state, again.merged_into) == (State.MERGED, whole.id)


async def test_an_undo_of_restoring_a_part_puts_it_back_into_the_trash(harness: Harness) -> None:
    whole, part = await both(harness)
    await harness.forget(part.id, whole.id)
    await harness.restore(part.id)
    run = await run_of(harness, part)
    await harness.restore(whole.id)
    assert (await take_back(harness, run=run)).skipped == ()
    assert await texts(harness) == [whole.content]


async def test_a_whole_stays_when_its_part_was_changed_since(harness: Harness) -> None:
    whole, part = await both(harness)
    await go_back(harness, whole, to=1)
    run = await run_of(harness, part)
    await harness.revise(part.id, content="The command line asks twice.")
    assert (await take_back(harness, run=run)).done == ()
    assert await texts(harness) == sorted([FIRST.text, "The command line asks twice."])


async def test_an_undo_of_giving_back_merges_again(harness: Harness) -> None:
    whole, part = await both(harness)
    await go_back(harness, whole, to=1)
    done = await take_back(harness, run=await run_of(harness, part))
    assert (len(done.done), done.skipped) == (2, ())
    assert await texts(harness) == [whole.content]
    assert (await harness.get(part.id)).merged_into == whole.id


async def test_a_revert_forward_merges_again(harness: Harness) -> None:
    whole, part = await both(harness)
    await go_back(harness, whole, to=1)
    reverted = await go_back(harness, whole, to=2)
    assert part.name in reverted.warnings[0]
    again = await harness.get(part.id)
    assert (again.state, again.merged_into) == (State.MERGED, whole.id)
    assert await texts(harness) == [whole.content]
    await go_back(harness, whole, to=1)
    assert await texts(harness) == sorted([FIRST.text, SECOND.text])


async def test_a_revert_forward_leaves_a_part_that_says_something_else_by_now(harness: Harness) -> None:
    whole, part = await both(harness)
    await go_back(harness, whole, to=1)
    await harness.revise(part.id, content="The command line asks twice.")
    reverted = await go_back(harness, whole, to=2)
    assert "changed since" in reverted.warnings[0]
    assert (await harness.get(part.id)).state is State.LIVE


async def test_a_revert_of_a_trashed_memory_makes_nothing_live(harness: Harness) -> None:
    whole, part = await both(harness)
    await harness.forget(whole.id)
    await go_back(harness, whole, to=1)
    assert await texts(harness) == []
    after = await harness.get(part.id)
    assert (after.state, after.merged_into) == (State.TRASHED, "")
    await harness.restore(whole.id, part.id)
    assert await texts(harness) == sorted([FIRST.text, SECOND.text])


async def test_a_trashed_part_is_not_restored_besides_its_whole(harness: Harness) -> None:
    whole, part = await both(harness)
    gone = await harness.forget(part.id)
    assert whole.name in gone.done[0].warnings[0]
    with pytest.raises(WrongState) as refused:
        await harness.restore(part.id)
    assert "revert" in refused.value.hint
    await go_back(harness, whole, to=1)
    await harness.restore(part.id)
    back = await harness.get(part.id)
    assert (back.state, back.merged_into) == (State.LIVE, "")


async def test_purging_a_part_warns_that_its_text_remains_in_the_whole(harness: Harness) -> None:
    whole, part = await both(harness)
    await harness.forget(part.id)
    done = await harness.purge(part.id)
    assert whole.name in done.done[0].warnings[0]
    await harness.forget(whole.id)
    assert [change.warnings for change in (await harness.purge(whole.id)).done] == [()]


async def test_purging_both_gives_no_warning(harness: Harness) -> None:
    whole, part = await both(harness)
    await harness.forget(part.id, whole.id)
    assert {change.warnings for change in (await harness.purge(part.id, whole.id)).done} == {()}
