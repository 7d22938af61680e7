"""`read`: whole memories for people and machines."""

import json

import pytest
from tests.fakes.build import START
from tests.unit.harness import SPACE, Harness

from scrubjay.errors import Ambiguous, InvalidInput, NotFound
from scrubjay.model.draft import Draft
from scrubjay.model.memory import Source
from scrubjay.model.snapshot import from_body

TEA = Draft(
    text="Sarah prefers *green* tea.\n\nNo milk.", title="Tea", kind="preference", entities=("Sarah",), category="food",
    project="jay", scope="team", tags=("tea", "hot"), observations=("two cups a day",), source=Source(at=START),
)  # fmt: skip


async def test_markdown_shows_everything_a_person_wants(harness: Harness) -> None:
    memory = await harness.store_draft(TEA)
    acme = await harness.store_draft(Draft(text="a company", title="Acme"))
    bob = await harness.store_draft(Draft(text="a person", name="bob"))
    await harness.relate(memory.id, acme.id, text="serves it")
    await harness.relate(memory.id, bob.id, relation="shared with")
    await harness.relate(acme.id, memory.id, relation="sells")
    result = await harness.read("tea")
    assert result.memories == (memory,)
    facts = "preference · 2026-01-01 · entity: Sarah · category: food · project: jay · scope: team · #tea #hot"
    (text,) = result.texts
    assert text.splitlines() == [
        "# Tea",
        "",
        f"*{facts} · unknown source · version 1 · {memory.id}*",
        "",
        *TEA.text.splitlines(),
        "",
        "- two cups a day",
        "",
        "## Related",
        "",
        "- ↔ related_to [[Acme]] (serves it)",
        "- → shared with [[bob]]",
        "- ← sells [[Acme]]",
    ]
    assert len(result.relations) == 3


async def test_each_memory_shows_its_own_relations(harness: Harness) -> None:
    for name in ("a", "b", "c"):
        await harness.remember(Draft(text=f"text {name}", name=name))
    await harness.relate("a", "b")
    first, last = (await harness.read("a", "c")).texts
    assert "[[b]]" in first
    assert "Related" not in last


async def test_markdown_of_a_short_memory_is_short(harness: Harness) -> None:
    memory = await harness.store_draft(
        Draft(text="", observations=("likes tea",), name="sarah", source=Source(at=START))
    )
    await harness.forget("sarah")
    (text,) = (await harness.read("sarah")).texts
    assert (
        text == f"# sarah\n\n*note · 2026-01-01 · trashed · unknown source · version 2 · {memory.id}*\n\n- likes tea\n"
    )


async def test_plain_is_the_words_alone(harness: Harness) -> None:
    await harness.remember(TEA)
    assert (await harness.read("tea", format="plain")).texts == (f"{TEA.text}\ntwo cups a day",)


async def test_json_has_every_field_and_can_be_read_back(harness: Harness) -> None:
    memory = await harness.store_draft(TEA)
    await harness.store.touch(SPACE, [memory.id], at=START)
    read = await harness.get(memory.id)
    (text,) = (await harness.read(memory.id, format="json")).texts
    parsed = json.loads(text)
    assert (parsed["id"], parsed["space"], parsed["version"], parsed["access_count"]) == (memory.id, SPACE, 1, 1)
    assert parsed["last_accessed"] == "2026-01-01T12:00:00Z"
    again = from_body(
        parsed,
        memory_id=parsed["id"],
        space=parsed["space"],
        version=1,
        last_accessed=read.last_accessed,
        access_count=1,
    )
    assert again == read


async def test_several_in_the_requested_order_and_the_missing_with_suggestions(harness: Harness) -> None:
    tea, jay = await harness.store_draft(TEA), await harness.store_draft(Draft(text="a bird", name="scrub-jay"))
    result = await harness.read("scrub-jay", "Tea", "scrub-jey", jay.id)
    assert [memory.id for memory in result.memories] == [jay.id, tea.id]
    assert [(missing.ref, missing.suggestions) for missing in result.missing] == [("scrub-jey", ("scrub-jay",))]


async def test_nothing_near_has_no_suggestion(harness: Harness) -> None:
    (missing,) = (await harness.read("anything")).missing
    assert missing.suggestions == ()


async def test_an_older_version(harness: Harness) -> None:
    memory = await harness.store_draft(TEA)
    await harness.revise(memory.id, content="coffee")
    result = await harness.read(memory.id, version=1, format="plain")
    assert result.texts[0].startswith("Sarah prefers")
    assert result.memories[0].version == 1
    with pytest.raises(NotFound, match="version 9"):
        await harness.read(memory.id, version=9)


@pytest.mark.parametrize("version", [0, -1, True, "1"])
async def test_a_version_is_a_number(harness: Harness, version: int) -> None:
    with pytest.raises(InvalidInput, match="version"):
        await harness.read("tea", version=version)


async def test_an_unknown_format_is_refused(harness: Harness) -> None:
    with pytest.raises(InvalidInput, match="markdown, plain, json"):
        await harness.read("tea", format="pdf")


async def test_a_reference_is_required(harness: Harness) -> None:
    with pytest.raises(InvalidInput, match="ids, names or titles"):
        await harness.read()
    with pytest.raises(InvalidInput, match="ids"):
        await harness.read(5)  # pyright: ignore[reportArgumentType]


async def test_a_title_of_two_is_not_guessed(harness: Harness) -> None:
    first = await harness.store_draft(Draft(text="a", title="Tea", name="a"))
    second = await harness.store_draft(Draft(text="b", title="tea", name="b"))
    with pytest.raises(Ambiguous) as caught:
        await harness.read("TEA")
    assert first.id in caught.value.hint
    assert second.id in caught.value.hint
