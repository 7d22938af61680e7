"""`relate` and `unrelate`: one edge, whichever end it is made from."""

import pytest
from tests.unit.harness import SPACE, Harness

from scrubjay.errors import InvalidInput, NotFound, Rejected, TooLarge
from scrubjay.model.draft import Draft
from scrubjay.model.memory import Json
from scrubjay.model.rules import Rules


async def pair(harness: Harness) -> tuple[str, str]:
    first = await harness.remember(Draft(text="a", name="sarah", title="Sarah B."))
    second = await harness.remember(Draft(text="b", name="acme"))
    return first.id, second.id


async def test_a_link_is_shown_from_both_ends(harness: Harness) -> None:
    sarah, acme = await pair(harness)
    done = await harness.relate("Sarah B.", "acme", text="works there", strength=1, metadata={"since": 2020})
    assert (done.action, done.source, done.target) == ("created", sarah, acme)
    assert (done.source_name, done.target_name) == ("Sarah B.", "acme")
    assert done.source_links == done.target_links
    (link,) = done.source_links
    assert (link.source, link.target, link.type) == (sarah, acme, "related_to")
    assert (link.text, link.strength, link.metadata) == ("works there", 1.0, {"since": 2020})


async def test_a_link_with_a_text_that_the_space_denies_is_rejected(harness: Harness) -> None:
    await pair(harness)
    await harness.relate("sarah", "acme", text="project falcon")
    harness.rules = Rules(never=("project falcon",))
    links: list[tuple[str, str, dict[str, Json]]] = [
        ("leads", "Project  Falcon", {}),
        ("project falcon", "", {}),
        ("leads", "", {"of": ["the project falcon"]}),
        ("leads", "Do not remember this.", {}),
    ]
    for relation, text, metadata in links:
        with pytest.raises(Rejected, match="nothing was stored"):
            await harness.relate("sarah", "acme", relation=relation, text=text, metadata=metadata)
    # What it said before the rule may stay.
    assert (await harness.relate("sarah", "acme", text="project falcon", strength=1)).action == "updated"


async def test_a_link_made_from_the_other_end_is_the_same(harness: Harness) -> None:
    await pair(harness)
    first = await harness.relate("sarah", "acme")
    again = await harness.relate("acme", "sarah")
    assert again.action == "unchanged"
    assert again.source_links == first.source_links
    assert await harness.store.last_seq() == 3


async def test_other_relations_have_a_direction(harness: Harness) -> None:
    await pair(harness)
    await harness.relate("sarah", "acme", relation="works at")
    back = await harness.relate("acme", "sarah", relation="works at")
    assert back.action == "created"
    assert len(back.source_links) == 2


async def test_saying_it_differently_updates_the_edge_and_keeps_its_date(harness: Harness) -> None:
    await pair(harness)
    first = (await harness.relate("sarah", "acme")).source_links[0]
    done = await harness.relate("acme", "sarah", text="employs", strength=0.9)
    assert done.action == "updated"
    (link,) = done.source_links
    assert (link.text, link.strength, link.created_at) == ("employs", 0.9, first.created_at)
    assert (link.source, link.target) == (first.source, first.target)


@pytest.mark.parametrize("ends", [("sarah", "acme"), ("acme", "sarah")])
async def test_a_link_is_removed_from_either_end(harness: Harness, ends: tuple[str, str]) -> None:
    sarah, _ = await pair(harness)
    await harness.relate("sarah", "acme")
    done = await harness.unrelate(*ends)
    assert (done.action, done.source_links, done.target_links) == ("removed", (), ())
    assert await harness.store.relations(SPACE, [sarah]) == []


async def test_only_the_relation_named_is_removed(harness: Harness) -> None:
    await pair(harness)
    await harness.relate("sarah", "acme")
    await harness.relate("sarah", "acme", relation="works  at")
    assert (await harness.unrelate("acme", "sarah", relation="works at")).action == "unchanged"
    done = await harness.unrelate("sarah", "acme", relation=" works at ")
    assert (done.action, [link.type for link in done.source_links]) == ("removed", ["related_to"])


async def test_removing_a_missing_relation_is_no_change(harness: Harness) -> None:
    await pair(harness)
    before = await harness.store.last_seq()
    assert (await harness.unrelate("sarah", "acme")).action == "unchanged"
    assert await harness.store.last_seq() == before


async def test_nothing_is_related_to_itself(harness: Harness) -> None:
    sarah, _ = await pair(harness)
    with pytest.raises(InvalidInput, match="itself"):
        await harness.relate("sarah", sarah)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"strength": 1.5}, "strength"),
        ({"strength": -0.1}, "strength"),
        ({"strength": True}, "strength"),
        ({"strength": "0.5"}, "strength"),
        ({"strength": float("nan")}, "strength"),
        ({"relation": " "}, "relation"),
        ({"relation": 5}, "relation"),
        ({"text": None}, "text"),
        ({"metadata": [1]}, "metadata"),
    ],
)
async def test_an_edge_of_the_wrong_shape_is_refused(harness: Harness, options: dict[str, Json], word: str) -> None:
    await pair(harness)
    with pytest.raises(InvalidInput, match=word):
        await harness.relate("sarah", "acme", **options)  # pyright: ignore[reportArgumentType]
    assert await harness.store.last_seq() == 2


async def test_a_relation_is_a_short_word(harness: Harness) -> None:
    await pair(harness)
    with pytest.raises(TooLarge, match="relation"):
        await harness.relate("sarah", "acme", relation="x" * 301)
    for wrong in ("", 5):
        with pytest.raises(InvalidInput, match="relation"):
            await harness.unrelate("sarah", "acme", relation=wrong)  # pyright: ignore[reportArgumentType]


async def test_both_ends_must_be_there(harness: Harness) -> None:
    await pair(harness)
    for ends in (("sarah", "nobody"), ("nobody", "sarah")):
        with pytest.raises(NotFound, match="nobody"):
            await harness.relate(*ends)
        with pytest.raises(NotFound, match="nobody"):
            await harness.unrelate(*ends)


async def test_an_edge_keeps_no_secret(harness: Harness) -> None:
    await pair(harness)
    key = "AKIAIOSFODNN7EXAMPLE"
    done = await harness.relate("sarah", "acme", relation=f"has {key}", text=key, metadata={"password": "hunter2"})
    (link,) = done.source_links
    cut = "[redacted: aws access key]"
    assert (link.type, link.text, link.metadata) == (f"has {cut}", cut, {"password": "[redacted: password]"})
    again = await harness.relate("sarah", "acme", relation=f"has {key}", text=key, metadata={"password": "hunter2"})
    assert again.action == "unchanged"
