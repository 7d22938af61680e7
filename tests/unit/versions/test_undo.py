"""`undo` and `revert` make new versions, and leave alone memories that were changed since."""

from pathlib import Path

import pytest
from tests.fakes.build import START, an_origin
from tests.unit.harness import SPACE, Harness
from tests.unit.storage.sqlite.damage import spoil_body

from scrubjay.errors import BodyDamaged, InvalidInput, NotFound
from scrubjay.model.draft import Draft
from scrubjay.model.memory import State
from scrubjay.model.requests import Edit
from scrubjay.model.results import Undone, Written
from scrubjay.storage.sqlite import SqliteStore
from scrubjay.versions.revert import revert
from scrubjay.versions.undo import undo


async def go_back(harness: Harness, ref: str, *, to: int, message: str = "") -> Written:
    return await revert(ref, to=to, message=message, space=SPACE, origin=harness.origin(), store=harness.store)


async def take_back(harness: Harness, *, run: str = "", agent: str = "tester") -> Undone:
    origin = harness.origin(agent=agent)
    return await undo(run=run, agent=agent, space=SPACE, origin=origin, store=harness.store)


async def test_a_revert_brings_back_the_content_and_keeps_the_life(harness: Harness) -> None:
    first = await harness.store_draft(Draft(text="one", name="tea", tags=("a",), observations=("fact",)))
    await harness.revise(first.id, Edit(fields={"content": "two", "name": "coffee", "tags": []}))
    await harness.store.touch(SPACE, [first.id], at=START)
    done = await go_back(harness, "coffee", to=1, message="better before")
    after = await harness.get(first.id)
    assert (done.action, done.version, done.name) == ("updated", 3, "tea")
    assert (after.content, after.name, after.tags) == ("one", "tea", ("a",))
    assert after.observations == first.observations
    assert (after.access_count, after.created_at, after.version) == (1, first.created_at, 3)
    newest = (await harness.store.versions(SPACE, first.id, limit=1))[0]
    assert (newest.action, newest.message, newest.parent) == ("reverted", "better before", 2)


async def test_a_revert_does_not_bring_back_the_dead(harness: Harness) -> None:
    memory = await harness.store_draft("one")
    await harness.forget(memory.id)
    await go_back(harness, memory.id, to=1)
    assert (await harness.get(memory.id)).state is State.TRASHED
    newest = (await harness.store.versions(SPACE, memory.id, limit=1))[0]
    assert newest.message == "back to version 1"


async def test_a_revert_needs_a_version_that_is_there(harness: Harness) -> None:
    memory = await harness.store_draft("one")
    with pytest.raises(NotFound, match="no version 5"):
        await go_back(harness, memory.id, to=5)
    for wrong in (0, "1", True):
        with pytest.raises(InvalidInput, match="to"):
            await go_back(harness, memory.id, to=wrong)  # pyright: ignore[reportArgumentType]
    with pytest.raises(NotFound):
        await go_back(harness, "nobody", to=1)


async def test_a_revert_leaves_a_name_to_the_memory_that_has_it_now(harness: Harness) -> None:
    first = await harness.store_draft(Draft(text="one", name="tea"))
    await harness.revise(first.id, name="coffee", content="two")
    other = await harness.store_draft(Draft(text="three", name="tea"))
    done = await go_back(harness, first.id, to=1)
    assert (done.name, done.version) == ("coffee", 3)
    assert done.warnings == ("another memory is called 'tea' by now: this one keeps its name",)
    assert ((await harness.get(first.id)).content, (await harness.get(other.id)).name) == ("one", "tea")


async def test_reverting_is_the_cure_for_a_damaged_version(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "memory.db", readers=1)
    harness = Harness(store=store)
    memory = await harness.store_draft("one " * 40)
    await harness.revise(memory.id, content="two " * 40)
    spoil_body(store.path, memory.id, 2)
    with pytest.raises(BodyDamaged):
        await go_back(harness, memory.id, to=2)
    with pytest.raises(BodyDamaged):
        await go_back(harness, memory.id, to=7)
    done = await go_back(harness, memory.id, to=1)
    assert done.version == 3
    assert (await harness.get(memory.id)).content == "one " * 40
    await store.close()


async def test_undo_takes_back_the_last_run_of_the_agent(harness: Harness) -> None:
    memory = await harness.store_draft(Draft(text="one", name="tea"))
    await harness.revise(memory.id, content="two")
    done = await take_back(harness)
    assert [(change.action, change.id, change.version) for change in done.done] == [("undone", memory.id, 3)]
    assert (await harness.get(memory.id)).content == "one"
    done = await take_back(harness)
    assert (await harness.get(memory.id)).state is State.TRASHED
    with pytest.raises(NotFound, match="nothing to undo"):
        await take_back(harness)
    with pytest.raises(NotFound, match="nothing to undo"):
        await take_back(harness, agent="somebody else")


async def test_a_memory_changed_since_is_left_alone_and_reported(harness: Harness) -> None:
    memory = await harness.store_draft(Draft(text="one", name="tea"))
    run = (await harness.store.versions(SPACE, memory.id, limit=1))[0].run
    await harness.revise(memory.id, content="two")
    done = await take_back(harness, run=run)
    assert done.done == ()
    assert "tea" in done.skipped[0]
    assert (await harness.get(memory.id)).content == "two"


async def test_a_purge_cannot_be_undone(harness: Harness) -> None:
    memory = await harness.store_draft("one")
    run = (await harness.store.versions(SPACE, memory.id, limit=1))[0].run
    await harness.forget(memory.id)
    await harness.purge(memory.id)
    done = await take_back(harness, run=run)
    assert (done.run, done.done) == (run, ())
    assert "purged" in done.skipped[0]


async def test_relations_are_taken_back_as_they_were(harness: Harness) -> None:
    for name in ("tea", "jay"):
        await harness.remember(Draft(text=name, name=name))
    first = (await harness.relate("tea", "jay", text="drinks")).source_links
    await harness.relate("tea", "jay", text="sings to", strength=0.9)
    await take_back(harness)
    assert (await harness.store.relations(SPACE, [first[0].source])) == list(first)
    await take_back(harness)
    assert await harness.store.relations(SPACE, [first[0].source]) == []


async def test_a_run_has_a_name(harness: Harness) -> None:
    with pytest.raises(NotFound, match="'r1'"):
        await take_back(harness, run="r1")
    with pytest.raises(InvalidInput, match="run"):
        await undo(
            run=5,  # pyright: ignore[reportArgumentType]
            agent="tester",
            space=SPACE,
            origin=an_origin(),
            store=harness.store,
        )
