"""`auto` decides by type, trust and time, and leaves unclear conflicts to people; suggestions follow it."""

from dataclasses import replace

import pytest
from tests.fakes.build import a_commit, a_memory, a_rewrite, moment
from tests.unit.conflicts.conflict_world import dispute, fact, settle, take_back, thing
from tests.unit.harness import SPACE, Harness

from scrubjay.conflicts.listing import conflicts
from scrubjay.errors import WrongState
from scrubjay.model.conflict import ConflictRecord, ConflictType, Strategy
from scrubjay.model.memory import Flag, Memory, Observation, Source, Trust

BERLIN, PARIS = "Ann lives in Berlin.", "Ann lives in Paris."


def a_fact_by(trust: Trust, *, at: float, text: str = BERLIN) -> Memory:
    return fact(text, at=moment(at), trust=trust)


@pytest.mark.parametrize(
    ("kind", "suggested", "strategy"),
    [
        (ConflictType.DUPLICATE, Strategy.MERGE, "merge"),
        (ConflictType.UPDATE, Strategy.UPDATE, "update"),
        (ConflictType.UPDATE, Strategy.SUPERSEDE, "supersede"),
        (ConflictType.CONTRADICTION, Strategy.SUPERSEDE, "supersede"),
        (ConflictType.CONTRADICTION, Strategy.BRANCH, "supersede"),
    ],
)
async def test_the_strategy_follows_from_the_type(
    quick: Harness, kind: ConflictType, suggested: Strategy, strategy: str
) -> None:
    newer, older = a_fact_by(Trust.USER, at=60, text=PARIS), a_fact_by(Trust.USER, at=0)
    done = await settle(quick, await dispute(quick, newer, older, type=kind, suggested=suggested))
    assert (done.strategy, bool(done.why)) == (strategy, True)


@pytest.mark.parametrize(
    ("newer", "older", "decided"),
    [
        (Trust.USER, Trust.USER, True),
        (Trust.USER, Trust.DOCUMENT, True),
        (Trust.AGENT, Trust.UNKNOWN, True),
        (Trust.DOCUMENT, Trust.DOCUMENT, True),
        (Trust.DOCUMENT, Trust.USER, False),
        (Trust.AGENT, Trust.USER, False),
        (Trust.UNKNOWN, Trust.AGENT, True),
        (Trust.DOCUMENT, Trust.UNKNOWN, False),
    ],
)
async def test_a_less_trusted_source_never_overrules_a_more_trusted_one(
    quick: Harness, newer: Trust, older: Trust, decided: bool
) -> None:
    first, second = a_fact_by(newer, at=60, text=PARIS), a_fact_by(older, at=0)
    done = await settle(quick, await dispute(quick, first, second))
    expected = (await quick.get(second.id)).valid_until is None
    assert (done.action == "superseded", expected) == (decided, not decided)
    if not decided:
        assert (done.action, done.strategy, done.changed) == ("left_pending", "auto", ())
        assert "does not overrule" in done.why


async def test_the_word_of_an_observation_goes_before_that_of_its_memory(quick: Harness) -> None:
    document = Observation(text="lives in Paris", recorded_at=moment(60), source=Source(trust=Trust.DOCUMENT))
    memory = a_memory(
        "",
        observations=(Observation(text="lives in Berlin", recorded_at=moment(0)), document),
        source=Source(trust=Trust.USER),
    )
    done = await settle(
        quick, await dispute(quick, memory, memory, statement="lives in Paris", against="lives in Berlin")
    )
    assert done.action == "left_pending"


async def test_an_unclear_conflict_is_left_to_people(quick: Harness) -> None:
    older, newer = a_fact_by(Trust.USER, at=0), a_fact_by(Trust.USER, at=60, text=PARIS)
    unsure = await settle(quick, await dispute(quick, newer, older, confidence=0.4))
    assert "confidence is 0.40" in unsure.why
    same_time = await settle(quick, await dispute(quick, fact("Ann lives in Rome."), older))
    assert "of the same time" in same_time.why
    more = await dispute(quick, fact("Ann lives in Bonn."), older, type=ConflictType.UPDATE, suggested=Strategy.UPDATE)
    assert (await settle(quick, more)).strategy == "update"
    orders = replace(fact("Ann lives in Oslo.", at=moment(61)), flags=(Flag.SUSPICIOUS,))
    assert "orders" in (await settle(quick, await dispute(quick, orders, older))).why
    first, second = fact(f"Ann is a judge. {BERLIN}"), fact(f"{BERLIN} Ann has a dog.", at=moment(60))
    both = await dispute(quick, second, first, type=ConflictType.DUPLICATE, statement=BERLIN, against=BERLIN)
    assert "merging would mix these" in (await settle(quick, both)).why
    assert (await quick.get(older.id)).version == 2


async def test_in_one_memory_the_newer_statement_takes_the_place_of_the_older(quick: Harness) -> None:
    memory = thing("likes tea", "likes tea and coffee")
    conflict = await dispute(
        quick, memory, memory, type=ConflictType.UPDATE, statement="likes tea and coffee", against="likes tea",
        suggested=Strategy.UPDATE,
    )  # fmt: skip
    assert (await settle(quick, conflict)).strategy == "supersede"
    assert [observation.valid_until for observation in (await quick.get(memory.id)).observations] == [moment(60), None]


