"""Each call of the graph: its effect, which is all or nothing."""

import asyncio

import pytest
from tests.unit.graph.graph_world import GraphHarness, link
from tests.unit.harness import SPACE

from scrubjay.errors import InvalidInput, NotFound, WrongState
from scrubjay.graph.entity import Entity
from scrubjay.model.draft import Draft
from scrubjay.model.memory import Method, Source, State, Trust
from scrubjay.model.rules import Rules

ADA = Entity(name="Ada", type="person", observations=("likes tea", "likes tea", ""))


async def test_an_entity_is_a_memory_like_any_other(graph_harness: GraphHarness) -> None:
    assert await graph_harness.graph.create_entities([ADA]) == [ADA]
    (handle,) = await graph_harness.harness.store.find(SPACE, "Ada")
    memory = await graph_harness.harness.get(handle.id)
    assert (memory.kind, memory.project, memory.content, memory.state) == ("person", "garden", "", State.LIVE)
    assert (memory.source.method, memory.source.agent) == (Method.AGENT, "tester")
    assert [hit.name for hit in (await graph_harness.harness.recall("who likes tea?")).hits] == ["Ada"]


async def test_an_entity_without_observations_is_found_by_its_name(graph_harness: GraphHarness) -> None:
    await graph_harness.create("Zanzibar")
    assert [hit.name for hit in (await graph_harness.harness.recall("zanzibar")).hits] == ["Zanzibar"]


async def test_existing_and_duplicate_names_keep_the_first_entity(graph_harness: GraphHarness) -> None:
    await graph_harness.graph.create_entities([ADA])
    other = Entity(name="Ada", type="other", observations=("new",))
    bob, again = Entity(name="Bob", type="b"), Entity(name="Bob", type="c")
    assert await graph_harness.graph.create_entities([other, bob, again]) == [bob]
    assert await graph_harness.entities() == [ADA, bob]


async def test_a_memory_of_another_tool_is_an_entity_by_exact_name_only(graph_harness: GraphHarness) -> None:
    mine = Source(trust=Trust.USER)
    note = await graph_harness.harness.store_draft(
        Draft(text="green tea", title="About Tea", name="tea-note", kind="fact", source=mine)
    )
    assert await graph_harness.entities() == [Entity(name="tea-note", type="fact", observations=("green tea",))]
    for near in ("About Tea", "about-tea", "Tea-Note", "tea note"):
        assert await graph_harness.walk_named(near) == []
        with pytest.raises(NotFound):
            await graph_harness.graph.add_observations([(near, ["x"])])
    assert await graph_harness.graph.add_observations([("tea-note", ["green tea", "hot"])]) == [("tea-note", ["hot"])]
    # An addition has the source of the agent, not that of the memory.
    (added,) = (await graph_harness.harness.get(note.id)).observations
    assert added.source == graph_harness.graph.source
    await graph_harness.graph.delete_observations([("tea-note", ["green tea", "hot"])])
    assert await graph_harness.entities() == [Entity(name="tea-note", type="fact")]


async def test_nothing_is_added_when_one_of_the_entities_is_unknown(graph_harness: GraphHarness) -> None:
    await graph_harness.create("Ada")
    with pytest.raises(NotFound) as caught:
        await graph_harness.graph.add_observations([("Ada", ["x"]), ("Nobody", ["y"]), ("No", ["z"])])
    assert str(caught.value) == "Entity with name Nobody not found"
    assert await graph_harness.entities() == [Entity(name="Ada", type="thing")]


async def test_an_invalid_entity_stops_the_whole_call(graph_harness: GraphHarness) -> None:
    with pytest.raises(InvalidInput):
        await graph_harness.graph.create_entities([ADA, Entity(name="nul\x00", type="t")])
    with pytest.raises(InvalidInput):
        await graph_harness.relate(("a", "b", "fine"), ("a", "c", "nul\x00"))
    with pytest.raises(InvalidInput):
        await graph_harness.relate(("a", "b", "fine"), ("a", "nul\x00", "fine"))
    assert await graph_harness.harness.store.last_seq() == 0


