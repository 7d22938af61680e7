"""Notes as PDF, with reportlab (the extra `pdf`), which only this module imports."""

import io
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import BinaryIO
from urllib.parse import unquote, urlsplit
from xml.sax.saxutils import escape, quoteattr

from markdown_it.token import Token
from reportlab.lib.colors import HexColor
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.utils import Image as Picture
from reportlab.lib.utils import ImageReader
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfbase.ttfonts import TTFError, TTFont
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import (
    CondPageBreak,
    Flowable,
    HRFlowable,
    Image,
    PageBreak,
    Paragraph,
    Spacer,
    Table,
    TableStyle,
)
from reportlab.platypus.doctemplate import BaseDocTemplate, PageTemplate
from reportlab.platypus.frames import Frame

from scrubjay.model.timestamps import to_iso
from scrubjay.notes.attachments.results import Attachment
from scrubjay.notes.export.fonts import FALLBACKS, FAMILIES, font_files
from scrubjay.notes.export.markup import BOX, WIKI, markdown, split_size, words_of
from scrubjay.notes.export.pages import NoteIndexEntry, ExportedNote, NoteIndex
from scrubjay.notes.markdown.naming import link_target

__all__ = ["PdfDocument"]

_MARGIN = 56
_SIZE = 10.5
_STEP = 16
_DEEPEST = 8
_GREY = HexColor("#666666")
_PALE = HexColor("#f2f2f2")
_LINE = HexColor("#bbbbbb")
_BLUE = "#1a5fb4"
_MOST_PIXELS = 25_000_000
# The least space that a page must have for a heading and the text below it.
_ROOM = 70
_CODE_WIDTH = 84
_CODE_LINES = 40
_MOST_CELLS = 2_000
_MOST_NAMED = 12
_SCHEMES = ("http", "https", "mailto", "tel")
_HEADINGS = {"h1": 17.0, "h2": 15.0, "h3": 13.0, "h4": 12.0, "h5": 11.0, "h6": 10.5}
# Fonts that PDF viewers provide for Japanese, Korean and Chinese, if no other font has the character.
_ASIAN = (("HeiseiKakuGo-W5", 0x3040, 0x30FF), ("HYSMyeongJo-Medium", 0xAC00, 0xD7AF), ("STSong-Light", 0x2E80, 0xFFEF))
_BAD_PICTURE = (OSError, ValueError, SyntaxError, MemoryError, Picture.DecompressionBombError)
Bytes = Callable[[Attachment], bytes | None]
"""Returns the bytes of an embedded file, if it is available."""


