"""Notes as PDF, with reportlab (the extra `pdf`), which only this module and `fonts` import."""

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO
from urllib.parse import unquote, urlsplit
from xml.sax.saxutils import quoteattr

from markdown_it.token import Token
from reportlab.lib.colors import HexColor
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.utils import Image as Picture
from reportlab.lib.utils import ImageReader
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

from scrubjay.model.attachments import Attachment
from scrubjay.model.timestamps import to_iso
from scrubjay.notes.export.exported import ExportedNote, NoteIndex, NoteIndexEntry, ReadAttachment
from scrubjay.notes.export.fonts import FONT_SIZE, Typeface
from scrubjay.notes.export.markup import BOX, SCHEMES, WIKI, markdown, split_size, words_of
from scrubjay.notes.markdown.naming import link_target

__all__ = ["PdfDocument"]

_MARGIN = 56
_STEP = 16
_MAX_DEPTH = 8
_GREY = HexColor("#666666")
_PALE = HexColor("#f2f2f2")
_LINE = HexColor("#bbbbbb")
_BLUE = "#1a5fb4"
_MAX_PIXELS = 25_000_000
# The space that a page must have for a heading and the text below it.
_MIN_HEIGHT = 70
_CODE_WIDTH = 84
_CODE_LINES = 40
_MAX_CELLS = 2_000
_HEADINGS = {"h1": 17.0, "h2": 15.0, "h3": 13.0, "h4": 12.0, "h5": 11.0, "h6": 10.5}
_BAD_PICTURE = (OSError, ValueError, SyntaxError, MemoryError, Picture.DecompressionBombError)


