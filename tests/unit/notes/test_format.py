"""Notes survive rendering and parsing, and foreign files keep their lines."""

import difflib
from dataclasses import fields, replace
from datetime import UTC, datetime

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.unit.notes.drafting import WORDS, extras, notes, texts

from scrubjay.errors import NoteUnreadable
from scrubjay.notes.markdown.format import MARKER, parse, render
from scrubjay.notes.markdown.note import Link, Note

ID = "0192f0c4-1111-7222-8333-444455556666"
NOON = datetime(2024, 1, 15, 12, tzinfo=UTC)
WHOLE = Note(
    id=ID,
    title="Meeting with John about Q4 goals",
    tags=("meeting", "goals", "q4"),
    category="work",
    kind="decision",
    pinned=True,
    created_at=NOON,
    updated_at=NOON,
    last_reviewed=NOON,
    links=("6ba7b810-9dad-11d1-80b4-00c04fd430c8",),
    extra="aliases: [Q4]\n",
    content="# Q4 Goals\n\n- Revenue: $2M",
    observations=("one atomic fact", "a longer one\n\nin two paragraphs"),
    linked=(Link(target="work-ideas-6ba7b810-9dad-11d1-80b4-00c04fd430c8", text="Related project ideas"),),
)
WRITTEN = f"""---
id: {ID}
title: Meeting with John about Q4 goals
tags: ["meeting", "goals", "q4"]
category: work
created_at: 2024-01-15T12:00:00Z
updated_at: 2024-01-15T12:00:00Z
last_reviewed: 2024-01-15T12:00:00Z
links: ["6ba7b810-9dad-11d1-80b4-00c04fd430c8"]
kind: decision
pinned: true
aliases: [Q4]
---

# Q4 Goals

- Revenue: $2M

{MARKER}

## Observations

- one atomic fact
- a longer one

  in two paragraphs

## Links

- [[work-ideas-6ba7b810-9dad-11d1-80b4-00c04fd430c8|Related project ideas]]
"""
# As an editor or another tool would leave it.
FOREIGN = """---
# written by hand
aliases:
- "Tea time"
title:   'It''s tea'   # the name
tags:
    - drinks
    -  "hot"  # not cold

date: 2021-05-06
nested: {a: [1, 2], b: ~}
category: "home"
text: |
  title: no

  more
pinned: no
# the end
---
Content at once.\t


Its end.
<!-- scrubjay -->
# Observations

* hot
- and
    sweet
### Links ###
+ [[cup]] and [[pot|the pot]]
- [[kettle#lid]] because it whistles
- a line without any

Something typed below.
"""
FOREIGN_NOTE = Note(
    title="It's tea",
    tags=("drinks", "hot"),
    category="home",
    extra='# written by hand\naliases:\n- "Tea time"\n\ndate: 2021-05-06\nnested: {a: [1, 2], b: ~}\n'
    "text: |\n  title: no\n\n  more\n# the end\n",
    content="Content at once.\t\n\n\nIts end.\n\n- a line without any\n\nSomething typed below.",
    observations=("hot", "and\n  sweet"),
    linked=(Link(target="cup"), Link(target="pot", text="the pot"), Link(target="kettle#lid")),
)


def changed_lines(old: bytes, new: bytes) -> list[str]:
    lines = difflib.ndiff(old.decode().splitlines(), new.decode().splitlines())
    return [line for line in lines if line[0] in "+-"]


@given(note=notes)
@settings(max_examples=60, deadline=None)
def test_a_rendered_note_is_parsed_back(note: Note) -> None:
    written = render(note)
    page = parse(written)
    assert page.note == note
    assert render(page.note, like=page) == written


@given(
    note=notes,
    other=notes,
    names=st.sets(st.sampled_from([field.name for field in fields(Note)])),
    has_bom=st.booleans(),
    newline=st.sampled_from([b"\n", b"\r\n"]),
)
@settings(max_examples=60, deadline=None)
def test_a_changed_note_is_parsed_with_its_changes(
    note: Note, other: Note, names: set[str], *, has_bom: bool, newline: bytes
) -> None:
    data = (b"\xef\xbb\xbf" if has_bom else b"") + render(note).replace(b"\n", newline)
    page = parse(data)
    assert render(page.note, like=page) == data
    now = replace(page.note, **{name: getattr(other, name) for name in names})
    assert parse(render(now, like=page)).note == now


