"""`scan` compares each pair of memories of a space once, and stores the conflicts as pending."""

from dataclasses import replace
from datetime import timedelta

import pytest
from tests.fakes import FakeEmbedder
from tests.fakes.build import START, a_commit, a_memory, moment
from tests.unit.conflicts.conflict_world import settle
from tests.unit.harness import SPACE, Harness

from scrubjay.conflicts.listing import conflicts
from scrubjay.conflicts.repository import list_conflicts
from scrubjay.conflicts.scan import check_drafts, load_space, scan, scan_memory
from scrubjay.errors import InvalidInput
from scrubjay.model.conflict import PENDING_COLLECTION, Scan
from scrubjay.model.draft import Draft
from scrubjay.model.job import COLLECTION, CONFLICTS, Job
from scrubjay.model.memory import Memory, Observation
from scrubjay.model.requests import Edit
from scrubjay.text.passages import passages_of
from scrubjay.writing.embed import embed_new

BERLIN, PARIS = "Ann lives in Berlin near the old harbour.", "Ann lives in Paris near the old harbour."
OTHERS = ("The cranes are oiled in spring.", "Bob plays the cello.", "Nobody waters the ferns.")

APART = (
    "Anna sings alto.", "Dolphins pass piers.", "Cheese costs money.", "Lamps need bulbs.", "Fog hides harbours.",
    "Guests like gardens.", "Honey keeps forever.", "Ink dries quickly.", "Ghosts haunt towers.", "Mice fear owls.",
    "Snow melts early.", "Trains run late.", "Kites want wind.", "Bakers rise first.", "Wolves howl nightly.",
    "Moss covers stone.",
)  # fmt: skip


async def stored(harness: Harness, *memories: Memory) -> None:
    """Store memories as they are, with their vectors."""
    sliced = [(memory, passages_of(memory)) for memory in memories]
    made, _ = await embed_new(sliced, space=SPACE, vector_store=harness.store, embedder=harness.embedder)
    await harness.store.commit(a_commit(*memories, embedded=made))


def facts(*texts: str) -> list[Memory]:
    return [a_memory(text, created_at=moment(place), updated_at=moment(place)) for place, text in enumerate(texts)]


async def looked_through(harness: Harness, *, limit: int = 10) -> Scan:
    return await scan(limit=limit, space=SPACE, origin=harness.origin(), context=harness.context)


async def test_a_contradiction_is_detected_and_stored_once(harness: Harness) -> None:
    memories = facts(BERLIN, *OTHERS, PARIS)
    await stored(harness, *memories)
    done = await looked_through(harness)
    assert (done.memories, done.count, done.by_type) == (5, 1, {"contradiction": 1})
    (conflict,) = done.found
    assert (conflict.memory.statement, conflict.other.statement) == (PARIS, BERLIN)
    (pending,) = await list_conflicts(PENDING_COLLECTION, space=SPACE, documents=harness.store)
    assert pending.id == conflict.id
    again = await looked_through(harness)
    assert (again.count, again.found) == (0, ())
    await settle(harness, conflict.id, "ignore")
    assert (await looked_through(harness)).count == 0


async def test_a_sentence_among_others_is_found_by_its_words(harness: Harness) -> None:
    await stored(
        harness, *facts(f"The ferns are dry. {BERLIN} Bob sleeps.", *OTHERS, f"It rains. {PARIS} Tea is late.")
    )
    (conflict,) = (await looked_through(harness)).found
    assert (conflict.memory.statement, conflict.other.statement) == (PARIS, BERLIN)


async def test_another_value_is_detected_in_any_words(harness: Harness) -> None:
    await stored(harness, *facts("I live in Berlin.", *OTHERS, "I moved to Paris last month."))
    (conflict,) = (await looked_through(harness)).found
    assert (conflict.other.statement, conflict.differs) == ("I live in Berlin.", ("lives in: Paris or Berlin",))


