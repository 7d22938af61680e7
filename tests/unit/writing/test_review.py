"""The inbox: a waiting memory goes live when a person approves it, and into the trash when not."""

from dataclasses import replace

import pytest
from tests.fakes.build import a_commit, a_memory
from tests.unit.harness import SPACE, Harness

from scrubjay.errors import WrongState
from scrubjay.model.draft import Draft
from scrubjay.model.memory import Memory, Method, Source, State
from scrubjay.model.requests import Selection
from scrubjay.model.rules import Rules
from scrubjay.versions.revert import revert
from scrubjay.versions.undo import undo
from scrubjay.writing.review import approve, decline, inbox, must_wait


async def waiting(harness: Harness, text: str = "tea", **fields: str) -> Memory:
    memory = a_memory(text, state=State.WAITING, **fields)  # pyright: ignore[reportArgumentType]
    await harness.store.commit(a_commit(memory))
    return memory


@pytest.mark.parametrize(
    ("review", "method", "waits"),
    [
        ("none", Method.AGENT, False),
        ("agents", Method.AGENT, True),
        ("agents", Method.AUTO, True),
        ("agents", Method.MANUAL, False),
        ("all", Method.MANUAL, True),
    ],
)
def test_a_rule_decides_which_memories_wait(review: str, method: Method, waits: bool) -> None:
    assert must_wait(Draft(text="tea", source=Source(method=method)), rules=Rules(review=review)) == waits


async def test_a_waiting_memory_is_in_the_inbox_until_it_is_approved(harness: Harness) -> None:
    memory, other = await waiting(harness), await waiting(harness, "milk")
    assert {memory.id for memory in await inbox(SPACE, store=harness.store, limit=9)} == {memory.id, other.id}
    assert len(await inbox(SPACE, store=harness.store, limit=1)) == 1
    done = await approve(Selection(ids=(memory.name,)), space=SPACE, origin=harness.origin(), store=harness.store)
    assert [(change.action, change.version) for change in done.done] == [("approved", 2)]
    assert (await harness.get(memory.id)).state is State.LIVE
    assert [memory.id for memory in await inbox(SPACE, store=harness.store, limit=9)] == [other.id]
    versions = await harness.store.versions(SPACE, memory.id, limit=9)
    assert [version.action for version in versions] == ["approved", "created"]


async def test_a_declined_memory_goes_into_the_trash(harness: Harness) -> None:
    memory = await waiting(harness)
    chosen = Selection(ids=(memory.id,), reason="no")
    done = await decline(chosen, space=SPACE, origin=harness.origin(), store=harness.store)
    assert [change.action for change in done.done] == ["trashed"]
    assert (await harness.get(memory.id)).state is State.TRASHED
    assert await inbox(SPACE, store=harness.store, limit=9) == ()


async def test_a_name_taken_meanwhile_is_given_another(harness: Harness) -> None:
    memory = await waiting(harness, name="tea")
    await harness.store_draft(Draft(text="milk", name="tea"))
    done = await approve(Selection(ids=(memory.id,)), space=SPACE, origin=harness.origin(), store=harness.store)
    assert done.done[0].name == f"tea-{memory.id[-6:]}"


async def test_only_waiting_memories_are_approved_or_declined(harness: Harness) -> None:
    live = await harness.store_draft("tea")
    chosen = Selection(ids=(live.id,))
    with pytest.raises(WrongState):
        await decline(chosen, space=SPACE, origin=harness.origin(), store=harness.store)
    again = await approve(chosen, space=SPACE, origin=harness.origin(), store=harness.store)
    assert [change.action for change in again.done] == ["unchanged"]


async def test_a_waiting_memory_cannot_go_live_by_another_verb(harness: Harness) -> None:
    memory = await waiting(harness)
    with pytest.raises(WrongState):
        await harness.restore(memory.id)
    assert (await harness.get(memory.id)).state is State.WAITING


