"""Sources: a text repeated by a more trusted source gets that source, and no text gets a wrong one."""

from dataclasses import replace
from datetime import timedelta

import pytest
from tests.fakes.build import START, a_memory, moment
from tests.unit.harness import Harness

from scrubjay.model.draft import Draft
from scrubjay.model.memory import Memory, Method, Observation, Source, State, Trust
from scrubjay.model.requests import Edit
from scrubjay.storage.sqlite import SqliteStore
from scrubjay.writing.merge import merge, take_over

NOW = moment(60)
DOCUMENT, USER, AGENT = (Source(trust=trust) for trust in (Trust.DOCUMENT, Trust.USER, Trust.AGENT))
TEXT = "The ferry leaves at nine."


@pytest.fixture
def harness(store: SqliteStore) -> Harness:
    return Harness(store=store)


def observed(*texts: str, source: Source | None = None) -> tuple[Observation, ...]:
    return tuple(Observation(text=text, recorded_at=START, source=source) for text in texts)


def trust_of(memory: Memory) -> dict[str, Trust]:
    return {observation.text: (observation.source or memory.source).trust for observation in memory.observations}


def test_a_user_is_trusted_most_a_document_least_and_an_unknown_source_like_an_agent() -> None:
    ranks = [{Trust.DOCUMENT}, {Trust.AGENT, Trust.UNKNOWN}, {Trust.USER}]
    for place, levels in enumerate(ranks):
        for level in levels:
            assert {other for other in Trust if level.outranks(other)} == set[Trust]().union(*ranks[:place])


async def test_a_text_repeated_by_the_user_gets_the_user_as_its_source(harness: Harness) -> None:
    first = await harness.store_draft(Draft(text=TEXT, observations=("daily", "from pier 4"), source=DOCUMENT))
    harness.clock.advance(timedelta(minutes=1))
    again = Draft(text=TEXT, observations=("daily",), source=replace(USER, agent="cli"), idempotency_key="k")
    tried = await harness.remember(replace(again, dry_run=True, idempotency_key=""))
    assert (tried.action, tried.version) == ("updated", 1)
    done = await harness.remember(again)
    assert (done.action, done.id, done.version) == ("updated", first.id, 2)
    memory = await harness.get(first.id)
    assert (memory.source.trust, memory.source.agent) == (Trust.USER, "cli")
    assert memory.date >= first.date + timedelta(minutes=1)
    assert trust_of(memory) == {"daily": Trust.USER, "from pier 4": Trust.DOCUMENT}
    assert (await harness.remember(again)).version == 2
    assert (await harness.remember(replace(again, idempotency_key=""))).action == "unchanged"
    assert (await harness.remember(Draft(text=TEXT, source=DOCUMENT))).action == "unchanged"
    assert (await harness.get(first.id)).version == 2


async def test_a_waiting_memory_stays_unchanged(harness: Harness) -> None:
    harness.rules = replace(harness.rules, review="agents")
    mine = Draft(text=TEXT, source=Source(method=Method.AGENT, trust=Trust.DOCUMENT))
    waiting = await harness.store_draft(mine)
    done = await harness.remember(replace(mine, source=replace(mine.source, trust=Trust.AGENT)))
    assert (waiting.state, done.action) == (State.WAITING, "unchanged")


async def test_of_one_text_under_several_entities_each_record_is_the_users(harness: Harness) -> None:
    first = await harness.remember(Draft(text=TEXT, entities=("Pier", "Ferry"), source=DOCUMENT))
    done = await harness.remember(Draft(text=TEXT, entities=("Ferry", "Pier"), source=USER))
    assert (done.action, set(done.ids)) == ("updated", set(first.ids))
    assert {(await harness.get(id_)).source.trust for id_ in first.ids} == {Trust.USER}


async def test_a_repeated_observation_gets_the_more_trusted_source(harness: Harness) -> None:
    first = await harness.store_draft(Draft(text=TEXT, observations=("daily", "from pier 4"), source=DOCUMENT))
    await harness.revise(first.id, Edit(add_observations=("daily", "in summer"), source=USER))
    memory = await harness.get(first.id)
    assert trust_of(memory) == {"daily": Trust.USER, "from pier 4": Trust.DOCUMENT, "in summer": Trust.USER}
    assert memory.source.trust is Trust.DOCUMENT
    assert (await harness.revise(first.id, Edit(add_observations=("daily",), source=AGENT))).action == "unchanged"