async def test_a_document_is_merged_into_the_users_memory_which_keeps_its_source(quick: Harness) -> None:
    document = fact(f"{BERLIN} Ann has a dog.", trust=Trust.DOCUMENT, name="paper")
    user = a_fact_by(Trust.USER, at=60)
    for newer, older in ((user, document), (fact("Ann has a dog.", at=moment(90), trust=Trust.DOCUMENT), user)):
        conflict = await dispute(quick, newer, older, type=ConflictType.DUPLICATE, suggested=Strategy.MERGE)
        done = await settle(quick, conflict)
        memory = await quick.get(user.id)
        assert (done.strategy, done.kept, memory.content) == ("merge", user.id, BERLIN)
        assert [(observation.text, observation.source) for observation in memory.observations] == [
            ("Ann has a dog.", document.source)
        ]
    assert (await quick.get(document.id)).merged_into == user.id


async def test_of_one_statement_twice_in_a_memory_that_stays_which_is_trusted_more(quick: Harness) -> None:
    texts = ("lives in Berlin", "Lives in Berlin!")
    trusts = (Trust.DOCUMENT, Trust.USER)
    observations = tuple(
        Observation(text=text, recorded_at=moment(60 * at), source=Source(trust=trusts[at]))
        for at, text in enumerate(texts)
    )
    memory = a_memory("", observations=observations)
    conflict = await dispute(
        quick, memory, memory, type=ConflictType.DUPLICATE, statement=texts[1], against=texts[0],
        suggested=Strategy.MERGE,
    )  # fmt: skip
    assert (await settle(quick, conflict)).action == "merged"
    assert (await quick.get(memory.id)).observations == observations[1:]


@pytest.mark.parametrize("strategy", ["supersede", "update"])
async def test_a_document_that_overrules_the_user_gives_a_warning(quick: Harness, strategy: str) -> None:
    newer, older = a_fact_by(Trust.DOCUMENT, at=60, text=PARIS), a_fact_by(Trust.USER, at=0)
    done = await settle(quick, await dispute(quick, newer, older), strategy)
    assert "the older one (trust user)" in done.warnings[0]
    later = a_fact_by(Trust.USER, at=120, text="Ann lives in Rome.")
    assert (await settle(quick, await dispute(quick, later, newer), strategy)).warnings == ()


async def changed(harness: Harness, memory: Memory) -> None:
    """Store another version of a memory."""
    stored = await harness.get(memory.id)
    await harness.store.commit(a_commit(a_rewrite(replace(memory, version=stored.version + 1))))


async def suggested(harness: Harness, conflict: ConflictRecord) -> str:
    """Return the strategy that the list suggests for a conflict now."""
    (details,) = await conflicts(
        status="pending", ref=conflict.id, limit=1, now=harness.clock.now(), space=SPACE, store=harness.store
    )
    return details.suggested_action.value


async def test_a_suggestion_follows_the_trust_of_either_side(quick: Harness) -> None:
    newer, older = a_fact_by(Trust.DOCUMENT, at=60, text=PARIS), a_fact_by(Trust.USER, at=0)
    conflict = await dispute(quick, newer, older, suggested=Strategy.IGNORE)
    assert await suggested(quick, conflict) == "ignore"
    await changed(quick, replace(newer, source=Source(trust=Trust.USER)))
    assert await suggested(quick, conflict) == "supersede"
    await changed(quick, replace(newer, source=Source(trust=Trust.AGENT)))
    assert await suggested(quick, conflict) == "ignore"
    assert (await settle(quick, conflict)).action == "left_pending"


async def test_a_suggestion_depends_on_the_rest_of_the_memories(quick: Harness) -> None:
    first, second = fact(f"Ann is a judge. {BERLIN}"), fact(BERLIN, at=moment(60))
    conflict = await dispute(
        quick, second, first, type=ConflictType.DUPLICATE, statement=BERLIN, against=BERLIN, suggested=Strategy.MERGE
    )
    assert await suggested(quick, conflict) == "merge"
    await changed(quick, replace(second, content=f"{BERLIN} Ann has a dog."))
    assert await suggested(quick, conflict) == "ignore"
    await changed(quick, second)
    assert await suggested(quick, conflict) == "merge"
    assert (await settle(quick, conflict)).strategy == "merge"


async def test_a_suggestion_follows_time_and_marks(quick: Harness) -> None:
    newer, older = a_fact_by(Trust.USER, at=0, text=PARIS), a_fact_by(Trust.USER, at=0)
    conflict = await dispute(quick, newer, older, suggested=Strategy.IGNORE)
    assert await suggested(quick, conflict) == "ignore"
    later = replace(newer, source=replace(newer.source, at=moment(60)))
    await changed(quick, later)
    assert await suggested(quick, conflict) == "supersede"
    await changed(quick, replace(later, flags=(Flag.SUSPICIOUS,)))
    assert await suggested(quick, conflict) == "ignore"


async def test_a_superseded_statement_gives_no_suggestion_and_a_restored_one_does(quick: Harness) -> None:
    newer, older = a_fact_by(Trust.USER, at=60, text=PARIS), a_fact_by(Trust.USER, at=0)
    conflict = await dispute(quick, newer, older)
    last = await dispute(
        quick, a_fact_by(Trust.USER, at=120, text="Ann lives in Rome."), older, suggested=Strategy.IGNORE
    )
    done = await settle(quick, last)
    assert done.action == "superseded"
    assert (
        await conflicts(status="pending", ref="", limit=9, now=quick.clock.now(), space=SPACE, store=quick.store) == ()
    )
    with pytest.raises(WrongState, match="no longer in force"):
        await settle(quick, conflict)
    await take_back(quick, done.run)
    assert (await suggested(quick, conflict), await suggested(quick, last)) == ("supersede", "supersede")
