"""The conflicts of a written memory with stored ones, over each store."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest
from tests.fakes import FakeEmbedder, KnowingReader
from tests.fakes.build import START, MemoryFields, a_commit, a_memory, a_rewrite, a_write, an_origin, moment, revised

from scrubjay.detection.describe import describe
from scrubjay.detection.detect import detect
from scrubjay.detection.neighbours import EmbeddedMemory, ReadCache
from scrubjay.detection.report import drop_known
from scrubjay.errors import EmbeddingUnavailable, IndexUnavailable
from scrubjay.model.conflict import (
    ConflictRecord,
    ConflictStatus,
    ConflictType,
    Strategy,
    statement_key,
)
from scrubjay.model.memory import Flag, Memory, Observation, Source, State, Trust
from scrubjay.model.passage import Vector
from scrubjay.model.query import Filter
from scrubjay.ports import PairReader, PassageSearcher, RecordStore
from scrubjay.storage.sqlite import SqliteStore
from scrubjay.text.passages import passages_of
from scrubjay.vectors.scan import ScanIndex
from scrubjay.writing.embed import embed_new

SPACE = "default"
ROME = "Ada lives in Rome near the old river bridge."
PARIS = "Ada lives in Paris near the old river bridge."
OTHER = "The nightly copy of the database goes to the cellar."
NOW = moment(10_000)


class NoIndex:
    """An index that cannot be used."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    async def search(self, space: str, vector: Vector, filter: Filter, *, limit: int) -> list[tuple[int, float]]:
        raise self._error


class CountingIndex:
    """An index that counts its searches."""

    def __init__(self, inner: PassageSearcher) -> None:
        self._inner = inner
        self.searches = 0

    async def search(self, space: str, vector: Vector, filter: Filter, *, limit: int) -> list[tuple[int, float]]:
        self.searches += 1
        return await self._inner.search(space, vector, filter, limit=limit)


@dataclass(kw_only=True)
class DetectionWorld:
    """A store, and the conflicts that a memory would have if it were written to it."""

    store: RecordStore
    embedder: FakeEmbedder = field(default_factory=FakeEmbedder)

    async def keep(self, *memories: Memory) -> None:
        """Store memories."""
        sliced = [(memory, passages_of(memory)) for memory in memories]
        embedded, _ = await embed_new(sliced, space=SPACE, vector_store=self.store, embedder=self.embedder)
        await self.store.commit(a_commit(*map(a_write, memories), origin=an_origin(at=START), embedded=embedded))

    async def detect(
        self, memory: Memory, *, before: Memory | None = None, index: PassageSearcher | None = None,
        blind: bool = False, pairs: PairReader | None = None,
    ) -> tuple[ConflictRecord, ...]:  # fmt: skip
        """Return the conflicts of a memory; `blind`: without a model."""
        profile = None if blind else await self.embedder.profile()
        passages = passages_of(memory)
        texts = [memory.content[passage.start : passage.end] if passage.observation is None
                 else memory.observations[passage.observation].text for passage in passages]  # fmt: skip
        vectors = {} if blind else dict(
            zip((passage.hash for passage in passages), await self.embedder.embed(texts), strict=True)
        )  # fmt: skip
        written = EmbeddedMemory(memory=memory, passages=passages, vectors=vectors, profile=profile)
        cache = ReadCache(store=self.store, index=index or await self.index(), pairs=pairs)
        detected = await detect(written, before=before, source=cache, origin=an_origin(at=NOW, agent="tester"))
        return detected.conflicts

    async def index(self) -> ScanIndex:
        """Return an index of the whole store."""
        profile = await self.embedder.profile()
        return ScanIndex(self.store, profile.model, dimension=profile.dimension)


def observed(*texts: str) -> tuple[Observation, ...]:
    return tuple(Observation(text=text, recorded_at=START) for text in texts)


def types(conflicts: Sequence[ConflictRecord]) -> list[ConflictType]:
    return [conflict.type for conflict in conflicts]


@pytest.fixture
def world(store: SqliteStore) -> DetectionWorld:
    return DetectionWorld(store=store)


