"""Imports: a whole Obsidian vault, repeatedly, without changing it."""

import asyncio
import hashlib
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.notes.files import png
from tests.unit.notes.rooms import PLAIN, WHO, open_room

from scrubjay.errors import InvalidInput, StoreError
from scrubjay.model.attachments import EMBEDS
from scrubjay.model.media import ATTACHMENT
from scrubjay.model.memory import Memory
from scrubjay.model.notes import NotesImported
from scrubjay.model.query import Filter
from scrubjay.model.relation import LINK
from scrubjay.model.requests import (
    Edit,
    EditNoteRequest,
    ForgetRequest,
    HistoryRequest,
    ImportNotesRequest,
    JobsRequest,
    PurgeRequest,
    ReadNoteRequest,
    SyncNotesRequest,
    UndoRequest,
    WriteNoteRequest,
)
from scrubjay.model.rules import Rules
from scrubjay.notes.import_.links import LinkIndex
from scrubjay.notes.import_.parse import parse_file
from scrubjay.notes.markdown.foreign import inline_tags
from scrubjay.notes.markdown.format import parse, render
from scrubjay.notes.service import Notes

DETECTING = Rules(gate="off", density="off", tags="off")
ID = "0197f3c2-6d3e-7bb0-b8a5-9f4c1e2d3a4b"
VAULT = {
    "Home.md": "Start at [[Projects/Garden|the garden]], [[JD]], [[Soil#Clay]], [page](Projects/Soil%20notes.md), "
    "[[nobody]] and ![[tree.png|The tree|300]] ![[gone.png]] #start\n`#no` `[[no]]`\n",
    "Projects/Garden.md": "---\ntags: [garden, '#outdoors']\naliases: [Yard, The Yard]\ncreated: 2020-05-01\n"
    "cssclass: wide\n---\n# Garden\n\n![soil](<../files/soil.png>) back to [[home]] #2024 #garden/beds\n",
    "Projects/Soil notes.md": "---\ntitle: Soil\ntags: soil, clay\ndate: 2021-02-03T04:05:06Z\n---\n"
    "Heavy [[Garden]].\n",
    "People/John Doe.md": "---\nalias: JD\ntag: person\n---\nA friend of [[Yard]]'s owner.\n",
    "People/Broken.md": "---\nkey: [1, 2\n---\nStill a text\n",
    "Ours.md": f"---\nid: {ID}\ntitle: Ours\nkind: decision\npinned: true\n---\n\nWe decided.\n\n<!-- scrubjay -->\n\n"
    "## Observations\n\n- first\n\n## Links\n\n- [[Home|Start here]]\n",
    "Copy.md": f"---\nid: {ID}\n---\nA copy of it.\n",
    "Empty.md": "---\ntags: [x]\n---\n\n",
    "Secret.md": "The key is AKIAIOSFODNN7EXAMPLE and nothing else matters here.\n",
    "templates/Daily.md": "{{date}}\n",
    "Vorlagen/Own.md": "{{title}}\n",
    ".trash/Old.md": "old\n",
    ".obsidian/templates.json": '{"folder": "Vorlagen"}',
}


def make(root: Path) -> Path:
    for path, text in VAULT.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(text.encode())
    (root / "files").mkdir()
    (root / "files" / "soil.png").write_bytes(png("soil"))
    (root / "files" / "tree.png").write_bytes(png("tree"))
    (root / "Latin.md").write_bytes(b"caf\xe9")
    (root / "Binary.md").write_bytes(b"\0\1\2")
    (root / "Huge.md").write_bytes(b"x" * 17_000_000)
    (root / "Long.md").write_bytes(b"words " * 200_000)
    (root / "Link.md").symlink_to("/etc/passwd")
    (root / "Etc").symlink_to("/etc")
    return root


