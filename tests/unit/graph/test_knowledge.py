"""Each call of the graph: its effect, which is all or nothing."""

import asyncio

import pytest
from tests.unit.graph.graph_world import Garden, link
from tests.unit.harness import SPACE

from scrubjay.errors import InvalidInput, NotFound, WrongState
from scrubjay.graph.entity import Entity
from scrubjay.model.draft import Draft
from scrubjay.model.memory import Method, Source, State, Trust
from scrubjay.model.rules import Rules

ADA = Entity(name="Ada", type="person", observations=("likes tea", "likes tea", ""))


async def test_an_entity_is_a_memory_like_any_other(garden: Garden) -> None:
    assert await garden.graph.create_entities([ADA]) == [ADA]
    (handle,) = await garden.harness.store.find(SPACE, "Ada")
    memory = await garden.harness.get(handle.id)
    assert (memory.kind, memory.project, memory.content, memory.state) == ("person", "garden", "", State.LIVE)
    assert (memory.source.method, memory.source.agent) == (Method.AGENT, "tester")
    assert [hit.name for hit in (await garden.harness.recall("who likes tea?")).hits] == ["Ada"]


async def test_an_entity_without_observations_is_found_by_its_name(garden: Garden) -> None:
    await garden.create("Zanzibar")
    assert [hit.name for hit in (await garden.harness.recall("zanzibar")).hits] == ["Zanzibar"]


async def test_existing_and_duplicate_names_keep_the_first_entity(garden: Garden) -> None:
    await garden.graph.create_entities([ADA])
    other = Entity(name="Ada", type="other", observations=("new",))
    bob, again = Entity(name="Bob", type="b"), Entity(name="Bob", type="c")
    assert await garden.graph.create_entities([other, bob, again]) == [bob]
    assert await garden.entities() == [ADA, bob]


async def test_a_memory_of_another_tool_is_an_entity_by_exact_name_only(garden: Garden) -> None:
    mine = Source(trust=Trust.USER)
    note = await garden.harness.store_draft(
        Draft(text="green tea", title="About Tea", name="tea-note", kind="fact", source=mine)
    )
    assert await garden.entities() == [Entity(name="tea-note", type="fact", observations=("green tea",))]
    for near in ("About Tea", "about-tea", "Tea-Note", "tea note"):
        assert await garden.walk_named(near) == []
        with pytest.raises(NotFound):
            await garden.graph.add_observations([(near, ["x"])])
    assert await garden.graph.add_observations([("tea-note", ["green tea", "hot"])]) == [("tea-note", ["hot"])]
    # An addition has the source of the agent, not that of the memory.
    (added,) = (await garden.harness.get(note.id)).observations
    assert added.source == garden.graph.source
    await garden.graph.delete_observations([("tea-note", ["green tea", "hot"])])
    assert await garden.entities() == [Entity(name="tea-note", type="fact")]


async def test_nothing_is_added_when_one_of_the_entities_is_unknown(garden: Garden) -> None:
    await garden.create("Ada")
    with pytest.raises(NotFound) as caught:
        await garden.graph.add_observations([("Ada", ["x"]), ("Nobody", ["y"]), ("No", ["z"])])
    assert str(caught.value) == "Entity with name Nobody not found"
    assert await garden.entities() == [Entity(name="Ada", type="thing")]


async def test_an_invalid_entity_stops_the_whole_call(garden: Garden) -> None:
    with pytest.raises(InvalidInput):
        await garden.graph.create_entities([ADA, Entity(name="nul\x00", type="t")])
    with pytest.raises(InvalidInput):
        await garden.relate(("a", "b", "fine"), ("a", "c", "nul\x00"))
    with pytest.raises(InvalidInput):
        await garden.relate(("a", "b", "fine"), ("a", "nul\x00", "fine"))
    assert await garden.harness.store.last_seq() == 0


