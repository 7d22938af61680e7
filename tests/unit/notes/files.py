"""Generated files of every kind that notes embed."""

import io
import struct
import zipfile
import zlib

from reportlab.pdfgen.canvas import Canvas

WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
OPEN_DOCUMENT = "application/vnd.oasis.opendocument.text"


def png(text: str = "", *, colour: tuple[int, int, int] = (200, 30, 30), side: int = 8) -> bytes:
    """Return a picture of a single colour, with a text in its metadata."""
    row = b"\0" + bytes(colour) * side
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)),
        *([(b"tEXt", b"Comment\0" + text.encode())] if text else []),
        (b"IDAT", zlib.compress(row * side)),
        (b"IEND", b""),
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )


def pdf(text: str) -> bytes:
    """Return a document of a single page."""
    file = io.BytesIO()
    canvas = Canvas(file, invariant=True)  # pyright: ignore[reportCallIssue] - its stubs do not know it
    canvas.drawString(72, 720, text)
    canvas.save()
    return file.getvalue()


def zipped(name: str, text: str | bytes) -> bytes:
    """Return an archive with a single file; its bytes are always the same, because test ids contain them."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo(name), text, zipfile.ZIP_DEFLATED)
    return file.getvalue()


def docx(*paragraphs: str, before: str = "") -> bytes:
    """Return a text as a Word document."""
    body = "".join(f"<w:p><w:r><w:t>{paragraph}</w:t></w:r></w:p>" for paragraph in paragraphs)
    return zipped("word/document.xml", f'<?xml version="1.0"?>{before}<w:document xmlns:w="x">{body}</w:document>')


def odt(*paragraphs: str) -> bytes:
    """Return a text as a LibreOffice document."""
    body = "".join(f"<text:p>{paragraph}</text:p>" for paragraph in paragraphs)
    return zipped("content.xml", f'<?xml version="1.0"?><office:d xmlns:office="o" xmlns:text="t">{body}</office:d>')
