"""A change on one side appears on the other."""

import re
from pathlib import Path

from scrubjay.model.memory import State
from scrubjay.model.query import Filter
from scrubjay.model.requests import ApproveRequest, ConflictsRequest, Edit, InboxRequest, RelateRequest
from scrubjay.model.rules import Rules
from scrubjay.notes.markdown.format import parse
from tests.scenarios.notes.harness import AGENT, SPACE, VaultHarness, open_harness


async def test_a_memory_becomes_a_file_and_an_edit_of_it_a_version(harness: VaultHarness) -> None:
    note_id = await harness.write("The goals are three.", title="Q4 goals", category="work/plans", tags=("goals",))
    await harness.sync()
    path = await harness.file(note_id)
    assert path.name == f"work-plans-q4-goals-{note_id}.md"
    text = path.read_text()
    assert "The goals are three." in text
    assert path.stat().st_mode & 0o777 == 0o600
    harness.save(path, text.replace("three", "four"))
    done = await harness.sync()
    assert (done.taken, done.written) == (1, 0)
    memory = await harness.get(note_id)
    assert (memory.content, memory.version, memory.source.method) == ("The goals are four.", 2, "file")
    (version, *_) = await harness.engine.reader.versions(SPACE, note_id, limit=1)
    assert (version.agent, version.message) == ("file", f"edited in {path.name}")
    await harness.edit(note_id, content="The goals are five.")
    await harness.sync()
    assert "The goals are five." in path.read_text()
    assert await harness.vault.drift() == ()
    again = await harness.sync()
    assert (again.taken, again.written, again.problems) == (0, 0, ())


async def test_a_new_file_becomes_a_memory_and_its_frontmatter_is_completed(harness: VaultHarness) -> None:
    path = harness.save("ideas/A bird house.md", "Built of oak.\n")
    done = await harness.sync()
    assert done.created == 1
    (note_id,) = await harness.engine.reader.list_ids(SPACE, Filter(), limit=9)
    memory = await harness.get(note_id)
    assert (memory.title, memory.category, memory.content) == ("A bird house", "ideas", "Built of oak.")
    assert memory.source.method == "file"
    assert f"id: {note_id}" in path.read_text()
    assert path.read_text().endswith("\nBuilt of oak.\n")
    assert harness.files() == ["ideas/A bird house.md"]
    assert (await harness.sync()).created == 0
    # It keeps the name that its author has given it.
    await harness.edit(note_id, title="A house for birds")
    await harness.sync()
    assert harness.files() == ["ideas/A bird house.md"]
    assert "title: A house for birds" in path.read_text()


async def test_a_deleted_file_trashes_the_memory_and_one_that_comes_back_restores_it(harness: VaultHarness) -> None:
    note_id = await harness.write("Say it again.", title="Echo")
    other = await harness.write("A wall.", title="Wall")
    await harness.engine.relate(RelateRequest(source=note_id, target=other), who=AGENT)
    await harness.sync()
    path = await harness.file(note_id)
    text = path.read_text()
    assert path.stem in (await harness.file(other)).read_text()
    path.unlink()
    assert (await harness.sync()).trashed == 1
    assert (await harness.get(note_id)).state is State.TRASHED
    assert path.stem not in (await harness.file(other)).read_text()
    harness.save(path, text.replace("again", "once more"))
    await harness.sync()
    memory = await harness.get(note_id)
    assert (memory.state, memory.content) == (State.LIVE, "Say it once more.")
    assert path.stem in (await harness.file(other)).read_text()
    assert await harness.vault.drift() == ()


async def test_a_forgotten_memory_loses_its_file_and_gets_it_back_with_its_links(harness: VaultHarness) -> None:
    note_id, other = await harness.write("First.", title="One"), await harness.write("Second.", title="Two")
    await harness.engine.relate(RelateRequest(source=note_id, target=other, text="see also"), who=AGENT)
    await harness.sync()
    first, second = await harness.file(note_id), await harness.file(other)
    assert f"[[{second.stem}|see also]]" in first.read_text()
    # The text belongs to the end that wrote it.
    assert f"[[{first.stem}|One]]" in second.read_text()
    await harness.forget(note_id)
    await harness.sync()
    assert not first.exists()
    assert first.stem not in second.read_text()
    await harness.restore(note_id)
    await harness.sync()
    assert f"[[{second.stem}|see also]]" in first.read_text()
    assert f"[[{first.stem}|One]]" in second.read_text()