class PdfDocument:
    """A PDF of notes, written note by note. All methods block."""

    def __init__(self, stream: BinaryIO, *, title: str, index: NoteIndex, read_attachment: ReadAttachment) -> None:
        self.typeface = Typeface.load()
        self._index = index
        self._read_attachment = read_attachment
        self._is_first = True
        self._template = _Template(stream, title=title, numbers=self.typeface.regular)
        self._template.begin()

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about text that the PDF cannot show correctly."""
        return self.typeface.warnings

    def add(self, exported: ExportedNote) -> None:
        """Add a note on a new page."""
        layout = _NoteLayout(
            typeface=self.typeface, exported=exported, index=self._index, read_attachment=self._read_attachment
        )
        flowables: list[Flowable] = [] if self._is_first else [PageBreak()]
        self._is_first = False
        flowables += [_Mark(key=exported.note.id, title=exported.note.title), *layout.flowables()]
        self._template.feed(flowables)

    def close(self) -> None:
        """Finish the document."""
        if self._is_first:
            self._template.feed([Paragraph("There are no notes.", self.typeface.style())])
        self._template.end()


class _Template(BaseDocTemplate):
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
class _NoteLayout:
    """The layout of a note: its blocks become indented paragraphs."""

    typeface: Typeface
    exported: ExportedNote
    index: NoteIndex
    read_attachment: ReadAttachment
    _lists: list[int] = field(default_factory=list[int])
    _bullet: str = ""
    _quotes: int = 0
    _pictures: list[Flowable] = field(default_factory=list[Flowable])

    def flowables(self) -> Iterator[Flowable]:
        note = self.exported.note
        yield Paragraph(self.typeface.markup(note.title), self._heading("h1"))
        facts = [
            note.category,
            to_iso(note.updated_at)[:10] if note.updated_at else "",
            *(f"#{tag}" for tag in note.tags),
        ]
        text = "  ".join(fact for fact in facts if fact)
        if text:
            yield Paragraph(
                self.typeface.markup(text), self.typeface.style(fontSize=8.5, textColor=_GREY, spaceAfter=10)
            )
        yield from self._blocks(markdown().parse(note.content))
        if note.observations:
            yield Paragraph("Observations", self._heading("h3"))
            for observation in note.observations:
                yield self._paragraph(self.typeface.markup(observation).replace("\n", "<br/>"), bullet="•", depth=1)
        linked = [(link, entry) for link in note.linked if (entry := self.index.find(link.target))]
        if linked:
            yield Paragraph("Links", self._heading("h3"))
            for link, entry in linked:
                yield self._paragraph(self._link_to(entry, link.text or entry.title), bullet="•", depth=1)

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
                yield CondPageBreak(_MIN_HEIGHT)
                yield Paragraph(words, self._heading(token.tag))
                at += 2
            elif token.type == "inline":
                yield self._paragraph(self._inline(token.children or ()))
            elif token.type in ("fence", "code_block"):
                yield from self._code(token.content)
            elif token.type == "hr":
                yield HRFlowable(width="100%", color=_LINE, spaceBefore=6, spaceAfter=6)
            else:
                self._enter_or_leave(token)
            if self._pictures:
                yield from self._pictures
                self._pictures = []
            at += 1

    def _enter_or_leave(self, token: Token) -> None:
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
        level = min(depth or len(self._lists) + self._quotes, _MAX_DEPTH)
        mark, self._bullet = bullet or self._bullet, ""
        style = self.typeface.style(
            leftIndent=level * _STEP, bulletIndent=max(level - 1, 0) * _STEP, bulletFontName=self.typeface.regular,
            **({"textColor": _GREY} if self._quotes else {}), **({"spaceAfter": 2} if self._lists else {}),
        )  # fmt: skip
        return Paragraph(words or "&nbsp;", style, bulletText=mark or None)

    def _heading(self, tag: str) -> ParagraphStyle:
        size = _HEADINGS.get(tag, FONT_SIZE)
        return self.typeface.style(
            fontName=self.typeface.bold, fontSize=size, spaceBefore=size * 0.6, spaceAfter=size * 0.35
        )

    def _code(self, text: str) -> Iterator[Flowable]:
        lines = [
            piece
            for line in text.rstrip("\n").expandtabs(4).split("\n")
            for piece in ([line[i : i + _CODE_WIDTH] for i in range(0, len(line), _CODE_WIDTH)] or [""])
        ]
        style = self.typeface.style(
            fontName=self.typeface.mono, fontSize=8, leading=10.5, backColor=_PALE, spaceAfter=0,
            borderPadding=(0, 4, 0, 4),
            leftIndent=min(len(self._lists) + self._quotes, _MAX_DEPTH) * _STEP,
        )  # fmt: skip
        for start in range(0, len(lines), _CODE_LINES):
            markup = "<br/>".join(
                self.typeface.markup(line).replace(" ", "&nbsp;") for line in lines[start : start + _CODE_LINES]
            )
            yield Paragraph(markup or "&nbsp;", style)
        yield Spacer(1, 8)

    def _table(self, tokens: Sequence[Token]) -> Iterator[Flowable]:
        rows: list[list[Paragraph]] = []
        style = self.typeface.style(fontSize=9, spaceAfter=0)
        for token in tokens:
            if token.type == "tr_open":
                rows.append([])
            elif token.type == "inline":
                rows[-1].append(Paragraph(self._inline(token.children or ()) or "&nbsp;", style))
        width = max((len(row) for row in rows), default=0)
        if not width or width * len(rows) > _MAX_CELLS or width > _MAX_DEPTH * 2:
            # The table is too large for a page, so its cells become paragraphs.
            yield from (cell for row in rows for cell in row)
            return
        rows = [[*row, *[Paragraph("", style)] * (width - len(row))] for row in rows]
        column_width = (A4[0] - 2 * _MARGIN) / width
        grid = TableStyle(
            [
                ("GRID", (0, 0), (-1, -1), 0.5, _LINE),
                ("BACKGROUND", (0, 0), (-1, 0), _PALE),
                ("VALIGN", (0, 0), (-1, -1), "TOP"),
            ]
        )
        yield Table(rows, colWidths=[column_width] * width, style=grid, splitInRow=1, spaceAfter=8, hAlign="LEFT")

    def _inline(self, tokens: Sequence[Token]) -> str:
        text: list[str] = []
        closing: list[str] = []
        for token in tokens:
            match token.type:
                case "text":
                    text.append(self.typeface.markup(token.content))
                case "code_inline":
                    text.append(self.typeface.markup(token.content, mono=True))
                case "softbreak":
                    text.append(" ")
                case "hardbreak":
                    text.append("<br/>")
                case "strong_open" | "em_open" | "s_open" | "strong_close" | "em_close" | "s_close":
                    tag = {"strong": "b", "em": "i", "s": "strike"}[token.type.partition("_")[0]]
                    text.append(f"<{tag}>" if token.type.endswith("open") else f"</{tag}>")
                case "link_open":
                    opening = self._link_tag(str(token.attrGet("href") or ""))
                    text.append(opening)
                    closing.append("</a>" if opening else "")
                case "link_close":
                    text.append(closing.pop())
                case "image":
                    words = split_size(words_of(token.children or ()))[0]
                    source = str(token.attrGet("src") or "")
                    attachment = self.exported.attachment(unquote(source))
                    text.append(
                        self._file(attachment, words or attachment.title, shows=True)
                        if attachment
                        else self.typeface.markup(words or source)
                    )
                case _ if token.type == BOX:
                    text.append(self.typeface.markup("☑ " if token.meta["done"] else "☐ "))
                case _ if token.type == WIKI:
                    text.append(self._wiki(token.meta))
                case _:
                    text.append(self.typeface.markup(token.content))
        return "".join(text)

    def _wiki(self, meta: Mapping[str, object]) -> str:
        target, heading, text = (str(meta[name]) for name in ("target", "heading", "text"))
        attachment = self.exported.attachment(target) if target else None
        if attachment is not None:
            label = attachment.caption or text or attachment.title
            return self._file(attachment, label, shows=bool(meta["embeds"]))
        words = text or " > ".join(part for part in (target, heading) if part)
        entry = self.index.find(target) if target else None
        return self._link_to(entry, words) if entry else self.typeface.markup(words)

    def _file(self, attachment: Attachment, words: str, *, shows: bool) -> str:
        """Place an embedded picture below its line and above its caption."""
        if (
            shows
            and attachment.media_type.startswith("image/")
            and (data := self.read_attachment(attachment)) is not None
        ):
            picture = _image(data)
            if picture is not None:
                self._pictures.append(picture)
                caption = self.typeface.style(fontSize=8.5, textColor=_GREY)
                self._pictures.append(Paragraph(self.typeface.markup(words), caption))
                return ""
        return self.typeface.markup(f"[{words}]")

    def _link_tag(self, href: str) -> str:
        try:
            scheme = urlsplit(href).scheme.lower()
        except ValueError:
            return ""
        if scheme in SCHEMES:
            return f'<a href={quoteattr(href)} color="{_BLUE}">'
        entry = None if scheme else self.index.find(link_target(unquote(href.partition("#")[0])))
        return f'<a href="#{entry.id}" color="{_BLUE}">' if entry else ""

    def _link_to(self, entry: NoteIndexEntry, words: str) -> str:
        return f'<a href="#{entry.id}" color="{_BLUE}">{self.typeface.markup(words)}</a>'


def _image(data: bytes) -> Image | None:
    """Return a picture scaled to the page; None if it is broken or too large."""
    try:
        reader = ImageReader(io.BytesIO(data))
        width, height = reader.getSize()
        if not 0 < width * height <= _MAX_PIXELS:
            return None
        # Decode all of it now, while a broken picture can still be left out.
        reader.getRGBData()
    except _BAD_PICTURE:
        return None
    max_width, max_height = A4[0] - 2 * _MARGIN - 12, A4[1] - 2 * _MARGIN - 60
    scale = min(0.75, max_width / width, max_height / height)
    return Image(io.BytesIO(data), width=width * scale, height=height * scale, hAlign="LEFT")
