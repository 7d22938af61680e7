"""Templates for new notes."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from tests.unit.notes.rooms import WHO, open_room

from scrubjay.errors import InvalidInput, NotFound
from scrubjay.model.requests import ReadNoteRequest, WriteNoteRequest
from scrubjay.notes.markdown.note import Note
from scrubjay.notes.markdown.templates import BUILT_IN, fill_template, note_from_template, template_names, template_text

NOW = datetime(2024, 3, 1, 15, 4, 5, 678_000, tzinfo=UTC)


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("# {{title}}\n{{ date }} {{Time}}", "# T {{date}} $1 \\1\n2024-03-01 15:04"),
        ("{{date:dddd, D. MMMM YYYY}}", "Friday, 1. March 2024"),
        ("{{date:YY-M-Do}} {{time:hh:mm:ss.SSS A}}", "24-3-1st 03:04:05.678 PM"),
        ("{{date:[Week] W [of] GGGG}} {{date:DDDD Q}}", "Week 9 of 2024 061 1"),
        ("{{date:YYYY-MM-DD[T]HH:mm:ssZ}}", "2024-03-01T15:04:05+00:00"),
        ("{{date:X}} {{date:ddd dd d E}} {{date:H h m s a ZZ}}", "1709305445 Fri Fr 5 5 15 3 4 5 pm +0000"),
        ("{{date:MMM Mo DDD WW x}}", "Mar 3rd 61 09 1709305445678"),
        ("{{other}} {{date {title}} {{date:{{title}}", "{{other}} {{date {title}} {{date:T {{date}} $1 \\1"),
    ],
)  # fmt: skip
def test_fields_of_a_template_are_filled_in(template: str, text: str) -> None:
    assert fill_template(template, title="T {{date}} $1 \\1", now=NOW) == text


def test_a_time_is_formatted_in_its_own_zone() -> None:
    now = datetime(2024, 1, 12, 0, 5, tzinfo=timezone(-timedelta(hours=3, minutes=30)))
    assert fill_template("{{date:Do h a Z}}", title="", now=now) == "12th 12 am -03:30"


def test_the_vaults_own_templates_come_before_those_built_in(tmp_path: Path) -> None:
    assert template_names(tmp_path) == tuple(sorted(BUILT_IN)) == ("daily", "decision", "meeting", "project")
    own = tmp_path / "templates"
    own.mkdir()
    (own / "meeting.md").write_text("\ufeffours {{title}}", encoding="utf-8")
    (own / "Recipe.md").write_text("{{date}}", encoding="utf-8")
    (own / "notes.txt").write_text("no", encoding="utf-8")
    (own / "folder.md").mkdir()
    (own / "bad.md").write_bytes(b"\xff")
    (tmp_path / "secret.md").write_text("no", encoding="utf-8")
    (own / "link.md").symlink_to(tmp_path / "secret.md")
    assert template_names(tmp_path) == ("Recipe", "bad", "daily", "decision", "meeting", "project")
    assert template_text(tmp_path, "meeting") == "ours {{title}}"
    assert template_text(tmp_path, "daily") == BUILT_IN["daily"]
    for name in ("../secret", "link", "folder", "notes.txt", "", "meeting.md", "x\x00"):
        with pytest.raises(NotFound, match="Recipe"):
            template_text(tmp_path, name)
    with pytest.raises(InvalidInput, match="UTF-8"):
        template_text(tmp_path, "bad")


def test_built_in_templates_can_be_filled_in() -> None:
    for text in BUILT_IN.values():
        assert "{{" not in fill_template(text, title="Tea", now=NOW)


def test_the_frontmatter_of_a_template_becomes_that_of_the_note() -> None:
    note = note_from_template("---\ntags: [daily]\ncategory: log\nmood: good\nid: 7\n---\n# Day\n")
    assert (note.tags, note.category, note.extra) == (("daily",), "log", "mood: good\n# id: 7\n")
    assert note.content == "# Day"
    # Text that is not frontmatter stays in the content, byte for byte.
    for text in ("# Day\n\n", "---\ntitle: a: b\n---\nText\n", "---\n\nA line above\n", ""):
        assert note_from_template(text) == Note(content=text)


async def test_a_note_that_begins_with_a_template_has_its_properties(tmp_path: Path) -> None:
    own = tmp_path / "notes" / "templates"
    own.mkdir(parents=True)
    (own / "Log.md").write_text("---\ntags: [daily]\ncategory: log\nmood: good\n---\n# {{title}}\n")
    (own / "Bare.md").write_text("---\ntags: [bare]\n---\n")
    async with open_room(tmp_path) as notes:
        draft = WriteNoteRequest(title="Monday", content="It rained.", tags=("wet",), template="Log")
        done = await notes.write_note(draft, who=WHO)
        assert (done.tags, done.category) == (("wet", "daily"), "log")
        assert (await notes.read_note(ReadNoteRequest(identifier=done.id), who=WHO)).content == "# Monday\n\nIt rained."
        assert "mood: good\n---\n\n# Monday\n" in Path(done.file_path).read_text()
        moved = await notes.write_note(replace(draft, category="work", content="  "), who=WHO)
        assert (moved.category, (await notes.read_note(ReadNoteRequest(identifier=moved.id), who=WHO)).content) == (
            "work",
            "# Monday",
        )
        with pytest.raises(InvalidInput, match="needs content"):
            await notes.write_note(WriteNoteRequest(title="Tuesday", template="Bare"), who=WHO)