async def test_a_moved_file_is_followed_and_links_to_it_are_rewritten(harness: VaultHarness) -> None:
    note_id = await harness.write("First.", title="One")
    await harness.sync()
    stem = (await harness.file(note_id)).stem
    other = await harness.write(f"See [[{stem}|that]] and [[{stem}#part]].", title="Two")
    await harness.engine.relate(RelateRequest(source=note_id, target=other), who=AGENT)
    third = await harness.write("Third.", title="Three")
    await harness.engine.relate(RelateRequest(source=note_id, target=third), who=AGENT)
    await harness.sync()
    target = harness.root / "archive" / "old one.md"
    target.parent.mkdir()
    (await harness.file(note_id)).rename(target)
    done = await harness.sync()
    assert (done.moved, done.trashed, done.created) == (1, 0, 0)
    assert await harness.file(note_id) == target
    assert (await harness.get(other)).content == "See [[archive/old one|that]] and [[archive/old one#part]]."
    assert "[[archive/old one|that]]" in (await harness.file(other)).read_text()
    assert "- [[archive/old one|One]]" in (await harness.file(third)).read_text()
    assert await harness.vault.drift() == ()


async def test_another_title_moves_the_file_and_rewrites_the_links(harness: VaultHarness) -> None:
    note_id = await harness.write("First.", title="One")
    await harness.sync()
    before = await harness.file(note_id)
    other = await harness.write(f"See [[{before.stem}]] and [[One]].", title="Two")
    await harness.sync()
    assert await harness.links(other) == {note_id}
    await harness.edit(note_id, title="Number one", category="math")
    await harness.sync()
    after = await harness.file(note_id)
    assert after.name == f"math-number-one-{note_id}.md"
    assert not before.exists()
    assert (await harness.get(other)).content == f"See [[{after.stem}]] and [[Number one]]."
    assert f"See [[{after.stem}]]" in (await harness.file(other)).read_text()


async def test_a_link_to_a_note_that_does_not_exist_yet_is_made_when_it_does(harness: VaultHarness) -> None:
    harness.save(
        "a.md",
        "See [[Future note]] and [[other]].\n\n<!-- scrubjay -->\n\n## Links\n\n- [[Someday|when there is time]]\n",
    )
    await harness.sync()
    (note_id,) = await harness.engine.reader.list_ids(SPACE, Filter(), limit=9)
    assert "- [[Someday|when there is time]]" in (harness.root / "a.md").read_text()
    future = await harness.write("Here it is.", title="Future note")
    someday = await harness.write("At last.", title="Someday")
    await harness.sync()
    assert await harness.links(note_id) == {future, someday}
    harness.save("b/Other.md", "Third.\n")
    await harness.sync()
    assert len(await harness.links(note_id)) == 3
    text = (harness.root / "a.md").read_text()
    assert f"[[{(await harness.file(someday)).stem}|when there is time]]" in text
    assert "[[Someday|" not in text
    assert text.count("See [[Future note]] and [[other]].") == 1
    assert "[[a|a]]" in (await harness.file(future)).read_text()


async def test_links_removed_from_a_file_are_removed_from_the_store(harness: VaultHarness) -> None:
    note_id, other = await harness.write("First.", title="One"), await harness.write("Second.", title="Two")
    await harness.engine.relate(RelateRequest(source=note_id, target=other), who=AGENT)
    await harness.sync()
    path = await harness.file(note_id)
    lines = [line for line in path.read_text().splitlines(keepends=True) if not line.startswith("- [[")]
    harness.save(path, "".join(lines))
    await harness.sync()
    assert await harness.links(note_id) == set()
    assert "[[" not in (await harness.file(other)).read_text()
    assert "links: []" in path.read_text() or "links:" not in path.read_text()
    # The frontmatter, too, can drop the last link; an item that is not an id was not ours.
    await harness.engine.relate(RelateRequest(source=note_id, target=other), who=AGENT)
    for listed, left in (("[Someone]", {other}), ("[]", set[str]())):
        await harness.sync()
        harness.save(path, re.sub("links: .*", f"links: {listed}", path.read_text()))
        await harness.sync()
        assert await harness.links(note_id) == left
        assert await harness.vault.drift() == ()


async def test_a_copy_of_a_note_is_a_note_of_its_own(harness: VaultHarness) -> None:
    note_id = await harness.write("Twice.", title="One")
    await harness.sync()
    path = await harness.file(note_id)
    harness.save("copy.md", path.read_text())
    assert (await harness.sync()).created == 1
    ids = await harness.engine.reader.list_ids(SPACE, Filter(), limit=9)
    assert len(ids) == 2
    assert f"id: {note_id}" in path.read_text()
    assert f"id: {note_id}" not in (harness.root / "copy.md").read_text()
    assert await harness.vault.drift() == ()


