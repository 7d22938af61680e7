"""What is written on one side is found on the other."""

import re
from pathlib import Path

from scrubjay.model.draft import Edit
from scrubjay.model.memory import State
from scrubjay.model.query import Filter
from scrubjay.model.rules import Rules
from scrubjay.model.selection import Selection
from scrubjay.notes.page.format import parse
from tests.notes.vaults import AGENT, SPACE, Desk, open_desk


async def test_a_memory_becomes_a_file_and_an_edit_of_it_a_version(desk: Desk) -> None:
    one = await desk.write("The goals are three.", title="Q4 goals", category="work/plans", tags=("goals",))
    await desk.sync()
    path = await desk.file(one)
    assert path.name == f"work-plans-q4-goals-{one}.md"
    text = path.read_text()
    assert "The goals are three." in text
    assert path.stat().st_mode & 0o777 == 0o600
    desk.save(path, text.replace("three", "four"))
    done = await desk.sync()
    assert (done.taken, done.written) == (1, 0)
    memory = await desk.get(one)
    assert (memory.content, memory.version, memory.source.method) == ("The goals are four.", 2, "file")
    (version, *_) = await desk.engine.store.versions(SPACE, one, limit=1)
    assert (version.agent, version.message) == ("file", f"edited in {path.name}")
    await desk.edit(one, content="The goals are five.")
    await desk.sync()
    assert "The goals are five." in path.read_text()
    assert await desk.vault.drift() == ()
    again = await desk.sync()
    assert (again.taken, again.written, again.problems) == (0, 0, ())


async def test_a_new_file_becomes_a_memory_and_its_frontmatter_is_completed(desk: Desk) -> None:
    path = desk.save("ideas/A bird house.md", "Built of oak.\n")
    done = await desk.sync()
    assert done.created == 1
    (one,) = await desk.engine.store.list_ids(SPACE, Filter(), limit=9)
    memory = await desk.get(one)
    assert (memory.title, memory.category, memory.content) == ("A bird house", "ideas", "Built of oak.")
    assert memory.source.method == "file"
    assert f"id: {one}" in path.read_text()
    assert path.read_text().endswith("\nBuilt of oak.\n")
    assert desk.files() == ["ideas/A bird house.md"]
    assert (await desk.sync()).created == 0
    # It keeps the name that its author gave it.
    await desk.edit(one, title="A house for birds")
    await desk.sync()
    assert desk.files() == ["ideas/A bird house.md"]
    assert "title: A house for birds" in path.read_text()


async def test_a_deleted_file_trashes_the_memory_and_one_that_comes_back_restores_it(desk: Desk) -> None:
    one = await desk.write("Say it again.", title="Echo")
    other = await desk.write("A wall.", title="Wall")
    await desk.engine.relate(one, other, who=AGENT)
    await desk.sync()
    path = await desk.file(one)
    text = path.read_text()
    assert path.stem in (await desk.file(other)).read_text()
    path.unlink()
    assert (await desk.sync()).trashed == 1
    assert (await desk.get(one)).state is State.TRASHED
    assert path.stem not in (await desk.file(other)).read_text()
    desk.save(path, text.replace("again", "once more"))
    await desk.sync()
    memory = await desk.get(one)
    assert (memory.state, memory.content) == (State.LIVE, "Say it once more.")
    assert path.stem in (await desk.file(other)).read_text()
    assert await desk.vault.drift() == ()


async def test_what_is_forgotten_loses_its_file_and_gets_it_back_with_its_links(desk: Desk) -> None:
    one, other = await desk.write("First.", title="One"), await desk.write("Second.", title="Two")
    await desk.engine.relate(one, other, who=AGENT, text="see also")
    await desk.sync()
    first, second = await desk.file(one), await desk.file(other)
    assert f"[[{second.stem}|see also]]" in first.read_text()
    assert f"[[{first.stem}|see also]]" in second.read_text()
    await desk.forget(one)
    await desk.sync()
    assert not first.exists()
    assert first.stem not in second.read_text()
    await desk.restore(one)
    await desk.sync()
    assert f"[[{second.stem}|see also]]" in first.read_text()
    assert f"[[{first.stem}|see also]]" in second.read_text()


