"""A relation that only a text has made goes with the text; one that was made or listed explicitly stays."""

from pathlib import Path

from scrubjay.model.relation import Relation
from scrubjay.model.requests import RelateRequest
from tests.scenarios.notes.harness import AGENT, PLAIN, SPACE, VaultHarness, open_harness
from tests.scenarios.wiring import open_wiring


async def test_a_link_is_removed_with_the_text_that_made_it(harness: VaultHarness) -> None:
    bird, path = await _pair(harness, "See [[A bird]] there.\n")
    note_id = await _id_at(harness, "a.md")
    assert await harness.links(note_id) == {bird}
    # The text names the title, so the list names the file, for editors to follow.
    assert f"- [[{(await harness.file(bird)).stem}|A bird]]" in path.read_text()
    assert "[[a|a]]" in (await harness.file(bird)).read_text()
    harness.save(path, path.read_text().replace("See [[A bird]] there.", "Nothing there."))
    await harness.sync()
    assert await harness.links(note_id) == set()
    assert "[[" not in path.read_text()
    assert "[[" not in (await harness.file(bird)).read_text()
    assert await harness.vault.drift() == ()


async def test_an_agent_that_removes_it_from_the_text_removes_the_link(harness: VaultHarness) -> None:
    bird = await harness.write("It flies.", title="A bird")
    note_id = await harness.write("See [[A bird]] and [[Someday]].", title="One")
    await harness.sync()
    assert await harness.links(note_id) == {bird}
    await harness.edit(note_id, content="See nothing.")
    await harness.sync()
    assert await harness.links(note_id) == set()
    assert "[[" not in (await harness.file(note_id)).read_text() + (await harness.file(bird)).read_text()
    # A missing link that the text has dropped is not resolved later.
    someday = await harness.write("At last.", title="Someday")
    await harness.sync()
    assert await harness.links(someday) == set()


async def test_a_link_that_was_also_made_explicitly_stays(harness: VaultHarness) -> None:
    bird, path = await _pair(harness, "See [[A bird]] there.\n")
    note_id = await _id_at(harness, "a.md")
    await harness.engine.relate(RelateRequest(source=note_id, target=bird), who=AGENT)
    await harness.sync()
    harness.save(path, path.read_text().replace("See [[A bird]] there.", "Nothing there."))
    await harness.sync()
    assert await harness.links(note_id) == {bird}
    assert "|A bird]]" in path.read_text()


async def test_a_link_that_existed_before_the_text_named_it_stays(harness: VaultHarness) -> None:
    note_id, bird = await harness.write("Nothing.", title="One"), await harness.write("It flies.", title="A bird")
    await harness.engine.relate(RelateRequest(source=note_id, target=bird, text="which flies"), who=AGENT)
    await harness.sync()
    await harness.edit(note_id, content="See [[A bird]].")
    await harness.sync()
    await harness.edit(note_id, content="Nothing again.")
    await harness.sync()
    (relation,) = await _relations(harness, note_id)
    assert relation.text == "which flies"


async def test_a_link_edited_in_the_list_stays(harness: VaultHarness) -> None:
    bird, path = await _pair(harness, "See [[A bird]] there.\n")
    note_id = await _id_at(harness, "a.md")
    harness.save(path, path.read_text().replace("|A bird]]", "|the one that flies]]"))
    await harness.sync()
    harness.save(path, path.read_text().replace("See [[A bird]] there.", "Nothing there."))
    await harness.sync()
    assert await harness.links(note_id) == {bird}
    assert "|the one that flies]]" in path.read_text()