async def test_a_free_id_in_a_new_file_is_used(harness: VaultHarness) -> None:
    own = "6ba7b810-9dad-41d1-80b4-00c04fd430c8"
    harness.save("x.md", f"---\nid: {own}\ntitle: Mine\ncolour: blue\n---\n\nText.\n")
    await harness.sync()
    memory = await harness.get(own)
    assert (memory.title, memory.metadata) == ("Mine", {"frontmatter": "colour: blue\n"})
    harness.save("y.md", "---\nid: 42\ntitle: Other\n---\n\nText.\n")
    assert (await harness.sync()).created == 1
    # An invalid id does not make another note of a known file.
    harness.save("x.md", (harness.root / "x.md").read_text().replace(own, "mistyped"))
    await harness.sync()
    assert ((await harness.get(own)).state, f"id: {own}" in (harness.root / "x.md").read_text()) == (State.LIVE, True)
    # A complete file is recorded without a change.
    whole = (harness.root / "x.md").read_text().replace(own, own.replace("6", "7", 1))
    (harness.root / "x.md").unlink()
    harness.save("z.md", whole)
    await harness.sync()
    assert ((harness.root / "z.md").read_text(), harness.files()) == (whole, ["y.md", "z.md"])
    assert await harness.vault.drift() == ()


async def test_unknown_frontmatter_stays_in_its_place(harness: VaultHarness) -> None:
    head = "aliases:\r\n  - Bird\r\n# a remark\r\ntags: [Oak, 'wood']\r\ncssclass: wide\r\n"
    text = f"---\r\n{head}---\r\n\r\nLine one\r\nLine two\r\n"
    path = harness.save("crlf.md", text)
    await harness.sync()
    (note_id,) = await harness.engine.reader.list_ids(SPACE, Filter(), limit=9)
    assert (await harness.get(note_id)).content == "Line one\nLine two"
    await harness.edit(note_id, content="Line one\nLine 2")
    await harness.sync()
    after = path.read_bytes().decode()
    assert "\n" not in after.replace("\r\n", "")
    head = after.split("---\r\n")[1]
    assert [line for line in head.split("\r\n") if line in text.split("\r\n") and line] == [
        "aliases:", "  - Bird", "# a remark", "tags: [Oak, 'wood']", "cssclass: wide",
    ]  # fmt: skip
    assert after.endswith("Line one\r\nLine 2\r\n")
    await harness.forget(note_id)
    await harness.sync()
    await harness.restore(note_id)
    await harness.sync()
    assert "cssclass: wide" in path.read_text()


async def test_files_that_are_not_notes_are_reported_and_left_alone(harness: VaultHarness) -> None:
    (harness.root / "binary.md").write_bytes(b"\x00\x01\x02")
    (harness.root / "broken.md").write_text("---\ntitle: [a\n---\n\ntext\n")
    (harness.root / "huge.md").write_text("word " * 300_000)
    (harness.root / "link.md").symlink_to("/etc/hostname")
    (harness.root / "empty.md").write_text("")
    harness.save("good.md", "Good.\n")
    before = {name: (harness.root / name).read_bytes() for name in ("binary.md", "broken.md", "huge.md", "empty.md")}
    done = await harness.sync()
    assert done.created == 1
    assert {problem.partition(":")[0] for problem in done.problems} == {"binary.md", "broken.md", "huge.md", "link.md"}
    assert {name: (harness.root / name).read_bytes() for name in before} == before
    harness.save("broken.md", "---\ntitle: a\n---\n\ntext\n")
    (harness.root / "binary.md").unlink()
    done = await harness.sync()
    assert {problem.partition(":")[0] for problem in done.problems} == {"huge.md", "link.md"}


async def test_a_secret_stays_in_the_file_and_out_of_the_store(harness: VaultHarness) -> None:
    secret = "AKIA" + "IOSFODNN7EXAMPLE"
    path = harness.save("keys.md", f"The key is {secret}.\n\nLast line.\n")
    await harness.sync()
    (note_id,) = await harness.engine.reader.list_ids(SPACE, Filter(), limit=9)
    assert secret not in (await harness.get(note_id)).content
    assert secret in path.read_text()
    content = (await harness.get(note_id)).content
    await harness.edit(note_id, content=f"{content}\nMore.")
    await harness.sync()
    assert secret in path.read_text()
    assert "More." in path.read_text()
    assert (await harness.sync()).written == 0


