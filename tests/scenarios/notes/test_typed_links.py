"""A link that came of a text alone goes with it; one that somebody has made or listed stays."""

from pathlib import Path

from scrubjay.model.relation import Relation
from tests.scenarios.notes.vaults import AGENT, PLAIN, SPACE, Desk, open_desk
from tests.scenarios.wiring import open_wiring


async def test_a_link_goes_when_the_text_that_made_it_has_it_no_more(context: Desk) -> None:
    bird, path = await _pair(context, "See [[A bird]] there.\n")
    item = await _own(context, "a.md")
    assert await context.links(item) == {bird}
    # A text calls it by its title, so an editor finds the file by the list.
    assert f"- [[{(await context.file(bird)).stem}|A bird]]" in path.read_text()
    assert "[[a|a]]" in (await context.file(bird)).read_text()
    context.save(path, path.read_text().replace("See [[A bird]] there.", "Nothing there."))
    await context.sync()
    assert await context.links(item) == set()
    assert "[[" not in path.read_text()
    assert "[[" not in (await context.file(bird)).read_text()
    assert await context.vault.drift() == ()


async def test_an_agent_who_takes_it_out_of_the_text_takes_the_link_out(context: Desk) -> None:
    bird = await context.write("It flies.", title="A bird")
    item = await context.write("See [[A bird]] and [[Someday]].", title="One")
    await context.sync()
    assert await context.links(item) == {bird}
    await context.edit(item, content="See nothing.")
    await context.sync()
    assert await context.links(item) == set()
    assert "[[" not in (await context.file(item)).read_text() + (await context.file(bird)).read_text()
    # Nor is linked what it named, and names no more when that comes to be.
    someday = await context.write("At last.", title="Someday")
    await context.sync()
    assert await context.links(someday) == set()


async def test_a_link_that_was_also_made_stays(context: Desk) -> None:
    bird, path = await _pair(context, "See [[A bird]] there.\n")
    item = await _own(context, "a.md")
    await context.engine.relate(item, bird, who=AGENT)
    await context.sync()
    context.save(path, path.read_text().replace("See [[A bird]] there.", "Nothing there."))
    await context.sync()
    assert await context.links(item) == {bird}
    assert "|A bird]]" in path.read_text()


async def test_a_link_that_was_there_before_the_text_named_it_stays(context: Desk) -> None:
    item, bird = await context.write("Nothing.", title="One"), await context.write("It flies.", title="A bird")
    await context.engine.relate(item, bird, who=AGENT, text="which flies")
    await context.sync()
    await context.edit(item, content="See [[A bird]].")
    await context.sync()
    await context.edit(item, content="Nothing again.")
    await context.sync()
    (edge,) = await _edges(context, item)
    assert edge.text == "which flies"


async def test_a_link_in_the_list_by_hand_stays_also_in_other_words(context: Desk) -> None:
    bird, path = await _pair(context, "See [[A bird]] there.\n")
    item = await _own(context, "a.md")
    context.save(path, path.read_text().replace("|A bird]]", "|the one that flies]]"))
    await context.sync()
    context.save(path, path.read_text().replace("See [[A bird]] there.", "Nothing there."))
    await context.sync()
    assert await context.links(item) == {bird}
    assert "|the one that flies]]" in path.read_text()


async def test_a_link_by_the_name_of_a_file_that_is_listed_by_hand_too_stays(context: Desk) -> None:
    context.save("bird.md", "It flies.\n")
    context.save("a.md", "See [[bird]] there.\n")
    await context.sync()
    bird, item, path = await _own(context, "bird.md"), await _own(context, "a.md"), context.root / "a.md"
    assert "<!-- scrubjay -->" not in path.read_text()
    context.save(path, f"{path.read_text()}\n<!-- scrubjay -->\n\n## Links\n\n- [[bird|bird]]\n")
    await context.sync()
    context.save(path, path.read_text().replace("See [[bird]] there.", "Nothing there."))
    await context.sync()
    assert await context.links(item) == {bird}
    assert "- [[bird|bird]]" in path.read_text()


async def test_a_link_that_is_taken_out_of_the_list_is_the_texts_alone(context: Desk) -> None:
    item, bird = await context.write("See [[A bird]].", title="One"), await context.write("It flies.", title="A bird")
    await context.engine.relate(item, bird, who=AGENT)
    await context.sync()
    path = await context.file(item)
    context.save(path, path.read_text().partition("<!-- scrubjay -->")[0])
    await context.sync()
    assert await context.links(item) == {bird}
    context.save(path, path.read_text().replace("[[A bird]]", "nothing"))
    await context.sync()
    assert await context.links(item) == set()


async def test_two_that_name_each_other_are_linked_until_neither_does(context: Desk) -> None:
    item = await context.write("See [[Two]].", title="One")
    other = await context.write("See [[One]].", title="Two")
    await context.sync()
    assert await context.links(item) == {other}
    await context.edit(item, content="Nothing.")
    await context.sync()
    assert await context.links(item) == {other}
    await context.edit(other, content="Nothing.")
    await context.sync()
    assert await context.links(item) == set()


async def test_a_link_outlives_a_new_name_of_what_it_leads_to(context: Desk) -> None:
    bird = await context.write("It flies.", title="A bird")
    item = await context.write("See [[A bird]] and more.", title="One")
    await context.sync()
    # Both at once, and the one that names the other is looked at first.
    await context.edit(item, content="See [[A bird]] and less.")
    await context.edit(bird, title="A jay")
    await context.sync()
    assert await context.links(item) == {bird}
    assert (await context.get(item)).content == "See [[A jay]] and less."
    await context.edit(bird, title="A blue jay")
    await context.edit(item, content="See [[A jay]] and least.")
    await context.sync()
    assert await context.links(item) == {bird}
    await context.edit(item, content="See nothing.")
    await context.sync()
    assert await context.links(item) == set()


async def test_a_lost_ledger_makes_no_link_another_kind(home: Path) -> None:
    async with open_wiring(home, index=False, rules=PLAIN) as wiring:
        async with open_desk(home, wiring=wiring) as context:
            bird, path = await _pair(context, "See [[A bird]] there.\n")
            item = await _own(context, "a.md")
        for file in (home / "index").glob("notes.db*"):
            file.unlink()
        async with open_desk(home, wiring=wiring) as context:
            await context.sync()
            assert await context.links(item) == {bird}
            context.save(path, path.read_text().replace("See [[A bird]] there.", "Nothing there."))
            await context.sync()
            assert await context.links(item) == set()


async def _pair(context: Desk, text: str) -> tuple[str, Path]:
    """A note of a bird, and a file that says something of it."""
    bird = await context.write("It flies.", title="A bird")
    path = context.save("a.md", text)
    await context.sync()
    return bird, path


async def _own(context: Desk, path: str) -> str:
    """The note whose file is at a path."""
    return await context.vault.at(path)


async def _edges(context: Desk, memory_id: str) -> list[Relation]:
    return await context.engine.store.relations(SPACE, [memory_id])
