"""Writes of one call: all of them, or none."""

import asyncio
from dataclasses import replace

import pytest
from tests.fakes.build import START
from tests.unit.harness import SPACE, Harness

from scrubjay.errors import InvalidInput, NameTaken, StaleVersion, TooLarge
from scrubjay.model.draft import Draft
from scrubjay.model.memory import State
from scrubjay.model.relation import Relation
from scrubjay.model.requests import Edit
from scrubjay.ports import Edge
from scrubjay.writing.batch import Batch, NewMemory, write_batch


async def write(harness: Harness, batch: Batch, *, embed: bool = True) -> None:
    await write_batch(batch, space=SPACE, origin=harness.origin(), context=harness.context, embed=embed)


def named(name: str, *observations: str) -> NewMemory:
    return NewMemory(draft=Draft(text="", name=name, kind="thing", observations=observations, intent="new"))


def edge(source: NewMemory, target: NewMemory, kind: str = "knows") -> Edge:
    return Edge(relation=Relation(source=source.id, target=target.id, type=kind, created_at=START), present=True)


async def test_new_memories_edits_trash_and_edges_are_one_commit(harness: Harness) -> None:
    old, gone = await harness.store_draft("old text"), await harness.store_draft("to be forgotten")
    before = await harness.store.last_seq()
    ada, bob = named("Ada", "likes tea"), named("Bob")
    edit = Edit(fields={"content": "new text"}, message="corrected")
    await write(
        harness,
        Batch(new=(ada, bob), edits=((old, edit),), trashed=(gone,), edges=(edge(ada, bob),), message="together"),
    )
    changes = await harness.store.changes(after=before, limit=10)
    assert len({change.run for change in changes}) == 1
    made = await harness.get(ada.id)
    assert (made.name, made.kind, made.state, made.observations[0].text) == ("Ada", "thing", State.LIVE, "likes tea")
    assert (await harness.get(old.id)).content == "new text"
    assert (await harness.get(gone.id)).state is State.TRASHED
    messages = [
        (await harness.store.versions(SPACE, memory_id, limit=1))[0].message for memory_id in (ada.id, old.id, gone.id)
    ]
    assert messages == ["together", "corrected", "together"]
    (relation,) = await harness.store.relations(SPACE, [bob.id])
    assert relation.key == (ada.id, "knows", bob.id)


async def test_a_memory_may_begin_in_another_state(harness: Harness) -> None:
    ada = replace(named("Ada"), state=State.ARCHIVED)
    await write(harness, Batch(new=(ada,)))
    assert (await harness.get(ada.id)).state is State.ARCHIVED
    await write(harness, Batch(new=(named("Ada"),)))


async def test_new_texts_are_embedded_at_once_or_later(harness: Harness) -> None:
    model = (await harness.embedder.profile()).model
    await write(harness, Batch(new=(named("Ada", "likes tea"),)))
    assert await harness.store.without_vectors(model, limit=9) == []
    later = named("Bob", "likes jam")
    await write(harness, Batch(new=(later,)), embed=False)
    assert await harness.store.without_vectors(model, limit=9) == [(SPACE, later.id)]


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (named("nul\x00"), InvalidInput),
        (named("Ada", "\ud800"), InvalidInput),
        (named("n" * 301), TooLarge),
        (NewMemory(draft=Draft(text="", name="Ada")), InvalidInput),
    ],
)
async def test_one_that_cannot_be_stored_stops_all(
    harness: Harness, wrong: NewMemory, error: type[InvalidInput]
) -> None:
    with pytest.raises(error):
        await write(harness, Batch(new=(named("Bob"), wrong)))
    assert await harness.store.last_seq() == 0


@pytest.mark.parametrize("kind", ["nul\x00", "\ud800", "k" * 301])
async def test_a_relation_that_cannot_be_stored_stops_all(harness: Harness, kind: str) -> None:
    ada, bob = named("Ada"), named("Bob")
    with pytest.raises(InvalidInput, match="relation"):
        await write(harness, Batch(new=(ada, bob), edges=(edge(ada, bob, kind),)))
    assert await harness.store.last_seq() == 0


async def test_a_concurrent_change_makes_the_call_stale_and_nothing_is_written(harness: Harness) -> None:
    old = await harness.store_draft("old text")
    await harness.revise(old.id, content="theirs")
    await harness.remember(Draft(text="x", name="Ada"))
    before = await harness.store.last_seq()
    with pytest.raises(StaleVersion):
        await write(harness, Batch(new=(named("Bob"),), edits=((old, Edit(fields={"content": "ours"})),)))
    with pytest.raises(StaleVersion):
        await write(harness, Batch(new=(named("Bob"),), trashed=(old,)))
    with pytest.raises(NameTaken):
        await write(harness, Batch(new=(named("Bob"), named("Ada"))))
    assert await harness.store.last_seq() == before


async def test_nothing_to_write_writes_nothing(harness: Harness) -> None:
    old = await harness.store_draft("old text")
    before = await harness.store.last_seq()
    await write(harness, Batch())
    await write(harness, Batch(edits=((old, Edit(fields={"content": "old text"})),)))
    assert await harness.store.last_seq() == before


@pytest.mark.parametrize("batch", [[named(f"n{n}", "x") for n in range(60)], [named("long", "x " * 20_000)]])
async def test_much_is_prepared_beside_the_loop(harness: Harness, batch: list[NewMemory]) -> None:
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    await write(harness, Batch(new=tuple(batch)))
    counting.cancel()
    assert turns > 1
    assert len(await harness.store.get(SPACE, [memory.id for memory in batch])) == len(batch)
