"""Names of note files: safe on every system, and ending in the id."""

import re
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.notes.drafting import anything

from scrubjay.model.identity import is_id, new_id
from scrubjay.notes.markdown.naming import file_name, id_in, link_target

ID = "0192f0c4-1111-7222-8333-444455556666"
DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d|conin\$|conout\$)(\..*)?", re.IGNORECASE)
PAYLOADS = [
    "../../etc/passwd", "..\\..\\windows\\win.ini", "..", ".", "/", "\\", "/etc/passwd", "C:\\x",
    "\\\\server\\share", "%2e%2e%2f%2e%2e%2fetc", "%252e%252e%252f", "..%c0%af..", "....//....//", "..;/", "\x00",
    "a\x00.md", "a\nb", "\r\n", "~", "~/.ssh/id_rsa", "$HOME", "`id`", "$(id)", ";rm -rf", "|", "*", "?", "<x>",
    '"', ":", "a:stream", "a::$DATA", "CON", "con.md", "nul", "NUL.txt", "PRN", "AUX", "COM1", "lpt9", "CONIN$",
    "com\u00b9", "trailing.", "trailing ", "trailing. . .", " leading", ".hidden", "-rf", "--", "x.md", ".md",
    "file:///etc/passwd", "\u202egnp.exe", "\u2066a\u2069", "\u200b", "\ufeff", "\u2024\u2024/",
    "\uff0e\uff0e\uff0f", "\u2215", "\u29f5", "\u0430\u0440\u0440le",
    "\U0001f600\U0001f468\u200d\U0001f469\u200d\U0001f467", "\u05e9\u05dc\u05d5\u05dd",
    "\u0645\u0631\u062d\u0628\u0627", "a" * 300, "\U0001f600" * 300, "\u4e2d" * 300, "a\u0301" * 300,
    "\u0301\u0302", "\x1b[31m", "\x7f\x85\u2028", "\u3164", "",
]  # fmt: skip


def refuse_unsafe(name: str) -> None:
    assert len(name.encode()) <= 200
    assert name.endswith(".md")
    assert not set('/\\:*?"<>|%~$\x00') & set(name)
    assert not name.startswith((".", "-", " "))
    assert not name.removesuffix(".md").endswith((".", " ", "-"))
    assert ".." not in name
    assert "." not in name.removesuffix(".md")
    assert not DEVICES.fullmatch(name)
    assert all(unicodedata.category(character)[0] not in "CZ" for character in name)
    assert name == unicodedata.normalize("NFC", name)


@pytest.mark.parametrize("payload", PAYLOADS)
def test_no_title_category_or_id_leads_out_of_the_folder(payload: str) -> None:
    for category, title in ((payload, "tea"), ("work", payload), (payload, payload), ("", payload), (payload, "")):
        name = file_name(category=category, title=title, id=ID)
        refuse_unsafe(name)
        assert name.endswith(f"-{ID}.md")
        assert id_in(name) == ID
    refuse_unsafe(file_name(category=payload, title=payload, id=payload))


@given(category=anything, title=anything, id=anything | st.builds(new_id))
@settings(max_examples=100, deadline=None)
def test_every_name_is_safe(category: str, title: str, id: str) -> None:
    name = file_name(category=category, title=title, id=id)
    refuse_unsafe(name)
    if is_id(id):
        assert id_in(name) == id


def test_a_name_has_the_category_the_title_and_the_id() -> None:
    title = "Meeting with John about Q4 goals"
    assert file_name(category="work", title=title, id=ID) == f"work-meeting-with-john-about-q4-goals-{ID}.md"
    assert file_name(category="work/Meetings", title="Caf\u00e9", id=ID) == f"work-meetings-caf\u00e9-{ID}.md"
    assert file_name(category="", title="Tea", id=ID) == f"tea-{ID}.md"
    assert file_name(category="home", title="\U0001f600", id=ID) == f"home-{ID}.md"
    assert file_name(category="", title="", id=ID) == f"note-{ID}.md"
    assert file_name(category="home", title="Tea", id="tea-1") == "home-tea-tea-1.md"


def test_ids_that_differ_give_names_that_differ_also_without_case() -> None:
    ids = ("a", "A", "a.", "a ", "../a", "a/b", "a-b", "x" * 65, "x" * 66, "", "\u00e9", "e\u0301")
    assert len({file_name(category="", title="", id=id_).casefold() for id_ in ids}) == len(ids)
    assert file_name(category="", title="", id=ID.upper()) == f"note-{ID}.md"


@pytest.mark.parametrize(
    ("name", "id"),
    [
        (f"work-tea-{ID}.md", ID),
        (f"{ID}.MD", ID),
        (f"folder/tea-{ID.upper()}.md", ID),
        (f"tea {ID}", ID),
        (f"{ID} tea.md", ""),
        (f"tea{ID}.md", ""),
        ("tea.md", ""),
        ("", ""),
        (f"x-{ID}-.md", ""),
    ],
)
def test_the_id_at_the_end_of_a_name(name: str, id: str) -> None:
    assert id_in(name) == id


def test_a_link_names_a_file_without_its_ending() -> None:
    assert [link_target(path) for path in ("a/b.md", "b.MD", "b", "b.md.md", "pic.png")] == [
        "a/b",
        "b",
        "b",
        "b.md",
        "pic.png",
    ]