async def test_a_change_that_changes_nothing_makes_no_version(graph_harness: GraphHarness) -> None:
    await graph_harness.graph.create_entities([ADA])
    before = await graph_harness.harness.store.last_seq()
    assert await graph_harness.graph.add_observations([("Ada", ["likes tea"])]) == [("Ada", [])]
    await graph_harness.graph.delete_observations([("Ada", ["never said"])])
    await graph_harness.graph.delete_relations([link("Ada", "Bob")])
    await graph_harness.graph.delete_entities(["Nobody"])
    assert await graph_harness.harness.store.last_seq() == before


async def test_relations_keep_their_order_within_a_call_and_between_calls(graph_harness: GraphHarness) -> None:
    await graph_harness.create("c", "b", "a")
    inputs = [("c", "b", "z"), ("a", "c", "y"), ("b", "a", "x"), ("a", "b", "w")]
    await graph_harness.relate(*inputs[:3])
    await graph_harness.relate(inputs[3])
    links = sorted(await graph_harness.links(), key=lambda relation: str(relation.created_at))
    assert [(link.source, link.target, link.type) for link in links] == inputs


async def test_a_mention_is_no_entity_until_it_is_created(graph_harness: GraphHarness) -> None:
    await graph_harness.relate(("Ada", "Bob", "knows"))
    assert (await graph_harness.entities(), await graph_harness.links()) == ([], [link("Ada", "Bob")])
    assert await graph_harness.walk_named("Ada") == []
    assert (await graph_harness.harness.recall("Ada")).hits == ()
    await graph_harness.create("Cy", "Bob")
    assert await graph_harness.names() == ["Cy", "Bob"]
    assert await graph_harness.walk_named("Bob") == [Entity(name="Bob", type="thing"), link("Ada", "Bob")]
    (bob,) = await graph_harness.harness.store.find(SPACE, "Bob")
    assert (await graph_harness.harness.read("Bob")).relations[0].target == bob.id


async def test_both_ends_of_a_relation_may_be_created_together(graph_harness: GraphHarness) -> None:
    await graph_harness.relate(("Ada", "Bob", "knows"), ("Ada", "Ada", "is"))
    await graph_harness.create("Bob", "Ada")
    assert await graph_harness.links() == [link("Ada", "Bob"), link("Ada", "Ada", "is")]
    assert await graph_harness.graph.create_relations([link("Ada", "Bob"), link("Ada", "Ada", "is")]) == []


async def test_an_entity_of_another_tool_replaces_its_mention(graph_harness: GraphHarness) -> None:
    await graph_harness.create("Ada")
    await graph_harness.relate(("Ada", "Bob", "knows"), ("Bob", "Cy", "knows"))
    await graph_harness.harness.remember(Draft(text="a person", name="Bob"))
    assert await graph_harness.walk_named("Bob") == [
        Entity(name="Bob", type="note", observations=("a person",)), link("Ada", "Bob"), link("Bob", "Cy"),
    ]  # fmt: skip
    assert await graph_harness.links() == [link("Ada", "Bob"), link("Bob", "Cy")]
    assert await graph_harness.graph.create_relations([link("Ada", "Bob"), link("Bob", "Cy", "likes")]) == [
        link("Bob", "Cy", "likes")
    ]
    await graph_harness.graph.delete_relations([link("Ada", "Bob")])
    assert await graph_harness.links() == [link("Bob", "Cy"), link("Bob", "Cy", "likes")]
    await graph_harness.graph.delete_entities(["Bob"])
    assert (await graph_harness.names(), await graph_harness.links()) == (["Ada"], [])


async def test_a_duplicate_relation_by_name_is_shown_once(graph_harness: GraphHarness) -> None:
    await graph_harness.relate(("Ada", "Bob", "knows"))
    await graph_harness.harness.remember(Draft(text="a person", name="Bob"))
    await graph_harness.harness.remember(Draft(text="a person too", name="Ada"))
    await graph_harness.harness.relate("Ada", "Bob", relation="knows")
    assert await graph_harness.links() == [link("Ada", "Bob")]


async def test_a_deletion_can_be_restored_and_undone(graph_harness: GraphHarness) -> None:
    await graph_harness.graph.create_entities([ADA])
    await graph_harness.relate(("Ada", "Bob", "knows"))
    await graph_harness.graph.delete_entities(["Ada"])
    assert (await graph_harness.entities(), await graph_harness.links()) == ([], [])
    (gone,) = await graph_harness.harness.store.find(SPACE, "Ada", state=State.TRASHED)
    (newest,) = await graph_harness.harness.store.versions(SPACE, gone.id, limit=1)
    assert (newest.action, newest.message) == ("trashed", "deleted from the knowledge graph")
    await graph_harness.harness.restore(gone.id)
    assert (await graph_harness.entities(), await graph_harness.links()) == ([ADA], [])