def state(root: Path) -> dict[str, tuple[str, int]]:
    return {
        str(file.relative_to(root)): (hashlib.sha256(file.read_bytes()).hexdigest(), file.stat().st_mtime_ns)
        for file in root.rglob("*")
        if file.is_file() and not file.is_symlink()
    }


async def titled(notes: Notes) -> dict[str, Memory]:
    reader = notes.engine.reader
    ids = await reader.list_ids("default", Filter(), limit=1_000)
    return {memory.title: memory for memory in (await reader.get("default", ids)).values()}


async def linked(notes: Notes, own: str, type: str = LINK) -> dict[str, str]:
    titles = {memory.id: memory.title for memory in (await titled(notes)).values()}
    relations = await notes.engine.reader.relations("default", [own])
    return {
        titles[relation.target if relation.source == own else relation.source]: relation.text
        for relation in relations
        if relation.type == type
    }


def sums(done: NotesImported) -> tuple[int, int, int, int]:
    return done.found, done.created, done.updated, done.unchanged


async def test_a_dry_run_names_the_secrets_that_the_import_takes_out(tmp_path: Path) -> None:
    source = tmp_path / "vault"
    source.mkdir()
    (source / "Deploy.md").write_text("The token is ghp_" + "a1B2" * 9 + " for now.", encoding="utf-8")
    for secrets, expected in (("redact", True), ("off", False)):
        async with open_room(tmp_path / secrets, rules=replace(PLAIN, secrets=secrets)) as notes:
            tried = await notes.import_notes(ImportNotesRequest(folder=source, dry_run=True), who=WHO)
            assert any(text.startswith("Deploy.md: it would redact") for text in tried.warnings) is expected


async def test_a_whole_vault_of_obsidian_is_imported(tmp_path: Path) -> None:
    source = make(tmp_path / "vault")
    before = state(source)
    rules = replace(PLAIN, secrets="redact") if hasattr(PLAIN, "secrets") else PLAIN
    async with open_room(tmp_path, rules=rules) as notes:
        tried = await notes.import_notes(ImportNotesRequest(folder=source, dry_run=True), who=WHO)
        assert (await titled(notes), not (tmp_path / "notes" / "attachments").exists()) == ({}, True)
        reports: list[tuple[int, int]] = []
        done = await notes.import_notes(
            ImportNotesRequest(folder=source), who=WHO, progress=lambda done, total: reports.append((done, total))
        )
        assert state(source) == before
        assert sums(done) == sums(replace(tried, dry_run=False)) == (13, 8, 0, 0)
        # The total stays the same, so that the remaining time can be estimated.
        assert (reports[-1], {total for _, total in reports}) == ((13, 13), {13})
        assert reports == sorted(reports)
        # A new file does not make those be written again that link to it already.
        assert (vault := await notes._vault(WHO.space)) is not None
        assert vault._context.counts["written"] == done.created
        assert (done.attachments, tried.attachments, done.linked, tried.linked) == (2, 2, 6, 6)
        assert {file.path: file.reason.partition(":")[0] for file in done.skipped} == {
            "Binary.md": "line 1", "Empty.md": "it is empty", "Etc": "it is a link, and links are not followed",
            "Huge.md": "'Huge.md' has 17,000,000 bytes, and a note has at most 16,777,216",
            "Latin.md": "line 1", "Link.md": "it is a link, and links are not followed",
            "Long.md": next(file.reason for file in done.skipped if file.path == "Long.md").partition(":")[0],
        }  # fmt: skip
        assert [(link.path, link.target) for link in done.broken_links] == [
            ("Home.md", "gone.png"),
            ("Home.md", "nobody"),
        ]
        assert [warning for warning in done.warnings if "cannot be read and stays in the text" in warning]
        assert [warning for warning in done.warnings if warning.startswith("Copy.md: another file has its id")] or [
            warning for warning in done.warnings if warning.startswith("Ours.md: another file has its id")
        ]
        notes_by_title = await titled(notes)
        garden, soil, home, john = (notes_by_title[name] for name in ("Garden", "Soil", "Home", "John Doe"))
        assert (garden.category, garden.tags) == ("Projects", ("garden", "outdoors", "garden/beds"))
        assert garden.metadata["aliases"] == ["Yard", "The Yard"]
        assert "cssclass: wide\n" in str(garden.metadata["frontmatter"])
        assert [str(memory.source.at)[:10] for memory in (garden, soil)] == ["2020-05-01", "2021-02-03"]
        assert (soil.tags, soil.metadata["aliases"], john.tags) == (("soil", "clay"), ["Soil notes"], ("person",))
        assert home.tags == ("start",)
        assert notes_by_title["Broken"].content == VAULT["People/Broken.md"].removesuffix("\n") + "\n"
        assert await linked(notes, home.id) == {
            "Garden": "the garden",
            "John Doe": "",
            "Soil": "",
            "Ours": "Start here",
        }
        assert await linked(notes, garden.id) == {"Home": "the garden", "Soil": "", "John Doe": ""}
        assert len(await linked(notes, home.id, EMBEDS)) == len(await linked(notes, garden.id, EMBEDS)) == 1
        assert "![[tree-" in home.content
        assert "![[soil-" in garden.content
        ours = {title: memory for title, memory in notes_by_title.items() if memory.id == ID}
        assert len(ours) == 1
        assert "AKIAIOSFODNN7EXAMPLE" not in notes_by_title["Secret"].content
        # In sync: every note has its file.
        assert len(list((tmp_path / "notes").rglob("*.md"))) == 8


