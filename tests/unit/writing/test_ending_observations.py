"""Observations with an end in the future count until that day."""

from dataclasses import replace

from tests.fakes.build import START, a_memory, moment, revised
from tests.new_files import NewStores
from tests.unit.detection.test_detect import NOW, PARIS, ROME, DetectionWorld, types

from scrubjay.model.conflict import ConflictType
from scrubjay.model.draft import Limits
from scrubjay.model.memory import Observation, Source, Trust
from scrubjay.model.requests import Edit
from scrubjay.writing.merge import take_over
from scrubjay.writing.revise import apply_edit

LATER, EARLIER = moment(20_000), moment(5_000)


def until(text: str, end: float) -> Observation:
    return Observation(text=text, recorded_at=START, valid_until=moment(end))


async def test_a_memory_that_holds_until_a_day_to_come_has_conflicts(new_store: NewStores) -> None:
    for end, types_expected in ((LATER, [ConflictType.CONTRADICTION]), (NOW, [])):
        world = DetectionWorld(store=new_store())
        await world.keep(a_memory(ROME))
        assert types(await world.detect(a_memory(PARIS, valid_until=end))) == types_expected


async def test_a_statement_that_holds_until_a_day_to_come_is_looked_at(new_store: NewStores) -> None:
    for end, types_expected in ((20_000, [ConflictType.CONTRADICTION]), (10_000, [])):
        world = DetectionWorld(store=new_store())
        await world.keep(a_memory(ROME))
        assert types(await world.detect(a_memory("", observations=(until(PARIS, end),)))) == types_expected


async def test_a_stored_memory_with_a_future_end_is_contradicted(new_store: NewStores) -> None:
    for end, types_expected in ((20_000, [ConflictType.CONTRADICTION]), (10_000, [])):
        world = DetectionWorld(store=new_store())
        await world.keep(a_memory("", observations=(until(ROME, end),)))
        assert types(await world.detect(a_memory(PARIS))) == types_expected


async def test_a_memory_of_the_same_name_is_contradicted_by_current_observations(new_store: NewStores) -> None:
    for end, types_expected in ((20_000, [ConflictType.CONTRADICTION]), (10_000, [])):
        world = DetectionWorld(store=new_store())
        await world.keep(a_memory("", entity="Ada", observations=(until(ROME, end),)))
        paris = (Observation(text=PARIS, recorded_at=START),)
        assert types(await world.detect(a_memory("", entity="Ada", observations=paris), blind=True)) == types_expected


async def test_a_memory_contradicts_its_own_current_observations(new_store: NewStores) -> None:
    for end, types_expected in ((20_000, [ConflictType.CONTRADICTION]), (10_000, [])):
        world = DetectionWorld(store=new_store())
        before = a_memory("", observations=(until(ROME, end),))
        paris = Observation(text=PARIS, recorded_at=START)
        assert types(await world.detect(replace(before, observations=(*before.observations, paris)))) == types_expected


async def test_a_current_observation_of_a_memory_is_not_new(new_store: NewStores) -> None:
    world = DetectionWorld(store=new_store())
    await world.keep(a_memory(ROME))
    for end, types_expected in ((20_000, []), (10_000, [ConflictType.CONTRADICTION])):
        before = a_memory("", observations=(until(PARIS, end),))
        after = revised(before, observations=(Observation(text=PARIS, recorded_at=START),))
        assert types(await world.detect(after, before=before)) == types_expected


async def test_two_memories_are_duplicates_by_their_current_observations(new_store: NewStores) -> None:
    observations = tuple(until(fact, 20_000) for fact in ("likes tea", "has a dog", "rows a boat"))
    world = DetectionWorld(store=new_store())
    await world.keep(a_memory("", entity="Ada", observations=observations))
    assert types(await world.detect(a_memory("", entity="Ada", observations=observations))) == [ConflictType.DUPLICATE]
    over = tuple(replace(fact, valid_until=EARLIER) for fact in observations)
    await (gone := DetectionWorld(store=new_store())).keep(a_memory("", entity="Ada", observations=over))
    assert await gone.detect(a_memory("", entity="Ada", observations=observations)) == ()


def test_replacing_observations_replaces_the_current_ones() -> None:
    memory = a_memory("", observations=(until(ROME, 20_000), until("likes tea", 5_000)))
    edited, _ = apply_edit(memory, Edit(fields={"observations": [PARIS]}), now=NOW, limits=Limits())
    assert [observation.text for observation in edited.observations] == ["likes tea", PARIS]
    edited, _ = apply_edit(memory, Edit(fields={"observations": [ROME]}), now=NOW, limits=Limits())
    assert edited.observations == (memory.observations[1], memory.observations[0])


def test_of_a_repeated_observation_the_current_one_stays() -> None:
    memory = a_memory("", observations=(until(ROME, 20_000), until(ROME, 5_000)))
    edited, _ = apply_edit(memory, Edit(fields={"observations": [ROME]}), now=NOW, limits=Limits())
    assert edited.observations == (memory.observations[1], memory.observations[0])


def test_an_observation_with_a_future_end_is_taken_over_by_a_more_trusted_source() -> None:
    document, user = Source(trust=Trust.DOCUMENT), Source(trust=Trust.USER)
    users = a_memory("", source=user, observations=(until(ROME, 20_000),))
    for end, trust in ((20_000, Trust.USER), (5_000, Trust.DOCUMENT)):
        stored = a_memory("", source=document, observations=(until(ROME, end),))
        assert take_over(stored, users, at=NOW).source.trust is trust
    # A repetition that has ended itself takes nothing over.
    stored = a_memory("", source=document, observations=(until(ROME, 20_000),))
    assert take_over(stored, replace(users, observations=(until(ROME, 5_000),)), at=NOW) == stored
