"""What is written on one side is found on the other."""

import re
from pathlib import Path

from scrubjay.model.draft import Edit, Selection
from scrubjay.model.memory import State
from scrubjay.model.query import Filter
from scrubjay.model.rules import Rules
from scrubjay.notes.markdown.format import parse
from tests.scenarios.notes.vaults import AGENT, SPACE, Desk, open_desk


async def test_a_memory_becomes_a_file_and_an_edit_of_it_a_version(context: Desk) -> None:
    item = await context.write("The goals are three.", title="Q4 goals", category="work/plans", tags=("goals",))
    await context.sync()
    path = await context.file(item)
    assert path.name == f"work-plans-q4-goals-{item}.md"
    text = path.read_text()
    assert "The goals are three." in text
    assert path.stat().st_mode & 0o777 == 0o600
    context.save(path, text.replace("three", "four"))
    done = await context.sync()
    assert (done.taken, done.written) == (1, 0)
    memory = await context.get(item)
    assert (memory.content, memory.version, memory.source.method) == ("The goals are four.", 2, "file")
    (version, *_) = await context.engine.store.versions(SPACE, item, limit=1)
    assert (version.agent, version.message) == ("file", f"edited in {path.name}")
    await context.edit(item, content="The goals are five.")
    await context.sync()
    assert "The goals are five." in path.read_text()
    assert await context.vault.drift() == ()
    again = await context.sync()
    assert (again.taken, again.written, again.problems) == (0, 0, ())


async def test_a_new_file_becomes_a_memory_and_its_frontmatter_is_completed(context: Desk) -> None:
    path = context.save("ideas/A bird house.md", "Built of oak.\n")
    done = await context.sync()
    assert done.created == 1
    (item,) = await context.engine.store.list_ids(SPACE, Filter(), limit=9)
    memory = await context.get(item)
    assert (memory.title, memory.category, memory.content) == ("A bird house", "ideas", "Built of oak.")
    assert memory.source.method == "file"
    assert f"id: {item}" in path.read_text()
    assert path.read_text().endswith("\nBuilt of oak.\n")
    assert context.files() == ["ideas/A bird house.md"]
    assert (await context.sync()).created == 0
    # It keeps the name that its author gave it.
    await context.edit(item, title="A house for birds")
    await context.sync()
    assert context.files() == ["ideas/A bird house.md"]
    assert "title: A house for birds" in path.read_text()


async def test_a_deleted_file_trashes_the_memory_and_one_that_comes_back_restores_it(context: Desk) -> None:
    item = await context.write("Say it again.", title="Echo")
    other = await context.write("A wall.", title="Wall")
    await context.engine.relate(item, other, who=AGENT)
    await context.sync()
    path = await context.file(item)
    text = path.read_text()
    assert path.stem in (await context.file(other)).read_text()
    path.unlink()
    assert (await context.sync()).trashed == 1
    assert (await context.get(item)).state is State.TRASHED
    assert path.stem not in (await context.file(other)).read_text()
    context.save(path, text.replace("again", "once more"))
    await context.sync()
    memory = await context.get(item)
    assert (memory.state, memory.content) == (State.LIVE, "Say it once more.")
    assert path.stem in (await context.file(other)).read_text()
    assert await context.vault.drift() == ()


async def test_what_is_forgotten_loses_its_file_and_gets_it_back_with_its_links(context: Desk) -> None:
    item, other = await context.write("First.", title="One"), await context.write("Second.", title="Two")
    await context.engine.relate(item, other, who=AGENT, text="see also")
    await context.sync()
    first, second = await context.file(item), await context.file(other)
    assert f"[[{second.stem}|see also]]" in first.read_text()
    assert f"[[{first.stem}|see also]]" in second.read_text()
    await context.forget(item)
    await context.sync()
    assert not first.exists()
    assert first.stem not in second.read_text()
    await context.restore(item)
    await context.sync()
    assert f"[[{second.stem}|see also]]" in first.read_text()
    assert f"[[{first.stem}|see also]]" in second.read_text()