async def test_a_moved_file_is_followed_and_links_to_it_are_rewritten(desk: Desk) -> None:
    one = await desk.write("First.", title="One")
    await desk.sync()
    stem = (await desk.file(one)).stem
    other = await desk.write(f"See [[{stem}|that]] and [[{stem}#part]].", title="Two")
    await desk.engine.relate(one, other, who=AGENT)
    third = await desk.write("Third.", title="Three")
    await desk.engine.relate(one, third, who=AGENT)
    await desk.sync()
    target = desk.root / "archive" / "old one.md"
    target.parent.mkdir()
    (await desk.file(one)).rename(target)
    done = await desk.sync()
    assert (done.moved, done.trashed, done.created) == (1, 0, 0)
    assert await desk.file(one) == target
    assert (await desk.get(other)).content == "See [[archive/old one|that]] and [[archive/old one#part]]."
    assert "[[archive/old one|that]]" in (await desk.file(other)).read_text()
    assert "- [[archive/old one|One]]" in (await desk.file(third)).read_text()
    assert await desk.vault.drift() == ()


async def test_another_title_moves_the_file_and_rewrites_the_links(desk: Desk) -> None:
    one = await desk.write("First.", title="One")
    await desk.sync()
    before = await desk.file(one)
    other = await desk.write(f"See [[{before.stem}]] and [[One]].", title="Two")
    await desk.sync()
    assert await desk.links(other) == {one}
    await desk.edit(one, title="Number one", category="math")
    await desk.sync()
    after = await desk.file(one)
    assert after.name == f"math-number-one-{one}.md"
    assert not before.exists()
    assert (await desk.get(other)).content == f"See [[{after.stem}]] and [[Number one]]."
    assert f"See [[{after.stem}]]" in (await desk.file(other)).read_text()


async def test_a_link_to_a_note_that_does_not_exist_yet_is_made_when_it_does(desk: Desk) -> None:
    desk.save(
        "a.md",
        "See [[Future note]] and [[other]].\n\n<!-- scrubjay -->\n\n## Links\n\n- [[Someday|when there is time]]\n",
    )
    await desk.sync()
    (one,) = await desk.engine.store.list_ids(SPACE, Filter(), limit=9)
    assert "- [[Someday|when there is time]]" in (desk.root / "a.md").read_text()
    future = await desk.write("Here it is.", title="Future note")
    someday = await desk.write("At last.", title="Someday")
    await desk.sync()
    assert await desk.links(one) == {future, someday}
    desk.save("b/Other.md", "Third.\n")
    await desk.sync()
    assert len(await desk.links(one)) == 3
    told = (desk.root / "a.md").read_text()
    assert f"[[{(await desk.file(someday)).stem}|when there is time]]" in told
    assert "[[Someday|" not in told
    assert told.count("See [[Future note]] and [[other]].") == 1
    assert "[[a|a]]" in (await desk.file(future)).read_text()


async def test_links_that_are_taken_out_of_a_file_are_taken_out_of_the_store(desk: Desk) -> None:
    one, other = await desk.write("First.", title="One"), await desk.write("Second.", title="Two")
    await desk.engine.relate(one, other, who=AGENT)
    await desk.sync()
    path = await desk.file(one)
    lines = [line for line in path.read_text().splitlines(keepends=True) if not line.startswith("- [[")]
    desk.save(path, "".join(lines))
    await desk.sync()
    assert await desk.links(one) == set()
    assert "[[" not in (await desk.file(other)).read_text()
    assert "links: []" in path.read_text() or "links:" not in path.read_text()
    # In the frontmatter, too, the last one can be taken out; what is no id was none of ours.
    await desk.engine.relate(one, other, who=AGENT)
    for listed, left in (("[Somebody]", {other}), ("[]", set[str]())):
        await desk.sync()
        desk.save(path, re.sub("links: .*", f"links: {listed}", path.read_text()))
        await desk.sync()
        assert await desk.links(one) == left
        assert await desk.vault.drift() == ()


async def test_a_copy_of_a_note_is_a_note_of_its_own(desk: Desk) -> None:
    one = await desk.write("Twice.", title="One")
    await desk.sync()
    path = await desk.file(one)
    desk.save("copy.md", path.read_text())
    assert (await desk.sync()).created == 1
    ids = await desk.engine.store.list_ids(SPACE, Filter(), limit=9)
    assert len(ids) == 2
    assert f"id: {one}" in path.read_text()
    assert f"id: {one}" not in (desk.root / "copy.md").read_text()
    assert await desk.vault.drift() == ()


