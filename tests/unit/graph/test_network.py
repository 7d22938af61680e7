"""`graph` and `path`: where relations lead, level by level."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from tests.fakes.build import START, a_memory
from tests.unit.graph.graph_world import GraphHarness
from tests.unit.harness import SPACE, Harness

from scrubjay.errors import Ambiguous, InvalidInput, NotFound
from scrubjay.graph.network import find_path, neighbourhood
from scrubjay.model.change import Action
from scrubjay.model.draft import Draft
from scrubjay.model.memory import Merged, State
from scrubjay.model.relation import Network, Relation
from scrubjay.ports import Commit, Edge, Write
from scrubjay.storage.sqlite import SqliteStore


async def _around(
    harness: Harness,
    *refs: str,
    depth: int = 1,
    types: Sequence[str] = (),
    direction: str = "both",
    limit: int = 200,
    as_of: datetime | None = None,
) -> Network:
    return await neighbourhood(
        refs, depth=depth, types=types, direction=direction, limit=limit, as_of=as_of, space=SPACE, store=harness.store
    )


async def _path(
    harness: Harness,
    source: str,
    target: str,
    *,
    types: Sequence[str] = (),
    direction: str = "both",
    most: int = 6,
    as_of: datetime | None = None,
) -> Network:
    return await find_path(
        source, target, types=types, direction=direction, most=most, as_of=as_of, space=SPACE, store=harness.store
    )


def _names(network: Network) -> list[str]:
    return [node.name for node in network.nodes]


def _edges(network: Network) -> set[str]:
    names = {node.id: node.name for node in network.nodes}
    return {f"{names[edge.source]} {edge.type} {names[edge.target]}" for edge in network.edges}


async def test_a_walk_goes_so_many_steps_along_types_and_directions(graph_harness: GraphHarness) -> None:
    await graph_harness.create("Ada", "Acme", "Oslo", "Bo", "Cy")
    await graph_harness.relate(("Ada", "Acme", "works_at"), ("Acme", "Oslo", "sits_in"), ("Bo", "Ada", "knows"))
    await graph_harness.relate(("Cy", "Bo", "knows"))
    harness = graph_harness.harness
    alone = await _around(harness, "Ada", depth=0)
    assert (_names(alone), alone.edges, alone.truncated) == (["Ada"], (), False)
    near = await _around(harness, "Ada")
    assert sorted(_names(near)) == ["Acme", "Ada", "Bo"]
    assert _edges(near) == {"Ada works_at Acme", "Bo knows Ada"}
    far = await _around(harness, "Ada", depth=10)
    assert {node.name: node.distance for node in far.nodes} == {"Ada": 0, "Acme": 1, "Bo": 1, "Oslo": 2, "Cy": 2}
    assert sorted(_names(await _around(harness, "Ada", depth=3, direction="out"))) == ["Acme", "Ada", "Oslo"]
    assert sorted(_names(await _around(harness, "Ada", depth=3, direction="in"))) == ["Ada", "Bo", "Cy"]
    assert sorted(_names(await _around(harness, "Ada", depth=3, types=["Works_At", "sits_in"]))) == [
        "Acme",
        "Ada",
        "Oslo",
    ]
    assert _names(await _around(harness, "Ada", depth=3, types=["hates"])) == ["Ada"]


async def test_cycles_and_self_relations_end(graph_harness: GraphHarness) -> None:
    await graph_harness.create("Ada", "Bo", "Cy")
    await graph_harness.relate(
        ("Ada", "Bo", "knows"), ("Bo", "Cy", "knows"), ("Cy", "Ada", "knows"), ("Ada", "Ada", "trusts")
    )
    graph = await _around(graph_harness.harness, "Ada", depth=10, direction="out")
    assert sorted(_names(graph)) == ["Ada", "Bo", "Cy"]
    assert _edges(graph) == {"Ada knows Bo", "Bo knows Cy", "Cy knows Ada", "Ada trusts Ada"}


async def test_a_link_leads_both_ways(harness: Harness) -> None:
    for name in ("tea", "pot"):
        await harness.remember(Draft(text=f"about {name}", name=name))
    await harness.relate("tea", "pot")
    for direction in ("out", "in", "both"):
        assert _names(await _around(harness, "pot", direction=direction)) == ["pot", "tea"]


async def test_mentions_are_shown_and_trashed_entities_are_not(graph_harness: GraphHarness) -> None:
    await graph_harness.create("Ada", "Bo")
    await graph_harness.relate(("Ada", "Nobody yet", "knows"), ("Ada", "Bo", "knows"), ("Nobody yet", "Zed", "knows"))
    await graph_harness.harness.forget("Bo")
    graph = await _around(graph_harness.harness, "Ada", depth=2)
    assert _names(graph) == ["Ada", "Nobody yet", "Zed"]
    assert [node.kind for node in graph.nodes] == ["thing", "mention", "mention"]
    assert _names(await _around(graph_harness.harness, "Zed", depth=2)) == ["Zed", "Nobody yet", "Ada"]
    with pytest.raises(NotFound, match="is in the trash"):
        await _around(graph_harness.harness, "Bo")


async def test_a_mention_and_its_later_entity_are_one(graph_harness: GraphHarness) -> None:
    await graph_harness.create("Ada")
    await graph_harness.relate(("Ada", "Bo", "knows"), ("Bo", "Cy", "knows"))
    await graph_harness.harness.remember(Draft(text="Bo bakes", name="Bo", kind="person"))
    assert [node.kind for node in (await _around(graph_harness.harness, "Ada")).nodes] == ["thing", "person"]
    assert sorted(_names(await _around(graph_harness.harness, "Bo"))) == ["Ada", "Bo", "Cy"]


async def test_the_strongest_come_first_within_a_limit(harness: Harness) -> None:
    for name in ("hub", "weak", "strong", "middling"):
        await harness.remember(Draft(text=f"about {name}", name=name))
    for name, strength in (("weak", 0.1), ("strong", 0.9), ("middling", 0.5)):
        await harness.relate("hub", name, relation="needs", strength=strength)
    graph = await _around(harness, "hub", limit=3)
    assert (_names(graph), graph.truncated) == (["hub", "strong", "middling"], True)
    assert _edges(graph) == {"hub needs strong", "hub needs middling"}
    assert (await _around(harness, "hub", limit=4)).truncated is False


async def test_several_starts_and_their_common_neighbour(harness: Harness) -> None:
    for name in ("a", "b", "c"):
        await harness.remember(Draft(text=f"about {name}", name=name))
    await harness.relate("a", "b", relation="x")
    await harness.relate("c", "b", relation="x")
    graph = await _around(harness, "a", "c", "a")
    assert [(node.name, node.distance) for node in graph.nodes] == [("a", 0), ("c", 0), ("b", 1)]
    assert (await _around(harness, "a", "c", limit=1)).truncated is True


async def test_a_path_is_the_shortest(graph_harness: GraphHarness) -> None:
    await graph_harness.create("a", "b", "c", "d", "e", "alone")
    await graph_harness.relate(
        ("a", "b", "to"), ("b", "c", "to"), ("c", "d", "to"), ("d", "e", "to"), ("a", "d", "jumps")
    )
    harness = graph_harness.harness
    graph = await _path(harness, "a", "e")
    assert [(node.name, node.distance) for node in graph.nodes] == [("a", 0), ("d", 1), ("e", 2)]
    assert [edge.type for edge in graph.edges] == ["jumps", "to"]
    assert _names(await _path(harness, "a", "e", types=["to"])) == ["a", "b", "c", "d", "e"]
    assert _names(await _path(harness, "e", "a", direction="in", types=["to"])) == ["e", "d", "c", "b", "a"]
    assert await _path(harness, "e", "a", direction="out") == Network(nodes=(), edges=())
    assert await _path(harness, "a", "alone") == Network(nodes=(), edges=())
    assert await _path(harness, "a", "e", types=["to"], most=3) == Network(nodes=(), edges=())
    assert _names(await _path(harness, "a", "e", types=["to"], most=4)) == ["a", "b", "c", "d", "e"]
    assert _names(await _path(harness, "a", "a", most=0)) == ["a"]


async def test_a_path_does_not_lead_through_the_trash(graph_harness: GraphHarness) -> None:
    await graph_harness.create("a", "b", "c")
    await graph_harness.relate(("a", "b", "to"), ("b", "c", "to"))
    before = graph_harness.harness.clock.now()
    await graph_harness.harness.forget("b")
    assert (await _path(graph_harness.harness, "a", "c")).nodes == ()
    assert _names(await _path(graph_harness.harness, "a", "c", as_of=before)) == ["a", "b", "c"]


async def test_relations_and_memories_are_as_they_were(graph_harness: GraphHarness) -> None:
    harness = graph_harness.harness
    before_all = harness.clock.now()
    await graph_harness.create("Ada", "Acme", "Bolt")
    await graph_harness.relate(("Ada", "Acme", "works_at"))
    then = harness.clock.now()
    harness.clock.advance(timedelta(days=1))
    await harness.unrelate("Ada", "Acme", relation="works_at")
    await graph_harness.relate(("Ada", "Bolt", "works_at"))
    await harness.revise("Acme", title="Acme, renamed", content="It has another name now.")
    assert _names(await _around(harness, "Ada")) == ["Ada", "Bolt"]
    graph = await _around(harness, "Ada", as_of=then)
    assert [(node.name, node.title) for node in graph.nodes] == [("Ada", ""), ("Acme", "")]
    with pytest.raises(NotFound, match="did not exist"):
        await _around(harness, "Ada", as_of=before_all)


async def test_a_merged_memory_is_its_successor(store: SqliteStore) -> None:
    harness = Harness(store=store)
    first, second, other = (a_memory(f"about {name}", name=name) for name in ("one", "two", "other"))
    first = replace(first, merged=(Merged(id=second.id, at=START),))
    second = replace(second, state=State.MERGED, merged_into=first.id)
    writes = tuple(
        Write(memory=memory, base=None, action=Action.CREATED, passages=()) for memory in (first, second, other)
    )
    edges = [
        Relation(source=second.id, target=other.id, type="owns", created_at=START),
        Relation(source=second.id, target=first.id, type="like", created_at=START),
    ]
    await harness.store.commit(
        Commit(
            space=SPACE,
            origin=harness.origin(),
            writes=writes,
            edges=tuple(Edge(relation=edge, present=True) for edge in edges),
        )
    )
    for start in ("one", "two"):
        graph = await _around(harness, start)
        assert (_names(graph), _edges(graph)) == (["one", "other"], {"one owns other"})
    assert _edges(await _around(harness, "other")) == {"one owns other"}
    assert _names(await _path(harness, "other", "two")) == ["other", "one"]


async def test_bad_requests_are_refused_with_help(harness: Harness) -> None:
    await harness.remember(Draft(text="about tea", name="green-tea", title="Tea"))
    await harness.remember(Draft(text="about pots", name="pot", title="Tea"))
    with pytest.raises(NotFound) as caught:
        await _around(harness, "green-tee")
    assert caught.value.fields["suggestions"] == ("green-tea",)
    with pytest.raises(Ambiguous):
        await _around(harness, "Tea")
    for wrong in ({"depth": 11}, {"depth": -1}, {"depth": True}, {"direction": "up"}, {"limit": 0}, {"types": "x"}):
        with pytest.raises(InvalidInput):
            await _around(harness, "pot", **wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="say where to start"):
        await _around(harness)
    with pytest.raises(InvalidInput):
        await _path(harness, "pot", "pot", most=21)
    with pytest.raises(InvalidInput):
        await _around(harness, "pot", as_of=datetime(2026, 1, 1))  # noqa: DTZ001 - the missing zone is the error