async def test_a_moved_file_is_followed_and_links_to_it_are_rewritten(context: Desk) -> None:
    item = await context.write("First.", title="One")
    await context.sync()
    stem = (await context.file(item)).stem
    other = await context.write(f"See [[{stem}|that]] and [[{stem}#part]].", title="Two")
    await context.engine.relate(item, other, who=AGENT)
    third = await context.write("Third.", title="Three")
    await context.engine.relate(item, third, who=AGENT)
    await context.sync()
    target = context.root / "archive" / "old one.md"
    target.parent.mkdir()
    (await context.file(item)).rename(target)
    done = await context.sync()
    assert (done.moved, done.trashed, done.created) == (1, 0, 0)
    assert await context.file(item) == target
    assert (await context.get(other)).content == "See [[archive/old one|that]] and [[archive/old one#part]]."
    assert "[[archive/old one|that]]" in (await context.file(other)).read_text()
    assert "- [[archive/old one|One]]" in (await context.file(third)).read_text()
    assert await context.vault.drift() == ()


async def test_another_title_moves_the_file_and_rewrites_the_links(context: Desk) -> None:
    item = await context.write("First.", title="One")
    await context.sync()
    before = await context.file(item)
    other = await context.write(f"See [[{before.stem}]] and [[One]].", title="Two")
    await context.sync()
    assert await context.links(other) == {item}
    await context.edit(item, title="Number one", category="math")
    await context.sync()
    after = await context.file(item)
    assert after.name == f"math-number-one-{item}.md"
    assert not before.exists()
    assert (await context.get(other)).content == f"See [[{after.stem}]] and [[Number one]]."
    assert f"See [[{after.stem}]]" in (await context.file(other)).read_text()


async def test_a_link_to_a_note_that_does_not_exist_yet_is_made_when_it_does(context: Desk) -> None:
    context.save(
        "a.md",
        "See [[Future note]] and [[other]].\n\n<!-- scrubjay -->\n\n## Links\n\n- [[Someday|when there is time]]\n",
    )
    await context.sync()
    (item,) = await context.engine.store.list_ids(SPACE, Filter(), limit=9)
    assert "- [[Someday|when there is time]]" in (context.root / "a.md").read_text()
    future = await context.write("Here it is.", title="Future note")
    someday = await context.write("At last.", title="Someday")
    await context.sync()
    assert await context.links(item) == {future, someday}
    context.save("b/Other.md", "Third.\n")
    await context.sync()
    assert len(await context.links(item)) == 3
    reported = (context.root / "a.md").read_text()
    assert f"[[{(await context.file(someday)).stem}|when there is time]]" in reported
    assert "[[Someday|" not in reported
    assert reported.count("See [[Future note]] and [[other]].") == 1
    assert "[[a|a]]" in (await context.file(future)).read_text()


async def test_links_that_are_taken_out_of_a_file_are_taken_out_of_the_store(context: Desk) -> None:
    item, other = await context.write("First.", title="One"), await context.write("Second.", title="Two")
    await context.engine.relate(item, other, who=AGENT)
    await context.sync()
    path = await context.file(item)
    lines = [line for line in path.read_text().splitlines(keepends=True) if not line.startswith("- [[")]
    context.save(path, "".join(lines))
    await context.sync()
    assert await context.links(item) == set()
    assert "[[" not in (await context.file(other)).read_text()
    assert "links: []" in path.read_text() or "links:" not in path.read_text()
    # In the frontmatter, too, the last one can be taken out; what is no id was none of ours.
    await context.engine.relate(item, other, who=AGENT)
    for listed, left in (("[Somebody]", {other}), ("[]", set[str]())):
        await context.sync()
        context.save(path, re.sub("links: .*", f"links: {listed}", path.read_text()))
        await context.sync()
        assert await context.links(item) == left
        assert await context.vault.drift() == ()


async def test_a_copy_of_a_note_is_a_note_of_its_own(context: Desk) -> None:
    item = await context.write("Twice.", title="One")
    await context.sync()
    path = await context.file(item)
    context.save("copy.md", path.read_text())
    assert (await context.sync()).created == 1
    ids = await context.engine.store.list_ids(SPACE, Filter(), limit=9)
    assert len(ids) == 2
    assert f"id: {item}" in path.read_text()
    assert f"id: {item}" not in (context.root / "copy.md").read_text()
    assert await context.vault.drift() == ()