async def test_relations_of_forgotten_memories_are_not_shown(graph_harness: GraphHarness) -> None:
    await graph_harness.create("Ada", "Bob")
    await graph_harness.relate(("Ada", "Bob", "knows"))
    await graph_harness.harness.forget("Bob")
    assert await graph_harness.walk_named("Ada") == [Entity(name="Ada", type="thing")]
    await graph_harness.relate(("Ada", "Bob", "knows"))
    assert await graph_harness.links() == [link("Ada", "Bob")]
    await graph_harness.create("Bob")
    assert await graph_harness.links() == [link("Ada", "Bob")]


async def test_concurrent_writes_lose_nothing(graph_harness: GraphHarness) -> None:
    await graph_harness.create("Hub")
    await asyncio.gather(
        *(graph_harness.graph.add_observations([("Hub", [f"fact {n}"])]) for n in range(10)),
        *(graph_harness.create("Same", f"Own {n}") for n in range(10)),
        *(graph_harness.relate(("Hub", f"Own {n}", "has"), ("Hub", "Late", "has")) for n in range(10)),
    )
    assert sorted(await graph_harness.names()) == sorted(["Hub", "Same", *(f"Own {n}" for n in range(10))])
    (hub, *_) = await graph_harness.walk_named("Hub")
    assert isinstance(hub, Entity)
    assert sorted(hub.observations) == sorted(f"fact {n}" for n in range(10))
    assert sorted(link.target for link in await graph_harness.links()) == sorted(
        ["Late", *(f"Own {n}" for n in range(10))]
    )
    await graph_harness.create("Late")
    assert link("Hub", "Late", "has") in await graph_harness.walk_named("Late")
    await graph_harness.graph.delete_entities(["Late"])
    assert "Late" not in [link.target for link in await graph_harness.links()]


async def test_after_commit_runs_after_every_write(graph_harness: GraphHarness) -> None:
    received: list[int] = []

    async def hear() -> None:
        received.append(await graph_harness.harness.store.last_seq())

    graph_harness.after_commit = hear
    await graph_harness.create("Ada")
    await graph_harness.graph.add_observations([("Ada", ["x"])])
    assert received == [1, 2]


async def test_deny_rules_apply_to_entities(graph_harness: GraphHarness) -> None:
    await graph_harness.create("Ada")
    graph_harness.harness.rules = Rules(never=("tea", "falcon"))
    calls = (
        graph_harness.graph.create_entities([Entity(name="Falcon", type="project")]),
        graph_harness.graph.create_entities([Entity(name="Bob", type="person", observations=("flies a falcon",))]),
        graph_harness.graph.create_entities(
            [Entity(name="Bob", type="person", observations=("Do not remember this.",))]
        ),
        graph_harness.graph.add_observations([("Ada", ["knows the falcon"])]),
        graph_harness.graph.create_relations([link("Ada", "falcon", "feeds")]),
    )
    for call in calls:
        with pytest.raises(InvalidInput, match=r"pattern 2 of|says that it"):
            await call
    assert await graph_harness.entities() == [Entity(name="Ada", type="thing")]


async def test_a_graph_does_not_bypass_the_inbox(graph_harness: GraphHarness) -> None:
    await graph_harness.create("Ada")
    graph_harness.harness.rules = Rules(review="agents")
    for call in (
        graph_harness.graph.create_entities([Entity(name="Bob", type="person")]),
        graph_harness.graph.add_observations([("Ada", ["likes tea"])]),
        graph_harness.graph.create_relations([link("Ada", "Bob", "knows")]),
    ):
        with pytest.raises(WrongState) as refused:
            await call
        assert "remember" in refused.value.hint
    await graph_harness.graph.delete_entities(["Ada"])
    assert await graph_harness.entities() == []


async def test_a_relation_contains_no_secret(graph_harness: GraphHarness) -> None:
    await graph_harness.relate(("Ada", "Bob", "has AKIAIOSFODNN7EXAMPLE"))
    assert [link.type for link in await graph_harness.links()] == ["has [redacted: aws access key]"]
