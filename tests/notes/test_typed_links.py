"""A link that came of a text alone goes with it; one that somebody has made or listed stays."""

from pathlib import Path

from scrubjay.model.relation import Relation
from tests.notes.vaults import AGENT, PLAIN, SPACE, Desk, open_desk
from tests.scenarios.house import open_house


async def test_a_link_goes_when_the_text_that_made_it_has_it_no_more(desk: Desk) -> None:
    bird, path = await _pair(desk, "See [[A bird]] there.\n")
    one = await _own(desk, "a.md")
    assert await desk.links(one) == {bird}
    # A text calls it by its title, so an editor finds the file by the list.
    assert f"- [[{(await desk.file(bird)).stem}|A bird]]" in path.read_text()
    assert "[[a|a]]" in (await desk.file(bird)).read_text()
    desk.save(path, path.read_text().replace("See [[A bird]] there.", "Nothing there."))
    await desk.sync()
    assert await desk.links(one) == set()
    assert "[[" not in path.read_text()
    assert "[[" not in (await desk.file(bird)).read_text()
    assert await desk.vault.drift() == ()


async def test_an_agent_who_takes_it_out_of_the_text_takes_the_link_out(desk: Desk) -> None:
    bird = await desk.write("It flies.", title="A bird")
    one = await desk.write("See [[A bird]] and [[Someday]].", title="One")
    await desk.sync()
    assert await desk.links(one) == {bird}
    await desk.edit(one, content="See nothing.")
    await desk.sync()
    assert await desk.links(one) == set()
    assert "[[" not in (await desk.file(one)).read_text() + (await desk.file(bird)).read_text()
    # Nor is linked what it named, and names no more when that comes to be.
    someday = await desk.write("At last.", title="Someday")
    await desk.sync()
    assert await desk.links(someday) == set()


async def test_a_link_that_was_also_made_stays(desk: Desk) -> None:
    bird, path = await _pair(desk, "See [[A bird]] there.\n")
    one = await _own(desk, "a.md")
    await desk.engine.relate(one, bird, who=AGENT)
    await desk.sync()
    desk.save(path, path.read_text().replace("See [[A bird]] there.", "Nothing there."))
    await desk.sync()
    assert await desk.links(one) == {bird}
    assert "|A bird]]" in path.read_text()


async def test_a_link_that_was_there_before_the_text_named_it_stays(desk: Desk) -> None:
    one, bird = await desk.write("Nothing.", title="One"), await desk.write("It flies.", title="A bird")
    await desk.engine.relate(one, bird, who=AGENT, text="which flies")
    await desk.sync()
    await desk.edit(one, content="See [[A bird]].")
    await desk.sync()
    await desk.edit(one, content="Nothing again.")
    await desk.sync()
    (edge,) = await _edges(desk, one)
    assert edge.text == "which flies"


async def test_a_link_in_the_list_by_hand_stays_also_in_other_words(desk: Desk) -> None:
    bird, path = await _pair(desk, "See [[A bird]] there.\n")
    one = await _own(desk, "a.md")
    desk.save(path, path.read_text().replace("|A bird]]", "|the one that flies]]"))
    await desk.sync()
    desk.save(path, path.read_text().replace("See [[A bird]] there.", "Nothing there."))
    await desk.sync()
    assert await desk.links(one) == {bird}
    assert "|the one that flies]]" in path.read_text()


async def test_a_link_by_the_name_of_a_file_that_is_listed_by_hand_too_stays(desk: Desk) -> None:
    desk.save("bird.md", "It flies.\n")
    desk.save("a.md", "See [[bird]] there.\n")
    await desk.sync()
    bird, one, path = await _own(desk, "bird.md"), await _own(desk, "a.md"), desk.root / "a.md"
    assert "<!-- scrubjay -->" not in path.read_text()
    desk.save(path, f"{path.read_text()}\n<!-- scrubjay -->\n\n## Links\n\n- [[bird|bird]]\n")
    await desk.sync()
    desk.save(path, path.read_text().replace("See [[bird]] there.", "Nothing there."))
    await desk.sync()
    assert await desk.links(one) == {bird}
    assert "- [[bird|bird]]" in path.read_text()


async def test_a_link_that_is_taken_out_of_the_list_is_the_texts_alone(desk: Desk) -> None:
    one, bird = await desk.write("See [[A bird]].", title="One"), await desk.write("It flies.", title="A bird")
    await desk.engine.relate(one, bird, who=AGENT)
    await desk.sync()
    path = await desk.file(one)
    desk.save(path, path.read_text().partition("<!-- scrubjay -->")[0])
    await desk.sync()
    assert await desk.links(one) == {bird}
    desk.save(path, path.read_text().replace("[[A bird]]", "nothing"))
    await desk.sync()
    assert await desk.links(one) == set()


async def test_two_that_name_each_other_are_linked_until_neither_does(desk: Desk) -> None:
    one = await desk.write("See [[Two]].", title="One")
    other = await desk.write("See [[One]].", title="Two")
    await desk.sync()
    assert await desk.links(one) == {other}
    await desk.edit(one, content="Nothing.")
    await desk.sync()
    assert await desk.links(one) == {other}
    await desk.edit(other, content="Nothing.")
    await desk.sync()
    assert await desk.links(one) == set()


async def test_a_link_outlives_a_new_name_of_what_it_leads_to(desk: Desk) -> None:
    bird = await desk.write("It flies.", title="A bird")
    one = await desk.write("See [[A bird]] and more.", title="One")
    await desk.sync()
    # Both at once, and the one that names the other is looked at first.
    await desk.edit(one, content="See [[A bird]] and less.")
    await desk.edit(bird, title="A jay")
    await desk.sync()
    assert await desk.links(one) == {bird}
    assert (await desk.get(one)).content == "See [[A jay]] and less."
    await desk.edit(bird, title="A blue jay")
    await desk.edit(one, content="See [[A jay]] and least.")
    await desk.sync()
    assert await desk.links(one) == {bird}
    await desk.edit(one, content="See nothing.")
    await desk.sync()
    assert await desk.links(one) == set()


async def test_a_lost_ledger_makes_no_link_another_kind(home: Path) -> None:
    async with open_house(home, index=False, rules=PLAIN) as house:
        async with open_desk(home, house=house) as desk:
            bird, path = await _pair(desk, "See [[A bird]] there.\n")
            one = await _own(desk, "a.md")
        for file in (home / "index").glob("notes.db*"):
            file.unlink()
        async with open_desk(home, house=house) as desk:
            await desk.sync()
            assert await desk.links(one) == {bird}
            desk.save(path, path.read_text().replace("See [[A bird]] there.", "Nothing there."))
            await desk.sync()
            assert await desk.links(one) == set()


async def _pair(desk: Desk, text: str) -> tuple[str, Path]:
    """A note of a bird, and a file that says something of it."""
    bird = await desk.write("It flies.", title="A bird")
    path = desk.save("a.md", text)
    await desk.sync()
    return bird, path


async def _own(desk: Desk, path: str) -> str:
    """The note whose file is at a path."""
    return await desk.vault.at(path)


async def _edges(desk: Desk, memory_id: str) -> list[Relation]:
    return await desk.engine.store.relations(SPACE, [memory_id])