async def test_an_id_that_nobody_has_is_kept(context: Desk) -> None:
    own = "6ba7b810-9dad-41d1-80b4-00c04fd430c8"
    context.save("x.md", f"---\nid: {own}\ntitle: Mine\ncolour: blue\n---\n\nText.\n")
    await context.sync()
    memory = await context.get(own)
    assert (memory.title, memory.metadata) == ("Mine", {"frontmatter": "colour: blue\n"})
    context.save("y.md", "---\nid: 42\ntitle: Other\n---\n\nText.\n")
    assert (await context.sync()).created == 1
    # One that nobody can have does not make another note of a file that is known.
    context.save("x.md", (context.root / "x.md").read_text().replace(own, "mistyped"))
    await context.sync()
    assert ((await context.get(own)).state, f"id: {own}" in (context.root / "x.md").read_text()) == (State.LIVE, True)
    # A file that says everything already needs no word more to be known.
    whole = (context.root / "x.md").read_text().replace(own, own.replace("6", "7", 1))
    (context.root / "x.md").unlink()
    context.save("z.md", whole)
    await context.sync()
    assert ((context.root / "z.md").read_text(), context.files()) == (whole, ["y.md", "z.md"])
    assert await context.vault.drift() == ()


async def test_what_we_know_nothing_of_survives_in_its_place(context: Desk) -> None:
    head = "aliases:\r\n  - Bird\r\n# a remark\r\ntags: [Oak, 'wood']\r\ncssclass: wide\r\n"
    text = f"---\r\n{head}---\r\n\r\nLine one\r\nLine two\r\n"
    path = context.save("crlf.md", text)
    await context.sync()
    (item,) = await context.engine.store.list_ids(SPACE, Filter(), limit=9)
    assert (await context.get(item)).content == "Line one\nLine two"
    await context.edit(item, content="Line one\nLine 2")
    await context.sync()
    after = path.read_bytes().decode()
    assert "\n" not in after.replace("\r\n", "")
    head = after.split("---\r\n")[1]
    assert [line for line in head.split("\r\n") if line in text.split("\r\n") and line] == [
        "aliases:", "  - Bird", "# a remark", "tags: [Oak, 'wood']", "cssclass: wide",
    ]  # fmt: skip
    assert after.endswith("Line one\r\nLine 2\r\n")
    await context.forget(item)
    await context.sync()
    await context.restore(item)
    await context.sync()
    assert "cssclass: wide" in path.read_text()


async def test_what_is_no_note_is_told_and_left_alone(context: Desk) -> None:
    (context.root / "binary.md").write_bytes(b"\x00\x01\x02")
    (context.root / "broken.md").write_text("---\ntitle: [a\n---\n\ntext\n")
    (context.root / "huge.md").write_text("word " * 300_000)
    (context.root / "link.md").symlink_to("/etc/hostname")
    (context.root / "empty.md").write_text("")
    context.save("good.md", "Good.\n")
    before = {name: (context.root / name).read_bytes() for name in ("binary.md", "broken.md", "huge.md", "empty.md")}
    done = await context.sync()
    assert done.created == 1
    assert {problem.partition(":")[0] for problem in done.problems} == {"binary.md", "broken.md", "huge.md", "link.md"}
    assert {name: (context.root / name).read_bytes() for name in before} == before
    context.save("broken.md", "---\ntitle: a\n---\n\ntext\n")
    (context.root / "binary.md").unlink()
    done = await context.sync()
    assert {problem.partition(":")[0] for problem in done.problems} == {"huge.md", "link.md"}


async def test_a_secret_stays_in_the_file_and_out_of_the_store(context: Desk) -> None:
    secret = "AKIA" + "IOSFODNN7EXAMPLE"
    path = context.save("keys.md", f"The key is {secret}.\n\nLast line.\n")
    await context.sync()
    (item,) = await context.engine.store.list_ids(SPACE, Filter(), limit=9)
    assert secret not in (await context.get(item)).content
    assert secret in path.read_text()
    content = (await context.get(item)).content
    await context.edit(item, content=f"{content}\nMore.")
    await context.sync()
    assert secret in path.read_text()
    assert "More." in path.read_text()
    assert (await context.sync()).written == 0