async def test_a_change_that_changes_nothing_makes_no_version(garden: Garden) -> None:
    await garden.graph.create_entities([ADA])
    before = await garden.harness.store.last_seq()
    assert await garden.graph.add_observations([("Ada", ["likes tea"])]) == [("Ada", [])]
    await garden.graph.delete_observations([("Ada", ["never said"])])
    await garden.graph.delete_relations([link("Ada", "Bob")])
    await garden.graph.delete_entities(["Nobody"])
    assert await garden.harness.store.last_seq() == before


async def test_relations_keep_their_order_within_a_call_and_between_calls(garden: Garden) -> None:
    await garden.create("c", "b", "a")
    inputs = [("c", "b", "z"), ("a", "c", "y"), ("b", "a", "x"), ("a", "b", "w")]
    await garden.relate(*inputs[:3])
    await garden.relate(inputs[3])
    links = sorted(await garden.links(), key=lambda relation: str(relation.created_at))
    assert [(link.source, link.target, link.type) for link in links] == inputs


async def test_a_mention_is_no_entity_until_it_is_created(garden: Garden) -> None:
    await garden.relate(("Ada", "Bob", "knows"))
    assert (await garden.entities(), await garden.links()) == ([], [link("Ada", "Bob")])
    assert await garden.walk_named("Ada") == []
    assert (await garden.harness.recall("Ada")).hits == ()
    await garden.create("Cy", "Bob")
    assert await garden.names() == ["Cy", "Bob"]
    assert await garden.walk_named("Bob") == [Entity(name="Bob", type="thing"), link("Ada", "Bob")]
    (bob,) = await garden.harness.store.find(SPACE, "Bob")
    assert (await garden.harness.read("Bob")).relations[0].target == bob.id


async def test_both_ends_of_a_relation_may_be_created_together(garden: Garden) -> None:
    await garden.relate(("Ada", "Bob", "knows"), ("Ada", "Ada", "is"))
    await garden.create("Bob", "Ada")
    assert await garden.links() == [link("Ada", "Bob"), link("Ada", "Ada", "is")]
    assert await garden.graph.create_relations([link("Ada", "Bob"), link("Ada", "Ada", "is")]) == []


async def test_an_entity_of_another_tool_replaces_its_mention(garden: Garden) -> None:
    await garden.create("Ada")
    await garden.relate(("Ada", "Bob", "knows"), ("Bob", "Cy", "knows"))
    await garden.harness.remember(Draft(text="a person", name="Bob"))
    assert await garden.walk_named("Bob") == [
        Entity(name="Bob", type="note", observations=("a person",)), link("Ada", "Bob"), link("Bob", "Cy"),
    ]  # fmt: skip
    assert await garden.links() == [link("Ada", "Bob"), link("Bob", "Cy")]
    assert await garden.graph.create_relations([link("Ada", "Bob"), link("Bob", "Cy", "likes")]) == [
        link("Bob", "Cy", "likes")
    ]
    await garden.graph.delete_relations([link("Ada", "Bob")])
    assert await garden.links() == [link("Bob", "Cy"), link("Bob", "Cy", "likes")]
    await garden.graph.delete_entities(["Bob"])
    assert (await garden.names(), await garden.links()) == (["Ada"], [])


async def test_a_duplicate_relation_by_name_is_shown_once(garden: Garden) -> None:
    await garden.relate(("Ada", "Bob", "knows"))
    await garden.harness.remember(Draft(text="a person", name="Bob"))
    await garden.harness.remember(Draft(text="a person too", name="Ada"))
    await garden.harness.relate("Ada", "Bob", relation="knows")
    assert await garden.links() == [link("Ada", "Bob")]


async def test_a_deletion_can_be_restored_and_undone(garden: Garden) -> None:
    await garden.graph.create_entities([ADA])
    await garden.relate(("Ada", "Bob", "knows"))
    await garden.graph.delete_entities(["Ada"])
    assert (await garden.entities(), await garden.links()) == ([], [])
    (gone,) = await garden.harness.store.find(SPACE, "Ada", state=State.TRASHED)
    (newest,) = await garden.harness.store.versions(SPACE, gone.id, limit=1)
    assert (newest.action, newest.message) == ("trashed", "deleted from the knowledge graph")
    await garden.harness.restore(gone.id)
    assert (await garden.entities(), await garden.links()) == ([ADA], [])


