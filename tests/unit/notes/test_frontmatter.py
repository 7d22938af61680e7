"""Frontmatter: valid in many forms, and refused if it is invalid."""

import re
import tracemalloc
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.unit.notes.drafting import WORDS

from scrubjay.errors import NoteUnreadable
from scrubjay.notes.markdown.format import Page, parse, render
from scrubjay.notes.markdown.frontmatter import parse_frontmatter, parse_simple_yaml
from scrubjay.notes.markdown.note import Note
from scrubjay.notes.markdown.yaml_parser import parse_full_yaml
from scrubjay.notes.markdown.yaml_values import Frontmatter, Scalar, quote_double, quote_single, scalar


def page_of(head: str) -> Page:
    return parse(f"---\n{head}---\n\ntext\n".encode())


LINES = st.lists(
    st.builds(
        "{}{}{}{}".format,
        st.sampled_from(["a", "title", "b-1", "- ", "  - ", "tags", "'k'", "#", "", "  ", "? ", "a:b"]),
        st.sampled_from([":", ": ", ":  ", " : ", "", " "]),
        WORDS
        | st.text(max_size=8)
        | st.builds(quote_double, st.text(max_size=5))
        | st.builds(quote_single, st.text(max_size=5))
        | st.sampled_from(
            [
                "[a, b]",
                "[\"x\", 'y']",
                "[ a b ]",
                "[]",
                "[a,,b]",
                "[a: b]",
                "[-1, +x]",
                "x # y",
                "a:b",
                "'it''s'",
                '"\\u00e4\\/"',
                "|",
                ">-",
            ]
        ),
        st.sampled_from(["\n", " \n", "\n\n", " # c\n", ""]),
    ),
    max_size=5,
).map("".join)


@given(text=LINES)
@example("a:\na:\n\n")
@settings(max_examples=250, deadline=None)
def test_the_simple_patterns_agree_with_the_parser(text: str) -> None:
    quick = parse_simple_yaml(text)
    if quick is None:
        return
    slow = parse_full_yaml(text)
    assert "".join(entry.text for entry in quick[0]) + quick[1] == text
    assert [(entry.key, entry.value, entry.raw, entry.lead) for entry in quick[0]] == [
        (entry.key, entry.value, entry.raw, entry.lead) for entry in slow.entries
    ]
    assert quick[1] == slow.tail
    assert not slow.is_odd
    for entry, other in zip(quick[0], slow.entries, strict=True):
        assert entry.raw[entry.start : entry.end] == other.raw[other.start : other.end]


@given(text=LINES)
@example("\ufeff\n")
@example("\ufeff# by hand\nmood: good\n")
@settings(max_examples=150, deadline=None)
def test_the_parsed_entries_form_the_text(text: str) -> None:
    try:
        head = parse_full_yaml(text)
    except NoteUnreadable:
        return
    assert head.is_odd or "".join(entry.text for entry in head.entries) + head.tail == text
    if not re.search(r"\r|^---|[^\n]\Z", text, re.MULTILINE) and len({entry.key for entry in head.entries}) == len(
        head.entries
    ):
        # Its foreign entries fit into another frontmatter.
        page = page_of(text)
        assert render(page.note, like=page).startswith(f"---\n{text}---".encode())
        assert parse(render(page.note)).note == page.note


@given(text=st.lists(WORDS | st.text(max_size=6), max_size=5).map("".join))
@settings(max_examples=150, deadline=None)
def test_a_text_is_written_so_that_a_parser_reads_it(text: str) -> None:
    for written in (scalar(text), quote_double(text), quote_single(text)):
        value = parse_full_yaml(f"a: {written}\n").entries[0].value
        assert isinstance(value, Scalar)
        assert value.text == text
        assert parse_frontmatter(f"a: {written}\n").entries[0].value == value


