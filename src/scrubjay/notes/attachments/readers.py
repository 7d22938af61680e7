"""Readers that extract the text of HTML, Word, OpenDocument and PDF files."""

import codecs
import io
import re
import zipfile
import zlib
from collections.abc import Callable
from functools import partial
from html.parser import HTMLParser
from typing import BinaryIO
from xml.parsers import expat

__all__ = ["PLAIN", "READERS", "UnreadableFile", "decode_text"]

PLAIN = frozenset(
    {
        "text/plain", "text/markdown", "text/csv", "text/tab-separated-values", "application/json", "application/xml",
        "application/yaml",
    }
)  # fmt: skip
"""Types whose bytes are their text."""

_BLOCKS = frozenset(
    "address article aside blockquote br dd div dl dt figcaption footer form h1 h2 h3 h4 h5 h6 header hr li main nav "
    "ol p pre section table tr ul title text desc".split()
)
_INVISIBLE = frozenset({"script", "style", "template", "noscript"})
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_BLANKS = re.compile(r"\s+")
_CHUNK = 1 << 16
# The size limit of the markup of a document, unpacked.
_MAX_MARKUP = 64 << 20
_BROKEN_ZIP = (zipfile.BadZipFile, zlib.error, RuntimeError, EOFError, OSError, ValueError)


class UnreadableFile(Exception):
    """A file does not have the format of its type, or is unsafe to unpack."""


class _Enough(Exception):
    """The reader has reached the limit of characters."""


def decode_text(data: bytes) -> str:
    """Decode bytes: by their byte order mark, else as UTF-8, else as Windows-1252."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    try:
        # The last character may be incomplete.
        return codecs.getincrementaldecoder("utf-8")().decode(data)
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


class _Words:
    """Collects text up to a length."""

    def __init__(self, characters: int) -> None:
        self._left = characters
        self._parts: list[str] = []

    def add(self, text: str) -> None:
        """Add a piece of text; raises _Enough at the limit."""
        self._parts.append(text)
        self._left -= len(text)
        if self._left <= 0:
            raise _Enough

    @property
    def text(self) -> str:
        """Return the whole text with normalised white space."""
        lines = (" ".join(line.split()) for line in "".join(self._parts).split("\n"))
        tidy: list[str] = []
        for line in lines:
            if line or (tidy and tidy[-1]):
                tidy.append(line)
        return "\n".join(tidy).strip()


class _Page(HTMLParser):
    """Collects the visible text of HTML or SVG."""

    def __init__(self, words: _Words) -> None:
        super().__init__(convert_charrefs=True)
        self._words = words
        self._unseen = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _INVISIBLE:
            self._unseen += 1
        elif tag in _BLOCKS:
            self._words.add("\n")
        elif tag in ("td", "th"):
            self._words.add(" ")
        if tag == "img":
            self._words.add(next((f" {value} " for name, value in attrs if name == "alt" and value), ""))

    def handle_endtag(self, tag: str) -> None:
        if tag in _INVISIBLE:
            self._unseen = max(0, self._unseen - 1)
        elif tag in _BLOCKS:
            self._words.add("\n")

    def handle_data(self, data: str) -> None:
        if not self._unseen:
            self._words.add(_BLANKS.sub(" ", data))


def _html(file: BinaryIO, characters: int) -> str:
    words = _Words(characters)
    page = _Page(words)
    try:
        page.feed(decode_text(file.read(_MAX_MARKUP)))
        page.close()
    except _Enough:
        pass
    return words.text


class _Paragraphs:
    """Collects the text of a word processor's XML; refuses document types, and thereby entities."""

    def __init__(self, words: _Words, *, texts: set[str], ends: set[str], gaps: set[str]) -> None:
        self._words = words
        self._texts, self._ends, self._gaps = texts, ends, gaps
        self._depth = 0
        parser = expat.ParserCreate()
        parser.StartDoctypeDeclHandler = self._refuse
        parser.EntityDeclHandler = self._refuse
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._data
        self.parser = parser

    def _refuse(self, *_: object) -> None:
        raise UnreadableFile("it declares a document type, which documents of this format never do")

    def _start(self, tag: str, _: dict[str, str]) -> None:
        self._depth += tag in self._texts
        if tag in self._gaps:
            self._words.add(" ")

    def _end(self, tag: str) -> None:
        self._depth -= tag in self._texts
        if tag in self._ends:
            self._words.add("\n")

    def _data(self, data: str) -> None:
        if self._depth:
            self._words.add(data)


def _zipped(file: BinaryIO, characters: int, *, part: str, texts: set[str], ends: set[str], gaps: set[str]) -> str:
    words = _Words(characters)
    paragraphs = _Paragraphs(words, texts=texts, ends=ends, gaps=gaps)
    read = 0
    try:
        with zipfile.ZipFile(file) as archive, archive.open(part) as markup:
            while chunk := markup.read(_CHUNK):
                read += len(chunk)
                if read > _MAX_MARKUP:
                    raise UnreadableFile(f"it unpacks to more than {_MAX_MARKUP >> 20} MB")
                paragraphs.parser.Parse(chunk, False)  # noqa: FBT003 - the signature of expat
            paragraphs.parser.Parse(b"", True)  # noqa: FBT003
    except _Enough:
        pass
    except KeyError as error:
        raise UnreadableFile(f"it has no {part}") from error
    except expat.ExpatError as error:
        raise UnreadableFile(f"its XML is broken ({error})") from error
    except _BROKEN_ZIP as error:
        raise UnreadableFile("it is not a readable archive") from error
    return words.text


def _pdf(file: BinaryIO, characters: int) -> str:
    import pypdf  # noqa: PLC0415 - an extra
    from pypdf.errors import PyPdfError  # noqa: PLC0415

    words = _Words(characters)
    try:
        # pypdf seeks in the file, and standard input may not be seekable.
        document = pypdf.PdfReader(file if file.seekable() else io.BytesIO(file.read()))
        if document.is_encrypted and not document.decrypt(""):
            raise UnreadableFile("it is encrypted")
        for page in document.pages:
            words.add(page.extract_text() + "\n\n")
    except _Enough:
        pass
    except (PyPdfError, ValueError, KeyError, TypeError, AttributeError, IndexError, OSError, RecursionError) as error:
        # pypdf raises unrelated exceptions for broken files.
        raise UnreadableFile(f"it cannot be read ({type(error).__name__})") from error
    return words.text


READERS: dict[str, Callable[[BinaryIO, int], str]] = {
    "text/html": _html,
    "image/svg+xml": _html,
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": partial(
        _zipped, part="word/document.xml", texts={"w:t"}, ends={"w:p", "w:br"}, gaps={"w:tab"}
    ),
    "application/vnd.oasis.opendocument.text": partial(
        _zipped,
        part="content.xml",
        texts={"text:p", "text:h"},
        ends={"text:p", "text:h", "text:line-break"},
        gaps={"text:tab", "text:s"},
    ),
    "application/pdf": _pdf,
}
"""The reader of each type: returns up to a number of characters of an open file."""
