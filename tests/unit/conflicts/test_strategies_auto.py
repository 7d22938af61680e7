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
    harness: Harness, kind: ConflictType, suggested: Strategy, strategy: str
) -> None:
    newer, older = a_fact_by(Trust.USER, at=60, text=PARIS), a_fact_by(Trust.USER, at=0)
    done = await settle(harness, await dispute(harness, newer, older, type=kind, suggested=suggested))
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
    harness: Harness, newer: Trust, older: Trust, decided: bool
) -> None:
    first, second = a_fact_by(newer, at=60, text=PARIS), a_fact_by(older, at=0)
    done = await settle(harness, await dispute(harness, first, second))
    expected = (await harness.get(second.id)).valid_until is None
    assert (done.action == "superseded", expected) == (decided, not decided)
    if not decided:
        assert (done.action, done.strategy, done.changed) == ("left_pending", "auto", ())
        assert "does not overrule" in done.why


async def test_the_word_of_an_observation_goes_before_that_of_its_memory(harness: Harness) -> None:
    document = Observation(text="lives in Paris", recorded_at=moment(60), source=Source(trust=Trust.DOCUMENT))
    memory = a_memory(
        "",
        observations=(Observation(text="lives in Berlin", recorded_at=moment(0)), document),
        source=Source(trust=Trust.USER),
    )
    done = await settle(
        harness, await dispute(harness, memory, memory, statement="lives in Paris", against="lives in Berlin")
    )
    assert done.action == "left_pending"


async def test_an_unclear_conflict_is_left_to_people(harness: Harness) -> None:
    older, newer = a_fact_by(Trust.USER, at=0), a_fact_by(Trust.USER, at=60, text=PARIS)
    unsure = await settle(harness, await dispute(harness, newer, older, confidence=0.4))
    assert "confidence is 0.40" in unsure.why
    same_time = await settle(harness, await dispute(harness, fact("Ann lives in Rome."), older))
    assert "of the same time" in same_time.why
    more = await dispute(
        harness, fact("Ann lives in Bonn."), older, type=ConflictType.UPDATE, suggested=Strategy.UPDATE
    )
    assert (await settle(harness, more)).strategy == "update"
    orders = replace(fact("Ann lives in Oslo.", at=moment(61)), flags=(Flag.SUSPICIOUS,))
    assert "orders" in (await settle(harness, await dispute(harness, orders, older))).why
    first, second = fact(f"Ann is a judge. {BERLIN}"), fact(f"{BERLIN} Ann has a dog.", at=moment(60))
    both = await dispute(harness, second, first, type=ConflictType.DUPLICATE, statement=BERLIN, against=BERLIN)
    assert "merging would mix these" in (await settle(harness, both)).why
    assert (await harness.get(older.id)).version == 2


async def test_in_one_memory_the_newer_statement_takes_the_place_of_the_older(harness: Harness) -> None:
    memory = thing("likes tea", "likes tea and coffee")
    conflict = await dispute(
        harness, memory, memory, type=ConflictType.UPDATE, statement="likes tea and coffee", against="likes tea",
        suggested=Strategy.UPDATE,
    )  # fmt: skip
    assert (await settle(harness, conflict)).strategy == "supersede"
    assert [observation.valid_until for observation in (await harness.get(memory.id)).observations] == [
        moment(60),
        None,
    ]


async def test_a_document_is_merged_into_the_users_memory_which_keeps_its_source(harness: Harness) -> None:
    document = fact(f"{BERLIN} Ann has a dog.", trust=Trust.DOCUMENT, name="paper")
    user = a_fact_by(Trust.USER, at=60)
    for newer, older in ((user, document), (fact("Ann has a dog.", at=moment(90), trust=Trust.DOCUMENT), user)):
        conflict = await dispute(harness, newer, older, type=ConflictType.DUPLICATE, suggested=Strategy.MERGE)
        done = await settle(harness, conflict)
        memory = await harness.get(user.id)
        assert (done.strategy, done.kept, memory.content) == ("merge", user.id, BERLIN)
        assert [(observation.text, observation.source) for observation in memory.observations] == [
            ("Ann has a dog.", document.source)
        ]
    assert (await harness.get(document.id)).merged_into == user.id