async def test_another_run_imports_only_changed_files(tmp_path: Path) -> None:
    source = make(tmp_path / "vault")
    async with open_room(tmp_path) as notes:
        await notes.import_notes(ImportNotesRequest(folder=source), who=WHO)
        first = {memory.id: memory.version for memory in (await titled(notes)).values()}
        again = await notes.import_notes(ImportNotesRequest(folder=source), who=WHO)
        assert sums(again) == (13, 0, 0, 8)
        assert again.linked == 0
        assert {memory.id: memory.version for memory in (await titled(notes)).values()} == first
        notes_by_title = await titled(notes)
        # Change a note in the folder, another in the store, and a third in both; move a fourth and forget a fifth.
        (source / "People/John Doe.md").write_text("---\ntitle: John Doe\n---\nAn old friend, see [[Soil]].\n")
        await notes.engine.apply_edit(notes_by_title["Soil"].id, Edit(fields={"content": "Light."}), who=WHO)
        (source / "Home.md").write_text("Another start.\n")
        await notes.engine.apply_edit(notes_by_title["Home"].id, Edit(fields={"content": "My own start."}), who=WHO)
        (source / "Archive").mkdir()
        (source / "Projects/Garden.md").rename(source / "Archive/Garden.md")
        await notes.engine.forget(ForgetRequest(ids=(notes_by_title["Broken"].id,)), who=WHO)
        done = await notes.import_notes(ImportNotesRequest(folder=source), who=WHO)
        assert sums(done) == (13, 0, 2, 4)
        assert {file.path: file.reason for file in done.skipped if file.path in ("Home.md", "People/Broken.md")} == {
            "Home.md": "the file and its note both changed: content",
            "People/Broken.md": "its note is trashed: restore it with `scrubjay restore`",
        }
        now = await titled(notes)
        assert (now["John Doe"].content, now["John Doe"].tags) == ("An old friend, see [[Soil]].", ("person",))
        assert (now["Soil"].content, now["Home"].content) == ("Light.", "My own start.")
        assert (now["Garden"].id, now["Garden"].category) == (notes_by_title["Garden"].id, "Archive")
        assert "Soil" in await linked(notes, now["John Doe"].id)
        history = await notes.engine.history(HistoryRequest(id=now["John Doe"].id), who=WHO)
        assert "imported from People/John Doe.md" in str(history)
        # A moved folder is recognized by its content.
        source.rename(tmp_path / "elsewhere")
        moved = await notes.import_notes(ImportNotesRequest(folder=tmp_path / "elsewhere"), who=WHO)
        # A file that was moved and changed counts as a new one.
        assert moved.created == 1
        with pytest.raises(InvalidInput, match="overlaps with the folder of notes"):
            await notes.import_notes(ImportNotesRequest(folder=tmp_path / "notes"), who=WHO)
        with pytest.raises(InvalidInput, match="there is no folder"):
            await notes.import_notes(ImportNotesRequest(folder=tmp_path / "none"), who=WHO)


