"""Whoever stops anywhere and goes on from there sees everything once."""

from datetime import timedelta

import pytest
from tests.fakes.build import START
from tests.unit.graph.garden import Garden, link, told

from scrubjay.graph.entity import Entity, Link
from scrubjay.graph.walk import Place, Walk
from scrubjay.model.draft import Draft
from scrubjay.recalling.text_cache import TextCaches

NAMES = [f"e{number}" for number in range(7)]


async def planted(garden: Garden) -> None:
    await garden.create(*NAMES)
    ring = [(one, other, "next") for one, other in zip(NAMES, (*NAMES[1:], NAMES[0]), strict=True)]
    hub = [("e2", name, "has") for name in NAMES]
    loose = [("nobody", "no one", "knows"), ("no one", "nobody", "knows"), ("e6", "nobody", "knows")]
    await garden.relate(*ring, *hub, *loose)


async def walks(garden: Garden) -> list[Walk]:
    searched, _ = await garden.graph.searched("E")
    return [await garden.graph.everything(), searched, await garden.graph.opened(["e5", "e2", "e2", "e9"])]


@pytest.mark.parametrize("stride", [1, 2, 3, 100])
async def test_everything_comes_once_from_wherever_one_goes_on(garden: Garden, stride: int) -> None:
    await planted(garden)
    for walk in await walks(garden):
        whole = await told(walk)
        pieces: list[Entity | Link] = []
        place: Place | None = Place()
        while place is not None:
            rest = [thing async for thing in walk.things(place)]
            pieces += [thing for _, thing in rest[:stride]]
            place = rest[stride][0] if len(rest) > stride else None
        assert pieces == whole
        assert len(set(whole)) == len(whole)


async def test_an_entity_comes_with_the_relations_that_nobody_before_it_had(garden: Garden) -> None:
    await garden.create("a", "b", "c")
    await garden.relate(("c", "a", "1"), ("b", "c", "2"), ("x", "y", "3"), ("c", "x", "4"))
    things = await told(await garden.graph.everything())
    assert [thing.name if isinstance(thing, Entity) else thing.type for thing in things] == [
        "a",
        "1",
        "b",
        "2",
        "c",
        "4",
        "3",
    ]
    assert [one for one in await garden.opened("c", "a") if isinstance(one, Link)] == [
        link("c", "a", "1"), link("b", "c", "2"), link("c", "x", "4"),
    ]  # fmt: skip


async def test_an_entity_that_has_gone_meanwhile_is_passed_over(garden: Garden) -> None:
    await planted(garden)
    walk = await garden.graph.everything()
    places = [place async for place, thing in walk.things(Place()) if isinstance(thing, Entity)]
    await garden.graph.delete_entities(["e3"])
    rest = [thing async for _, thing in (await garden.graph.everything()).things(Place(places[3].id, 2))]
    assert [one.name for one in rest if isinstance(one, Entity)] == ["e4", "e5", "e6"]


async def test_a_hub_is_walked_page_by_page(bed: Garden) -> None:
    await bed.create("hub")
    await bed.relate(*(("hub", f"leaf {number}", "has") for number in range(250)))
    links = await bed.links()
    assert [link.target for link in links] == [f"leaf {number}" for number in range(250)]
    walk = await bed.graph.opened(["hub"])
    rest = [thing async for _, thing in walk.things(Place(walk.ids[0], 200))]
    assert [one.target for one in rest if isinstance(one, Link)] == [f"leaf {number}" for number in range(199, 250)]


async def test_what_has_expired_is_not_shown(bed: Garden) -> None:
    await bed.create("Ada")
    await bed.shop.remember(Draft(text="old", name="old", expires_at=START + timedelta(hours=1)))
    assert await bed.names() == ["Ada", "old"]
    bed.shop.clock.advance(timedelta(hours=2))
    assert await bed.names() == ["Ada"]
    assert await bed.searched("old") == []


@pytest.mark.parametrize("max_bytes", [1_500, 0])
async def test_a_space_that_is_too_large_to_keep_is_still_searched_and_that_is_said(
    garden: Garden, max_bytes: int
) -> None:
    garden.text_caches = TextCaches(max_bytes=max_bytes)
    await planted(garden)
    walk, remark = await garden.graph.searched("E2")
    assert "too large" in remark
    assert [one.name for one in await told(walk) if isinstance(one, Entity)] == ["e2"]
    assert len(await garden.links()) == 17


async def test_a_search_looks_at_names_types_and_observations_and_at_nothing_else(garden: Garden) -> None:
    await garden.graph.create_entities([
        Entity(name=" Odd  name ", type="Some\nType", observations=("One Fact", " ")),
        Entity(name="plain", type="t"),
    ])  # fmt: skip
    await garden.shop.remember(
        Draft(text="prose", name="n", title="Unseen", tags=("unseen",), metadata={"k": "unseen"})
    )
    for query in ("odd  NAME ", "some\ntype", "FACT", "e fact"):
        assert [one.name for one in await garden.searched(query) if isinstance(one, Entity)] == [" Odd  name "], query
    for query in ("odd name", "namesome", "unseen", "~", "kg", "default"):
        assert await garden.searched(query) == [], query
    assert [one.name for one in await garden.searched("PROSE") if isinstance(one, Entity)] == ["n"]