async def test_a_link_by_file_name_that_is_also_listed_stays(harness: VaultHarness) -> None:
    harness.save("bird.md", "It flies.\n")
    harness.save("a.md", "See [[bird]] there.\n")
    await harness.sync()
    bird, note_id, path = await _id_at(harness, "bird.md"), await _id_at(harness, "a.md"), harness.root / "a.md"
    assert "<!-- scrubjay -->" not in path.read_text()
    harness.save(path, f"{path.read_text()}\n<!-- scrubjay -->\n\n## Links\n\n- [[bird|bird]]\n")
    await harness.sync()
    harness.save(path, path.read_text().replace("See [[bird]] there.", "Nothing there."))
    await harness.sync()
    assert await harness.links(note_id) == {bird}
    assert "- [[bird|bird]]" in path.read_text()


async def test_a_link_removed_from_the_list_depends_on_the_text_alone(harness: VaultHarness) -> None:
    note_id, bird = (
        await harness.write("See [[A bird]].", title="One"),
        await harness.write("It flies.", title="A bird"),
    )
    await harness.engine.relate(RelateRequest(source=note_id, target=bird), who=AGENT)
    await harness.sync()
    path = await harness.file(note_id)
    harness.save(path, path.read_text().partition("<!-- scrubjay -->")[0])
    await harness.sync()
    assert await harness.links(note_id) == {bird}
    harness.save(path, path.read_text().replace("[[A bird]]", "nothing"))
    await harness.sync()
    assert await harness.links(note_id) == set()


async def test_two_that_name_each_other_are_linked_until_neither_does(harness: VaultHarness) -> None:
    note_id = await harness.write("See [[Two]].", title="One")
    other = await harness.write("See [[One]].", title="Two")
    await harness.sync()
    assert await harness.links(note_id) == {other}
    await harness.edit(note_id, content="Nothing.")
    await harness.sync()
    assert await harness.links(note_id) == {other}
    await harness.edit(other, content="Nothing.")
    await harness.sync()
    assert await harness.links(note_id) == set()


async def test_a_link_survives_a_rename_of_its_target(harness: VaultHarness) -> None:
    bird = await harness.write("It flies.", title="A bird")
    note_id = await harness.write("See [[A bird]] and more.", title="One")
    await harness.sync()
    # Both at once, and the note that names the other is synchronized first.
    await harness.edit(note_id, content="See [[A bird]] and less.")
    await harness.edit(bird, title="A jay")
    await harness.sync()
    assert await harness.links(note_id) == {bird}
    assert (await harness.get(note_id)).content == "See [[A jay]] and less."
    await harness.edit(bird, title="A blue jay")
    await harness.edit(note_id, content="See [[A jay]] and least.")
    await harness.sync()
    assert await harness.links(note_id) == {bird}
    await harness.edit(note_id, content="See nothing.")
    await harness.sync()
    assert await harness.links(note_id) == set()


async def test_a_lost_ledger_does_not_change_the_kind_of_a_link(home: Path) -> None:
    async with open_wiring(home, index=False, rules=PLAIN) as wiring:
        async with open_harness(home, wiring=wiring) as harness:
            bird, path = await _pair(harness, "See [[A bird]] there.\n")
            note_id = await _id_at(harness, "a.md")
        for file in (home / "index").glob("notes.db*"):
            file.unlink()
        async with open_harness(home, wiring=wiring) as harness:
            await harness.sync()
            assert await harness.links(note_id) == {bird}
            harness.save(path, path.read_text().replace("See [[A bird]] there.", "Nothing there."))
            await harness.sync()
            assert await harness.links(note_id) == set()


async def _pair(harness: VaultHarness, text: str) -> tuple[str, Path]:
    """Write a note about a bird, and a file with a text about it."""
    bird = await harness.write("It flies.", title="A bird")
    path = harness.save("a.md", text)
    await harness.sync()
    return bird, path


async def _id_at(harness: VaultHarness, path: str) -> str:
    """Return the id of the note whose file has a path."""
    return await harness.vault.find_id(path)


async def _relations(harness: VaultHarness, memory_id: str) -> list[Relation]:
    return await harness.engine.reader.relations(SPACE, [memory_id])