class PdfDocument:
    """A PDF of notes, written note by note. All methods block."""

    def __init__(self, stream: BinaryIO, *, title: str, register: NoteIndex, bytes_of: Bytes) -> None:
        self.type = _Type.load()
        self._register = register
        self._bytes_of = bytes_of
        self._is_first = True
        self._doc = _Paper(stream, title=title, numbers=self.type.regular)
        self._doc.begin()

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return warnings about text that the PDF cannot show correctly."""
        return self.type.warnings

    def add(self, leaf: ExportedNote) -> None:
        """Add a note on a new page."""
        setter = _Setter(type=self.type, leaf=leaf, register=self._register, bytes_of=self._bytes_of)
        flowables: list[Flowable] = [] if self._is_first else [PageBreak()]
        self._is_first = False
        flowables += [_Mark(key=leaf.note.id, title=leaf.note.title), *setter.set()]
        self._doc.feed(flowables)

    def close(self) -> None:
        """Finish the document."""
        if self._is_first:
            self._doc.feed([Paragraph("There are no notes.", self.type.style())])
        self._doc.end()


class _Paper(BaseDocTemplate):
    """A document that accepts flowables incrementally."""

    def __init__(self, stream: BinaryIO, *, title: str, numbers: str) -> None:
        super().__init__(
            stream, pagesize=A4, leftMargin=_MARGIN, rightMargin=_MARGIN, topMargin=_MARGIN, bottomMargin=_MARGIN,
            title=title, author="", creator="Scrubjay",
        )  # fmt: skip
        self._numbers = numbers

    def begin(self) -> None:
        self._calc()
        frame = Frame(self.leftMargin, self.bottomMargin, self.width, self.height, id="normal")
        self.addPageTemplates([PageTemplate(id="all", frames=[frame], onPage=self._number, pagesize=self.pagesize)])
        self._startBuild(None, canvasmaker=Canvas)

    def feed(self, flowables: list[Flowable]) -> None:
        while flowables:
            self.clean_hanging()
            self.handle_flowable(flowables)

    def end(self) -> None:
        self._endBuild()

    def _number(self, canvas: Canvas, _: object) -> None:
        canvas.saveState()
        canvas.setFont(self._numbers, 8)
        canvas.setFillColor(_GREY)
        canvas.drawCentredString(A4[0] / 2, _MARGIN / 2, str(canvas.getPageNumber()))
        canvas.restoreState()


class _Mark(Flowable):
    """The bookmark of a note, for links and the outline."""

    def __init__(self, *, key: str, title: str) -> None:
        super().__init__()
        self._key = key
        self._title = title

    def wrap(self, aW: float, aH: float) -> tuple[float, float]:  # noqa: N803 - the names of reportlab
        del aW, aH
        return 0, 0

    def draw(self) -> None:
        self.canv.bookmarkPage(self._key)
        self.canv.addOutlineEntry(self._title, self._key, 0, closed=True)


@dataclass(slots=True, kw_only=True)
class _Type:
    """The fonts: a family, and fallbacks for characters that it lacks."""

    regular: str = "Helvetica"
    mono: str = "Courier"
    known: Mapping[int, object] | None = None
    others: Sequence[tuple[str, Mapping[int, object]]] = ()
    asian: set[str] = field(default_factory=set[str])
    unknown: set[str] = field(default_factory=set[str])
    is_turned: bool = False

    @classmethod
    def load(cls) -> "_Type":
        files = font_files()
        fonts = [font for name in FALLBACKS if name in files and (font := _font(name)) is not None]
        others = [(font.fontName, font.face.charToGlyph) for font in fonts]
        mono = _font("DejaVuSansMono.ttf")
        for family in FAMILIES:
            faces = [_font(item) for item in (family.regular, family.bold, family.italic, family.both) if item in files]
            results = [face for face in faces if face is not None]
            if len(results) == len(faces) == 4:  # noqa: PLR2004 - the four of a family
                own = results[0]
                names = [face.fontName for face in results]
                pdfmetrics.registerFontFamily(names[0], *names)
                return cls(
                    regular=own.fontName, mono=mono.fontName if mono else names[0], others=others,
                    known=own.face.charToGlyph,
                )  # fmt: skip
        return cls(others=others)

    @property
    def warnings(self) -> tuple[str, ...]:
        text: list[str] = []
        if self.unknown:
            names = ", ".join(f"{item} (U+{ord(item):04X})" for item in sorted(self.unknown)[:_MOST_NAMED])
            more = f" and {len(self.unknown) - _MOST_NAMED} others" if len(self.unknown) > _MOST_NAMED else ""
            text.append(f"no font of this machine has {names}{more}: the PDF shows ? instead")
        if self.is_turned:
            text.append("the PDF shows right-to-left text from left to right; export as HTML to show it correctly")
        return tuple(text)

    def style(self, **more: object) -> ParagraphStyle:
        size = float(str(more.get("fontSize", _SIZE)))
        usual: dict[str, object] = {
            "fontName": self.regular, "fontSize": size, "leading": size * 1.4, "spaceAfter": size * 0.5,
            "splitLongWords": 1, "allowWidows": 1, "allowOrphans": 1,
        }  # fmt: skip
        return ParagraphStyle("note", **(usual | more))

    def marked(self, text: str, *, mono: bool = False) -> str:
        """Return a text as paragraph markup, with each character in a font that has it."""
        parts: list[str] = []
        run, current = "", ""
        for character in text:
            font = self._font_of(character)
            if font != current and run:
                parts.append(_in_font(current, run))
                run = ""
            current = font
            run += character if font is not None else "?"
        parts.append(_in_font(current, run))
        markup = "".join(parts)
        return f'<font name="{self.mono}">{markup}</font>' if mono else markup

    def _has(self, sign: str) -> bool:
        return ord(sign) in self.known if self.known is not None else _is_western(sign)

    def _font_of(self, sign: str) -> str | None:
        """Return the font for a character: an empty text for the family, None if no font has it."""
        if unicodedata.bidirectional(sign) in ("R", "AL"):
            self.is_turned = True
        if sign.isascii() or self._has(sign) or unicodedata.category(sign) in ("Cc", "Cf", "Zs", "Mn"):
            return ""
        for name, existing in self.others:
            if ord(sign) in existing:
                return name
        for name, first, last in _ASIAN:
            if first <= ord(sign) <= last and unicodedata.category(sign)[0] in "LPN":
                if name not in self.asian:
                    pdfmetrics.registerFont(UnicodeCIDFont(name))
                    self.asian.add(name)
                return name
        self.unknown.add(sign)
        return None


@dataclass(slots=True, kw_only=True)
class _Setter:
    """Lays out one note: its blocks become indented paragraphs."""

    type: _Type
    leaf: ExportedNote
    register: NoteIndex
    bytes_of: Bytes
    _lists: list[int] = field(default_factory=list[int])
    _bullet: str = ""
    _quotes: int = 0
    _pictures: list[Flowable] = field(default_factory=list[Flowable])

    def set(self) -> Iterator[Flowable]:
        note = self.leaf.note
        yield Paragraph(self.type.marked(note.title), self._heading("h1", bold=True))
        facts = [
            note.category,
            to_iso(note.updated_at)[:10] if note.updated_at else "",
            *(f"#{tag}" for tag in note.tags),
        ]
        text = "  ".join(fact for fact in facts if fact)
        if text:
            yield Paragraph(self.type.marked(text), self.type.style(fontSize=8.5, textColor=_GREY, spaceAfter=10))
        yield from self._blocks(markdown().parse(note.content))
        if note.observations:
            yield Paragraph("Observations", self._heading("h3", bold=True))
            for observation in note.observations:
                yield self._paragraph(self.type.marked(observation).replace("\n", "<br/>"), bullet="•", depth=1)
        linked = [(link, results) for link in note.linked if (results := self.register.find(link.target))]
        if linked:
            yield Paragraph("Links", self._heading("h3", bold=True))
            for link, results in linked:
                yield self._paragraph(self._to(results, link.text or results.title), bullet="•", depth=1)

    def _blocks(self, tokens: Sequence[Token]) -> Iterator[Flowable]:
        at = 0
        while at < len(tokens):
            token = tokens[at]
            if token.type == "table_open":
                end = next(i for i in range(at, len(tokens)) if tokens[i].type == "table_close")
                yield from self._table(tokens[at:end])
                at = end
            elif token.type == "heading_open":
                words = self._inline(tokens[at + 1].children or ())
                yield CondPageBreak(_ROOM)
                yield Paragraph(words, self._heading(token.tag, bold=True))
                at += 2
            elif token.type == "inline":
                yield self._paragraph(self._inline(token.children or ()))
            elif token.type in ("fence", "code_block"):
                yield from self._code(token.content)
            elif token.type == "hr":
                yield HRFlowable(width="100%", color=_LINE, spaceBefore=6, spaceAfter=6)
            else:
                self._turn(token)
            if self._pictures:
                yield from self._pictures
                self._pictures = []
            at += 1

    def _turn(self, token: Token) -> None:
        """Enter or leave a list or a quotation."""
        if token.type in ("bullet_list_open", "ordered_list_open"):
            self._lists.append(int(token.attrGet("start") or 1) if token.type.startswith("ordered") else 0)
        elif token.type in ("bullet_list_close", "ordered_list_close"):
            self._lists.pop()
        elif token.type == "list_item_open":
            number = self._lists[-1]
            self._bullet = f"{number}." if number else "•"
            self._lists[-1] += 1 if number else 0
        elif token.type == "blockquote_open":
            self._quotes += 1
        elif token.type == "blockquote_close":
            self._quotes -= 1

    def _paragraph(self, words: str, *, bullet: str = "", depth: int = 0) -> Paragraph:
        deep = min(depth or len(self._lists) + self._quotes, _DEEPEST)
        mark, self._bullet = bullet or self._bullet, ""
        style = self.type.style(
            leftIndent=deep * _STEP, bulletIndent=max(deep - 1, 0) * _STEP, bulletFontName=self.type.regular,
            **({"textColor": _GREY} if self._quotes else {}), **({"spaceAfter": 2} if self._lists else {}),
        )  # fmt: skip
        return Paragraph(words or "&nbsp;", style, bulletText=mark or None)

    def _heading(self, tag: str, *, bold: bool) -> ParagraphStyle:
        size = _HEADINGS.get(tag, _SIZE)
        font = pdfmetrics.getFont(self.type.regular).fontName
        name = _BOLD.get(font, f"{font.rsplit('-', 1)[0]}-Bold") if bold else font
        existing = name in pdfmetrics.getRegisteredFontNames() or name == _BOLD.get(font)
        return self.type.style(
            fontName=name if existing else font, fontSize=size, spaceBefore=size * 0.6, spaceAfter=size * 0.35
        )

    def _code(self, text: str) -> Iterator[Flowable]:
        lines = [
            piece
            for line in text.rstrip("\n").expandtabs(4).split("\n")
            for piece in ([line[i : i + _CODE_WIDTH] for i in range(0, len(line), _CODE_WIDTH)] or [""])
        ]
        style = self.type.style(
            fontName=self.type.mono, fontSize=8, leading=10.5, backColor=_PALE, spaceAfter=0,
            borderPadding=(0, 4, 0, 4),
            leftIndent=min(len(self._lists) + self._quotes, _DEEPEST) * _STEP,
        )  # fmt: skip
        for start in range(0, len(lines), _CODE_LINES):
            shown = "<br/>".join(
                self.type.marked(line).replace(" ", "&nbsp;") for line in lines[start : start + _CODE_LINES]
            )
            yield Paragraph(shown or "&nbsp;", style)
        yield Spacer(1, 8)

    def _table(self, tokens: Sequence[Token]) -> Iterator[Flowable]:
        rows: list[list[Paragraph]] = []
        style = self.type.style(fontSize=9, spaceAfter=0)
        for token in tokens:
            if token.type == "tr_open":
                rows.append([])
            elif token.type == "inline":
                rows[-1].append(Paragraph(self._inline(token.children or ()) or "&nbsp;", style))
        width = max((len(row) for row in rows), default=0)
        if not width or width * len(rows) > _MOST_CELLS or width > _DEEPEST * 2:
            # The table is too large for a page, so its cells become paragraphs.
            yield from (cell for row in rows for cell in row)
            return
        rows = [[*row, *[Paragraph("", style)] * (width - len(row))] for row in rows]
        room = (A4[0] - 2 * _MARGIN) / width
        grid = TableStyle(
            [
                ("GRID", (0, 0), (-1, -1), 0.5, _LINE),
                ("BACKGROUND", (0, 0), (-1, 0), _PALE),
                ("VALIGN", (0, 0), (-1, -1), "TOP"),
            ]
        )
        yield Table(rows, colWidths=[room] * width, style=grid, splitInRow=1, spaceAfter=8, hAlign="LEFT")

    def _inline(self, tokens: Sequence[Token]) -> str:
        text: list[str] = []
        closing: list[str] = []
        for token in tokens:
            match token.type:
                case "text":
                    text.append(self.type.marked(token.content))
                case "code_inline":
                    text.append(self.type.marked(token.content, mono=True))
                case "softbreak":
                    text.append(" ")
                case "hardbreak":
                    text.append("<br/>")
                case "strong_open" | "em_open" | "s_open" | "strong_close" | "em_close" | "s_close":
                    tag = {"strong": "b", "em": "i", "s": "strike"}[token.type.partition("_")[0]]
                    text.append(f"<{tag}>" if token.type.endswith("open") else f"</{tag}>")
                case "link_open":
                    opening = self._opening(str(token.attrGet("href") or ""))
                    text.append(opening)
                    closing.append("</a>" if opening else "")
                case "link_close":
                    text.append(closing.pop())
                case "image":
                    words = split_size(words_of(token.children or ()))[0]
                    text.append(self._picture(str(token.attrGet("src") or ""), words))
                case _ if token.type == BOX:
                    text.append(self.type.marked("☑ " if token.meta["done"] else "☐ "))
                case _ if token.type == WIKI:
                    text.append(self._wiki(token.meta))
                case _:
                    text.append(self.type.marked(token.content))
        return "".join(text)

    def _wiki(self, meta: Mapping[str, object]) -> str:
        target, heading, text = (str(meta[name]) for name in ("target", "heading", "text"))
        results = self.leaf.attachment(target) if target else None
        if results is not None:
            return self._file(results, results.caption or text or results.title, shows=bool(meta["embeds"]))
        words = text or " > ".join(part for part in (target, heading) if part)
        entry = self.register.find(target) if target else None
        return self._to(entry, words) if entry else self.type.marked(words)

    def _picture(self, source: str, words: str) -> str:
        results = self.leaf.attachment(unquote(source))
        return self._file(results, words or results.title, shows=True) if results else self.type.marked(words or source)

    def _file(self, attachment: Attachment, words: str, *, shows: bool) -> str:
        """Place an embedded picture below its line and above its caption."""
        if shows and attachment.media_type.startswith("image/") and (data := self.bytes_of(attachment)) is not None:
            picture = _image(data)
            if picture is not None:
                self._pictures.append(picture)
                caption = self.type.style(fontSize=8.5, textColor=_GREY)
                self._pictures.append(Paragraph(self.type.marked(words), caption))
                return ""
        return self.type.marked(f"[{words}]")

    def _opening(self, href: str) -> str:
        try:
            scheme = urlsplit(href).scheme.lower()
        except ValueError:
            return ""
        if scheme in _SCHEMES:
            return f'<a href={quoteattr(href)} color="{_BLUE}">'
        entry = None if scheme else self.register.find(link_target(unquote(href.partition("#")[0])))
        return f'<a href="#{entry.id}" color="{_BLUE}">' if entry else ""

    def _to(self, entry: NoteIndexEntry, words: str) -> str:
        return f'<a href="#{entry.id}" color="{_BLUE}">{self.type.marked(words)}</a>'


_BOLD = {"Helvetica": "Helvetica-Bold"}


@lru_cache(maxsize=64)
def _font(name: str) -> TTFont | None:
    """Load and register a font of this machine; None if reportlab cannot use it."""
    path = font_files().get(name)
    if path is None:
        return None
    try:
        font = TTFont(path.stem, str(path))
    except (TTFError, OSError, ValueError, KeyError, IndexError):
        return None
    pdfmetrics.registerFont(font)
    return font


def _image(data: bytes) -> Image | None:
    """Return a picture scaled to the page; None if it is broken or too large."""
    try:
        reader = ImageReader(io.BytesIO(data))
        width, height = reader.getSize()
        if not 0 < width * height <= _MOST_PIXELS:
            return None
        # Decode all of it now, while a broken picture can still be left out.
        reader.getRGBData()
    except _BAD_PICTURE:
        return None
    most_wide, most_high = A4[0] - 2 * _MARGIN - 12, A4[1] - 2 * _MARGIN - 60
    scale = min(0.75, most_wide / width, most_high / height)
    return Image(io.BytesIO(data), width=width * scale, height=height * scale, hAlign="LEFT")


def _is_western(sign: str) -> bool:
    try:
        sign.encode("cp1252")
    except UnicodeEncodeError:
        return False
    return True


def _in_font(name: str | None, run: str) -> str:
    text = escape(_printable(run))
    return f'<font name="{name}">{text}</font>' if name and text else text


def _printable(run: str) -> str:
    return "".join(
        item if item in "\n\t" or unicodedata.category(item) not in ("Cc", "Cf", "Cs") else "" for item in run
    )
