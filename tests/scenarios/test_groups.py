"""One text about several entities: embedded once, found once, edited and forgotten individually or as a group."""

import pytest

from scrubjay.client import MemoryClient
from scrubjay.errors import WrongState
from scrubjay.model.query import Filter
from tests.scenarios.wiring import Wiring

TEXT = "Sarah of Acme Corp wants the quarterly report by voice call"
ENTITIES = ("Sarah", "Acme Corp", "reports")


async def test_one_text_for_three_entities_is_embedded_once(wiring: Wiring, memory: MemoryClient) -> None:
    done = await memory.remember(TEXT, entities=ENTITIES)
    assert len(set(done.ids)) == 3
    assert wiring.embedder.embedded == [TEXT]
    records = (await memory.read(done.ids)).memories
    assert [record.entity for record in records] == list(ENTITIES)
    assert {record.content for record in records} == {TEXT}
    assert len({record.group for record in records}) == 1
    assert len({record.name for record in records}) == 3


async def test_revising_a_label_embeds_nothing(wiring: Wiring, memory: MemoryClient) -> None:
    done = await memory.remember(TEXT, entities=ENTITIES)
    for memory_id in done.ids:
        await memory.revise(memory_id, tags=["report"], kind="preference", pinned=True)
    assert wiring.embedder.embedded == [TEXT]


async def test_recall_returns_the_group_once_and_lists_its_entities(memory: MemoryClient) -> None:
    await memory.remember(TEXT, entities=ENTITIES)
    await memory.remember("The quarterly report goes to the board", entities=["board"])
    hits = (await memory.recall("quarterly report", limit=10)).hits
    assert len(hits) == 2
    together = next(hit for hit in hits if hit.passage == TEXT)
    assert together.entities == ENTITIES


async def test_a_pinned_group_comes_once_too(memory: MemoryClient) -> None:
    await memory.remember(TEXT, entities=ENTITIES, pinned=True)
    recalled = await memory.recall("quarterly report")
    assert not recalled.hits
    (pinned,) = recalled.pinned
    assert pinned.entities == ENTITIES


async def test_recall_for_one_entity_returns_its_own_record(memory: MemoryClient) -> None:
    done = await memory.remember(TEXT, entities=ENTITIES)
    for memory_id, entity in zip(done.ids, ENTITIES, strict=True):
        hits = (await memory.recall("quarterly report", entity=entity)).hits
        assert [(hit.id, hit.entities) for hit in hits] == [(memory_id, (entity,))]
    assert not (await memory.recall("quarterly report", entity="Bob")).hits


async def test_a_text_filed_with_one_entity_more_joins_its_group(wiring: Wiring, memory: MemoryClient) -> None:
    first = await memory.remember(TEXT, entities=ENTITIES[:1])
    second = await memory.remember(TEXT, entities=ENTITIES[:2])
    third = await memory.remember(TEXT, entities=ENTITIES)
    assert [done.action for done in (first, second, third)] == ["created"] * 3
    assert (second.ids[:1], third.ids[:2]) == (first.ids, second.ids)
    assert wiring.embedder.embedded == [TEXT]
    records = (await memory.read(third.ids)).memories
    assert [record.entity for record in records] == list(ENTITIES)
    assert len({record.group for record in records}) == 1
    assert "joined" in [decision.outcome for decision in third.trace]
    assert not second.conflicts
    assert not second.similar
    assert not await memory.conflicts()
    (hit,) = (await memory.recall("quarterly report")).hits
    assert set(hit.entities) == set(ENTITIES)
    assert (await memory.remember(TEXT, entities=ENTITIES[1:])).action == "unchanged"


async def test_undo_takes_a_record_out_of_a_group_again(memory: MemoryClient) -> None:
    first = await memory.remember(TEXT, entities=ENTITIES[:1])
    preview = await memory.remember(TEXT, entities=ENTITIES, dry_run=True)
    assert (preview.action, preview.ids) == ("created", ())
    await memory.remember(TEXT, entities=ENTITIES)
    await memory.undo()
    (record,) = (await memory.read(first.ids)).memories
    assert (record.group, record.version) == ("", 3)
    (hit,) = (await memory.recall("quarterly report")).hits
    assert hit.entities == ENTITIES[:1]


async def test_entities_with_the_same_handle_and_name_stay_separate(memory: MemoryClient) -> None:
    done = await memory.remember("All of them compile", name="compilers", entities=["C", "C++", "C#"])
    names = [record.name for record in (await memory.read(done.ids)).memories]
    assert len(set(names)) == 3
    assert all(name.startswith("compilers-c") for name in names)


async def test_editing_one_record_leaves_its_siblings(memory: MemoryClient) -> None:
    first, second, third = (await memory.remember(TEXT, entities=ENTITIES)).ids
    await memory.revise(second, text="Acme Corp closed its voice line")
    contents = {record.id: record.content for record in (await memory.read([first, second, third])).memories}
    assert contents == {first: TEXT, second: "Acme Corp closed its voice line", third: TEXT}


async def test_forgetting_one_record_leaves_the_group(memory: MemoryClient) -> None:
    first, *others = (await memory.remember(TEXT, entities=ENTITIES)).ids
    assert [change.id for change in (await memory.forget(first)).done] == [first]
    (hit,) = (await memory.recall("quarterly report")).hits
    assert hit.id in others
    assert hit.entities == ENTITIES[1:]


async def test_forgetting_the_group_takes_all_and_restoring_brings_all_back(memory: MemoryClient) -> None:
    first, *others = (await memory.remember(TEXT, entities=ENTITIES)).ids
    planned = await memory.forget(first, group=True, dry_run=True)
    assert {change.id for change in planned.done} == {first, *others}
    assert len((await memory.recall("quarterly report")).hits) == 1
    done = await memory.forget(first, group=True, reason="asked to")
    assert {change.action for change in done.done} == {"trashed"}
    assert not (await memory.recall("quarterly report")).hits
    await memory.restore(others[0], group=True)
    (hit,) = (await memory.recall("quarterly report")).hits
    assert hit.entities == ENTITIES
    assert (await memory.history(first)).versions[1].message == "asked to"


async def test_a_group_is_purged_together_only_from_the_trash(wiring: Wiring, memory: MemoryClient) -> None:
    first, *others = (await memory.remember(TEXT, entities=ENTITIES)).ids
    await memory.forget(first)
    with pytest.raises(WrongState):
        await memory.purge(first, group=True)
    assert len((await memory.read([first, *others])).memories) == 3
    await memory.forget(others, group=True)
    assert len((await memory.purge(first, group=True)).done) == 3
    assert not (await memory.read([first, *others])).memories
    assert await wiring.store.point_count("fake-64") == 0


async def test_the_vector_stays_while_a_sibling_needs_it(wiring: Wiring, memory: MemoryClient) -> None:
    first, *_ = (await memory.remember(TEXT, entities=ENTITIES)).ids
    await memory.forget(first)
    await memory.purge(first)
    assert await wiring.store.point_count("fake-64") == 2
    assert (await memory.status()).index["points"] == 2


async def test_a_filter_forgets_the_entities_that_it_names(memory: MemoryClient) -> None:
    done = await memory.remember(TEXT, entities=ENTITIES)
    await memory.remember("Sarah plays the cello", entities=["Sarah"])
    gone = await memory.forget(filter=Filter(entity="sarah"))
    assert len(gone.done) == 2
    assert {change.id for change in gone.done} & set(done.ids) == {done.ids[0]}