async def test_a_contradiction_is_found_and_described(world: DetectionWorld) -> None:
    stored, written = a_memory(ROME), a_memory(PARIS)
    await world.keep(stored, a_memory(OTHER))
    (conflict,) = await world.detect(written)
    assert (conflict.type, conflict.memory, conflict.other) == (ConflictType.CONTRADICTION, written.id, stored.id)
    assert (conflict.suggested, conflict.detected_by, conflict.detected_at) == (Strategy.SUPERSEDE, "tester", NOW)
    assert (conflict.statement, conflict.against) == (statement_key(PARIS), statement_key(ROME))
    details = describe(conflict, written, stored)
    assert details is not None
    assert (details.memory.statement, details.other.statement) == (PARIS, ROME)
    assert details.differs == ("name: Paris or Rome",)
    assert (details.memory.name, details.other.name, details.status) == (
        written.name,
        stored.name,
        ConflictStatus.PENDING,
    )


async def test_a_model_that_reads_both_finds_what_the_rules_do_not_see(world: DetectionWorld) -> None:
    deploys, moved = a_memory("Deploys happen on the fourth weekday."), a_memory("Our deploys happen in the weekend.")
    await world.keep(deploys, a_memory(OTHER))
    assert await world.detect(moved) == ()

    reader = KnowingReader(changes=0.99, unrelated=0.01)
    (conflict,) = await world.detect(moved, pairs=reader)
    assert (conflict.type, conflict.other) == (ConflictType.CONTRADICTION, deploys.id)
    # How near the two are counts beside what it says.
    assert 0.6 <= conflict.confidence < 0.99
    assert await world.detect(moved, pairs=KnowingReader(changes=0.6, unrelated=0.4)) == ()
    (((older, newer),),) = reader.batches
    assert (older.text, newer.text) == (deploys.content, moved.content)

    (same,) = await world.detect(moved, pairs=KnowingReader(same=0.69, more=0.3, unrelated=0.01))
    assert (same.type, same.suggested) == (ConflictType.DUPLICATE, Strategy.MERGE)
    assert await world.detect(moved, pairs=KnowingReader(unrelated=1.0)) == ()


async def test_what_must_differ_is_never_the_same_whatever_a_model_says(world: DetectionWorld) -> None:
    await world.keep(a_memory("The gateway of the staging cluster restarts at 4 in the morning."))
    is_same = KnowingReader(same=1.0)
    for text in (
        "The gateway of the staging cluster restarts at 5 in the morning.",
        "The gateway of the production cluster restarts at 4 in the morning.",
    ):
        assert ConflictType.DUPLICATE not in types(await world.detect(a_memory(text), pairs=is_same))
    elsewhere = a_memory("Gateway restarts in the morning.", project="heron")
    await world.keep(a_memory("The gateway restarts in the morning, says the log.", project="finch"))
    await world.detect(elsewhere, pairs=is_same)
    assert {older.project for batch in is_same.batches for older, _ in batch} == {""}


async def test_the_rules_hold_where_the_model_cannot_be_asked_and_it_is_asked_once(world: DetectionWorld) -> None:
    await world.keep(
        a_memory(ROME), *(a_memory(f"Ada keeps bicycle {number} near the river.") for number in range(1_000))
    )
    broken = KnowingReader(error=EmbeddingUnavailable("no weights"))
    assert types(await world.detect(a_memory(PARIS), pairs=broken)) == types(await world.detect(a_memory(PARIS)))
    reader = KnowingReader(unrelated=1.0)
    await world.detect(a_memory("Ada keeps her bicycle near the old river bridge. " * 30), pairs=reader)
    await world.detect(
        a_memory("", observations=observed(*(f"Ada has bicycle {n} there." for n in range(6)))), pairs=reader
    )
    assert len(reader.batches) <= 2
    assert all(len(batch) <= 3 for batch in reader.batches)


async def test_a_new_statement_has_no_conflicts(world: DetectionWorld) -> None:
    await world.keep(a_memory(OTHER), a_memory("Boris bakes bread on Sundays."))
    assert await world.detect(a_memory(ROME)) == ()
    assert await world.detect(a_memory("")) == ()


async def test_the_same_and_more_of_the_same_are_found_too(world: DetectionWorld) -> None:
    await world.keep(a_memory(OTHER))
    (same,) = await world.detect(a_memory("The nightly copy of the database goes to the cellar"))
    assert (same.type, same.suggested) == (ConflictType.DUPLICATE, Strategy.MERGE)
    (more,) = await world.detect(a_memory(f"{OTHER[:-1]} of the house in Graz."))
    assert (more.type, more.suggested) == (ConflictType.UPDATE, Strategy.UPDATE)