async def test_what_waits_for_a_yes_keeps_its_file(home: Path) -> None:
    async with open_desk(home, rules=Rules(review="all", gate="off", density="off", tags="off")) as context:
        path = context.save("mine.md", "Mine.\n")
        await context.write("An agent's.", title="Theirs")
        await context.sync()
        await context.sync()
        assert context.files() == ["mine.md"]
        (item,) = [memory.id for memory in await context.engine.inbox(who=AGENT) if memory.content == "Mine."]
        context.save(path, path.read_text().replace("Mine.", "Mine, and more."))
        await context.sync()
        assert (await context.get(item)).content == "Mine, and more."
        await context.engine.approve(Selection(refs=(item,)), who=AGENT)
        await context.sync()
        assert (await context.get(item)).state is State.LIVE
        assert context.files() == ["mine.md"]
        assert await context.vault.drift() == ()


async def test_tags_observations_and_labels_go_both_ways(context: Desk) -> None:
    item = await context.write("Text.", title="One", tags=("a", "b"), observations=("first", "second"), kind="decision")
    await context.sync()
    path = await context.file(item)
    text = path.read_text()
    text = text.replace('tags: ["a", "b"]', "tags: [b, C]").replace("- first\n", "- First of all,\n  in two lines\n")
    context.save(path, text.replace("kind: decision", "kind: plan\npinned: true"))
    await context.engine.revise(item, Edit(fields={"tags": ["a", "b", "d"]}, add_observations=("third",)), who=AGENT)
    await context.sync()
    memory = await context.get(item)
    assert (set(memory.tags), memory.kind, memory.pinned) == ({"b", "c", "d"}, "plan", True)
    spoken = {"First of all,\nin two lines", "second", "third"}
    assert {observation.text for observation in memory.observations} == spoken
    assert await context.engine.conflicts(who=AGENT) == ()
    assert set(parse(path.read_bytes()).note.observations) == spoken
    # Who takes the frontmatter away as a whole takes nothing out of the memory.
    context.save(path, "Text, and nothing else.\n")
    await context.sync()
    memory = await context.get(item)
    assert (memory.content, memory.title, memory.kind, len(memory.tags)) == (
        "Text, and nothing else.",
        "One",
        "plan",
        3,
    )
    assert f"id: {item}" in path.read_text()
    assert await context.vault.drift() == ()


async def test_a_title_that_is_changed_in_the_file_moves_it(context: Desk) -> None:
    item = await context.write("First.", title="One")
    other = await context.write("See [[One]].", title="Two")
    await context.sync()
    before = await context.file(item)
    context.save(before, before.read_text().replace("title: One", "title: Number one"))
    await context.sync()
    after = await context.file(item)
    assert (after.name, before.exists()) == (f"number-one-{item}.md", False)
    assert (await context.get(item)).title == "Number one"
    assert (await context.get(other)).content == "See [[Number one]]."
    assert after.stem in (await context.file(other)).read_text()
    # A file whose name is its title: who renames it gives it another title, too.
    context.save("idea.md", "An idea.\n")
    await context.sync()
    (context.root / "idea.md").rename(context.root / "great idea.md")
    await context.sync()
    assert "title: great idea" in (context.root / "great idea.md").read_text()
    assert await context.vault.drift() == ()


async def test_templates_and_attachments_are_no_notes(context: Desk) -> None:
    paths = ["templates/daily.md", "attachments/page.md", "Templates/other.md"]
    for path in paths:
        context.save(path, "# {{title}}\n")
    await context.vault.attend(paths)
    await context.sync()
    assert await context.engine.store.list_ids(SPACE, Filter(), limit=9) == []
    assert await context.vault.count() == 0


async def test_a_file_that_says_nothing_yet_is_no_drift_and_what_is_wrong_is_told_once(context: Desk) -> None:
    context.save("Untitled.md", "")
    context.save("Planned.md", "---\ntitle: Planned\n---\n\n")
    context.save("odd.md", "---\ntitle: [\n---\nText\n")
    context.save("late.md", "Text\n")
    assert set(await context.vault.drift()) == {
        "late.md: changed or new, and not taken in yet",
        "odd.md: changed or new, and not taken in yet",
    }
    await context.sync()
    assert await context.vault.drift() == ()
    assert [problem.partition(":")[0] for problem in await context.vault.problems()] == ["odd.md"]
    context.save("Planned.md", "---\ntitle: Planned\n---\n\nNow it says something.\n")
    assert await context.vault.drift() == ("Planned.md: changed or new, and not taken in yet",)
    await context.sync()
    assert await context.vault.drift() == ()
