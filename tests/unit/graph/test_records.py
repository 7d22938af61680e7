"""Entities as records: created or updated by name, each on its own."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any, cast

import pytest
from tests.fakes.build import a_commit, a_memory
from tests.unit.graph.graph_world import GraphHarness
from tests.unit.harness import SPACE, Harness

from scrubjay.errors import InvalidInput, NotFound, TooLarge
from scrubjay.graph import records
from scrubjay.model.change import Action
from scrubjay.model.draft import Draft
from scrubjay.model.memory import Json, Memory, Method, Observation, State
from scrubjay.model.rules import Rules
from scrubjay.ports import Commit, Write

PROFILE: dict[str, Json] = {
    "name": "user-profile",
    "entityType": "user_profile",
    "observations": ["Prefers voice", "Works in parallel"],
    "always_include": True,
}


async def _create(harness: Harness, *entities: object) -> Any:
    inputs = cast("list[dict[str, Json]]", list(entities))
    return await records.create_entities(inputs, space=SPACE, origin=harness.origin(), context=harness.context)


async def _create_entity(harness: Harness, **changes: Json) -> Any:
    """Create one entity and return its result."""
    answer = await _create(harness, {"name": "Ada", "entityType": "person", "observations": ["likes tea"], **changes})
    assert (answer["success"], answer["errors"]) == (True, [])
    return answer["results"][0]


async def _update(harness: Harness, ref: str, **changes: Json) -> Any:
    return await records.update_entity(ref, changes, space=SPACE, origin=harness.origin(), context=harness.context)


def _texts(memory: Memory) -> list[str]:
    return [observation.text for observation in memory.observations if observation.valid_until is None]


async def test_an_entity_is_created_updated_and_left_as_it_is(harness: Harness) -> None:
    answer = await _create(harness, PROFILE)
    (made,) = answer["results"]
    assert made.keys() == {"id", "name", "action", "compression", "version"}
    assert (made["name"], made["action"], made["version"]) == ("user-profile", "created", 1)
    assert 0 < made["compression"] < 3
    memory = await harness.get(made["id"])
    assert (memory.kind, memory.pinned, _texts(memory)) == ("user_profile", True, PROFILE["observations"])
    (same,) = (await _create(harness, PROFILE))["results"]
    assert (same["id"], same["action"], same["version"]) == (made["id"], "unchanged", 1)
    (changed,) = (await _create(harness, {**PROFILE, "observations": ["Works in parallel", "Lives in Oslo"]}))[
        "results"
    ]
    assert (changed["id"], changed["action"], changed["version"]) == (made["id"], "updated", 2)
    assert _texts(await harness.get(made["id"])) == ["Works in parallel", "Lives in Oslo"]
    before = await harness.store.version(SPACE, made["id"], 1)
    assert before is not None
    assert _texts(before.memory) == PROFILE["observations"]


async def test_an_invalid_entity_does_not_affect_the_others(harness: Harness) -> None:
    good: dict[str, Json] = {"name": "Ada", "entityType": "person", "observations": ["likes tea"]}
    answer = await _create(
        harness, good, {"name": "x"}, "no object", {**good, "name": " "}, {**good, "extraction_method": "guess"},
        {**good, "name": "Bo", "relevance_score": 2}, {**good, "name": "Cy", "alwaysInclude": True},
        {**good, "name": "Di", "observations": "one text"}, {**good, "name": "Ed"},
    )  # fmt: skip
    assert answer["success"] is True
    assert [(result["name"], result["action"]) for result in answer["results"]] == [
        ("Ada", "created"),
        ("Ed", "created"),
    ]
    assert answer["errors"] == [
        "x: an entity needs entityType. Give name, entityType, observations",
        "entities[2]: an entity must be an object, not str",
        "entities[3]: an entity needs a name",
        (
            "Ada: extraction_method must be one of manual, auto, import, not 'guess'. "
            "Leave it out: it is then manual, or agent over MCP"
        ),
        "Bo: relevance_score must be a number from 0 to 1, not 2",
        "Cy: an entity has no field 'alwaysInclude'. Did you mean always_include?",
        "Di: observations must be a list of texts, not str",
    ]
    assert (await _create(harness, {"name": "x"}))["success"] is False
    assert await _create(harness) == {"success": True, "results": [], "errors": []}
    with pytest.raises(InvalidInput):
        await records.create_entities(cast("Any", good), space=SPACE, origin=harness.origin(), context=harness.context)


async def test_the_source_is_stored(harness: Harness) -> None:
    made = await _create_entity(
        harness, source_session="s1", extraction_method="auto", relevance_score=0.4, tags=["Tea"]
    )
    memory = await harness.get(made["id"])
    assert (memory.source.session, memory.source.method, memory.source.agent) == ("s1", Method.AUTO, "tester")
    assert (memory.relevance, memory.version, memory.tags) == (0.4, 1, ("tea",))


async def test_each_observation_keeps_its_own_source(harness: Harness) -> None:
    made = await _create_entity(harness, source_session="s1", extraction_method="import")
    await _update(harness, "Ada", add_observations=["reads Ibsen"], source_session="s2", extraction_method="auto")
    first, second = (await harness.get(made["id"])).observations
    assert first.source is None
    assert second.source is not None
    assert (second.source.session, second.source.method, second.source.agent) == ("s2", Method.AUTO, "tester")


async def test_a_duplicate_observation_is_stored_once(harness: Harness) -> None:
    made = await _create_entity(harness, observations=["likes tea", "likes tea", " ", "likes ham"])
    assert _texts(await harness.get(made["id"])) == ["likes tea", "likes ham"]
    assert (await _update(harness, "Ada", add_observations=["likes tea"]))["action"] == "unchanged"


async def test_more_observations_than_a_memory_holds_are_refused_and_nothing_is_lost(harness: Harness) -> None:
    answer = await _create(
        harness, {"name": "Ada", "entityType": "t", "observations": [f"fact {number}" for number in range(100_000)]}
    )
    assert (answer["success"], answer["results"]) == (False, [])
    assert answer["errors"] == ["Ada: 100,000 observations are too many; the limit is 5000"]
    made = await _create_entity(harness)
    with pytest.raises(TooLarge):
        await _update(harness, "Ada", add_observations=[f"fact {number}" for number in range(5_000)])
    assert _texts(await harness.get(made["id"])) == ["likes tea"]


async def test_names_and_types_are_returned_exactly(harness: Harness) -> None:
    made = await _create_entity(harness, name="Ada  Lovelace\n", entityType="a  person")
    assert made["name"] == "Ada  Lovelace\n"
    again = await _create_entity(harness, name="Ada  Lovelace\n", entityType="another\tperson")
    assert (again["id"], again["action"]) == (made["id"], "updated")
    renamed = await _update(harness, "Ada  Lovelace\n", name="Ada", entityType="person")
    assert (renamed["name"], renamed["version"]) == ("Ada", 3)
    memory = await harness.get(made["id"])
    assert (memory.name, memory.kind, memory.metadata) == ("Ada", "person", {})


async def test_fields_are_changed_one_by_one(harness: Harness) -> None:
    made = await _create_entity(harness, metadata={"team": "red"})
    done = await _update(
        harness, made["id"], add_observations=["reads"], remove_observations=["likes tea"], entityType="author",
        always_include=True, relevance_score=0.7, tags=["books"], metadata={"team": "blue"}, tier="semantic",
    )  # fmt: skip
    assert done["success"] is True
    assert (done["id"], done["action"], done["version"]) == (made["id"], "updated", 2)
    memory = await harness.get(made["id"])
    assert (memory.kind, memory.pinned, memory.relevance, memory.tags) == ("author", True, 0.7, ("books",))
    assert (_texts(memory), dict(memory.metadata), memory.tier.value) == (["reads"], {"team": "blue"}, "semantic")
    assert _texts(memory) == ["reads"]
    await _update(harness, "Ada", observations=[])
    assert _texts(await harness.get(made["id"])) == []


async def test_an_invalid_change_is_refused_with_help(harness: Harness) -> None:
    await _create_entity(harness)
    await _create_entity(harness, name="ada-notes")
    with pytest.raises(NotFound) as caught:
        await _update(harness, "ada-noes", relevance_score=1)
    assert caught.value.hint == "Did you mean ada-notes or Ada?"
    with pytest.raises(InvalidInput, match="say what to change"):
        await _update(harness, "Ada")
    with pytest.raises(InvalidInput, match="Did you mean add_observations"):
        await _update(harness, "Ada", add_observation=["x"])
    with pytest.raises(InvalidInput, match="replaces them all"):
        await _update(harness, "Ada", observations=["x"], add_observations=["y"])
    with pytest.raises(InvalidInput):
        await _update(harness, "Ada", tier="golden")


async def test_superseded_observations_stay_beside_new_ones(harness: Harness) -> None:
    now = harness.clock.now()
    ada = replace(
        a_memory("", name="Ada"),
        kind="person",
        observations=(
            Observation(text="lives in Rome", recorded_at=now, valid_until=now),
            Observation(text="lives in Oslo", recorded_at=now),
        ),
    )
    write = Write(memory=ada, base=None, action=Action.CREATED, passages=())
    await harness.store.commit(Commit(space=SPACE, origin=harness.origin(), writes=(write,)))
    await _create_entity(harness, observations=["lives in Bergen"])
    memory = await harness.get(ada.id)
    assert [observation.text for observation in memory.observations] == ["lives in Rome", "lives in Bergen"]
    await _create_entity(harness, observations=["lives in Rome"])
    memory = await harness.get(ada.id)
    assert [(observation.text, observation.valid_until) for observation in memory.observations] == [
        ("lives in Rome", None)
    ]


async def test_observations_with_a_future_end_are_replaced_like_others(harness: Harness) -> None:
    now = harness.clock.now()
    lease = Observation(text="rents a flat", recorded_at=now, valid_until=now + timedelta(days=1))
    ada = a_memory("", name="Ada", kind="person", observations=(lease,))
    await harness.store.commit(a_commit(ada))
    # It exists already, and keeps its end.
    await _create_entity(harness, observations=["rents a flat"])
    assert (await harness.get(ada.id)).observations == (lease,)
    await _create_entity(harness, observations=["lives in Bergen"])
    assert [observation.text for observation in (await harness.get(ada.id)).observations] == ["lives in Bergen"]


async def test_a_note_of_another_tool_is_an_entity_too(harness: Harness) -> None:
    note = await harness.store_draft(Draft(text="green tea", name="tea", kind="fact"))
    await _create_entity(harness, name="tea", entityType="drink", observations=["green tea", "hot"])
    memory = await harness.get(note.id)
    assert (memory.content, _texts(memory), memory.kind) == ("green tea", ["hot"], "drink")
    await _create_entity(harness, name="tea", entityType="drink", observations=["cold"])
    memory = await harness.get(note.id)
    assert (memory.content, _texts(memory)) == ("", ["cold"])


async def test_the_name_of_a_merged_entity_leads_to_its_successor(harness: Harness) -> None:
    made = await _create_entity(harness)
    gone = replace(a_memory("", name="Countess"), state=State.MERGED, merged_into=made["id"])
    write = Write(memory=gone, base=None, action=Action.CREATED, passages=())
    await harness.store.commit(Commit(space=SPACE, origin=harness.origin(), writes=(write,)))
    for ref in ("Countess", gone.id):
        done = await _update(harness, ref, add_observations=[f"was called {ref}"])
        assert (done["id"], done["name"]) == (made["id"], "Ada")
    before = await harness.get(made["id"])
    added = await _create_entity(harness, name="Countess", entityType="title", observations=["writes"], tags=["noble"])
    assert (added["id"], added["name"], added["action"]) == (made["id"], "Ada", "updated")
    assert "'Countess' was merged into 'Ada'" in added["warnings"][0]
    after = await harness.get(made["id"])
    assert _texts(after) == [*_texts(before), "writes"]
    assert (after.kind, after.tags) == (before.kind, before.tags)


async def test_an_entity_takes_over_the_relations_that_mention_it(graph_harness: GraphHarness) -> None:
    await graph_harness.create("Bo")
    await graph_harness.relate(("Bo", "Ada", "knows"))
    made = await _create_entity(graph_harness.harness)
    (relation,) = await graph_harness.harness.store.relations(SPACE, [made["id"]])
    assert (relation.type, relation.target) == ("knows", made["id"])
    await graph_harness.relate(("Bo", "Cy", "knows"))
    with pytest.raises(InvalidInput, match="only mentioned"):
        await _update(graph_harness.harness, "Cy", relevance_score=1.0)


async def test_deny_rules_are_reported_and_secrets_are_removed(harness: Harness) -> None:
    strict = replace(harness, rules=replace(harness.rules, never=("do not keep*",)))
    answer = await _create(strict, {"name": "Ada", "entityType": "t", "observations": ["do not keep this"]})
    assert (answer["success"], len(answer["errors"])) == (False, 1)
    secret = "sk-proj-" + "a1B2" * 12
    harness = replace(harness, rules=Rules(gate="off"))
    made = await _create_entity(harness, name=f"key {secret}", observations=[f"the key is {secret}"])
    memory = await harness.get(made["id"])
    assert secret not in repr(memory)
    assert (await _create_entity(harness, name=f"key {secret}", observations=["other"]))["id"] == made["id"]


async def test_concurrent_additions_all_succeed(harness: Harness) -> None:
    await _create_entity(harness)
    observations = [f"was seen by guest {number}" for number in range(40)]
    done = await asyncio.gather(*(_update(harness, "Ada", add_observations=[text]) for text in observations))
    assert {result["action"] for result in done} == {"updated"}
    assert sorted(_texts(await harness.get(done[0]["id"]))) == sorted(["likes tea", *observations])


async def test_concurrent_creations_of_one_name_make_one_entity(harness: Harness) -> None:
    await asyncio.gather(*(_create_entity(harness, observations=[f"seen by {number}"]) for number in range(6)))
    (memory,) = (await harness.read("Ada")).memories
    assert memory.version == 6
    assert len(_texts(memory)) == 1