async def test_of_a_memory_that_says_much_all_is_looked_at(harness: Harness) -> None:
    many = tuple(Observation(text=f"Shelf {place} holds jar number {place}.", recorded_at=START) for place in range(30))
    late = (*many, Observation(text=PARIS, recorded_at=moment(60)))
    long = " ".join(f"The {word} is green." for word in "door roof gate wall lamp sofa desk rug vase".split())
    await stored(
        harness, a_memory(BERLIN), a_memory("", observations=late), a_memory(f"{long} Bob plays the cello well.")
    )
    statements = {
        (conflict.memory.statement, conflict.other.statement)
        for conflict in (await looked_through(harness, limit=50)).found
    }
    assert (PARIS, BERLIN) in statements


async def test_statements_that_a_write_does_not_check_are_left_to_a_job(harness: Harness) -> None:
    harness.rules = replace(harness.rules, conflicts="detect")
    (berlin,) = facts(BERLIN)
    await stored(harness, berlin)
    short = await harness.remember(Draft(text=OTHERS[0], observations=APART[:7]))
    long = await harness.remember(Draft(text=OTHERS[1], observations=(*APART[7:], PARIS)))
    assert (short.conflicts, long.conflicts) == ((), ())
    assert await _left(harness) == [long.id]
    first = await scan_memory(long.id, space=SPACE, origin=harness.origin(), context=harness.context)
    pending = await list_conflicts(PENDING_COLLECTION, space=SPACE, documents=harness.store)
    assert (first, berlin.id in {conflict.other for conflict in pending}) == (1, True)
    assert await scan_memory(long.id, space=SPACE, origin=harness.origin(), context=harness.context) == 0
    await harness.revise(short.id, Edit(add_observations=(*OTHERS[1:], *APART[8:])))
    assert await _left(harness) == [long.id, short.id]
    await harness.forget(long.id)
    assert await scan_memory(long.id, space=SPACE, origin=harness.origin(), context=harness.context) is None


async def _left(harness: Harness) -> list[object]:
    """Return the memories of which jobs will check every statement."""
    jobs = [
        Job.from_document(document) for document in await harness.store.documents(SPACE, COLLECTION, after="", limit=10)
    ]
    assert {job.kind for job in jobs} == {CONFLICTS}
    return [job.about["memory_id"] for job in jobs]


async def test_memories_of_one_entity_are_compared_in_any_words(harness: Harness) -> None:
    first, second, other = facts(*(f"lives in {city} near the old harbour" for city in ("Berlin", "Paris", "Rome")))
    about = [replace(first, entity="Ann"), replace(second, entity="ann"), replace(other, entity="Bob")]
    await stored(harness, *about)
    details = (await looked_through(harness)).found
    assert [(conflict.memory.id, conflict.other.id) for conflict in details] == [(second.id, first.id)]


async def test_without_a_model_words_alone_are_gone_by(harness: Harness) -> None:
    harness.embedder = FakeEmbedder(failing=True)
    await harness.store.commit(a_commit(*facts(BERLIN, *OTHERS, PARIS)))
    assert (await looked_through(harness)).by_type == {"contradiction": 1}


async def test_other_spaces_and_the_trash_are_left_out(harness: Harness) -> None:
    berlin, paris = facts(BERLIN, PARIS)
    await stored(harness, berlin, paris)
    await harness.store.commit(a_commit(a_memory(BERLIN, space="other"), a_memory(PARIS, space="other")))
    await harness.forget(paris.id)
    done = await looked_through(harness)
    assert (done.memories, done.count) == (1, 0)


async def test_progress_is_reported_and_the_limit_is_respected(harness: Harness) -> None:
    await stored(harness, *facts(BERLIN, PARIS, BERLIN.replace("Berlin", "Rome"), BERLIN.replace("Berlin", "Oslo")))
    reports: list[tuple[int, int]] = []
    done = await scan(
        limit=2, space=SPACE, origin=harness.origin(), context=harness.context,
        progress=lambda count, total: reports.append((count, total)),
    )  # fmt: skip
    assert (done.count, len(done.found), reports) == (6, 2, [(4, 4)])
    assert (await scan(limit=0, space=SPACE, origin=harness.origin(), context=harness.context)).found == ()
    with pytest.raises(InvalidInput):
        await looked_through(harness, limit=-1)


