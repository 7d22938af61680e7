"""The text of files, including hostile ones."""

import io
import subprocess
import sys
from pathlib import Path

import pytest
from tests.unit.notes.files import OPEN_DOCUMENT, WORD, docx, odt, pdf, zipped

from scrubjay.notes.attachments.extract import Extractor
from scrubjay.notes.attachments.readers import READERS, UnreadableFile, decode_text

LAUGHS = '<!DOCTYPE a [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
PAGE = b"<html><head><title>T</title><style>p{}</style></head><body><p>One <b>two</b></p><script>x()</script>&amp;<td>4"


@pytest.mark.parametrize(
    ("kind", "data", "text"),
    [
        ("text/html", PAGE, "T\n\nOne two\n& 4"),
        ("image/svg+xml", b"<svg><text>A label</text><script>no</script></svg>", "A label"),
        (WORD, docx("First", "Second &amp; last"), "First\nSecond & last"),
        (OPEN_DOCUMENT, odt("First", "Second"), "First\nSecond"),
        ("application/pdf", pdf("A page that says something"), "A page that says something"),
    ],
)
def test_documents_are_read(kind: str, data: bytes, text: str) -> None:
    assert READERS[kind](io.BytesIO(data), 1000) == text
    assert len(READERS[kind](io.BytesIO(data), 3)) <= len(text)


@pytest.mark.parametrize(
    ("kind", "data", "why"),
    [
        (WORD, docx("&b;", before=LAUGHS), "document type"),
        (WORD, zipped("word/document.xml", b"<a>" * 200_000 + b"\xff"), "XML is broken"),
        (WORD, zipped("other.xml", "x"), "has no word/document.xml"),
        (WORD, b"PK\x03\x04 and nothing else", "not a readable archive"),
        (OPEN_DOCUMENT, b"", "not a readable archive"),
        ("application/pdf", b"%PDF-1.7 and nothing else", "cannot be read"),
    ],
)
def test_hostile_files_are_refused(kind: str, data: bytes, why: str) -> None:
    with pytest.raises(UnreadableFile, match=why):
        READERS[kind](io.BytesIO(data), 1000)


def test_a_zip_bomb_is_refused() -> None:
    bomb = zipped("word/document.xml", b" " * (80 << 20))
    with pytest.raises(UnreadableFile, match=r"unpacks to more|XML is broken"):
        READERS[WORD](io.BytesIO(bomb), 1000)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("\ufeffKäse".encode(), "Käse"),
        ("Käse".encode("utf-16"), "Käse"),
        ("Käse".encode("cp1252"), "Käse"),
        ("abcä".encode()[:-1], "abc"),
    ],
)
def test_bytes_are_read_as_text(data: bytes, text: str) -> None:
    assert decode_text(data) == text


async def test_texts_are_read_here_and_documents_in_a_child(tmp_path: Path) -> None:
    extractor = Extractor(characters=20)
    (tmp_path / "a").write_bytes(pdf("A page that says something"))
    (tmp_path / "b").write_bytes(b"words " * 100)
    with (tmp_path / "a").open("rb") as page, (tmp_path / "b").open("rb") as words:
        result = await extractor.text_of(page, media_type="application/pdf")
        assert (result.text, result.warning) == ("A page that says som", "only its first 20 characters are searched")
        result = await extractor.text_of(words, media_type="text/plain")
        assert (result.text, result.warning) == ("words words words wo", "only its first 20 characters are searched")
        assert not (await extractor.text_of(words, media_type="video/mp4")).text
        page.seek(0)
        hurried = await Extractor(seconds=0.001).text_of(page, media_type="application/pdf")
        assert (hurried.text, hurried.warning) == (
            "",
            "its text could not be extracted: it takes longer than 0.001 seconds",
        )


async def test_a_child_that_fails_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_bytes(docx("&b;", before=LAUGHS))
    with (tmp_path / "a").open("rb") as file:
        result = await Extractor().text_of(file, media_type=WORD)
    assert (result.text, result.warning.partition(":")[0]) == ("", "its text could not be extracted")
    assert "document type" in result.warning
    # A type whose reader fails.
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\nexec {sys.executable} -c 'import sys; sys.exit(1)'\n", encoding="ascii")
    program.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(program))
    with (tmp_path / "a").open("rb") as file:
        assert (await Extractor().text_of(file, media_type=WORD)).warning.endswith("its reader crashed")


def test_the_extra_is_named_where_it_is_missing() -> None:
    code = (
        "import sys; sys.modules['pypdf'] = None; sys.argv = ['', 'application/pdf', '100']; "
        "from scrubjay.notes.attachments.extract import main; sys.exit(main())"
    )
    done = subprocess.run([sys.executable, "-c", code], input=pdf("x"), capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (4, b"the extra `pdf` is not installed: pip install 'scrubjay[pdf]'")