def test_additions_of_a_document_to_a_users_memory_keep_their_source() -> None:
    mine = a_memory(TEXT, source=USER, observations=observed("daily"))
    theirs = a_memory(f"{TEXT} It takes cars.", source=DOCUMENT, observations=observed("from pier 4"))
    both = merge(mine, theirs, at=NOW)
    assert (both.content, both.source) == (TEXT, USER)
    assert trust_of(both) == {"daily": Trust.USER, "It takes cars.": Trust.DOCUMENT, "from pier 4": Trust.DOCUMENT}
    assert both.merged[-1].statements == ("It takes cars.", "from pier 4")
    assert merge(both, theirs, at=NOW) is both


def test_a_source_that_repeats_a_whole_text_gets_it_with_its_additions() -> None:
    theirs = a_memory(f"{TEXT} It takes cars.", source=DOCUMENT, observations=observed("from pier 4"))
    both = merge(theirs, a_memory("It takes cars. The ferry leaves at nine! It is slow.", source=USER), at=NOW)
    assert both.content == f"{TEXT} It takes cars.\n\nIt is slow."
    assert (both.id, both.source) == (theirs.id, replace(USER, at=NOW))
    assert trust_of(both) == {"from pier 4": Trust.DOCUMENT}


def test_one_sentence_in_other_words_is_stored_as_the_more_trusted_source_wrote_it() -> None:
    theirs, mine = a_memory(TEXT, source=DOCUMENT), a_memory("The ferry departs at nine.", source=USER)
    both = merge(theirs, mine, at=NOW)
    assert (both.content, both.source.trust, trust_of(both)) == (mine.content, Trust.USER, {TEXT: Trust.DOCUMENT})


def test_of_a_longer_text_only_repeated_statements_get_the_new_source() -> None:
    theirs = a_memory(f"{TEXT} It takes cars.", source=DOCUMENT, observations=observed("daily", "from pier 4"))
    both = merge(theirs, a_memory(TEXT, source=USER, observations=observed("daily", "in summer")), at=NOW)
    assert (both.content, both.source) == (theirs.content, DOCUMENT)
    users = {"daily", TEXT, "in summer"}
    assert trust_of(both) == {**dict.fromkeys(users, Trust.USER), "from pier 4": Trust.DOCUMENT}


def test_a_memory_of_observations_gets_the_new_source_when_all_are_repeated() -> None:
    theirs = a_memory("", source=DOCUMENT, observations=observed("daily", "from pier 4"))
    users = a_memory("", source=USER, observations=observed("From pier 4", "daily"))
    assert take_over(theirs, users, at=NOW).source.trust is Trust.USER
    part = take_over(theirs, replace(users, observations=users.observations[:1]), at=NOW)
    assert (part.source.trust, trust_of(part)) == (
        Trust.DOCUMENT,
        {"daily": Trust.DOCUMENT, "from pier 4": Trust.USER},
    )
    assert take_over(a_memory("", source=DOCUMENT), users, at=NOW).source == DOCUMENT


@pytest.mark.parametrize(("first", "second"), [(USER, USER), (AGENT, Source()), (Source(), AGENT)])
def test_an_equally_trusted_source_adds_to_the_text(first: Source, second: Source) -> None:
    both = merge(a_memory(TEXT, source=first), a_memory("It takes cars.", source=second), at=NOW)
    assert (both.content, both.source, both.observations) == (f"{TEXT}\n\nIt takes cars.", first, ())


async def test_a_text_has_the_source_of_its_last_edit(harness: Harness) -> None:
    first = await harness.store_draft(Draft(text=TEXT, observations=("daily",), source=replace(USER, session="s1")))
    await harness.revise(first.id, Edit(fields={"content": "The ferry leaves at ten."}, source=AGENT))
    memory = await harness.get(first.id)
    assert (memory.source.trust, memory.source.session, trust_of(memory)) == (Trust.AGENT, "s1", {"daily": Trust.USER})
    for edit in (Edit(fields={"title": "Ferry"}, source=USER), Edit(fields={"content": "Soon."}), Edit(fields={})):
        await harness.revise(first.id, edit)
    assert (await harness.get(first.id)).source.trust is Trust.AGENT
    await harness.revise(first.id, Edit(fields={"content": TEXT}, source=USER))
    assert (await harness.get(first.id)).source.trust is Trust.USER