async def test_an_interrupted_import_is_continued(tmp_path: Path) -> None:
    source = tmp_path / "vault"
    for number in range(300):
        (source / f"{number % 7}").mkdir(parents=True, exist_ok=True)
        text = f"Note number {number}, and after it comes [[Note {number + 1}]]."
        (source / f"{number % 7}/Note {number}.md").write_text(text)
    async with open_room(tmp_path, has_folder=False) as notes:

        def broken_off(done: int, total: int) -> None:
            if done >= total // 2:
                raise StoreError("the disk is full")

        with pytest.raises(StoreError):
            await notes.import_notes(ImportNotesRequest(folder=source, category="old/"), who=WHO, progress=broken_off)
        half = len(await titled(notes))
        assert 150 <= half < 300
        done = await notes.import_notes(ImportNotesRequest(folder=source, category="old"), who=WHO)
        # Pages in progress during the interruption may have been stored since.
        assert half <= done.unchanged < 300
        assert (done.created + done.unchanged, done.linked) == (300, 299)
        assert [(link.path, link.target) for link in done.broken_links] == [("5/Note 299.md", "Note 300")]
        assert {memory.category for memory in (await titled(notes)).values()} == {
            f"old/{number}" for number in range(7)
        }
        # Two concurrent imports create no duplicates.
        both = await asyncio.gather(
            *(notes.import_notes(ImportNotesRequest(folder=source, category="old"), who=WHO) for _ in range(2))
        )
        assert [sums(result) for result in both] == [(300, 0, 0, 300)] * 2


async def test_a_name_of_several_notes_means_one_of_them_in_whichever_batch_they_are(tmp_path: Path) -> None:
    source = tmp_path / "vault"
    for folder in ("a", "m", "z"):
        (source / folder).mkdir(parents=True)
    for number in range(130):
        (source / f"m/Filler {number:03}.md").write_text(f"Filler number {number} about some other bird.")
    for folder in ("a", "z"):
        (source / folder / "Heron.md").write_text(f"The heron of folder {folder} stands in the water all day.")
        (source / folder / "Pond.md").write_text(f"The pond of folder {folder}: see [[Heron]] and [[Unwritten]].")
    async with open_room(tmp_path) as notes:
        done = await notes.import_notes(ImportNotesRequest(folder=source), who=WHO)
        assert (done.created, done.linked) == (134, 2)
        reader = notes.engine.reader
        ids = await reader.list_ids("default", Filter(), limit=1_000)
        assert len(await reader.relations("default", ids)) == 2
        # A link to no note is connected when there is one.
        await notes.write_note(WriteNoteRequest(title="Unwritten", content="Now it is written."), who=WHO)
        assert len(await reader.relations("default", ids)) == 4


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("#a #b/c, (#d) x#no #1 #1a # head ##no", ("a", "b/c", "d", "1a")),
        ("```\n#no\n```\n#ja-und_nein `#no` <!-- #no --> https://x/#no [[x#no]]", ("ja-und_nein",)),
        ("#über #日本 #-", ("über", "日本")),
    ],
)
def test_inline_tags_are_those_of_obsidian(text: str, tags: tuple[str, ...]) -> None:
    assert inline_tags(text) == tags