@pytest.mark.parametrize(
    ("head", "line", "reason"),
    [
        ("a: &a [x]\nb: *a\n", 3, "alias"),
        ("a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\n", 3, "alias"),
        ("a: &a [" + "*a, " * 200 + "]\n", 2, "too many"),
        ("a: !!python/object/apply:os.system ['x']\n", 2, "tag"),
        ("\n# x\na: !custom y\n", 4, "tag"),
        ("!!map\ntitle: x\n", 2, "tag"),
        ("title: 1\nb: 2\ntitle: 3\n", 4, "'title' twice"),
        ('{"a": 1, "a": 2}\n', 2, "'a' twice"),
        ("\ta: b\n", 2, r"'\\t'"),
        ("a:\n\tb: c\n", 3, r"'\\t'"),
        ("- a\n- b\n", 2, "`key: value`"),
        ("only words\n", 2, "`key: value`"),
        ("title: one: two\n", 2, "not valid YAML"),
        ("a: [\n", 3, "not valid YAML"),
        ("a: 'x\n", 3, "not valid YAML"),
        ("? a\n: b\n", 2, "does not begin its line"),
        ("? [a]\n: b\n", 2, "not a text"),
        ("*a : b\n", 2, "not a text"),
        ("%TAG ! x\n", 3, "not valid YAML"),
        ("\ufeffa: b\n", 2, "`key: value`"),
        ("a: b\n...\n", 3, "document"),
        ("a: b\n--- c\n", 3, "document"),
        ("a: \x01\n", 2, r"U\+0001"),
        ('a: "\\Uffffffff"\n', 2, "not a character"),
        ("a: " + "[" * 60_000 + "\n", 2, "brackets"),
        ("a: " + "{a: " * 20_000 + "\n", 2, "64 KB"),
        ("a: " + "[" * 100 + "]" * 100 + "\n", 2, "nested"),
        ("a:\n" + "".join(" " * depth + "-\n" for depth in range(1, 300)), 42, "nested"),
        ("a: >\n" + " x\n" * 30_000, 2, "64 KB"),
        ("a:\n" + "- {}\n" * 6_000, 2501, "too many"),
    ],
)
def test_invalid_frontmatter_is_refused_with_its_line(head: str, line: int, reason: str) -> None:
    with pytest.raises(NoteUnreadable, match=reason) as caught:
        page_of(head)
    assert caught.value.fields["line"] == line
    assert caught.value.hint


@pytest.mark.parametrize(
    ("data", "line", "reason"),
    [
        (b"\xff\xfea\x00", 1, "UTF-16"),
        ("a".encode("utf-16-be"), 1, "NUL"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", 3, "NUL|UTF-8"),
        (b"one\ntwo \xe4\n", 2, "0xe4"),
        (b"---\ntitle: x\n\ntext\n", 1, "no closing line"),
        (b"---\r\n# c\r\ntitle: x\r\n", 1, "no closing line"),
    ],
)
def test_binary_files_are_refused(data: bytes, line: int, reason: str) -> None:
    with pytest.raises(NoteUnreadable, match=reason) as caught:
        parse(data)
    assert caught.value.fields["line"] == line


def test_a_thematic_break_is_not_frontmatter() -> None:
    for text in ("---", "---\n", "---\n\nwords: here\n", "--- \nwords\n", "----\na: b\n---\n"):
        page = parse(text.encode())
        assert page.note.content == text.removesuffix("\n")
        assert render(page.note, like=page) == text.encode()


def test_a_yaml_bomb_is_refused_quickly() -> None:
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]\n" for level in range(1, 12)
    )
    tracemalloc.start()
    with pytest.raises(NoteUnreadable):
        page_of(bomb)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 2_000_000


def test_a_value_of_the_wrong_type_stays_and_is_not_set() -> None:
    head = "title: [1]\ntags: {a: b}\ncreated_at: garbage\npinned: maybe\nkind:\n- [x]\nid: 5\n"
    page = page_of(head)
    assert page.note == Note(id="5", content="text")
    assert page.set_fields == {"id"}
    assert [re.sub(" should.*", "", warning) for warning in page.warnings] == [
        "line 2: title", "line 3: tags", "line 4: created_at", "line 5: pinned", "line 6: kind",
    ]  # fmt: skip
    assert head in render(replace(page.note, content="other"), like=page).decode()
    # It stays readable even if another value replaces it.
    now = replace(page.note, title="Tea", created_at=datetime(2024, 1, 15, 10, 30, tzinfo=UTC))
    written = render(now, like=page).decode()
    assert (
        "# title: [1]\ntitle: Tea\ntags: {a: b}\n# created_at: garbage\ncreated_at: 2024-01-15T10:30:00Z\n" in written
    )
    assert parse(written.encode()).note == now


def test_foreign_values_under_our_keys_stay_readable() -> None:
    page = page_of("id: 202401151030 # Zettel\nlinks:\n- https://example.org\n- '[[Tea]]'\nsource: x\n")
    own, other = "0197f3c2-6d3e-7bb0-b8a5-9f4c1e2d3a4b", "0197f3c2-7a10-7c2f-8d11-0b1c2d3e4f5a"
    now = replace(page.note, id=own, links=(other,))
    written = render(now, like=page).decode()
    assert f"# id: 202401151030 # Zettel\nid: {own}\n" in written
    assert f"# links:\n# - https://example.org\n# - '[[Tea]]'\nlinks: [\"{other}\"]\nsource: x\n" in written
    assert parse(written.encode()).note == now
    # None of our values is left: a copy has an id of its own.
    again = render(replace(now, id=other, links=()), like=parse(written.encode())).decode()
    assert f"Zettel\nid: {other}\n" in again
    assert "links: []" in again
    assert own not in again