async def test_a_sentence_within_a_long_text_is_found(world: DetectionWorld) -> None:
    talk = "We spoke of the garden. It was late. "
    stored = a_memory(f"{talk}{ROME} Then we left.")
    await world.keep(stored, *(a_memory(f"Note {n} tells of the weather and of bread.") for n in range(20)))
    (conflict,) = await world.detect(a_memory(f"Boris called. {PARIS} He sounded happy about the bread."))
    assert conflict.other == stored.id
    assert (conflict.statement, conflict.against) == (statement_key(PARIS), statement_key(ROME))


async def test_only_the_new_statements_of_an_edit_are_compared(world: DetectionWorld) -> None:
    stored = a_memory(ROME)
    before = a_memory("", entity="Ada", observations=observed(PARIS))
    await world.keep(stored, before)
    after = replace(before, observations=(*before.observations, *observed("Ada has three cats at home.")))
    assert await world.detect(after, before=before) == ()
    assert types(await world.detect(after)) == [ConflictType.CONTRADICTION]


async def test_a_memory_may_contradict_itself(world: DetectionWorld) -> None:
    before = a_memory("", entity="Ada", observations=observed("Ada has three cats at home.", "Ada paints."))
    await world.keep(before)
    after = replace(before, observations=(*before.observations, *observed("Ada has two cats at home.")))
    (conflict,) = await world.detect(after, before=before)
    assert (conflict.type, conflict.memory, conflict.other) == (ConflictType.CONTRADICTION, after.id, after.id)
    assert (conflict.statement, conflict.against) == (
        statement_key("Ada has two cats at home."), statement_key("Ada has three cats at home."),
    )  # fmt: skip


async def test_of_very_many_observations_those_near_the_new_one_are_compared(world: DetectionWorld) -> None:
    many = observed("Ada has three cats at home.", *(f"Ada met somebody in house {n}." for n in range(500)))
    before = a_memory("", entity="Ada", observations=many)
    await world.keep(before)
    after = replace(before, observations=(*many, *observed("Ada has two cats at home.")))
    (conflict,) = await world.detect(after, before=before)
    assert conflict.against == statement_key("Ada has three cats at home.")


@pytest.mark.parametrize(
    "fields",
    [
        MemoryFields(state=State.TRASHED),
        MemoryFields(state=State.ARCHIVED),
        MemoryFields(valid_until=START),
        MemoryFields(expires_at=START),
        MemoryFields(group="g"),
    ],
    ids=str,
)
async def test_a_memory_that_is_gone_superseded_or_of_the_same_text_is_no_candidate(
    world: DetectionWorld, fields: MemoryFields
) -> None:
    await world.keep(a_memory(ROME, **fields))
    assert await world.detect(a_memory(PARIS, group="g")) == ()


async def test_a_superseded_observation_is_no_candidate(world: DetectionWorld) -> None:
    old = Observation(text=ROME, recorded_at=START, valid_until=START)
    await world.keep(a_memory("", entity="Ada", observations=(old, *observed("Ada paints."))))
    assert await world.detect(a_memory(PARIS, entity="Ada")) == ()


async def test_two_entities_or_projects_may_differ(world: DetectionWorld) -> None:
    await world.keep(a_memory("likes coffee in the morning", entity="Ada"), a_memory(ROME, project="one"))
    assert await world.detect(a_memory("hates coffee in the morning", entity="Boris")) == ()
    assert types(await world.detect(a_memory("hates coffee in the morning", entity="ada"))) == [
        ConflictType.CONTRADICTION
    ]
    assert await world.detect(a_memory(PARIS, project="two")) == ()
    await world.keep(a_memory("I like green tea in the evening", entity="Ada"))
    assert await world.detect(a_memory("I hate green tea in the evening", entity="Boris")) == ()


async def test_the_name_of_an_entity_hides_no_contradiction(world: DetectionWorld) -> None:
    await world.keep(a_memory("The default branch is main.", entity="default branch"))
    policy = a_memory("The default branch is trunk.", entity="branch policy")
    assert types(await world.detect(policy)) == [ConflictType.CONTRADICTION]
    # Each entity has a service of its own.
    await world.keep(a_memory("The service listens on port 8080.", entity="booking"))
    assert await world.detect(a_memory("The service listens on port 9090.", entity="payout")) == ()