async def test_a_memory_that_waits_for_approval_keeps_its_file(home: Path) -> None:
    async with open_harness(home, rules=Rules(review="all", gate="off", density="off", tags="off")) as harness:
        path = harness.save("mine.md", "Mine.\n")
        await harness.write("An agent's.", title="Theirs")
        await harness.sync()
        await harness.sync()
        assert harness.files() == ["mine.md"]
        (note_id,) = [
            memory.id for memory in await harness.engine.inbox(InboxRequest(), who=AGENT) if memory.content == "Mine."
        ]
        harness.save(path, path.read_text().replace("Mine.", "Mine, and more."))
        await harness.sync()
        assert (await harness.get(note_id)).content == "Mine, and more."
        await harness.engine.approve(ApproveRequest(ids=(note_id,)), who=AGENT)
        await harness.sync()
        assert (await harness.get(note_id)).state is State.LIVE
        assert harness.files() == ["mine.md"]
        assert await harness.vault.drift() == ()


async def test_tags_observations_and_labels_go_both_ways(harness: VaultHarness) -> None:
    note_id = await harness.write(
        "Text.", title="One", tags=("a", "b"), observations=("first", "second"), kind="decision"
    )
    await harness.sync()
    path = await harness.file(note_id)
    text = path.read_text()
    text = text.replace('tags: ["a", "b"]', "tags: [b, C]").replace("- first\n", "- First of all,\n  in two lines\n")
    harness.save(path, text.replace("kind: decision", "kind: plan\npinned: true"))
    await harness.engine.apply_edit(
        note_id, Edit(fields={"tags": ["a", "b", "d"]}, add_observations=("third",)), who=AGENT
    )
    await harness.sync()
    memory = await harness.get(note_id)
    assert (set(memory.tags), memory.kind, memory.pinned) == ({"b", "c", "d"}, "plan", True)
    texts = {"First of all,\nin two lines", "second", "third"}
    assert {observation.text for observation in memory.observations} == texts
    assert await harness.engine.conflicts(ConflictsRequest(), who=AGENT) == ()
    assert set(parse(path.read_bytes()).note.observations) == texts
    # Removing the whole frontmatter removes nothing from the memory.
    harness.save(path, "Text, and nothing else.\n")
    await harness.sync()
    memory = await harness.get(note_id)
    assert (memory.content, memory.title, memory.kind, len(memory.tags)) == (
        "Text, and nothing else.",
        "One",
        "plan",
        3,
    )
    assert f"id: {note_id}" in path.read_text()
    assert await harness.vault.drift() == ()


async def test_a_title_that_is_changed_in_the_file_moves_it(harness: VaultHarness) -> None:
    note_id = await harness.write("First.", title="One")
    other = await harness.write("See [[One]].", title="Two")
    await harness.sync()
    before = await harness.file(note_id)
    harness.save(before, before.read_text().replace("title: One", "title: Number one"))
    await harness.sync()
    after = await harness.file(note_id)
    assert (after.name, before.exists()) == (f"number-one-{note_id}.md", False)
    assert (await harness.get(note_id)).title == "Number one"
    assert (await harness.get(other)).content == "See [[Number one]]."
    assert after.stem in (await harness.file(other)).read_text()
    # If the title is the name of the file, a rename changes the title, too.
    harness.save("idea.md", "An idea.\n")
    await harness.sync()
    (harness.root / "idea.md").rename(harness.root / "great idea.md")
    await harness.sync()
    assert "title: great idea" in (harness.root / "great idea.md").read_text()
    assert await harness.vault.drift() == ()


async def test_templates_and_attachments_are_not_notes(harness: VaultHarness) -> None:
    paths = ["templates/daily.md", "attachments/page.md", "Templates/other.md"]
    for path in paths:
        harness.save(path, "# {{title}}\n")
    await harness.vault.sync_paths(paths)
    await harness.sync()
    assert await harness.engine.reader.list_ids(SPACE, Filter(), limit=9) == []
    assert await harness.vault.count_files() == 0


async def test_a_blank_file_is_no_drift_and_a_problem_is_reported_once(harness: VaultHarness) -> None:
    harness.save("Untitled.md", "")
    harness.save("Planned.md", "---\ntitle: Planned\n---\n\n")
    harness.save("odd.md", "---\ntitle: [\n---\nText\n")
    harness.save("late.md", "Text\n")
    assert set(await harness.vault.drift()) == {
        "late.md: the file is new or changed, and not read yet",
        "odd.md: the file is new or changed, and not read yet",
    }
    await harness.sync()
    assert await harness.vault.drift() == ()
    assert [problem.partition(":")[0] for problem in await harness.vault.problems()] == ["odd.md"]
    harness.save("Planned.md", "---\ntitle: Planned\n---\n\nNow it says something.\n")
    assert await harness.vault.drift() == ("Planned.md: the file is new or changed, and not read yet",)
    await harness.sync()
    assert await harness.vault.drift() == ()