async def test_a_dry_run_leaves_it_waiting(harness: Harness) -> None:
    memory = await waiting(harness)
    chosen = Selection(ids=(memory.id,), dry_run=True)
    done = await approve(chosen, space=SPACE, origin=harness.origin(), store=harness.store)
    assert (done.dry_run, done.done[0].action) == (True, "approved")
    assert (await harness.get(memory.id)).state is State.WAITING


AGENTS = Rules(gate="off", density="off", tags="off", review="agents")
BY_AGENT = Source(method=Method.AGENT)


async def test_an_unapproved_memory_waits_again_when_it_is_restored(harness: Harness) -> None:
    harness.rules = AGENTS
    forgotten = await harness.store_draft(Draft(text="tea", source=BY_AGENT))
    declined = await harness.store_draft(Draft(text="milk", source=BY_AGENT))
    undone = await harness.store_draft(Draft(text="salt", source=BY_AGENT))
    assert forgotten.flags == ("unapproved",)
    await harness.forget(forgotten.id)
    await decline(Selection(ids=(declined.id,)), space=SPACE, origin=harness.origin(), store=harness.store)
    run = (await harness.store.versions(SPACE, undone.id, limit=1))[0].run
    await undo(run=run, agent="tester", space=SPACE, origin=harness.origin(), store=harness.store)
    for memory in (forgotten, declined, undone):
        assert (await harness.get(memory.id)).state is State.TRASHED
        (done,) = (await harness.restore(memory.id)).done
        assert (done.action, "waits" in done.warnings[0]) == ("restored", True)
        assert (await harness.get(memory.id)).state is State.WAITING


async def test_an_approved_memory_is_restored_as_it_was(harness: Harness) -> None:
    harness.rules = AGENTS
    memory = await harness.store_draft(Draft(text="tea", source=BY_AGENT))
    await approve(Selection(ids=(memory.id,)), space=SPACE, origin=harness.origin(), store=harness.store)
    assert (await harness.get(memory.id)).flags == ()
    await revert(memory.id, to=1, message="", space=SPACE, origin=harness.origin(), store=harness.store)
    await harness.forget(memory.id)
    await harness.restore(memory.id)
    assert (await harness.get(memory.id)).state is State.LIVE


async def test_the_same_text_waits_once(harness: Harness) -> None:
    await harness.remember(Draft(text="The tea is green.", title="Tea"))
    harness.rules = AGENTS
    draft = Draft(text="The tea is black.", title="Tea", source=BY_AGENT, pinned=True)
    first, *more = [await harness.remember(draft) for _ in range(3)]
    assert [(change.action, change.id) for change in more] == [("unchanged", first.id)] * 2
    assert any("not pinned" in warning for warning in first.warnings)
    assert len(await inbox(SPACE, store=harness.store, limit=9)) == 1
    other = await harness.remember(replace(draft, metadata={"more": 1}))
    assert other.action == "created"


async def test_of_two_with_one_name_the_one_that_waits_is_approved(harness: Harness) -> None:
    memory = await waiting(harness, name="tea")
    await harness.store_draft(Draft(text="milk", name="tea"))
    done = await approve(Selection(ids=("tea", "nobody")), space=SPACE, origin=harness.origin(), store=harness.store)
    assert ([change.id for change in done.done], [missing_ref.ref for missing_ref in done.missing]) == (
        [memory.id],
        ["nobody"],
    )


async def test_a_reason_keeps_no_secret(harness: Harness) -> None:
    memory = await harness.store_draft("tea")
    await harness.forget(selection=Selection(ids=(memory.id,), reason="leaked AKIAIOSFODNN7EXAMPLE"))
    await revert(
        memory.id, to=1, message="AKIAIOSFODNN7EXAMPLE", space=SPACE, origin=harness.origin(), store=harness.store
    )
    messages = [version.message for version in await harness.store.versions(SPACE, memory.id, limit=9)]
    assert messages[:2] == ["[redacted: aws access key]", "leaked [redacted: aws access key]"]
