"""File types: the bytes of a file have priority over its name."""

import pytest
from tests.unit.notes.files import OPEN_DOCUMENT, WORD, docx, odt, pdf, png

from scrubjay.notes.attachments.file_types import UNKNOWN, extension_of, sniff

PNG, SVG, TEXT, ZIP = "image/png", "image/svg+xml", "text/plain", "application/zip"


@pytest.mark.parametrize(
    ("head", "name", "kind"),
    [
        (png(), "a.png", PNG),
        (b"\xff\xd8\xff\xe0", "a.JPG", "image/jpeg"),
        (b"GIF89a", "a.gif", "image/gif"),
        (b"RIFF\x10\0\0\0WEBPVP8 ", "a.webp", "image/webp"),
        (b"RIFF\x10\0\0\0WAVEfmt ", "a.wav", "audio/wav"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "a.svg", SVG),
        (b"ID3\x04\0", "a.mp3", "audio/mpeg"),
        (b"\xff\xfb\x90\x64", "a.mp3", "audio/mpeg"),
        (b"OggS\0", "a.ogg", "audio/ogg"),
        (b"fLaC\0", "a.flac", "audio/flac"),
        (b"\0\0\0\x20ftypM4A \0", "a.m4a", "audio/mp4"),
        (b"\0\0\0\x20ftypisom", "a.m4a", "audio/mp4"),
        (b"\0\0\0\x20ftypisom", "a.mp4", "video/mp4"),
        (b"\x1aE\xdf\xa3\x9f", "a.webm", "video/webm"),
        (pdf("x")[:64], "a.pdf", "application/pdf"),
        (docx("x")[:64], "a.docx", WORD),
        (odt("x")[:64], "a.odt", OPEN_DOCUMENT),
        (docx("x")[:64], "a.zip", ZIP),
        (b"a,b\n1,2\n", "a.csv", "text/csv"),
        (b'{"a": 1}', "a.json", "application/json"),
        (b"# Title\n", "a.md", "text/markdown"),
        ("\ufeffKäse".encode("utf-16-le"), "a.txt", TEXT),
        ("Käse".encode("cp1252"), "a.txt", TEXT),
        (("x" * 4095 + "ä").encode()[:4096], "a.txt", TEXT),
        (b"plain words", "noend", TEXT),
    ],
)  # fmt: skip
def test_a_file_has_the_type_of_its_name(head: bytes, name: str, kind: str) -> None:
    sniffed = sniff(head, name)
    assert (sniffed.type, sniffed.remark) == (kind, "")


@pytest.mark.parametrize(
    ("head", "name", "kind", "end"),
    [
        (png(), "a.jpg", PNG, "png"),
        (b"<html><script>alert(1)</script>", "a.png", "text/html", "html"),
        (b"<?xml version='1.0'?><svg onload='x'/>", "a.png", SVG, "svg"),
        (b"MZ\x90\0", "a.pdf", UNKNOWN, "pdf"),
        (b"\0\1\2\3", "a.txt", UNKNOWN, "txt"),
        (pdf("x")[:64], "a.txt", "application/pdf", "pdf"),
    ],
)
def test_a_file_with_the_wrong_extension_gets_a_remark(head: bytes, name: str, kind: str, end: str) -> None:
    sniffed = sniff(head, name)
    assert (sniffed.type, sniffed.end) == (kind, end)
    assert sniffed.remark == f"its name ends in .{extension_of(name)}, but it is {kind}"
    assert not sniff(head, "without").remark


@pytest.mark.parametrize(("name", "end"), [("a.PnG", "png"), (".png", ""), ("a.", ""), ("a.b/c", ""), ("a.p ng", "")])
def test_the_end_of_a_name(name: str, end: str) -> None:
    assert extension_of(name) == end
