"""Ways back make new versions, and leave alone what others changed."""

from pathlib import Path

import pytest
from tests.fakes.build import START, an_origin
from tests.unit.storage.sqlite.damage import spoil_body
from tests.unit.write_world import SPACE, Workshop

from scrubjay.errors import BodyDamaged, InvalidInput, NotFound
from scrubjay.model.draft import Draft, Edit
from scrubjay.model.memory import State
from scrubjay.model.results import Undone, Written
from scrubjay.storage.sqlite import SqliteStore
from scrubjay.versions.revert import revert
from scrubjay.versions.undo import undo


async def go_back(shop: Workshop, ref: str, *, to: int, message: str = "") -> Written:
    return await revert(ref, to=to, message=message, space=SPACE, origin=shop.origin(), store=shop.store)


async def take_back(shop: Workshop, *, run: str = "", agent: str = "tester") -> Undone:
    origin = shop.origin(agent=agent)
    return await undo(run=run, agent=agent, space=SPACE, origin=origin, store=shop.store)


async def test_a_revert_brings_back_the_content_and_keeps_the_life(shop: Workshop) -> None:
    first = await shop.kept(Draft(text="one", name="tea", tags=("a",), observations=("fact",)))
    await shop.revise(first.id, Edit(fields={"content": "two", "name": "coffee", "tags": []}))
    await shop.store.touch(SPACE, [first.id], at=START)
    done = await go_back(shop, "coffee", to=1, message="better before")
    after = await shop.get(first.id)
    assert (done.action, done.version, done.name) == ("updated", 3, "tea")
    assert (after.content, after.name, after.tags) == ("one", "tea", ("a",))
    assert after.observations == first.observations
    assert (after.access_count, after.created_at, after.version) == (1, first.created_at, 3)
    newest = (await shop.store.versions(SPACE, first.id, limit=1))[0]
    assert (newest.action, newest.message, newest.parent) == ("reverted", "better before", 2)


async def test_a_revert_does_not_bring_back_the_dead(shop: Workshop) -> None:
    memory = await shop.kept("one")
    await shop.forget(memory.id)
    await go_back(shop, memory.id, to=1)
    assert (await shop.get(memory.id)).state is State.TRASHED
    newest = (await shop.store.versions(SPACE, memory.id, limit=1))[0]
    assert newest.message == "back to version 1"


async def test_a_revert_needs_a_version_that_is_there(shop: Workshop) -> None:
    memory = await shop.kept("one")
    with pytest.raises(NotFound, match="no version 5"):
        await go_back(shop, memory.id, to=5)
    for wrong in (0, "1", True):
        with pytest.raises(InvalidInput, match="to"):
            await go_back(shop, memory.id, to=wrong)  # pyright: ignore[reportArgumentType]
    with pytest.raises(NotFound):
        await go_back(shop, "nobody", to=1)


async def test_a_revert_leaves_a_name_to_whoever_has_it_now(shop: Workshop) -> None:
    first = await shop.kept(Draft(text="one", name="tea"))
    await shop.revise(first.id, name="coffee", content="two")
    other = await shop.kept(Draft(text="three", name="tea"))
    done = await go_back(shop, first.id, to=1)
    assert (done.name, done.version) == ("coffee", 3)
    assert done.warnings == ("another memory is called 'tea' by now: this one keeps its name",)
    assert ((await shop.get(first.id)).content, (await shop.get(other.id)).name) == ("one", "tea")


async def test_reverting_is_the_cure_for_a_damaged_version(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "memory.db", readers=1)
    shop = Workshop(store=store)
    memory = await shop.kept("one " * 40)
    await shop.revise(memory.id, content="two " * 40)
    spoil_body(store.path, memory.id, 2)
    with pytest.raises(BodyDamaged):
        await go_back(shop, memory.id, to=2)
    with pytest.raises(BodyDamaged):
        await go_back(shop, memory.id, to=7)
    done = await go_back(shop, memory.id, to=1)
    assert done.version == 3
    assert (await shop.get(memory.id)).content == "one " * 40
    await store.close()


async def test_undo_takes_back_the_last_run_of_the_agent(shop: Workshop) -> None:
    memory = await shop.kept(Draft(text="one", name="tea"))
    await shop.revise(memory.id, content="two")
    done = await take_back(shop)
    assert [(one.action, one.id, one.version) for one in done.done] == [("undone", memory.id, 3)]
    assert (await shop.get(memory.id)).content == "one"
    done = await take_back(shop)
    assert (await shop.get(memory.id)).state is State.TRASHED
    with pytest.raises(NotFound, match="nothing to undo"):
        await take_back(shop)
    with pytest.raises(NotFound, match="nothing to undo"):
        await take_back(shop, agent="somebody else")


async def test_what_was_changed_since_is_left_alone_and_told(shop: Workshop) -> None:
    memory = await shop.kept(Draft(text="one", name="tea"))
    run = (await shop.store.versions(SPACE, memory.id, limit=1))[0].run
    await shop.revise(memory.id, content="two")
    done = await take_back(shop, run=run)
    assert done.done == ()
    assert "tea" in done.skipped[0]
    assert (await shop.get(memory.id)).content == "two"


async def test_what_was_purged_cannot_be_taken_back(shop: Workshop) -> None:
    memory = await shop.kept("one")
    run = (await shop.store.versions(SPACE, memory.id, limit=1))[0].run
    await shop.forget(memory.id)
    await shop.purge(memory.id)
    done = await take_back(shop, run=run)
    assert (done.run, done.done) == (run, ())
    assert "purged" in done.skipped[0]


async def test_relations_are_taken_back_as_they_were(shop: Workshop) -> None:
    for name in ("tea", "jay"):
        await shop.remember(Draft(text=name, name=name))
    first = (await shop.relate("tea", "jay", text="drinks")).source_links
    await shop.relate("tea", "jay", text="sings to", strength=0.9)
    await take_back(shop)
    assert (await shop.store.relations(SPACE, [first[0].source])) == list(first)
    await take_back(shop)
    assert await shop.store.relations(SPACE, [first[0].source]) == []


async def test_a_run_has_a_name(shop: Workshop) -> None:
    with pytest.raises(NotFound, match="'r1'"):
        await take_back(shop, run="r1")
    with pytest.raises(InvalidInput, match="run"):
        await undo(
            run=5,  # pyright: ignore[reportArgumentType]
            agent="tester",
            space=SPACE,
            origin=an_origin(),
            store=shop.store,
        )