async def test_a_statement_without_a_subject_is_about_its_entity(world: DetectionWorld) -> None:
    before = a_memory("", entity="Ada Stern", observations=observed("Paints", "Lives in Rome"))
    await world.keep(before)
    for text in ("Moved to Oslo", "Ada lives in Oslo"):
        after = replace(before, observations=(*before.observations, *observed(text)))
        (conflict,) = await world.detect(after, before=before)
        assert (conflict.type, conflict.against) == (ConflictType.CONTRADICTION, statement_key("Lives in Rome"))
        details = describe(conflict, after, after)
        assert details is not None
        assert "Oslo" in details.differs[0]
    assert await world.detect(a_memory("Lives in Oslo", entity="Boris")) == ()


async def test_records_of_two_people_may_differ(world: DetectionWorld) -> None:
    ada = a_memory("", name="ada", observations=observed("Lives in Rome", "Likes tea", "Has three children"))
    await world.keep(ada)
    boris = observed("Lives in Oslo", "Likes tea", "Has four children")
    assert await world.detect(a_memory("", name="boris", observations=boris)) == ()
    for text in ("Ada lives in Oslo.", "Ada moved to Oslo."):
        (conflict,) = await world.detect(a_memory(text))
        assert (conflict.type, conflict.against) == (ConflictType.CONTRADICTION, statement_key("Lives in Rome"))
    assert await world.detect(a_memory("I live in Oslo.")) == ()
    (own,) = await world.detect(a_memory("", name="Ada Stern", observations=observed("Lives in Oslo")))
    assert own.other == ada.id


async def test_a_value_in_entirely_other_words_is_found_among_many(world: DetectionWorld) -> None:
    stored = a_memory("I live in Rome.")
    crowd = (a_memory(f"Note {n} is of the weather in month {n}.") for n in range(40))
    await world.keep(stored, *crowd)
    (conflict,) = await world.detect(a_memory("user: I moved to Oslo last spring."))
    assert (conflict.type, conflict.other, conflict.suggested) == (
        ConflictType.CONTRADICTION,
        stored.id,
        Strategy.SUPERSEDE,
    )


async def test_records_of_one_thing_are_compared_by_their_observations(world: DetectionWorld) -> None:
    facts = [f"fact {word} about the thing" for word in "oak elm fir ash yew box bay fig".split()]
    stored = a_memory("", entity="Oak House", observations=observed(*facts))
    await world.keep(stored)
    twin = a_memory("", entity="oak house", observations=observed(*(fact.upper() for fact in facts)))
    (conflict,) = await world.detect(twin)
    assert (conflict.type, conflict.other, conflict.statement, conflict.against) == (
        ConflictType.DUPLICATE,
        stored.id,
        "",
        "",
    )
    details = describe(conflict, twin, stored)
    assert details is not None
    assert details.other.statement.startswith(facts[0])
    partial = a_memory("", observations=observed(*facts[:4], "quite another one", "and one more"))
    assert (await world.detect(partial))[0].type is ConflictType.UPDATE


@pytest.mark.parametrize("older", Trust)
async def test_a_less_trusted_source_does_not_overrule_a_more_trusted_one(world: DetectionWorld, older: Trust) -> None:
    later = START + timedelta(days=1)
    await world.keep(a_memory(ROME, source=Source(trust=older, at=START)))
    for newer in Trust:
        (conflict,) = await world.detect(a_memory(PARIS, source=Source(trust=newer, at=later)))
        assert conflict.suggested is (Strategy.IGNORE if older.outranks(newer) else Strategy.SUPERSEDE)
    (conflict,) = await world.detect(a_memory(PARIS, flags=(Flag.SUSPICIOUS,), source=Source(trust=older, at=later)))
    assert conflict.suggested is Strategy.IGNORE
    # Of two of the same time neither is the newer one.
    (conflict,) = await world.detect(a_memory(PARIS, source=Source(trust=older, at=START)))
    assert conflict.suggested is Strategy.IGNORE


async def test_a_sentence_that_two_memories_have_among_others_is_no_reason_to_join_them(world: DetectionWorld) -> None:
    await world.keep(a_memory(f"{ROME} {OTHER}"))
    (conflict,) = await world.detect(a_memory(ROME))
    assert conflict.suggested is Strategy.MERGE
    (conflict,) = await world.detect(a_memory(f"The kitchen was painted yellow. {ROME}"))
    assert (conflict.type, conflict.suggested) == (ConflictType.DUPLICATE, Strategy.IGNORE)


