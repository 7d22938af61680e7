"""Passages collapse into memories: checked against the record, each once, each group once."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from tests.fakes.build import START, a_memory
from tests.unit.harness import SPACE, Harness

from scrubjay.lookup.references import TolerantReader
from scrubjay.model.draft import Draft
from scrubjay.model.memory import Source, State
from scrubjay.model.passage import StoredPassage
from scrubjay.model.query import Filter
from scrubjay.recalling.collapse import PageRequest, RankedMemory, collapse, passes
from scrubjay.recalling.fuse import ScoredPassage

NOW = START + timedelta(days=1)


def scored(memory_id: str, score: float = 1.0, *, observation: int | None = None) -> ScoredPassage:
    passage = StoredPassage(id=1, memory_id=memory_id, observation=observation, start=0, end=3, hash=b"", terms="")
    return ScoredPassage(passage=passage, score=score, words=score)


async def collapsed(
    harness: Harness,
    *passages: ScoredPassage,
    filter: Filter | None = None,
    count: int = 10,
    excluded: frozenset[str] = frozenset(),
    now: datetime = NOW,
) -> list[RankedMemory]:
    reader = TolerantReader(harness.store, space=SPACE)
    request = PageRequest(
        filter=filter or Filter(), count=count, now=now, excludes_id=excluded.__contains__, admits=bool
    )
    return (await collapse(passages, request=request, reader=reader)).shown


async def test_a_memory_is_shown_once_by_its_best_passage(harness: Harness) -> None:
    memory = await harness.store_draft(Draft(text="", observations=("tea", "jay")))
    (match,) = await collapsed(harness, scored(memory.id, 3, observation=1), scored(memory.id, 2, observation=0))
    assert match.best.passage.observation == 1
    assert match.memory == memory
    assert match.entities == ()


async def test_the_order_stays_and_no_more_than_requested_come(harness: Harness) -> None:
    ids = [(await harness.remember(f"tea {number}")).id for number in range(12)]
    matches = await collapsed(harness, *(scored(id_) for id_ in reversed(ids)), count=3)
    assert [match.memory.id for match in matches] == ids[:-4:-1]


async def test_records_of_one_text_are_one_answer_with_all_entities(harness: Harness) -> None:
    group = await harness.remember(Draft(text="tea", entities=("Sarah", "Acme", "Jay")))
    single = await harness.remember(Draft(text="coffee", entities=("Bob",)))
    matches = await collapsed(
        harness, scored(group.ids[1]), scored(single.id), scored(group.ids[0]), scored(group.ids[2])
    )
    assert [match.memory.id for match in matches] == [group.ids[1], single.id]
    assert sorted(matches[0].entities) == ["Acme", "Jay", "Sarah"]
    assert matches[1].entities == ("Bob",)


async def test_a_filter_by_entity_returns_that_entity_only(harness: Harness) -> None:
    group = await harness.remember(Draft(text="tea", entities=("Sarah", "Acme")))
    matches = await collapsed(harness, *(scored(id_) for id_ in group.ids), filter=Filter(entity="acme"))
    assert [(match.memory.id, match.entities) for match in matches] == [(group.ids[1], ("Acme",))]


async def test_a_forgotten_sibling_is_left_out(harness: Harness) -> None:
    group = await harness.remember(Draft(text="tea", entities=("Sarah", "Acme")))
    await harness.forget(group.ids[0])
    matches = await collapsed(harness, *(scored(id_) for id_ in group.ids))
    assert [(match.memory.id, match.entities) for match in matches] == [(group.ids[1], ("Acme",))]


async def test_outdated_index_entries_are_dropped(harness: Harness) -> None:
    live = await harness.remember("live")
    trashed = await harness.remember("trashed")
    await harness.forget(trashed.id)
    expired = await harness.remember(Draft(text="expired", expires_at=NOW))
    later = await harness.remember(Draft(text="later", expires_at=NOW + timedelta(seconds=1)))
    gone = a_memory("never stored").id
    ids = [live.id, trashed.id, expired.id, later.id, gone]
    assert [match.memory.id for match in await collapsed(harness, *map(scored, ids))] == [live.id, later.id]


async def test_excluded_memories_make_room_for_others(harness: Harness) -> None:
    ids = [(await harness.remember(f"tea {number}")).id for number in range(5)]
    matches = await collapsed(harness, *map(scored, ids), excluded=frozenset(ids[:2]), count=2)
    assert [match.memory.id for match in matches] == ids[2:4]


async def test_many_that_do_not_pass_do_not_hide_one_that_does(harness: Harness) -> None:
    for number in range(20):
        await harness.remember(Draft(text=f"expired {number}", expires_at=START))
    last = await harness.remember("live")
    ids = await harness.store.list_ids(SPACE, Filter(), limit=50)
    matches = await collapsed(harness, *map(scored, [*ids[1:], last.id]), count=1)
    assert [match.memory.id for match in matches] == [last.id]


TEA = a_memory(
    "tea", kind="fact", tags=("drink", "hot"), entity="Sarah", source=Source(at=START), created_at=START + timedelta(9)
)


@pytest.mark.parametrize(
    ("filter", "is_passing"),
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
def test_the_record_decides(filter: Filter, *, is_passing: bool) -> None:
    assert passes(TEA, filter, now=NOW) is is_passing


@pytest.mark.parametrize("field", ["expires_at", "valid_until"])
def test_an_ended_memory_is_left_out_from_then_on(field: str) -> None:
    ended = replace(TEA, **{field: NOW})
    assert not passes(ended, Filter(), now=NOW)
    assert passes(ended, Filter(), now=NOW - timedelta(microseconds=1))