@given(text=texts, has_head=st.booleans(), extra=extras, other=texts)
@settings(max_examples=100, deadline=None)
def test_any_text_is_a_file_that_stays_as_it_is(text: str, extra: str, other: str, *, has_head: bool) -> None:
    data = (f"---\n{extra}---\n{text}" if has_head else f"x{text}").encode()
    page = parse(data)
    assert render(page.note, like=page) == data
    for now in (
        replace(page.note, content=other),
        replace(page.note, title=other),
        replace(page.note, observations=(other,)),
    ):
        assert parse(render(now, like=page)).note == now


@given(
    text=st.sampled_from(
        [FOREIGN, WRITTEN, "---\n{a: [1, {b: c}], 'title': \"e\"}\n---\nx", "---\n  a: |+\n    x\n\n  b: 1\n---\n"]
    ),
    edits=st.lists(st.tuples(st.integers(0, 700), st.integers(0, 5), WORDS), min_size=1, max_size=5),
)
@example(text="---\n  a: 1\n---\n", edits=[(5, 0, "&a"), (7, 0, "\n---\n")])
@settings(max_examples=100, deadline=None)
def test_a_damaged_file_is_parsed_or_refused(text: str, edits: list[tuple[int, int, str]]) -> None:
    for at, size, word in edits:
        text = text[: at % (len(text) + 1)] + word + text[at % (len(text) + 1) + size :]
    try:
        page = parse(text.encode())
    except NoteUnreadable:
        return
    assert render(page.note, like=page) == text.encode()
    for now in (
        replace(page.note, title="Tea"),
        replace(page.note, content="c"),
        replace(page.note, id="i", linked=()),
    ):
        assert parse(render(now, like=page)).note == now


def test_the_file_of_a_note() -> None:
    assert render(WHOLE).decode() == WRITTEN
    assert render(Note()) == b"---\n---\n"
    assert render(Note(id=ID, content="x")).decode() == f"---\nid: {ID}\ntags: []\nlinks: []\n---\n\nx\n"
    assert render(Note(linked=(Link(target="a"),))).decode() == f"---\n---\n\n{MARKER}\n\n## Links\n\n- [[a]]\n"