def test_links_are_found_as_obsidian_finds_them() -> None:
    index = LinkIndex()
    for path in ("Note.md", "a/Note.md", "a/b/Other.md", "c/Note.md", "a/b/Deep.md", "z/Deep.md", "far/folder/Deep.md"):
        index.add_note(path, ("Alias",) if path == "a/b/Other.md" else ())
    # The path from the root counts before a file beside the note; else files below its folder, then short paths.
    targets = ("note", "./Note", "c/Note", "../Note.md", "/a/Note", "b/other", "ALIAS", "no", "Deep", "../z/deep")
    assert [index.find_note(target, source="a/x.md") for target in targets] == [
        "Note.md", "a/Note.md", "c/Note.md", "Note.md", "a/Note.md", "a/b/Other.md", "a/b/Other.md", None,
        "a/b/Deep.md", "z/Deep.md",
    ]  # fmt: skip
    assert index.find_note("Deep", source="c/x.md") == "z/Deep.md"
    assert index.find_note("Note", source="z/x.md") == "Note.md"
    # Windows line endings, a byte order mark, and an invalid date.
    parsed = parse_file(b"\xef\xbb\xbf---\r\ncreated: yesterday\r\n---\r\nText\r\n", path="x/y.md", category="p")
    assert (parsed.note.title, parsed.note.category, parsed.note.created_at) == ("y", "p/x", None)


def test_foreign_values_under_our_keys_become_comments() -> None:
    head = "id: 202103041200\r\nstatus: active\r\nlinks: ['https://example.org']\r\ncreated_at: long ago\r\n"
    parsed = parse_file(f"---\r\n{head}---\r\nText\r\n".encode(), path="x.md")
    assert parsed.note.extra == (
        "status: active\n# id: 202103041200\n# links: ['https://example.org']\n# created_at: long ago\n"
    )
    assert parse(render(replace(parsed.note, id="", links=()))).note.extra == parsed.note.extra


async def test_frontmatter_that_changed_on_both_sides_is_merged(tmp_path: Path) -> None:
    file = tmp_path / "vault" / "Bird.md"
    file.parent.mkdir()
    file.write_text("---\naliases: [Jay, Magpie]\ncolour: blue\nsize: 30\nsings: no\n---\nIt flies.\n")
    async with open_room(tmp_path) as notes:
        await notes.import_notes(ImportNotesRequest(folder=file.parent), who=WHO)
        bird = (await titled(notes))["Bird"]
        path = Path((await notes.read_note(ReadNoteRequest(identifier="Jay"), who=WHO)).file_path)
        path.write_text(path.read_text().replace("sings: no\n", "sings: yes\nnest: a tree\n"))
        await notes.sync_notes(SyncNotesRequest(), who=WHO)
        file.write_text("---\naliases: [Jay]\ncolour: blue\nsize: 31\nsings: no\n---\nIt flies.\n")
        assert (await notes.import_notes(ImportNotesRequest(folder=file.parent), who=WHO)).skipped == ()
        metadata = (await notes.engine.reader.get("default", [bird.id]))[bird.id].metadata
        assert metadata["frontmatter"] == "aliases: [Jay]\ncolour: blue\nsize: 31\nsings: yes\nnest: a tree\n"
        assert metadata["aliases"] == ["Jay"]
        assert str(metadata["frontmatter"]) in path.read_text()


