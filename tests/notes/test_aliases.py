"""The other names that a file gives its note: links and readers find it by them, and the file keeps them."""

import pytest

from scrubjay.errors import Ambiguous, NotFound
from scrubjay.notes.desk import Notes
from tests.notes.vaults import AGENT, Desk

BIRD = "---\ncolour: blue\naliases: [Jay, 'Blue one']  # as people say\nsize: 30\n---\nIt flies.\n"


async def test_a_note_is_linked_and_read_by_its_other_names(desk: Desk) -> None:
    path = desk.save("bird.md", BIRD)
    desk.save("a.md", "See the [[jay]].\n")
    await desk.sync()
    bird, one = await desk.vault.at("bird.md"), await desk.vault.at("a.md")
    assert (await desk.get(bird)).metadata["aliases"] == ["Jay", "Blue one"]
    assert await desk.links(one) == {bird}
    for name in ("Jay", "blue  ONE", "[[Jay|it]]"):
        assert await _read(desk, name) == bird
    # What an agent writes finds it as well.
    other = await desk.write("See [[Blue one]].", title="Other")
    await desk.sync()
    assert await desk.links(other) == {bird}
    assert (await _notes(desk).broken_links(who=AGENT)).links == ()
    assert {one.id for one in (await _notes(desk).backlinks("Jay", who=AGENT)).backlinks} == {one, other}
    # They stand where they stood, as they were written, also after somebody else has changed the note.
    await desk.edit(bird, content="It flies away.", tags=["bird"])
    await desk.sync()
    assert "colour: blue\naliases: [Jay, 'Blue one']  # as people say\nsize: 30\n" in path.read_text()
    assert (await desk.get(bird)).metadata["aliases"] == ["Jay", "Blue one"]
    assert await desk.vault.drift() == ()


async def test_names_that_are_given_or_taken_in_an_editor_count_at_once(desk: Desk) -> None:
    desk.save("a.md", "See [[Robin]].\n")
    path = desk.save("bird.md", "It flies.\n")
    await desk.sync()
    bird, one = await desk.vault.at("bird.md"), await desk.vault.at("a.md")
    assert await desk.links(one) == set()
    desk.save(path, path.read_text().replace("title: bird\n", "title: bird\naliases:\n  - Robin\n  - Redbreast\n"))
    await desk.sync()
    assert await desk.links(one) == {bird}
    assert await _read(desk, "Redbreast") == bird
    desk.save(path, path.read_text().replace("  - Redbreast\n", ""))
    await desk.sync()
    assert (await desk.get(bird)).metadata["aliases"] == ["Robin"]
    with pytest.raises(NotFound):
        await _read(desk, "Redbreast")
    assert "title: bird\naliases:\n  - Robin\n" in path.read_text()
    desk.save(path, path.read_text().replace("aliases:\n  - Robin\n", ""))
    await desk.sync()
    assert "aliases" not in (await desk.get(bird)).metadata
    assert "aliases" not in path.read_text()


async def test_names_from_elsewhere_stay_beside_those_of_the_file(desk: Desk) -> None:
    one = await desk.write("It flies.", title="Bird", metadata={"aliases": ["From the vault"]})
    await desk.sync()
    path = await desk.file(one)
    desk.save(path, path.read_text().replace("title: Bird\n", "title: Bird\naliases: Jay, Magpie\n"))
    await desk.sync()
    assert (await desk.get(one)).metadata["aliases"] == ["Jay", "Magpie", "From the vault"]
    assert await _read(desk, "from the vault") == one


async def test_a_title_goes_before_another_name_and_two_of_one_name_are_told_apart(desk: Desk) -> None:
    titled = await desk.write("First.", title="Jay")
    desk.save("b.md", "---\naliases: [Jay, Same]\n---\nSecond.\n")
    desk.save("c.md", "---\naliases: [Same]\n---\nThird.\n")
    one = await desk.write("See [[Jay]] and [[Same]].", title="One")
    await desk.sync()
    assert await desk.links(one) == {titled}
    assert await _read(desk, "Jay") == titled
    with pytest.raises(Ambiguous) as raised:
        await _read(desk, "Same")
    assert set(raised.value.fields["matches"]) == {await desk.vault.at("b.md"), await desk.vault.at("c.md")}  # type: ignore[arg-type]


async def _read(desk: Desk, name: str) -> str:
    return (await _notes(desk).read_note(name, who=AGENT)).id


def _notes(desk: Desk) -> Notes:
    return Notes(engine=desk.engine)