@pytest.mark.parametrize("error", [IndexUnavailable("away"), EmbeddingUnavailable("away")], ids=str)
async def test_without_an_index_words_decide(world: DetectionWorld, error: Exception) -> None:
    await world.keep(a_memory(ROME), a_memory(OTHER))
    assert types(await world.detect(a_memory(PARIS), index=NoIndex(error))) == [ConflictType.CONTRADICTION]


async def test_without_a_model_words_decide(world: DetectionWorld) -> None:
    await world.keep(a_memory(ROME), a_memory(OTHER))
    assert types(await world.detect(a_memory(PARIS), blind=True)) == [ConflictType.CONTRADICTION]


async def test_few_statements_are_searched_for_and_few_conflicts_reported(world: DetectionWorld) -> None:
    await world.keep(*(a_memory(f"The room in house {n} has three tall windows.") for n in "abcdefghijklmnop"))
    index = CountingIndex(await world.index())
    many = a_memory("", observations=observed(*(f"The room in house {n} has four tall windows." for n in range(5_000))))
    conflicts = await world.detect(many, index=index)
    assert index.searches <= 8
    assert len(conflicts) <= 10
    assert len({conflict.id for conflict in conflicts}) == len(conflicts)


async def test_a_memory_that_is_not_live_has_no_conflicts(world: DetectionWorld) -> None:
    await world.keep(a_memory(ROME))
    assert await world.detect(a_memory(PARIS, state=State.WAITING)) == ()


async def test_a_pending_or_settled_conflict_is_not_reported_again(world: DetectionWorld) -> None:
    stored, written = a_memory(ROME), a_memory(PARIS)
    await world.keep(stored, written)
    conflicts = await world.detect(written)
    assert await drop_known(conflicts, space=SPACE, store=world.store) == conflicts
    await world.store.put_document(conflicts[0].document(at=NOW), base=None)
    assert await drop_known(conflicts, space=SPACE, store=world.store) == ()
    await world.store.delete_document(SPACE, "conflicts", conflicts[0].id)
    settled = replace(conflicts[0], status=ConflictStatus.IGNORED)
    await world.store.put_document(settled.document(at=NOW), base=None)
    assert await drop_known(conflicts, space=SPACE, store=world.store) == ()
    # Whichever of the two is checked.
    assert await drop_known(await world.detect(stored), space=SPACE, store=world.store) == ()


async def test_one_statement_has_a_limited_number_of_pending_conflicts(world: DetectionWorld) -> None:
    stored, written = a_memory(ROME), a_memory(PARIS)
    others = [a_memory(f"something else {number}") for number in range(10)]
    await world.keep(stored, written, *others)
    (conflict,) = await world.detect(written)
    waiting = [replace(conflict, memory=other.id, statement="") for other in others]
    await world.store.import_documents(SPACE, [conflict.document(at=NOW) for conflict in waiting[1:]], renew=False)
    assert await drop_known([conflict], space=SPACE, store=world.store) == (conflict,)
    # Together they are too many.
    assert await drop_known([conflict, waiting[0]], space=SPACE, store=world.store) == (conflict,)
    await world.store.import_documents(SPACE, [waiting[0].document(at=NOW)], renew=False)
    assert await drop_known([conflict], space=SPACE, store=world.store) == ()
    # Another statement of the same memory, and what is in the trash, are not in the way.
    elsewhere = replace(conflict, against="0123456789abcdef")
    assert await drop_known([elsewhere], space=SPACE, store=world.store) == (elsewhere,)
    await world.store.commit(a_commit(a_rewrite(revised(others[0], state=State.TRASHED))))
    assert await drop_known([conflict], space=SPACE, store=world.store) == (conflict,)


async def test_a_conflict_whose_statement_is_gone_is_not_described(world: DetectionWorld) -> None:
    stored, written = a_memory(ROME), a_memory("", entity="Ada", observations=observed("Ada paints.", PARIS))
    await world.keep(stored)
    (conflict,) = await world.detect(written)
    details = describe(conflict, written, stored)
    assert details is not None
    assert details.memory.date == START
    superseded = replace(written.observations[1], valid_until=NOW)
    assert describe(conflict, replace(written, observations=(superseded,)), stored) is not None
    assert describe(conflict, replace(written, observations=written.observations[:1]), stored) is None
    assert describe(conflict, written, replace(stored, content="Something else.")) is None