async def test_a_link_that_occurs_only_in_the_text_disappears_with_it(tmp_path: Path) -> None:
    vault = make(tmp_path / "vault")
    async with open_room(tmp_path) as notes:
        await notes.import_notes(ImportNotesRequest(folder=vault), who=WHO)
        home = (await titled(notes))["Home"]
        assert set(await linked(notes, home.id)) == {"Garden", "John Doe", "Soil", "Ours"}
        await notes.edit_note(EditNoteRequest(id=home.id, content="Empty, but for [[JD]]."), who=WHO)
        # A page has a Markdown link to it as well, another page lists it, and the garden links back.
        assert set(await linked(notes, home.id)) == {"Garden", "John Doe", "Soil", "Ours"}
        garden = (await titled(notes))["Garden"]
        await notes.edit_note(EditNoteRequest(id=garden.id, content="Nothing grows."), who=WHO)
        assert set(await linked(notes, home.id)) == {"John Doe", "Soil", "Ours"}
        # The link used its alias.
        await notes.edit_note(EditNoteRequest(id=home.id, content="Empty."), who=WHO)
        assert set(await linked(notes, home.id)) == {"Soil", "Ours"}


@pytest.mark.parametrize(("files", "rules", "jobs"), [(21, DETECTING, 1), (20, DETECTING, 0), (21, PLAIN, 0)])
async def test_conflicts_of_many_new_notes_are_scanned_for_later(
    tmp_path: Path, files: int, rules: Rules, jobs: int
) -> None:
    (tmp_path / "vault").mkdir()
    for number in range(files):
        (tmp_path / "vault" / f"{number}.md").write_text(f"Note number {number} says {number * 7}.\n")
    async with open_room(tmp_path, rules=rules) as notes:
        assert (await notes.import_notes(ImportNotesRequest(folder=tmp_path / "vault"), who=WHO)).created == files
        assert [job.kind for job in await notes.engine.jobs(JobsRequest(), who=WHO) if not job.about] == [
            "conflicts"
        ] * jobs
        # Without new notes, there is no other scan.
        await notes.import_notes(ImportNotesRequest(folder=tmp_path / "vault"), who=WHO)
        assert len([job for job in await notes.engine.jobs(JobsRequest(), who=WHO) if not job.about]) == jobs


async def test_the_embedded_part_of_a_file_stays(tmp_path: Path) -> None:
    source = tmp_path / "vault"
    source.mkdir()
    (source / "doc.pdf").write_bytes(b"%PDF-1.4\n%%EOF\n")
    (source / "Note.md").write_text("![[doc.pdf#page=2]] and ![[doc.pdf#page=3|The third]]\n")
    async with open_room(tmp_path) as notes:
        assert (await notes.import_notes(ImportNotesRequest(folder=source), who=WHO)).attachments == 1
        (note,) = [memory for memory in (await titled(notes)).values() if memory.title == "Note"]
        (file,) = (tmp_path / "notes" / "attachments").iterdir()
        assert note.content == f"![[{file.name}#page=2]] and ![[{file.name}#page=3|The third]]"
        assert len(await linked(notes, note.id, EMBEDS)) == 1


async def test_a_purge_removes_the_file_of_an_attachment_once_no_memory_describes_it(tmp_path: Path) -> None:
    source, stored = tmp_path / "vault", tmp_path / "notes" / "attachments"
    source.mkdir()
    for name in ("plan", "list"):
        (source / f"{name}.txt").write_text(f"The {name} of the harbour.\n")
        (source / f"{name}.md").write_text(f"See ![[{name}.txt]].\n")
    async with open_room(tmp_path) as notes:
        await notes.import_notes(ImportNotesRequest(folder=source), who=WHO)
        files = {"-".join(path.name.split("-")[:-1]): path for path in stored.iterdir()}
        memories = [memory for memory in (await titled(notes)).values() if memory.kind == ATTACHMENT]
        plan, other = sorted(memories, key=lambda memory: "list" in str(memory.metadata["file"]))
        await notes.engine.undo(UndoRequest(), who=WHO)
        # What is in the trash can be restored with its file; a plan of a purge removes none.
        await notes.purge(PurgeRequest(ids=(plan.id,), dry_run=True), who=WHO)
        assert all(path.exists() for path in files.values())
        files["list"].write_text("Changed by a person.\n")
        await notes.purge(PurgeRequest(ids=(plan.id, other.id)), who=WHO)
        assert [*stored.iterdir()] == [files["list"]]