async def test_an_id_that_nobody_has_is_kept(desk: Desk) -> None:
    own = "6ba7b810-9dad-41d1-80b4-00c04fd430c8"
    desk.save("x.md", f"---\nid: {own}\ntitle: Mine\ncolour: blue\n---\n\nText.\n")
    await desk.sync()
    memory = await desk.get(own)
    assert (memory.title, memory.metadata) == ("Mine", {"frontmatter": "colour: blue\n"})
    desk.save("y.md", "---\nid: 42\ntitle: Other\n---\n\nText.\n")
    assert (await desk.sync()).created == 1
    # One that nobody can have does not make another note of a file that is known.
    desk.save("x.md", (desk.root / "x.md").read_text().replace(own, "mistyped"))
    await desk.sync()
    assert ((await desk.get(own)).state, f"id: {own}" in (desk.root / "x.md").read_text()) == (State.LIVE, True)
    # A file that says everything already needs no word more to be known.
    whole = (desk.root / "x.md").read_text().replace(own, own.replace("6", "7", 1))
    (desk.root / "x.md").unlink()
    desk.save("z.md", whole)
    await desk.sync()
    assert ((desk.root / "z.md").read_text(), desk.files()) == (whole, ["y.md", "z.md"])
    assert await desk.vault.drift() == ()


async def test_what_we_know_nothing_of_survives_in_its_place(desk: Desk) -> None:
    head = "aliases:\r\n  - Bird\r\n# a remark\r\ntags: [Oak, 'wood']\r\ncssclass: wide\r\n"
    text = f"---\r\n{head}---\r\n\r\nLine one\r\nLine two\r\n"
    path = desk.save("crlf.md", text)
    await desk.sync()
    (one,) = await desk.engine.store.list_ids(SPACE, Filter(), limit=9)
    assert (await desk.get(one)).content == "Line one\nLine two"
    await desk.edit(one, content="Line one\nLine 2")
    await desk.sync()
    after = path.read_bytes().decode()
    assert "\n" not in after.replace("\r\n", "")
    head = after.split("---\r\n")[1]
    assert [line for line in head.split("\r\n") if line in text.split("\r\n") and line] == [
        "aliases:", "  - Bird", "# a remark", "tags: [Oak, 'wood']", "cssclass: wide",
    ]  # fmt: skip
    assert after.endswith("Line one\r\nLine 2\r\n")
    await desk.forget(one)
    await desk.sync()
    await desk.restore(one)
    await desk.sync()
    assert "cssclass: wide" in path.read_text()


async def test_what_is_no_note_is_told_and_left_alone(desk: Desk) -> None:
    (desk.root / "binary.md").write_bytes(b"\x00\x01\x02")
    (desk.root / "broken.md").write_text("---\ntitle: [a\n---\n\ntext\n")
    (desk.root / "huge.md").write_text("word " * 300_000)
    (desk.root / "link.md").symlink_to("/etc/hostname")
    (desk.root / "empty.md").write_text("")
    desk.save("good.md", "Good.\n")
    before = {name: (desk.root / name).read_bytes() for name in ("binary.md", "broken.md", "huge.md", "empty.md")}
    done = await desk.sync()
    assert done.created == 1
    assert {one.partition(":")[0] for one in done.problems} == {"binary.md", "broken.md", "huge.md", "link.md"}
    assert {name: (desk.root / name).read_bytes() for name in before} == before
    desk.save("broken.md", "---\ntitle: a\n---\n\ntext\n")
    (desk.root / "binary.md").unlink()
    done = await desk.sync()
    assert {one.partition(":")[0] for one in done.problems} == {"huge.md", "link.md"}


async def test_a_secret_stays_in_the_file_and_out_of_the_store(desk: Desk) -> None:
    secret = "AKIA" + "IOSFODNN7EXAMPLE"
    path = desk.save("keys.md", f"The key is {secret}.\n\nLast line.\n")
    await desk.sync()
    (one,) = await desk.engine.store.list_ids(SPACE, Filter(), limit=9)
    assert secret not in (await desk.get(one)).content
    assert secret in path.read_text()
    content = (await desk.get(one)).content
    await desk.edit(one, content=f"{content}\nMore.")
    await desk.sync()
    assert secret in path.read_text()
    assert "More." in path.read_text()
    assert (await desk.sync()).written == 0


