"""The inbox: what waits is kept when a person says yes, and goes into the trash otherwise."""

import pytest
from tests.unit.workshop import SPACE, Workshop

from scrubjay.errors import WrongState
from scrubjay.model.draft import Draft
from scrubjay.model.memory import Memory, Method, Source, State
from scrubjay.model.rules import Rules
from scrubjay.testing.build import a_commit, a_memory
from scrubjay.writing.dispose import Selection
from scrubjay.writing.review import approve, decline, inbox, must_wait


async def waiting(shop: Workshop, text: str = "tea", **fields: str) -> Memory:
    memory = a_memory(text, state=State.WAITING, **fields)  # pyright: ignore[reportArgumentType]
    await shop.store.commit(a_commit(memory))
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
def test_whose_memories_wait_is_a_rule(review: str, method: Method, waits: bool) -> None:
    assert must_wait(Draft(text="tea", source=Source(method=method)), rules=Rules(review=review)) == waits


async def test_what_waits_is_in_the_inbox_until_it_is_approved(shop: Workshop) -> None:
    memory, other = await waiting(shop), await waiting(shop, "milk")
    assert {one.id for one in await inbox(SPACE, store=shop.store, limit=9)} == {memory.id, other.id}
    assert len(await inbox(SPACE, store=shop.store, limit=1)) == 1
    done = await approve(Selection(refs=(memory.name,)), space=SPACE, origin=shop.origin(), store=shop.store)
    assert [(one.action, one.version) for one in done.done] == [("approved", 2)]
    assert (await shop.get(memory.id)).state is State.LIVE
    assert [one.id for one in await inbox(SPACE, store=shop.store, limit=9)] == [other.id]
    versions = await shop.store.versions(SPACE, memory.id, limit=9)
    assert [one.action for one in versions] == ["approved", "created"]


async def test_what_is_declined_goes_into_the_trash(shop: Workshop) -> None:
    memory = await waiting(shop)
    chosen = Selection(refs=(memory.id,), reason="no")
    done = await decline(chosen, space=SPACE, origin=shop.origin(), store=shop.store)
    assert [one.action for one in done.done] == ["trashed"]
    assert (await shop.get(memory.id)).state is State.TRASHED
    assert await inbox(SPACE, store=shop.store, limit=9) == ()


async def test_a_name_taken_meanwhile_is_given_another(shop: Workshop) -> None:
    memory = await waiting(shop, name="tea")
    await shop.kept(Draft(text="milk", name="tea"))
    done = await approve(Selection(refs=(memory.id,)), space=SPACE, origin=shop.origin(), store=shop.store)
    assert done.done[0].name == f"tea-{memory.id[-6:]}"


async def test_only_what_waits_is_approved_or_declined(quick: Workshop) -> None:
    live = await quick.kept("tea")
    chosen = Selection(refs=(live.id,))
    with pytest.raises(WrongState):
        await decline(chosen, space=SPACE, origin=quick.origin(), store=quick.store)
    again = await approve(chosen, space=SPACE, origin=quick.origin(), store=quick.store)
    assert [one.action for one in again.done] == ["unchanged"]


async def test_what_waits_does_not_come_in_by_another_door(quick: Workshop) -> None:
    memory = await waiting(quick)
    with pytest.raises(WrongState):
        await quick.restore(memory.id)
    assert (await quick.get(memory.id)).state is State.WAITING


async def test_a_dry_run_leaves_it_waiting(quick: Workshop) -> None:
    memory = await waiting(quick)
    chosen = Selection(refs=(memory.id,), dry_run=True)
    done = await approve(chosen, space=SPACE, origin=quick.origin(), store=quick.store)
    assert (done.dry_run, done.done[0].action) == (True, "approved")
    assert (await quick.get(memory.id)).state is State.WAITING
