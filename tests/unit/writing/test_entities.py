"""Entities get the spelling of their space; where none are given, some are suggested."""

import pytest
from tests.fakes.build import a_commit, a_memory
from tests.unit.harness import SPACE, Harness

from scrubjay.errors import TooLarge
from scrubjay.model.draft import Draft, Limits
from scrubjay.writing.entities import look_up_entities, name_entities
from scrubjay.writing.validate import validate

MEETING = "Meeting with Sarah from Acme Corp about the min-memory project"


async def named(harness: Harness, draft: Draft) -> Draft:
    return name_entities(draft, await look_up_entities(draft, space=SPACE, store=harness.store))


async def store_entities(harness: Harness, *entities: str) -> None:
    await harness.store.commit(a_commit(*(a_memory(f"about {entity}", entity=entity) for entity in entities)))


async def test_an_entity_is_spelled_as_the_space_spells_it(harness: Harness) -> None:
    await store_entities(harness, "Acme Corp", "Sarah")
    draft = await named(harness, Draft(text="tea", entities=("acme  corp", "SARAH", "Bob")))
    assert draft.entities == ("Acme Corp", "Sarah", "Bob")
    assert [decision.outcome for decision in draft.trace] == ["respelled", "respelled", "given"]


async def test_one_entity_under_two_names_is_one(harness: Harness) -> None:
    draft = await named(harness, Draft(text="tea", entities=("Acme", "ACME Corp.", "Acme, Inc", "Bob")))
    assert draft.entities == ("Acme", "Bob")
    await store_entities(harness, "Acme Corp")
    draft = await named(harness, Draft(text="tea", entities=("Acme", "ACME corp")))
    assert draft.entities == ("Acme Corp",)


async def test_an_alias_is_reported_and_not_renamed(harness: Harness) -> None:
    await store_entities(harness, "Acme")
    draft = await named(harness, Draft(text="tea", entities=("Acme Corp",)))
    assert draft.entities == ("Acme Corp",)
    assert (draft.trace[0].outcome, draft.trace[0].why) == ("alias", "'Acme Corp' may be what this space calls 'acme'")


async def test_names_are_suggested_where_none_are_given(harness: Harness) -> None:
    draft = await named(harness, Draft(text=MEETING))
    assert (draft.entities, draft.suggested_entities) == ((), ("Sarah", "Acme Corp", "min-memory"))
    await store_entities(harness, "Project Tea", "acme corp")
    draft = await named(harness, Draft(text=f"{MEETING} and project tea"))
    assert draft.suggested_entities == ("acme corp", "Project Tea", "Sarah", "min-memory")


async def test_a_day_is_no_entity(harness: Harness) -> None:
    draft = await named(harness, Draft(text="We moved it to Friday's review, and Sarah missed Monday\u2019s Standup"))
    assert draft.suggested_entities == ("Sarah",)
    draft = await named(harness, Draft(text="Then Jan asked for January's Sales Report"))
    assert draft.suggested_entities == ("Jan", "Sales Report")


async def test_no_more_than_five_are_suggested(harness: Harness) -> None:
    draft = await named(harness, Draft(text="with Ann, Bob, Carl, Dora, Emil, Fritz and Gerda"))
    assert draft.suggested_entities == ("Ann", "Bob", "Carl", "Dora", "Emil")
    draft = await named(harness, Draft(text="nothing to see"))
    assert (draft.suggested_entities, draft.trace[-1].outcome) == ((), "none")


@pytest.mark.parametrize("entities", [tuple(f"e{number}" for number in range(10_000)), ("x" * 10_000,)])
def test_too_many_or_too_long_names_are_refused(entities: tuple[str, ...]) -> None:
    with pytest.raises(TooLarge) as caught:
        validate(Draft(text="tea", entities=entities), limits=Limits())
    assert caught.value.fields["field"] == "entities"


async def test_a_spelling_is_followed_when_the_memory_that_had_it_changes(harness: Harness) -> None:
    memory = a_memory("about them", entity="Acme Corp")
    await harness.store.commit(a_commit(memory))
    for _ in range(2):
        assert (await named(harness, Draft(text="tea", entities=("Acme Corp",)))).entities == ("Acme Corp",)
    await harness.revise(memory.id, entity="ACME Corp")
    assert (await named(harness, Draft(text="tea", entities=("Acme Corp",)))).entities == ("ACME Corp",)
    assert (await named(harness, Draft(text="tea with ACME Corp"))).suggested_entities == ("ACME Corp",)
    await harness.forget(memory.id)
    assert (await named(harness, Draft(text="tea", entities=("Acme Corp",)))).entities == ("Acme Corp",)
