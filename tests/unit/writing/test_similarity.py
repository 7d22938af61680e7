"""The similarity gate over each store: the memories that it merges, reports, or leaves alone."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from tests.fakes import FakeEmbedder
from tests.fakes.build import START, MemoryFields, a_memory, moment
from tests.unit.writing.gate_world import GateWorld

from scrubjay.detection.neighbours import EmbeddedMemory, ReadCache
from scrubjay.errors import IndexUnavailable
from scrubjay.model.memory import Memory, Observation, Source, State, Trust
from scrubjay.model.passage import Vector
from scrubjay.model.query import Filter
from scrubjay.model.rules import Rules
from scrubjay.ports import Profile
from scrubjay.storage.sqlite import SqliteStore
from scrubjay.text.passages import passages_of
from scrubjay.writing.similarity import decide

FACT = "The staging database is copied every night to the backup host in the cellar."
SAME = "Every night the staging database is copied to the backup host in the cellar."
OTHER = "Tomas prefers green tea and long walks by the lake."
SESSION = Source(session="s1")


class CalibratedEmbedder(FakeEmbedder):
    """A bag-of-words model, with thresholds that fit it."""

    async def profile(self) -> Profile:
        return replace(await super().profile(), same=0.9, related=0.3)


@pytest.fixture
def world(store: SqliteStore) -> GateWorld:
    return GateWorld(store=store, embedder=CalibratedEmbedder())


async def test_the_same_text_in_other_words_is_merged(world: GateWorld) -> None:
    fact = a_memory(FACT)
    await world.store_all(fact, a_memory(OTHER))
    decision = await world.decide(a_memory(SAME))
    assert decision.target == fact
    assert decision.similarity is not None
    assert decision.similarity >= 0.9
    assert decision.similar == ()
    assert decision.why.startswith("it says the same")


async def test_a_similar_memory_that_differs_is_reported_as_a_possible_conflict(world: GateWorld) -> None:
    text = "The yearly budget for cranes, ships, sheds and roads of the harbour by the old town is {} million euros."
    fact = a_memory(text.format(2))
    await world.store_all(fact)
    decision = await world.decide(a_memory(text.format(3)))
    assert decision.target is None
    (similar,) = decision.similar
    assert (similar.id, similar.name) == (fact.id, fact.name)
    assert similar.differs == "number: 3000000 eur or 2000000 eur"
    assert "differs" in decision.why


@pytest.mark.parametrize(
    ("text", "value", "other"),
    [
        ("The user prefers {} answers with a few examples, a plain summary and a link at the end.", "short", "long"),
        ("Dalia trinkt morgens auf dem Weg zur Arbeit {} Kaffee aus dem Laden an der Ecke.", "starken", "keinen"),
    ],
)
async def test_contradicting_texts_are_not_merged(world: GateWorld, text: str, value: str, other: str) -> None:
    await world.store_all(a_memory(text.format(value)))
    decision = await world.decide(a_memory(text.format(other)))
    assert decision.target is None
    assert decision.similarity is None
    assert [bool(similar.differs) for similar in decision.similar] == [True]


async def test_a_text_about_another_subject_is_left_alone(world: GateWorld) -> None:
    await world.store_all(a_memory(OTHER))
    decision = await world.decide(a_memory(FACT))
    assert (decision.target, decision.similarity, decision.similar) == (None, None, ())
    assert decision.why == "nothing says the same"


@pytest.mark.parametrize(
    ("rules", "intent", "reported"),
    [
        (Rules(), "new", 1),
        (Rules(gate="report"), "auto", 1),
        (Rules(gate="off"), "auto", 0),
        (Rules(same=1.0), "auto", 1),
        (Rules(window_days=0), "auto", 0),
    ],
)
async def test_rules_and_intent_keep_equal_texts_apart(
    world: GateWorld, rules: Rules, intent: str, reported: int
) -> None:
    await world.store_all(a_memory(FACT))
    world.rules = rules
    decision = await world.decide(a_memory(SAME), intent=intent)
    assert decision.target is None
    assert len(decision.similar) == reported
    assert decision.why


@pytest.mark.parametrize(
    ("stored", "incoming"),
    [
        ({"entity": "Ann"}, {}),
        ({"project": "a"}, {"project": "b"}),
        ({"scope": "a"}, {"scope": "b"}),
        ({"group": "g"}, {}),
        ({}, {"group": "g"}),
        ({"pinned": True}, {}),
        ({}, {"pinned": True}),
        ({"expires_at": moment(9000)}, {}),
        ({}, {"remind_at": moment(9000)}),
        ({}, {"state": State.WAITING}),
        ({"created_at": START - timedelta(days=8)}, {}),
        ({"state": State.ARCHIVED}, {}),
        ({"valid_until": moment(-60)}, {}),
        ({}, {"relevance": 0.5}),
    ],
)
async def test_memories_that_must_stay_separate_do(
    world: GateWorld, stored: MemoryFields, incoming: MemoryFields
) -> None:
    await world.store_all(a_memory(FACT, **stored))
    assert (await world.decide(a_memory(SAME, **incoming))).target is None


@pytest.mark.parametrize(
    ("stored", "incoming"),
    [
        ({"entity": "Ann"}, {"entity": "ANN"}),
        ({"project": "a"}, {}),
        ({"project": "a"}, {"project": "A"}),
        ({"expires_at": moment(9000)}, {"expires_at": moment(9000)}),
        ({"created_at": START - timedelta(days=6)}, {}),
        ({"relevance": 0.5}, {}),
        ({"relevance": 0.5}, {"relevance": 0.5}),
    ],
)
async def test_memories_that_may_be_merged_are(world: GateWorld, stored: MemoryFields, incoming: MemoryFields) -> None:
    fact = a_memory(FACT, **stored)
    await world.store_all(fact)
    assert (await world.decide(a_memory(SAME, **incoming))).target == fact


@pytest.mark.parametrize("which", [0, 1])
async def test_a_suspicious_text_is_never_merged(world: GateWorld, which: int) -> None:
    flags = [("suspicious",) if which == at else () for at in range(2)]
    await world.store_all(replace(a_memory(FACT), flags=flags[0]))
    incoming = replace(a_memory(SAME, source=SESSION), flags=flags[1])
    decision = await world.decide(incoming)
    assert decision.target is None
    assert decision.similar


async def test_a_continuation_goes_to_the_latest_memory_of_the_session(world: GateWorld) -> None:
    early = a_memory(FACT, source=SESSION)
    late = a_memory("The lift is out of order.", source=SESSION)
    await world.store_all(early, late, a_memory(OTHER))
    decision = await world.decide(a_memory(OTHER, source=SESSION), intent="continue")
    assert decision.target == late
    assert (await world.decide(a_memory(OTHER), intent="continue", session="s1")).target == late
    nothing = await world.decide(a_memory(SAME), intent="continue", session="s2")
    assert (nothing.target, nothing.why) == (None, "the session has nothing to continue")


async def test_a_text_related_to_its_session_is_merged_and_others_are_not(world: GateWorld) -> None:
    fact = a_memory(FACT, source=SESSION)
    await world.store_all(fact)
    related = "The backup host in the cellar has 12 disks for the staging database."
    assert (await world.decide(a_memory(related, source=SESSION), session="s1")).target == fact
    assert (await world.decide(a_memory(related, source=SESSION))).target is None
    assert (await world.decide(a_memory(OTHER, source=SESSION), session="s1")).target is None


async def test_a_contradiction_of_its_session_is_merged_and_reported(world: GateWorld) -> None:
    fact = a_memory("The backup host has 12 disks. It is in the cellar.", source=SESSION)
    await world.store_all(fact)
    decision = await world.decide(a_memory("The backup host has 16 disks.", source=SESSION), session="s1")
    assert decision.target == fact
    (similar,) = decision.similar
    assert "16" in similar.differs
    assert "12" in similar.differs


async def test_all_of_a_long_text_must_be_said(world: GateWorld) -> None:
    observations = tuple(Observation(text=text, recorded_at=START) for text in (OTHER, "The lift is out of order."))
    fact = a_memory(FACT, observations=observations)
    await world.store_all(fact)
    assert (await world.decide(a_memory(SAME, observations=observations[:1]))).target == fact
    more = Observation(text="Nobody has the key to the roof garden.", recorded_at=START)
    assert (await world.decide(a_memory(SAME, observations=(*observations, more)))).target is None


async def test_under_one_title_the_words_must_be_alike(world: GateWorld) -> None:
    title = "A long title about preferences in music and food and sports and travels of the whole family"
    await world.store_all(a_memory("likes jazz", title=title))
    assert (await world.decide(a_memory("likes rock", title=title))).target is None


async def test_a_long_document_is_not_compared(world: GateWorld) -> None:
    document = "\n\n".join(f"{FACT} {number}" * 12 for number in range(20))
    assert len(passages_of(a_memory(document))) > 12
    await world.store_all(a_memory(document))
    assert (await world.decide(a_memory(f"{document} again"))).target is None


class BrokenIndex:
    """An index that cannot be used."""

    async def search(self, space: str, vector: Vector, filter: Filter, *, limit: int) -> list[tuple[int, float]]:
        del space, vector, filter, limit
        raise IndexUnavailable("the index is in pieces")


async def reason(memory: Memory, *, store: SqliteStore, vectors: Sequence[Vector], profile: Profile | None) -> str:
    passages = passages_of(memory)
    by_hash = dict(zip((passage.hash for passage in passages), vectors, strict=False))
    written = EmbeddedMemory(memory=memory, passages=passages, vectors=by_hash, profile=profile)
    cache = ReadCache(store=store, index=BrokenIndex())
    decision = await decide(written, rules=Rules(), intent="auto", session="", cache=cache)
    assert decision.target is None
    return decision.why


async def test_without_an_index_or_a_model_nothing_is_merged_and_the_reason_is_given(store: SqliteStore) -> None:
    embedder = CalibratedEmbedder()
    memory = a_memory(FACT)
    vectors = await embedder.embed([FACT])
    broken = await reason(memory, store=store, vectors=vectors, profile=await embedder.profile())
    assert broken == "similar memories could not be searched for: the index is in pieces"
    assert await reason(memory, store=store, vectors=[], profile=None) == "nothing says the same"


@pytest.mark.parametrize(
    ("mine", "incoming", "merged"),
    [
        (Trust.USER, Trust.DOCUMENT, False),
        (Trust.USER, Trust.UNKNOWN, True),
        (Trust.USER, Trust.AGENT, True),
        (Trust.AGENT, Trust.DOCUMENT, True),
        (Trust.UNKNOWN, Trust.UNKNOWN, True),
        (Trust.DOCUMENT, Trust.USER, True),
    ],
)
@pytest.mark.parametrize("intent", ["auto", "continue"])
async def test_a_text_of_a_document_is_not_attributed_to_a_person(
    world: GateWorld, mine: Trust, incoming: Trust, merged: bool, intent: str
) -> None:
    await world.store_all(a_memory(FACT, source=Source(session="s1", trust=mine)))
    decision = await world.decide(a_memory(SAME, source=Source(session="s1", trust=incoming)), intent=intent)
    assert (decision.target is not None) is merged


async def test_another_word_in_the_same_place_is_reported_though_it_is_merged(world: GateWorld) -> None:
    text = "At night the {} of the old harbour master sleeps in the shed by the water behind the tall cranes."
    await world.store_all(fact := a_memory(text.format("cat")))
    decision = await world.decide(a_memory(text.format("dog")))
    assert decision.target == fact
    assert [neighbour.differs for neighbour in decision.similar] == ["word: dog or cat"]
    await world.store_all(a_memory("All files of the harbour project use tabs for indentation, says the master."))
    decision = await world.decide(
        a_memory("All files of the harbour project use spaces for indentation, says the master.")
    )
    assert decision.target is None
    assert decision.similar[0].differs == "word: spaces or tabs"
