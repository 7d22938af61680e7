"""Exports: whole, atomic, with links that lead somewhere and nothing that runs."""

import csv
import io
import json
import re
import zipfile
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from pypdf import PdfReader
from tests.unit.notes.files import png
from tests.unit.notes.rooms import WHO, open_room

from scrubjay.errors import InvalidInput, NotFound
from scrubjay.model.requests import (
    AttachFileRequest,
    EditNoteRequest,
    ExportNotesRequest,
    LinkNotesRequest,
    WriteNoteRequest,
)
from scrubjay.notes.export.rows import COLUMNS, escape_formula
from scrubjay.notes.markdown.format import parse
from scrubjay.notes.service import Notes

PLAN = """# The plan

See [[Garden|the garden]], [[Garden#Soil]], [[nowhere at all]] and `[[not a link]]`.

- [ ] dig
- [x] **rake** and ~~burn~~ *mulch*

1. one
   - nested

> quoted

| tree | height |
|---|---|
| walnut | 20 \\| 30 m |

```python
print("[[code]]")
```

<script>alert(1)</script> [evil](javascript:alert(1)) [there](https://example.org/?a=1&b=2) [far](../../etc/passwd)
![remote](https://example.org/x.png) Größe, Москва, 日本語, 한국어, 中文, 🦜
"""