async def test_relations_of_forgotten_memories_are_not_shown(garden: Garden) -> None:
    await garden.create("Ada", "Bob")
    await garden.relate(("Ada", "Bob", "knows"))
    await garden.harness.forget("Bob")
    assert await garden.walk_named("Ada") == [Entity(name="Ada", type="thing")]
    await garden.relate(("Ada", "Bob", "knows"))
    assert await garden.links() == [link("Ada", "Bob")]
    await garden.create("Bob")
    assert await garden.links() == [link("Ada", "Bob")]


async def test_concurrent_writes_lose_nothing(garden: Garden) -> None:
    await garden.create("Hub")
    await asyncio.gather(
        *(garden.graph.add_observations([("Hub", [f"fact {n}"])]) for n in range(10)),
        *(garden.create("Same", f"Own {n}") for n in range(10)),
        *(garden.relate(("Hub", f"Own {n}", "has"), ("Hub", "Late", "has")) for n in range(10)),
    )
    assert sorted(await garden.names()) == sorted(["Hub", "Same", *(f"Own {n}" for n in range(10))])
    (hub, *_) = await garden.walk_named("Hub")
    assert isinstance(hub, Entity)
    assert sorted(hub.observations) == sorted(f"fact {n}" for n in range(10))
    assert sorted(link.target for link in await garden.links()) == sorted(["Late", *(f"Own {n}" for n in range(10))])
    await garden.create("Late")
    assert link("Hub", "Late", "has") in await garden.walk_named("Late")
    await garden.graph.delete_entities(["Late"])
    assert "Late" not in [link.target for link in await garden.links()]


async def test_after_commit_runs_after_every_write(garden: Garden) -> None:
    received: list[int] = []

    async def hear() -> None:
        received.append(await garden.harness.store.last_seq())

    garden.after_commit = hear
    await garden.create("Ada")
    await garden.graph.add_observations([("Ada", ["x"])])
    assert received == [1, 2]


async def test_deny_rules_apply_to_entities(garden: Garden) -> None:
    await garden.create("Ada")
    garden.harness.rules = Rules(never=("tea", "falcon"))
    calls = (
        garden.graph.create_entities([Entity(name="Falcon", type="project")]),
        garden.graph.create_entities([Entity(name="Bob", type="person", observations=("flies a falcon",))]),
        garden.graph.create_entities([Entity(name="Bob", type="person", observations=("Do not remember this.",))]),
        garden.graph.add_observations([("Ada", ["knows the falcon"])]),
        garden.graph.create_relations([link("Ada", "falcon", "feeds")]),
    )
    for call in calls:
        with pytest.raises(InvalidInput, match=r"pattern 2 of|says that it"):
            await call
    assert await garden.entities() == [Entity(name="Ada", type="thing")]


async def test_a_graph_does_not_bypass_the_inbox(garden: Garden) -> None:
    await garden.create("Ada")
    garden.harness.rules = Rules(review="agents")
    for call in (
        garden.graph.create_entities([Entity(name="Bob", type="person")]),
        garden.graph.add_observations([("Ada", ["likes tea"])]),
        garden.graph.create_relations([link("Ada", "Bob", "knows")]),
    ):
        with pytest.raises(WrongState) as refused:
            await call
        assert "remember" in refused.value.hint
    await garden.graph.delete_entities(["Ada"])
    assert await garden.entities() == []


async def test_a_relation_contains_no_secret(garden: Garden) -> None:
    await garden.relate(("Ada", "Bob", "has AKIAIOSFODNN7EXAMPLE"))
    assert [link.type for link in await garden.links()] == ["has [redacted: aws access key]"]
