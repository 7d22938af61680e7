"""Passages become memories: checked against the record, each once, each group once."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from tests.fakes.build import START, a_memory
from tests.unit.write_world import SPACE, Workshop

from scrubjay.lookup.references import SoundReader
from scrubjay.model.draft import Draft
from scrubjay.model.memory import Source, State
from scrubjay.model.passage import StoredPassage
from scrubjay.model.query import Filter
from scrubjay.recalling.collapse import Found, Wanted, collapse, passes
from scrubjay.recalling.fuse import Scored

NOW = START + timedelta(days=1)


def scored(memory_id: str, score: float = 1.0, *, observation: int | None = None) -> Scored:
    passage = StoredPassage(id=1, memory_id=memory_id, observation=observation, start=0, end=3, hash=b"", terms="")
    return Scored(passage=passage, score=score, words=score)


async def collapsed(
    shop: Workshop,
    *found: Scored,
    filter: Filter | None = None,
    count: int = 10,
    skip: frozenset[str] = frozenset(),
    now: datetime = NOW,
) -> list[Found]:
    reader = SoundReader(shop.store, space=SPACE)
    sought = Wanted(filter=filter or Filter(), count=count, now=now, is_there=skip.__contains__, admits=bool)
    return await collapse(found, wanted=sought, reader=reader)


async def test_a_memory_is_shown_once_by_its_best_passage(shop: Workshop) -> None:
    memory = await shop.kept(Draft(text="", observations=("tea", "jay")))
    (found,) = await collapsed(shop, scored(memory.id, 3, observation=1), scored(memory.id, 2, observation=0))
    assert found.best.passage.observation == 1
    assert found.memory == memory
    assert found.entities == ()


async def test_the_order_stays_and_no_more_than_wanted_come(shop: Workshop) -> None:
    ids = [(await shop.remember(f"tea {number}")).id for number in range(12)]
    found = await collapsed(shop, *(scored(id_) for id_ in reversed(ids)), count=3)
    assert [one.memory.id for one in found] == ids[:-4:-1]


async def test_records_of_one_text_are_one_answer_with_all_entities(shop: Workshop) -> None:
    group = await shop.remember(Draft(text="tea", entities=("Sarah", "Acme", "Jay")))
    single = await shop.remember(Draft(text="coffee", entities=("Bob",)))
    found = await collapsed(shop, scored(group.ids[1]), scored(single.id), scored(group.ids[0]), scored(group.ids[2]))
    assert [one.memory.id for one in found] == [group.ids[1], single.id]
    assert sorted(found[0].entities) == ["Acme", "Jay", "Sarah"]
    assert found[1].entities == ("Bob",)


async def test_asked_for_one_entity_only_that_one_is_told(shop: Workshop) -> None:
    group = await shop.remember(Draft(text="tea", entities=("Sarah", "Acme")))
    found = await collapsed(shop, *(scored(id_) for id_ in group.ids), filter=Filter(entity="acme"))
    assert [(one.memory.id, one.entities) for one in found] == [(group.ids[1], ("Acme",))]


async def test_a_forgotten_sibling_is_not_told(shop: Workshop) -> None:
    group = await shop.remember(Draft(text="tea", entities=("Sarah", "Acme")))
    await shop.forget(group.ids[0])
    found = await collapsed(shop, *(scored(id_) for id_ in group.ids))
    assert [(one.memory.id, one.entities) for one in found] == [(group.ids[1], ("Acme",))]


async def test_what_the_index_should_not_know_any_more_is_dropped(shop: Workshop) -> None:
    live = await shop.remember("live")
    trashed = await shop.remember("trashed")
    await shop.forget(trashed.id)
    expired = await shop.remember(Draft(text="expired", expires_at=NOW))
    later = await shop.remember(Draft(text="later", expires_at=NOW + timedelta(seconds=1)))
    gone = a_memory("never stored").id
    ids = [live.id, trashed.id, expired.id, later.id, gone]
    assert [one.memory.id for one in await collapsed(shop, *map(scored, ids))] == [live.id, later.id]


async def test_what_is_skipped_makes_room_for_others(shop: Workshop) -> None:
    ids = [(await shop.remember(f"tea {number}")).id for number in range(5)]
    found = await collapsed(shop, *map(scored, ids), skip=frozenset(ids[:2]), count=2)
    assert [one.memory.id for one in found] == ids[2:4]


async def test_many_that_do_not_pass_do_not_hide_one_that_does(shop: Workshop) -> None:
    for number in range(20):
        await shop.remember(Draft(text=f"expired {number}", expires_at=START))
    last = await shop.remember("live")
    ids = await shop.store.list_ids(SPACE, Filter(), limit=50)
    found = await collapsed(shop, *map(scored, [*ids[1:], last.id]), count=1)
    assert [one.memory.id for one in found] == [last.id]


TEA = a_memory(
    "tea", kind="fact", tags=("drink", "hot"), entity="Sarah", source=Source(at=START), created_at=START + timedelta(9)
)


@pytest.mark.parametrize(
    ("wanted", "answer"),
    [
        (Filter(), True),
        (Filter(state=State.TRASHED), False),
        (Filter(since=START), True),
        (Filter(since=START + timedelta(microseconds=1)), False),
        (Filter(until=START), False),
        (Filter(until=START + timedelta(microseconds=1)), True),
        (Filter(kind="FACT", tags=("hot",), any_tags=("cold", "drink")), True),
        (Filter(kind="fact", tags=("cold",)), False),
        (Filter(any_tags=("cold", "wet")), False),
    ],
)
def test_the_record_has_the_last_word(filter: Filter, *, answer: bool) -> None:
    assert passes(TEA, filter, now=NOW) is answer


@pytest.mark.parametrize("field", ["expires_at", "valid_until"])
def test_what_has_come_to_an_end_is_left_out_from_then_on(field: str) -> None:
    ended = replace(TEA, **{field: NOW})
    assert not passes(ended, Filter(), now=NOW)
    assert passes(ended, Filter(), now=NOW - timedelta(microseconds=1))