async def test_what_waits_for_a_yes_keeps_its_file(home: Path) -> None:
    async with open_desk(home, rules=Rules(review="all", gate="off", density="off", tags="off")) as desk:
        path = desk.save("mine.md", "Mine.\n")
        await desk.write("An agent's.", title="Theirs")
        await desk.sync()
        await desk.sync()
        assert desk.files() == ["mine.md"]
        (one,) = [memory.id for memory in await desk.engine.inbox(who=AGENT) if memory.content == "Mine."]
        desk.save(path, path.read_text().replace("Mine.", "Mine, and more."))
        await desk.sync()
        assert (await desk.get(one)).content == "Mine, and more."
        await desk.engine.approve(Selection(refs=(one,)), who=AGENT)
        await desk.sync()
        assert (await desk.get(one)).state is State.LIVE
        assert desk.files() == ["mine.md"]
        assert await desk.vault.drift() == ()


async def test_tags_observations_and_labels_go_both_ways(desk: Desk) -> None:
    one = await desk.write("Text.", title="One", tags=("a", "b"), observations=("first", "second"), kind="decision")
    await desk.sync()
    path = await desk.file(one)
    text = path.read_text()
    text = text.replace('tags: ["a", "b"]', "tags: [b, C]").replace("- first\n", "- First of all,\n  in two lines\n")
    desk.save(path, text.replace("kind: decision", "kind: plan\npinned: true"))
    await desk.engine.revise(one, Edit(fields={"tags": ["a", "b", "d"]}, add_observations=("third",)), who=AGENT)
    await desk.sync()
    memory = await desk.get(one)
    assert (set(memory.tags), memory.kind, memory.pinned) == ({"b", "c", "d"}, "plan", True)
    said = {"First of all,\nin two lines", "second", "third"}
    assert {one.text for one in memory.observations} == said
    assert await desk.engine.conflicts(who=AGENT) == ()
    assert set(parse(path.read_bytes()).note.observations) == said
    # Who takes the frontmatter away as a whole takes nothing out of the memory.
    desk.save(path, "Text, and nothing else.\n")
    await desk.sync()
    memory = await desk.get(one)
    assert (memory.content, memory.title, memory.kind, len(memory.tags)) == (
        "Text, and nothing else.",
        "One",
        "plan",
        3,
    )
    assert f"id: {one}" in path.read_text()
    assert await desk.vault.drift() == ()


async def test_a_title_that_is_changed_in_the_file_moves_it(desk: Desk) -> None:
    one = await desk.write("First.", title="One")
    other = await desk.write("See [[One]].", title="Two")
    await desk.sync()
    before = await desk.file(one)
    desk.save(before, before.read_text().replace("title: One", "title: Number one"))
    await desk.sync()
    after = await desk.file(one)
    assert (after.name, before.exists()) == (f"number-one-{one}.md", False)
    assert (await desk.get(one)).title == "Number one"
    assert (await desk.get(other)).content == "See [[Number one]]."
    assert after.stem in (await desk.file(other)).read_text()
    # A file whose name is its title: who renames it gives it another title, too.
    desk.save("idea.md", "An idea.\n")
    await desk.sync()
    (desk.root / "idea.md").rename(desk.root / "great idea.md")
    await desk.sync()
    assert "title: great idea" in (desk.root / "great idea.md").read_text()
    assert await desk.vault.drift() == ()


async def test_templates_and_attachments_are_no_notes(desk: Desk) -> None:
    paths = ["templates/daily.md", "attachments/page.md", "Templates/other.md"]
    for path in paths:
        desk.save(path, "# {{title}}\n")
    await desk.vault.attend(paths)
    await desk.sync()
    assert await desk.engine.store.list_ids(SPACE, Filter(), limit=9) == []
    assert await desk.vault.count() == 0


async def test_a_file_that_says_nothing_yet_is_no_drift_and_what_is_wrong_is_told_once(desk: Desk) -> None:
    desk.save("Untitled.md", "")
    desk.save("Planned.md", "---\ntitle: Planned\n---\n\n")
    desk.save("odd.md", "---\ntitle: [\n---\nText\n")
    desk.save("late.md", "Text\n")
    assert set(await desk.vault.drift()) == {
        "late.md: changed or new, and not taken in yet",
        "odd.md: changed or new, and not taken in yet",
    }
    await desk.sync()
    assert await desk.vault.drift() == ()
    assert [one.partition(":")[0] for one in await desk.vault.problems()] == ["odd.md"]
    desk.save("Planned.md", "---\ntitle: Planned\n---\n\nNow it says something.\n")
    assert await desk.vault.drift() == ("Planned.md: changed or new, and not taken in yet",)
    await desk.sync()
    assert await desk.vault.drift() == ()