class Page(HTMLParser):
    """The links, pictures and elements of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.links: list[str] = []
        self.shown: list[str] = []
        self.ids: set[str] = set()
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        attributes = dict(attrs)
        assert not [name for name in attributes if name.startswith("on")]
        self.links += [attributes["href"] or ""] if "href" in attributes else []
        self.shown += [attributes["src"] or ""] if "src" in attributes else []
        self.ids |= {attributes["id"] or ""} if "id" in attributes else set()

    def handle_data(self, data: str) -> None:
        self.words += data


async def furnish(notes: Notes) -> str:
    """Write three notes, two of which link to each other, and a picture."""
    garden = "## Soil\n\nIt is heavy, and [[The plan]] says more."
    await notes.write_note(WriteNoteRequest(title="Garden", content=garden, category="home/out"), who=WHO)
    draft = WriteNoteRequest(title="The plan", content=PLAN, category="work", tags=("a", "b"))
    plan = await notes.write_note(draft, who=WHO)
    await notes.write_note(WriteNoteRequest(title="=1+1 <b>", content="-2 is the first word, says 'quoted'\n"), who=WHO)
    if notes.vaults is not None:
        await notes.attach_file(
            AttachFileRequest(note=plan.id, name="Walnut tree.png", data=png("x", side=40), caption="A walnut"), who=WHO
        )
    await notes.link_notes(
        LinkNotesRequest(source_id=plan.id, target_id="Garden", link_text="where it happens"), who=WHO
    )
    return plan.id


async def test_a_markdown_export_has_the_files_of_the_folder(tmp_path: Path) -> None:
    async with open_room(tmp_path) as notes:
        plan = await furnish(notes)
        reports: list[tuple[int, int]] = []
        target = tmp_path / "out"
        done = await notes.export_notes(
            ExportNotesRequest(target=target), who=WHO, progress=lambda done, total: reports.append((done, total))
        )
        assert (done.notes, done.files, done.warnings, reports[-1]) == (3, 1, (), (3, 3))
        own = {
            file.relative_to(tmp_path / "notes"): file for file in (tmp_path / "notes").rglob("*.*") if file.is_file()
        }
        paths = {str(path) for path in own if not str(path).startswith(".")}
        assert paths == {str(file.relative_to(target)) for file in target.rglob("*") if file.is_file()}
        for path in paths:
            assert (target / path).read_bytes() == (tmp_path / "notes" / path).read_bytes()
            assert (target / path).stat().st_mode & 0o777 == 0o600
        await notes.export_notes(ExportNotesRequest(target=tmp_path / "out.zip", category="work"), who=WHO)
        with zipfile.ZipFile(tmp_path / "out.zip") as archive:
            assert archive.testzip() is None
            assert sorted(name.split("-")[0] for name in archive.namelist()) == ["attachments/walnut", "work"]
        single = tmp_path / "one.md"
        await notes.export_notes(ExportNotesRequest(target=single, refs=("The plan",)), who=WHO)
        assert parse(single.read_bytes()).note.id == plan
        # A failed export changes no existing file and leaves no partial one.
        for bad, kind, why in (
            (target, "md", "already exists"), (tmp_path / "no" / "x.csv", "csv", "there is no folder"),
            (tmp_path / "x.html", "html", "a single HTML file cannot hold"),
            (tmp_path / "notes" / "x", "md", "in the folder of notes"),
            (tmp_path / "x", "docx", "format must be one of"),
        ):  # fmt: skip
            with pytest.raises(InvalidInput, match=why):
                await notes.export_notes(ExportNotesRequest.of(target=bad, format=kind), who=WHO)
        with pytest.raises(NotFound):
            await notes.export_notes(
                ExportNotesRequest(target=tmp_path / "x.md", refs=("nobody of that name",)), who=WHO
            )
        assert {path.name for path in tmp_path.iterdir()} == {
            "data",
            "notes",
            "notes.db",
            "one.md",
            "out",
            "out.zip",
        } | {path.name for path in tmp_path.glob("notes.db-*")}
        assert (
            await notes.export_notes(ExportNotesRequest(target=tmp_path / "none", category="nobody"), who=WHO)
        ).notes == 0


async def test_json_and_csv_have_every_field(tmp_path: Path) -> None:
    async with open_room(tmp_path, has_folder=False) as notes:
        plan = await furnish(notes)
        lines, whole, single, table = (tmp_path / name for name in ("a.jsonl", "a.json", "one.json", "a.csv"))
        exports: tuple[tuple[Path, str, tuple[str, ...]], ...] = (
            (lines, "json", ()), (whole, "json", ()), (single, "json", (plan,)), (table, "csv", ()),
        )  # fmt: skip
        for target, kind, refs in exports:
            await notes.export_notes(ExportNotesRequest(target=target, refs=refs, format=kind), who=WHO)
        rows = [json.loads(line) for line in lines.read_text(encoding="utf-8").splitlines()]
        assert json.loads(whole.read_text(encoding="utf-8")) == rows
        by_title = {note["title"]: note for note in rows}
        assert json.loads(single.read_text(encoding="utf-8")) == by_title["The plan"]
        assert by_title["The plan"]["content"] == PLAN
        assert by_title["The plan"]["links"] == [by_title["Garden"]["id"]]
        with table.open(encoding="utf-8", newline="") as stream:
            rows = list(csv.DictReader(stream))
        assert tuple(rows[0]) == COLUMNS
        by_id = {row["id"]: row for row in rows}
        assert by_id[plan]["content"] == PLAN
        assert (by_id[plan]["tags"], by_id[plan]["links"]) == ("a, b", by_title["Garden"]["id"])
        # No cell is a formula.
        assert [row["title"] for row in rows if "1+1" in row["title"]] == ["'=1+1 <b>"]
        assert not [cell for row in rows for cell in row.values() if cell[:1] in "=+-@\t\r\n" and cell]
        assert [escape_formula(cell) for cell in ("@x", "\t=1", "a=1", "")] == ["'@x", "'\t=1", "a=1", ""]
        with pytest.raises(InvalidInput, match="Leave one"):
            await notes.export_notes(ExportNotesRequest(target=table, refs=(plan,), category="work"), who=WHO)


async def test_every_link_of_the_pages_leads_somewhere(tmp_path: Path) -> None:
    async with open_room(tmp_path) as notes:
        plan = await furnish(notes)
        target = tmp_path / "web"
        done = await notes.export_notes(ExportNotesRequest(target=target, format="html"), who=WHO)
        assert [warning for warning in done.warnings if "nowhere at all" in warning]
        pages = {path: Page(path.read_text(encoding="utf-8")) for path in target.rglob("*.html")}
        assert len(pages) == 4
        for place, page in pages.items():
            assert not page.tags & {"script", "iframe", "object", "embed", "form", "b"}
            for link in (*page.links, *page.shown):
                split = urlsplit(link)
                if split.scheme:
                    assert split.scheme == "https"
                    continue
                leads = (place.parent / unquote(split.path)).resolve() if split.path else place
                assert leads.is_file(), link
                assert leads.is_relative_to(target)
                assert not split.fragment or unquote(split.fragment) in pages[leads].ids
        index = pages[target / "index.html"]
        assert [word for word in ("home/out", "work", "Without a category") if word in index.words] == [
            "home/out", "work", "Without a category",
        ]  # fmt: skip
        own = next(page for place, page in pages.items() if plan in place.name)
        assert {"table", "pre", "blockquote", "input", "s", "strong", "img"} <= own.tags
        assert "<script>alert(1)</script>" in own.words
        assert sum(link.endswith("#soil") for link in own.links) == 1
        lone = (await notes.export_note(plan, who=WHO, format="html")).data.decode()
        assert [source[:22] for source in Page(lone).shown] == ["data:image/png;base64,"]
        assert not [link for link in Page(lone).links if not link.startswith(("https:", "#"))]


async def test_a_pdf_is_read_back(tmp_path: Path) -> None:
    async with open_room(tmp_path) as notes:
        plan = await furnish(notes)
        target = tmp_path / "all.pdf"
        done = await notes.export_notes(ExportNotesRequest(target=target, format="pdf"), who=WHO)
        reader = PdfReader(target)
        words = "\n".join(page.extract_text() for page in reader.pages)
        for text in ("The plan", "rake", "walnut", 'print("[[code]]")', "<script>", "Größe", "Москва", "A walnut"):
            assert text in words
        assert [str(entry["/Title"]) for entry in reader.outline] == ["Garden", "The plan", "=1+1 <b>"]  # type: ignore[index,call-overload]
        assert sum(len(page.images) for page in reader.pages) == 1
        links = [link.get_object() for page in reader.pages for link in page.get("/Annots") or ()]
        addresses = {str(link["/A"]["/URI"]) for link in links if "/URI" in (link.get("/A") or {})}
        assert addresses == {"https://example.org/?a=1&b=2"}
        inside = [link["/Dest"][0] for link in links if link.get("/Dest")]
        assert inside
        assert {link.idnum for link in inside} <= {page.indirect_reference.idnum for page in reader.pages}  # type: ignore[union-attr]
        assert [warning for warning in done.warnings if "U+1F99C" in warning]
        download = await notes.export_note(plan, who=WHO, format="pdf")
        assert (download.name.endswith(f"{plan}.pdf"), download.media_type) == (True, "application/pdf")
        assert "The plan" in PdfReader(io.BytesIO(download.data)).pages[0].extract_text()


HOSTILE = (
    "<para>", "<img src='/etc/passwd'/>", "a" * 5_000, "> " * 200 + "deep", "- " * 60 + "x", "[[" * 500,
    "|a|\n|-|\n" + "|b|\n" * 3_000, "| a | b |\n|---|---|\n| " + "long words " * 3_000 + " | x |",
    "```\n" + "x" * 20_000, "\x07\u202e\ufffe\U0010ffff", "&amp; &lt; <a href='x",
    "![[x.png]] ![](data:text/html;base64,AA==) [x](file:///etc/passwd) [y](//host/x)", "# " + "h" * 3_000,
)  # fmt: skip


@pytest.mark.parametrize("format", ["html", "pdf"])
async def test_hostile_markdown_is_only_text(tmp_path: Path, format: str) -> None:
    async with open_room(tmp_path, has_folder=False) as notes:
        for number, text in enumerate(HOSTILE):
            draft = WriteNoteRequest(title=f"{number} {text[:100]}", content=text, tags=("<i>",), category="a/<b>")
            await notes.write_note(draft, who=WHO)
        target = tmp_path / ("x.zip" if format == "html" else "x.pdf")
        done = await notes.export_notes(ExportNotesRequest.of(target=target, format=format), who=WHO)
        assert done.notes == len(HOSTILE)
        if format == "pdf":
            assert len(PdfReader(target).pages) >= len(HOSTILE)
            return
        with zipfile.ZipFile(target) as archive:
            for name in archive.namelist():
                page = Page(archive.read(name).decode()) if name.endswith(".html") else None
                assert page is None or not [link for link in page.links if link.startswith(("file:", "//", "data:"))]
                assert page is None or not page.tags & {"img", "i", "para"}


async def test_the_number_after_the_bar_is_the_size_of_a_picture_and_not_its_caption(tmp_path: Path) -> None:
    async with open_room(tmp_path) as notes:
        made = await notes.write_note(WriteNoteRequest(title="Trees", content="Text"), who=WHO)
        attached = await notes.attach_file(
            AttachFileRequest(note=made.id, name="tree.png", data=png("x", side=40)), who=WHO
        )
        file = attached.attachment.file.rpartition("/")[2]
        written = f"![[{file}|200]] ![[{file}|A tree|300x100]] ![A walnut|50]({file}) ![[Trees#Oak|200]] [[Trees|300]]"
        await notes.edit_note(EditNoteRequest(id=made.id, content=written), who=WHO)
        await notes.export_notes(
            ExportNotesRequest(target=tmp_path / "out.html", refs=(made.id,), format="html"), who=WHO
        )
        page = (tmp_path / "out.html").read_text()
        shown = re.findall(r'alt="([^"]*)"(?: width="(\d+)")?(?: height="(\d+)")? loading', page)
        assert shown == [("A tree", "200", ""), ("A tree", "300", "100"), ("A walnut", "50", "")]
        assert Page(page).words.count("Trees > Oak") == 1
        assert Page(page).words.rstrip().endswith("300")
