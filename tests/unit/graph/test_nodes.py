"""A walk that stops anywhere and continues from there yields everything once."""

from datetime import timedelta

import pytest
from tests.fakes.build import START
from tests.unit.graph.graph_world import GraphHarness, link, walk_items

from scrubjay.graph.entity import Entity, EntityRelation
from scrubjay.graph.nodes import GraphPosition, GraphWalk
from scrubjay.model.draft import Draft
from scrubjay.recalling.text_cache import TextCaches

NAMES = [f"e{number}" for number in range(7)]


async def plant(graph_harness: GraphHarness) -> None:
    await graph_harness.create(*NAMES)
    ring = [(name, other, "next") for name, other in zip(NAMES, (*NAMES[1:], NAMES[0]), strict=True)]
    hub = [("e2", name, "has") for name in NAMES]
    loose = [("nobody", "no one", "knows"), ("no one", "nobody", "knows"), ("e6", "nobody", "knows")]
    await graph_harness.relate(*ring, *hub, *loose)


async def walks(graph_harness: GraphHarness) -> list[GraphWalk]:
    searched, _ = await graph_harness.graph.walk_matching("E")
    return [
        await graph_harness.graph.walk_all(),
        searched,
        await graph_harness.graph.walk_named(["e5", "e2", "e2", "e9"]),
    ]


@pytest.mark.parametrize("stride", [1, 2, 3, 100])
async def test_everything_comes_once_from_any_position(graph_harness: GraphHarness, stride: int) -> None:
    await plant(graph_harness)
    for walk in await walks(graph_harness):
        whole = await walk_items(walk)
        pieces: list[Entity | EntityRelation] = []
        place: GraphPosition | None = GraphPosition()
        while place is not None:
            rest = [thing async for thing in walk.items(place)]
            pieces += [thing for _, thing in rest[:stride]]
            place = rest[stride][0] if len(rest) > stride else None
        assert pieces == whole
        assert len(set(whole)) == len(whole)


async def test_an_entity_comes_with_the_relations_of_no_earlier_one(graph_harness: GraphHarness) -> None:
    await graph_harness.create("a", "b", "c")
    await graph_harness.relate(("c", "a", "1"), ("b", "c", "2"), ("x", "y", "3"), ("c", "x", "4"))
    things = await walk_items(await graph_harness.graph.walk_all())
    assert [thing.name if isinstance(thing, Entity) else thing.type for thing in things] == [
        "a",
        "1",
        "b",
        "2",
        "c",
        "4",
        "3",
    ]
    assert [item for item in await graph_harness.walk_named("c", "a") if isinstance(item, EntityRelation)] == [
        link("c", "a", "1"), link("b", "c", "2"), link("c", "x", "4"),
    ]  # fmt: skip


async def test_an_entity_deleted_meanwhile_is_skipped(graph_harness: GraphHarness) -> None:
    await plant(graph_harness)
    walk = await graph_harness.graph.walk_all()
    places = [place async for place, thing in walk.items(GraphPosition()) if isinstance(thing, Entity)]
    await graph_harness.graph.delete_entities(["e3"])
    rest = [item async for _, item in (await graph_harness.graph.walk_all()).items(GraphPosition(places[3].id, 2))]
    assert [item.name for item in rest if isinstance(item, Entity)] == ["e4", "e5", "e6"]


async def test_a_hub_is_walked_page_by_page(graph_harness: GraphHarness) -> None:
    await graph_harness.create("hub")
    await graph_harness.relate(*(("hub", f"leaf {number}", "has") for number in range(250)))
    links = await graph_harness.links()
    assert [link.target for link in links] == [f"leaf {number}" for number in range(250)]
    walk = await graph_harness.graph.walk_named(["hub"])
    rest = [item async for _, item in walk.items(GraphPosition(walk.ids[0], 200))]
    assert [item.target for item in rest if isinstance(item, EntityRelation)] == [
        f"leaf {number}" for number in range(199, 250)
    ]


async def test_expired_entities_are_not_shown(graph_harness: GraphHarness) -> None:
    await graph_harness.create("Ada")
    await graph_harness.harness.remember(Draft(text="old", name="old", expires_at=START + timedelta(hours=1)))
    assert await graph_harness.names() == ["Ada", "old"]
    graph_harness.harness.clock.advance(timedelta(hours=2))
    assert await graph_harness.names() == ["Ada"]
    assert await graph_harness.walk_matching("old") == []


@pytest.mark.parametrize("max_bytes", [1_500, 0])
async def test_a_space_too_large_for_the_cache_is_searched_and_that_is_reported(
    graph_harness: GraphHarness, max_bytes: int
) -> None:
    graph_harness.text_caches = TextCaches(max_bytes=max_bytes)
    await plant(graph_harness)
    walk, remark = await graph_harness.graph.walk_matching("E2")
    assert "too large" in remark
    assert [item.name for item in await walk_items(walk) if isinstance(item, Entity)] == ["e2"]
    assert len(await graph_harness.links()) == 17


async def test_a_search_covers_names_types_and_observations_only(graph_harness: GraphHarness) -> None:
    await graph_harness.graph.create_entities([
        Entity(name=" Odd  name ", type="Some\nType", observations=("One Fact", " ")),
        Entity(name="plain", type="t"),
    ])  # fmt: skip
    await graph_harness.harness.remember(
        Draft(text="prose", name="n", title="Unseen", tags=("unseen",), metadata={"k": "unseen"})
    )
    for query in ("odd  NAME ", "some\ntype", "FACT", "e fact"):
        assert [item.name for item in await graph_harness.walk_matching(query) if isinstance(item, Entity)] == [
            " Odd  name "
        ], query
    for query in ("odd name", "namesome", "unseen", "~", "kg", "default"):
        assert await graph_harness.walk_matching(query) == [], query
    assert [item.name for item in await graph_harness.walk_matching("PROSE") if isinstance(item, Entity)] == ["n"]