async def test_an_empty_space_has_no_conflicts(harness: Harness) -> None:
    assert await looked_through(harness) == Scan(memories=0)


async def test_a_draft_is_probed_and_nothing_is_kept(harness: Harness) -> None:
    (berlin,) = facts(BERLIN)
    await stored(harness, berlin)
    harness.clock.advance(timedelta(days=1))
    first, second = await check_drafts(
        [Draft(text=PARIS), Draft(text=OTHERS[0])],
        threshold=0.5,
        space=SPACE,
        origin=harness.origin(),
        context=harness.context,
    )
    assert ([(conflict.type, conflict.other.id) for conflict in first], second) == ([("contradiction", berlin.id)], ())
    assert await list_conflicts(PENDING_COLLECTION, space=SPACE, documents=harness.store) == []
    unsure = await check_drafts(
        [Draft(text=PARIS)], threshold=1.0, space=SPACE, origin=harness.origin(), context=harness.context
    )
    assert unsure == ((),)
    with pytest.raises(InvalidInput):
        await check_drafts([], threshold=2.0, space=SPACE, origin=harness.origin(), context=harness.context)


def chatter(*names: str) -> list[str]:
    """Return so many facts about the same people that none of their words is rare."""
    things = ("works late", "lives well", "joined in", "moved a chair", "likes a colour", "has a favourite song")
    return [f"{name} {thing} on day {number}." for name in names for number in range(30) for thing in things]


@pytest.mark.parametrize(
    ("older", "newer", "differs"),
    [
        ("Ann lives in Berlin.", "Ann moved to Paris last month.", "lives in: Paris or Berlin"),
        ("Ann works at Initech.", "Ann joined Globex as a clerk.", "works for: Globex or Initech"),
        ("Ann's favourite colour is blue.", "Ann's favourite colour is green.", "state: green or blue"),
    ],
)
async def test_memories_of_one_relation_are_compared_though_all_words_are_common(
    harness: Harness, older: str, newer: str, differs: str
) -> None:
    # Without a model only words and relations bring two memories together.
    harness = replace(harness, embedder=FakeEmbedder(failing=True))
    memories = facts(older, *chatter("Ann", "Bob"), newer)
    await harness.store.commit(a_commit(*memories))
    await looked_through(harness)
    details = await conflicts(
        status="pending", ref=memories[-1].id, limit=50, now=harness.clock.now(), space=SPACE, store=harness.store
    )
    differences = {conflict.other.statement: conflict.differs for conflict in details}
    assert differences[older] == (differs,)


async def test_of_many_memories_of_one_relation_the_latest_are_compared(harness: Harness) -> None:
    harness = replace(harness, embedder=FakeEmbedder(failing=True))
    cities = ("Rome", "Oslo", "Lima", "Cairo", "Delhi", "Tokyo", "Quito", "Accra", "Dakar", "Perth", "Turin", "Lyon")
    memories = facts(*(f"Ann lives in {city}." for city in cities[:-1]), *chatter("Ann"), f"Ann lives in {cities[-1]}.")
    await harness.store.commit(a_commit(*memories))
    space_scan = await load_space(SPACE, profile=None, store=harness.store)
    for number, memory in enumerate(memories[:-1], start=1):
        space_scan.add_relations(number, memory, now=moment(10_000))
    same = space_scan.same_relation("Ann moved to Lyon.", memory=memories[-1])
    read = [space_scan.passages[number].memory_id for number in same]
    assert read == [memory.id for memory in reversed(memories[3:11])]


async def test_a_statement_without_a_subject_is_about_its_entity(harness: Harness) -> None:
    harness = replace(harness, embedder=FakeEmbedder(failing=True))
    ann, bob = (a_memory("Lives in Berlin.", entity=name) for name in ("Ann", "Bob"))
    later = a_memory("Moved to Paris last month.", entity="Ann")
    await harness.store.commit(a_commit(ann, bob, *facts(*chatter("Ann", "Bob")), later))
    await looked_through(harness)
    details = await conflicts(
        status="pending", ref=later.id, limit=50, now=harness.clock.now(), space=SPACE, store=harness.store
    )
    assert [conflict.other.id for conflict in details] == [ann.id]