async def test_of_one_statement_twice_in_a_memory_that_stays_which_is_trusted_more(harness: Harness) -> None:
    texts = ("lives in Berlin", "Lives in Berlin!")
    trusts = (Trust.DOCUMENT, Trust.USER)
    observations = tuple(
        Observation(text=text, recorded_at=moment(60 * at), source=Source(trust=trusts[at]))
        for at, text in enumerate(texts)
    )
    memory = a_memory("", observations=observations)
    conflict = await dispute(
        harness, memory, memory, type=ConflictType.DUPLICATE, statement=texts[1], against=texts[0],
        suggested=Strategy.MERGE,
    )  # fmt: skip
    assert (await settle(harness, conflict)).action == "merged"
    assert (await harness.get(memory.id)).observations == observations[1:]


@pytest.mark.parametrize("strategy", ["supersede", "update"])
async def test_a_document_that_overrules_the_user_gives_a_warning(harness: Harness, strategy: str) -> None:
    newer, older = a_fact_by(Trust.DOCUMENT, at=60, text=PARIS), a_fact_by(Trust.USER, at=0)
    done = await settle(harness, await dispute(harness, newer, older), strategy)
    assert "the older one (trust user)" in done.warnings[0]
    later = a_fact_by(Trust.USER, at=120, text="Ann lives in Rome.")
    assert (await settle(harness, await dispute(harness, later, newer), strategy)).warnings == ()


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


async def test_a_suggestion_follows_the_trust_of_either_side(harness: Harness) -> None:
    newer, older = a_fact_by(Trust.DOCUMENT, at=60, text=PARIS), a_fact_by(Trust.USER, at=0)
    conflict = await dispute(harness, newer, older, suggested=Strategy.IGNORE)
    assert await suggested(harness, conflict) == "ignore"
    await changed(harness, replace(newer, source=Source(trust=Trust.USER)))
    assert await suggested(harness, conflict) == "supersede"
    await changed(harness, replace(newer, source=Source(trust=Trust.AGENT)))
    assert await suggested(harness, conflict) == "ignore"
    assert (await settle(harness, conflict)).action == "left_pending"


async def test_a_suggestion_depends_on_the_rest_of_the_memories(harness: Harness) -> None:
    first, second = fact(f"Ann is a judge. {BERLIN}"), fact(BERLIN, at=moment(60))
    conflict = await dispute(
        harness, second, first, type=ConflictType.DUPLICATE, statement=BERLIN, against=BERLIN, suggested=Strategy.MERGE
    )
    assert await suggested(harness, conflict) == "merge"
    await changed(harness, replace(second, content=f"{BERLIN} Ann has a dog."))
    assert await suggested(harness, conflict) == "ignore"
    await changed(harness, second)
    assert await suggested(harness, conflict) == "merge"
    assert (await settle(harness, conflict)).strategy == "merge"


async def test_a_suggestion_follows_time_and_marks(harness: Harness) -> None:
    newer, older = a_fact_by(Trust.USER, at=0, text=PARIS), a_fact_by(Trust.USER, at=0)
    conflict = await dispute(harness, newer, older, suggested=Strategy.IGNORE)
    assert await suggested(harness, conflict) == "ignore"
    later = replace(newer, source=replace(newer.source, at=moment(60)))
    await changed(harness, later)
    assert await suggested(harness, conflict) == "supersede"
    await changed(harness, replace(later, flags=(Flag.SUSPICIOUS,)))
    assert await suggested(harness, conflict) == "ignore"


async def test_a_superseded_statement_gives_no_suggestion_and_a_restored_one_does(harness: Harness) -> None:
    newer, older = a_fact_by(Trust.USER, at=60, text=PARIS), a_fact_by(Trust.USER, at=0)
    conflict = await dispute(harness, newer, older)
    last = await dispute(
        harness, a_fact_by(Trust.USER, at=120, text="Ann lives in Rome."), older, suggested=Strategy.IGNORE
    )
    done = await settle(harness, last)
    assert done.action == "superseded"
    assert (
        await conflicts(status="pending", ref="", limit=9, now=harness.clock.now(), space=SPACE, store=harness.store)
        == ()
    )
    with pytest.raises(WrongState, match="no longer in force"):
        await settle(harness, conflict)
    await take_back(harness, done.run)
    assert (await suggested(harness, conflict), await suggested(harness, last)) == ("supersede", "supersede")
