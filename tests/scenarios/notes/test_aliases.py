"""Aliases in the frontmatter: links and readers find the note by them, and the file keeps them."""

import pytest

from scrubjay.errors import Ambiguous, NotFound
from scrubjay.model.requests import BacklinksRequest, BrokenLinksRequest, ReadNoteRequest
from scrubjay.notes.service import Notes
from tests.scenarios.notes.harness import AGENT, VaultHarness

BIRD = "---\ncolour: blue\naliases: [Jay, 'Blue one']  # as people say\nsize: 30\n---\nIt flies.\n"


async def test_a_note_is_linked_and_read_by_its_aliases(harness: VaultHarness) -> None:
    path = harness.save("bird.md", BIRD)
    harness.save("a.md", "See the [[jay]].\n")
    await harness.sync()
    bird, note_id = await harness.vault.find_id("bird.md"), await harness.vault.find_id("a.md")
    assert (await harness.get(bird)).metadata["aliases"] == ["Jay", "Blue one"]
    assert await harness.links(note_id) == {bird}
    for name in ("Jay", "blue  ONE", "[[Jay|it]]"):
        assert await _read(harness, name) == bird
    # A memory by an agent finds it as well.
    other = await harness.write("See [[Blue one]].", title="Other")
    await harness.sync()
    assert await harness.links(other) == {bird}
    assert (await _notes(harness).broken_links(BrokenLinksRequest(), who=AGENT)).links == ()
    assert {
        backlink.id for backlink in (await _notes(harness).backlinks(BacklinksRequest(id="Jay"), who=AGENT)).backlinks
    } == {
        note_id,
        other,
    }
    # They keep their place and spelling after another change of the note.
    await harness.edit(bird, content="It flies away.", tags=["bird"])
    await harness.sync()
    assert "colour: blue\naliases: [Jay, 'Blue one']  # as people say\nsize: 30\n" in path.read_text()
    assert (await harness.get(bird)).metadata["aliases"] == ["Jay", "Blue one"]
    assert await harness.vault.drift() == ()


async def test_aliases_added_or_removed_in_an_editor_count_at_once(harness: VaultHarness) -> None:
    harness.save("a.md", "See [[Robin]].\n")
    path = harness.save("bird.md", "It flies.\n")
    await harness.sync()
    bird, note_id = await harness.vault.find_id("bird.md"), await harness.vault.find_id("a.md")
    assert await harness.links(note_id) == set()
    harness.save(path, path.read_text().replace("title: bird\n", "title: bird\naliases:\n  - Robin\n  - Redbreast\n"))
    await harness.sync()
    assert await harness.links(note_id) == {bird}
    assert await _read(harness, "Redbreast") == bird
    harness.save(path, path.read_text().replace("  - Redbreast\n", ""))
    await harness.sync()
    assert (await harness.get(bird)).metadata["aliases"] == ["Robin"]
    with pytest.raises(NotFound):
        await _read(harness, "Redbreast")
    assert "title: bird\naliases:\n  - Robin\n" in path.read_text()
    harness.save(path, path.read_text().replace("aliases:\n  - Robin\n", ""))
    await harness.sync()
    assert "aliases" not in (await harness.get(bird)).metadata
    assert "aliases" not in path.read_text()


async def test_aliases_from_other_sources_stay(harness: VaultHarness) -> None:
    note_id = await harness.write("It flies.", title="Bird", metadata={"aliases": ["From the vault"]})
    await harness.sync()
    path = await harness.file(note_id)
    harness.save(path, path.read_text().replace("title: Bird\n", "title: Bird\naliases: Jay, Magpie\n"))
    await harness.sync()
    assert (await harness.get(note_id)).metadata["aliases"] == ["Jay", "Magpie", "From the vault"]
    assert await _read(harness, "from the vault") == note_id


async def test_a_title_takes_precedence_over_an_alias_and_a_shared_alias_is_ambiguous(harness: VaultHarness) -> None:
    titled = await harness.write("First.", title="Jay")
    harness.save("b.md", "---\naliases: [Jay, Same]\n---\nSecond.\n")
    harness.save("c.md", "---\naliases: [Same]\n---\nThird.\n")
    note_id = await harness.write("See [[Jay]] and [[Same]].", title="One")
    await harness.sync()
    assert await harness.links(note_id) == {titled}
    assert await _read(harness, "Jay") == titled
    with pytest.raises(Ambiguous) as raised:
        await _read(harness, "Same")
    matches = raised.value.fields["matches"]
    assert isinstance(matches, tuple)
    assert set(matches) == {await harness.vault.find_id("b.md"), await harness.vault.find_id("c.md")}


async def _read(harness: VaultHarness, name: str) -> str:
    return (await _notes(harness).read_note(ReadNoteRequest(identifier=name), who=AGENT)).id


def _notes(harness: VaultHarness) -> Notes:
    return Notes(engine=harness.engine)
