"""The other names that a file gives its note: links and readers find it by them, and the file keeps them."""

import pytest

from scrubjay.errors import Ambiguous, NotFound
from scrubjay.notes.service import Notes
from tests.scenarios.notes.vaults import AGENT, Desk

BIRD = "---\ncolour: blue\naliases: [Jay, 'Blue one']  # as people say\nsize: 30\n---\nIt flies.\n"


async def test_a_note_is_linked_and_read_by_its_other_names(context: Desk) -> None:
    path = context.save("bird.md", BIRD)
    context.save("a.md", "See the [[jay]].\n")
    await context.sync()
    bird, item = await context.vault.at("bird.md"), await context.vault.at("a.md")
    assert (await context.get(bird)).metadata["aliases"] == ["Jay", "Blue one"]
    assert await context.links(item) == {bird}
    for name in ("Jay", "blue  ONE", "[[Jay|it]]"):
        assert await _read(context, name) == bird
    # What an agent writes finds it as well.
    other = await context.write("See [[Blue one]].", title="Other")
    await context.sync()
    assert await context.links(other) == {bird}
    assert (await _notes(context).broken_links(who=AGENT)).links == ()
    assert {backlink.id for backlink in (await _notes(context).backlinks("Jay", who=AGENT)).backlinks} == {item, other}
    # They stand where they stood, as they were written, also after somebody else has changed the note.
    await context.edit(bird, content="It flies away.", tags=["bird"])
    await context.sync()
    assert "colour: blue\naliases: [Jay, 'Blue one']  # as people say\nsize: 30\n" in path.read_text()
    assert (await context.get(bird)).metadata["aliases"] == ["Jay", "Blue one"]
    assert await context.vault.drift() == ()


async def test_names_that_are_given_or_taken_in_an_editor_count_at_once(context: Desk) -> None:
    context.save("a.md", "See [[Robin]].\n")
    path = context.save("bird.md", "It flies.\n")
    await context.sync()
    bird, item = await context.vault.at("bird.md"), await context.vault.at("a.md")
    assert await context.links(item) == set()
    context.save(path, path.read_text().replace("title: bird\n", "title: bird\naliases:\n  - Robin\n  - Redbreast\n"))
    await context.sync()
    assert await context.links(item) == {bird}
    assert await _read(context, "Redbreast") == bird
    context.save(path, path.read_text().replace("  - Redbreast\n", ""))
    await context.sync()
    assert (await context.get(bird)).metadata["aliases"] == ["Robin"]
    with pytest.raises(NotFound):
        await _read(context, "Redbreast")
    assert "title: bird\naliases:\n  - Robin\n" in path.read_text()
    context.save(path, path.read_text().replace("aliases:\n  - Robin\n", ""))
    await context.sync()
    assert "aliases" not in (await context.get(bird)).metadata
    assert "aliases" not in path.read_text()


async def test_names_from_elsewhere_stay_beside_those_of_the_file(context: Desk) -> None:
    item = await context.write("It flies.", title="Bird", metadata={"aliases": ["From the vault"]})
    await context.sync()
    path = await context.file(item)
    context.save(path, path.read_text().replace("title: Bird\n", "title: Bird\naliases: Jay, Magpie\n"))
    await context.sync()
    assert (await context.get(item)).metadata["aliases"] == ["Jay", "Magpie", "From the vault"]
    assert await _read(context, "from the vault") == item


async def test_a_title_goes_before_another_name_and_two_of_one_name_are_told_apart(context: Desk) -> None:
    titled = await context.write("First.", title="Jay")
    context.save("b.md", "---\naliases: [Jay, Same]\n---\nSecond.\n")
    context.save("c.md", "---\naliases: [Same]\n---\nThird.\n")
    item = await context.write("See [[Jay]] and [[Same]].", title="One")
    await context.sync()
    assert await context.links(item) == {titled}
    assert await _read(context, "Jay") == titled
    with pytest.raises(Ambiguous) as raised:
        await _read(context, "Same")
    assert set(raised.value.fields["matches"]) == {await context.vault.at("b.md"), await context.vault.at("c.md")}  # type: ignore[arg-type]


async def _read(context: Desk, name: str) -> str:
    return (await _notes(context).read_note(name, who=AGENT)).id


def _notes(context: Desk) -> Notes:
    return Notes(engine=context.engine)