@pytest.mark.parametrize(
    ("line", "tags"),
    [
        ("tags: [a, b]", ("a", "b")), ("tags: a, b", ("a", "b")), ("tags: a", ("a",)), ("tags: '#a #b'", ("a", "b")),
        ("tags: '#a, #b'", ("a", "b")), ("tags:\n  - a\n  - '#b'", ("a", "b")), ("tags:\n- a # why\n\n- b", ("a", "b")),
        ("tags: [2024, yes, null, 'null']", ("2024", "yes", "null")), ("tags:", ()), ("tags: []", ()), ("tags: ''", ()),
        ("tags: ~", ()), ("tags: #a", ()), ('tags: ["##a", "a b", ""]', ("#a", "a b", "")),
    ],
)  # fmt: skip
def test_tags_may_be_written_in_many_ways(line: str, tags: tuple[str, ...]) -> None:
    page = page_of(f"{line}\n")
    assert page.note.tags == tags
    assert page.set_fields == {"tags"}


@pytest.mark.parametrize(
    ("written", "moment"),
    [
        ("2024-01-15T10:30:00Z", datetime(2024, 1, 15, 10, 30, tzinfo=UTC)),
        ("'2024-01-15 11:30+01:00'", datetime(2024, 1, 15, 10, 30, tzinfo=UTC)),
        ("2024-01-15", datetime(2024, 1, 15, tzinfo=UTC)),
        ("2024-01-15T10:30", datetime(2024, 1, 15, 10, 30, tzinfo=UTC)),
        ("", None),
        ("null", None),
    ],
)
def test_times_may_be_written_in_many_ways(written: str, moment: datetime | None) -> None:
    assert page_of(f"created_at: {written}\n").note.created_at == moment


def test_surrogate_pairs_are_joined() -> None:
    assert page_of('title: "\\ud83d\\ude00 \\ud83d"\n').note.title == "\U0001f600 \ufffd"


def test_words_with_a_special_meaning_in_yaml_are_quoted() -> None:
    for word in (
        "yes",
        "No",
        "null",
        "~",
        "2024-01-01",
        "1e5",
        "0x1F",
        "12:30",
        ".5",
        "a: b",
        "a #b",
        "#a",
        "- a",
        "=",
        "@a",
        "",
    ):
        assert scalar(word) == f'"{word}"'
    for word in (
        "Meeting with John about Q4 goals",
        "a:b",
        "C#",
        "it's \U0001f600",
        "work/meetings",
        "\u05e9\u05dc\u05d5\u05dd",
    ):
        assert scalar(word) == word
    assert page_of("title: 2024\ncategory: yes\n").note == Note(title="2024", category="yes", content="text")


def test_no_key_begins_within_another_value() -> None:
    head = parse_frontmatter("title: a\n  b\n# c\n\nfoo: 'x\n\n  # y'\n# d\nbar: |\n  # z\n\nlast:\n  k: v\n# e\n")
    assert [(entry.key, entry.lead, entry.raw) for entry in head.entries] == [
        ("title", "", "title: a\n  b\n"),
        ("foo", "# c\n\n", "foo: 'x\n\n  # y'\n"),
        ("bar", "# d\n", "bar: |\n  # z\n\n"),
        ("last", "", "last:\n  k: v\n"),
    ]
    assert (head.tail, head.is_odd) == ("# e\n", False)


@pytest.mark.parametrize(
    ("written", "lines"),
    [
        ('{"title":"x","tags":["a"],\n "z":{"q":1}, w}\n', 'title: tea\ntags: ["a"]\n"z": {"q":1}\nw:\n'),
        ("  title: x\n  # c\n  z: |\n    a\n\n    b\n", "title: tea\n# c\nz: |\n  a\n\n  b\n"),
        ("{}\n", "title: tea\n"),
        ("# a\n{ } # b\n# c\n", "title: tea\n# a\n# b\n# c\n"),
    ],
)
def test_frontmatter_in_another_style_stays_until_it_changes(written: str, lines: str) -> None:
    page = page_of(written)
    assert f"---\n{written}---\n\nother" in render(replace(page.note, content="other"), like=page).decode()
    now = render(replace(page.note, title="tea"), like=page).decode()
    assert now.replace('"title": "tea"', "title: tea").replace('"tags": [', "tags: [") == f"---\n{lines}---\n\ntext\n"


def test_an_empty_frontmatter_says_nothing() -> None:
    assert parse_frontmatter("") == Frontmatter()
    assert page_of("").note == page_of("\n").note == Note(content="text")
    assert page_of("# only\n").note == Note(content="text", extra="# only\n")