@pytest.mark.parametrize("bom", ["", "\ufeff"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("ends", [True, False])
def test_a_foreign_file_is_parsed_and_reproduced(bom: str, newline: str, *, ends: bool) -> None:
    text = FOREIGN if ends else FOREIGN.removesuffix("\n")
    data = (bom + text.replace("\n", newline)).encode()
    page = parse(data)
    assert page.note == FOREIGN_NOTE
    assert page.set_fields == {"title", "tags", "category", "pinned"}
    assert page.warnings == ()
    assert render(page.note, like=page) == data


@pytest.mark.parametrize(
    ("change", "lines"),
    [
        ({"title": "Coffee"}, ["- title:   'It''s tea'   # the name", "+ title:   'Coffee'   # the name"]),
        ({"category": "a\nb"}, ['- category: "home"', '+ category: "a\\nb"']),
        ({"tags": ("drinks", "cold", "hot")}, ["+     - cold"]),
        ({"tags": ("hot",)}, ["-     - drinks"]),
        ({"tags": ()}, ["- tags:", "-     - drinks", '-     -  "hot"  # not cold', "+ tags: []"]),
        ({"pinned": True}, ["- pinned: no", "+ pinned: true"]),
        ({"id": "x1"}, ["+ id: x1"]),
        ({"kind": "fact"}, ["+ kind: fact"]),
        ({"created_at": NOON}, ["+ created_at: 2024-01-15T12:00:00Z"]),
        ({"links": ("a", "b")}, ['+ links: ["a", "b"]']),
        ({"category": ""}, ['- category: "home"']),
        ({"extra": FOREIGN_NOTE.extra.replace("2021", "2022")}, ["- date: 2021-05-06", "+ date: 2022-05-06"]),
        ({"extra": FOREIGN_NOTE.extra.replace("# the end\n", "new: 1\n# the end\n")}, ["+ new: 1"]),
        ({"observations": ("hot", "new", "and\n  sweet")}, ["+ - new"]),
        ({"observations": ("and\n  sweet", "hot")}, ["- * hot", "+ * hot"]),
        ({"observations": ("hot",)}, ["- - and", "-     sweet"]),
        ({"observations": ()}, ["- # Observations", "- ", "- * hot", "- - and", "-     sweet"]),
        ({"linked": (*FOREIGN_NOTE.linked, Link(target="a", text="b"))}, ["+ - [[a|b]]"]),
        ({"linked": FOREIGN_NOTE.linked[:2]}, ["- - [[kettle#lid]] because it whistles"]),
        ({"linked": FOREIGN_NOTE.linked[1:]}, ["- + [[cup]] and [[pot|the pot]]", "+ - [[pot|the pot]]"]),
        ({"linked": ()}, ["- + [[cup]] and [[pot|the pot]]", "- - [[kettle#lid]] because it whistles"]),
        (
            {"content": "New.\n\n\nIts end."},
            ["- Content at once.\t", "+ New.", "- - a line without any", "- Something typed below."],
        ),
    ],
)  # fmt: skip
def test_only_the_lines_of_changed_fields_differ(change: dict[str, object], lines: list[str]) -> None:
    for bom, newline in (("", "\n"), ("\ufeff", "\r\n")):
        data = (bom + FOREIGN.replace("\n", newline)).encode()
        page = parse(data)
        now = replace(FOREIGN_NOTE, **change)
        written = render(now, like=page)
        assert parse(written).note == now
        assert written.count(b"\r") == (written.count(b"\n") if newline == "\r\n" else 0)
        assert sorted(changed_lines(data, written)) == sorted(lines)


def test_a_file_without_frontmatter_gets_one_and_keeps_its_text() -> None:
    for text in ("# Tea\n\nHot.\n", "\n\nTea", "Tea\r\n\r\nHot\r\n", "Tea\rand\nmilk\r\n", "", "---\n\nTea\n"):
        page = parse(text.encode())
        assert (page.note.title, page.set_fields) == ("", frozenset())
        assert render(page.note, like=page) == text.encode()
        now = replace(page.note, id=ID, title="Tea")
        written = render(now, like=page)
        assert parse(written).note == now
        assert written.decode().startswith("---")
        assert written.endswith((text.encode().strip(), text.encode()))


def test_text_below_the_sections_belongs_to_the_content() -> None:
    data = WRITTEN + "\nTyped below.\n\n- with a list\n"
    page = parse(data.encode())
    assert page.note == replace(WHOLE, content=f"{WHOLE.content}\n\nTyped below.\n\n- with a list")
    assert render(replace(page.note, title="Tea"), like=page).decode() == data.replace(WHOLE.title, "Tea")
    # When the content is rewritten, the text moves to the rest of the content.
    now = replace(page.note, content=page.note.content + "\n\nMore.")
    written = render(now, like=page).decode()
    assert parse(written.encode()).note == now
    assert written.index("Typed below.") < written.index("More.") < written.index(MARKER)


def test_a_file_with_mixed_line_endings_is_parsed_as_it_is() -> None:
    data = b"---\r\ntitle: Tea\r\nx: 1\r\n---\r\n\r\none\r\ntwo\n"
    page = parse(data)
    assert page.note == Note(title="Tea", extra="x: 1\n", content="\r\none\r\ntwo")
    assert render(page.note, like=page) == data
    now = replace(page.note, title="Coffee")
    assert render(now, like=page) == data.replace(b"Tea", b"Coffee")


@pytest.mark.parametrize(
    "extra",
    ["title: x\n", "a: [\n", "a: 1", "---\n", "a: |\n x\n---\n", "  a: 1\n", "- a\n", "a: 1\na: 2\n", "\n",
     "a: !!x y\n", "{a: 1}\n", "a\r\n", "a: \x00\n", "words\n"],
)  # fmt: skip
def test_invalid_foreign_frontmatter_is_left_out(extra: str) -> None:
    assert render(replace(WHOLE, extra=extra)).decode() == WRITTEN.replace("aliases: [Q4]\n", "")
    page = parse(WRITTEN.encode())
    assert render(replace(WHOLE, extra=extra), like=page).decode() == WRITTEN


def test_a_note_with_thousands_of_links_is_read_again() -> None:
    ids = tuple(f"{number:08}-9dad-11d1-80b4-00c04fd430c8" for number in range(2_500))
    note = replace(WHOLE, links=ids, linked=tuple(Link(target=f"work-{id_}", text="Tea") for id_ in ids))
    page = parse(render(note))
    assert page.note == note
    fewer = replace(note, links=ids[1:], linked=note.linked[1:])
    assert parse(render(fewer, like=page)).note == fewer


def test_a_first_link_is_written_as_in_a_new_file() -> None:
    for text in ("Some text", "- item", "Ends with lines\n\n"):
        page = parse(render(Note(title="A", content=text)))
        linked = replace(page.note, linked=(Link(target="b", text="B"),))
        assert render(linked, like=page) == render(linked)
        assert render(page.note, like=parse(render(linked))) == render(page.note)
