"""Parse Markdown files into notes and render notes as files, changing only the lines whose content changed."""

import re
from contextlib import suppress
from dataclasses import replace

from scrubjay.errors import NoteUnreadable
from scrubjay.lazy import dataclass
from scrubjay.notes.markdown.fields import is_valid_extra, new_frontmatter, read_fields, update_frontmatter
from scrubjay.notes.markdown.frontmatter import parse_frontmatter
from scrubjay.notes.markdown.note import Note, unreadable
from scrubjay.notes.markdown.sections import (
    Piece,
    links_of,
    observations_of,
    read_sections,
    sections_of,
    strays_of,
    with_sections,
)
from scrubjay.notes.markdown.yaml_values import Frontmatter

__all__ = ["MARKER", "FileLayout", "Page", "parse", "render", "unreadable_head"]

MARKER = "<!-- scrubjay -->"
_OPENING = re.compile(r"---[ \t]*\r?\n")
_CLOSING = re.compile(r"^---[ \t]*\r?(?:\n|\Z)", re.MULTILINE)
_LOOKS_LIKE_YAML = re.compile(r"(?:#.*\n)*[\w-]+:(?:[ \t]|\r?\n|\Z)")
_MARKER_END = re.compile(r"[ \t]*\r?(?:\n|\Z)")
_BOM = "\ufeff"
_FOREIGN_BOMS = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileLayout:
    """The layout of a file, for `render` alone.

    The parts, in order, form the text of the file. If all lines end in `newline`, the parts have line feeds instead.
    """

    bom: bool = False
    newline: str = "\n"
    opening: str = ""
    head: Frontmatter | None = None
    closing: str = ""
    gap: str = ""
    content: str = ""
    end: str = ""
    marker: str = ""
    pieces: tuple[Piece, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A parsed file: its note, its layout, the names of the fields that its frontmatter sets, and warnings.

    A field with a value of the wrong type is not set; its lines stay in the file, and `warnings` reports it.
    `unreadable`: why its frontmatter is part of the text.
    """

    note: Note
    layout: FileLayout
    set_fields: frozenset[str] = frozenset()
    warnings: tuple[str, ...] = ()
    unreadable: str = ""


def parse(data: bytes, *, lenient: bool = False) -> Page:
    """Parse a file; raises NoteUnreadable if it is not a note. If `lenient`, unreadable frontmatter is content."""
    text = _decode(data)
    bom = text.startswith(_BOM)
    text = text[1:] if bom else text
    # The common line ending; if endings differ, it is a line feed, and the others belong to the text.
    pairs = text.count("\r\n") if "\r" in text else 0
    newline = "\r\n" if pairs and pairs == text.count("\n") == text.count("\r") else "\n"
    text = text.replace(newline, "\n") if newline != "\n" else text
    try:
        opening, head, closing = _split_frontmatter(text)
        unreadable = ""
    except NoteUnreadable as error:
        if not lenient:
            raise
        opening, head, closing, unreadable = "", None, "", unreadable_head(error)
    body = text[len(opening) + len(head.raw) + len(closing) :] if head else text
    above, marker, below = _split_at_marker(body)
    gap, content, end = _split(above, is_headed=head is not None, is_marked=bool(marker))
    pieces = read_sections(below)
    read = read_fields(head or Frontmatter())
    note = replace(
        read.note,
        content="\n\n".join(part for part in (content, *strays_of(pieces)) if part) if below else content,
        observations=observations_of(pieces),
        linked=links_of(pieces),
    )
    layout = FileLayout(
        bom=bom,
        newline=newline,
        opening=opening,
        head=head,
        closing=closing,
        gap=gap,
        content=content,
        end=end,
        marker=marker,
        pieces=pieces,
    )
    return Page(
        note=note, layout=layout, set_fields=read.set_fields, warnings=read.warnings, unreadable=unreadable
    )  # fmt: skip


def unreadable_head(error: NoteUnreadable) -> str:
    """Return the warning about frontmatter that is not YAML."""
    return f"its frontmatter cannot be read and stays in the text: {error.message}"


def render(note: Note, *, like: Page | None = None, bare: bool = False) -> bytes:
    """Render the file of a note; with `like`, only the lines of changed content differ from that page.

    Invalid frontmatter in `extra` is left out, or keeps its former value. `bare`: leave out an empty frontmatter.
    """
    if like is None:
        layout = _canonical(replace(note, extra=note.extra if is_valid_extra(note.extra) else ""))
        if bare and layout.head and not layout.head.raw:
            headless = _encode(replace(layout, opening="", head=None, closing="", gap=""))
            with suppress(NoteUnreadable):
                if parse(headless).note == note:
                    return headless
        return _encode(layout)
    if note.extra != like.note.extra and not is_valid_extra(note.extra):
        note = replace(note, extra=like.note.extra)
    if note == like.note:
        return _encode(like.layout)
    data = _encode(_changed(note, like))
    with suppress(NoteUnreadable):
        if parse(data, lenient=not like.layout.head).note == note:
            return data
    return _encode(_canonical(note, bom=like.layout.bom))


def _decode(data: bytes) -> str:
    if data.startswith(_FOREIGN_BOMS):
        raise unreadable("the file is UTF-16, not UTF-8", line=1, hint="Save it as UTF-8")
    binary = data.find(0)
    if binary >= 0:
        line = data.count(b"\n", 0, binary) + 1
        raise unreadable("the file has a NUL byte: it is binary, or UTF-16", line=line, hint="Save it as UTF-8 text")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        reason = f"the byte 0x{data[error.start]:02x} is not UTF-8"
        raise unreadable(reason, line=line, hint="Save the file as UTF-8") from None


def _split_frontmatter(text: str) -> tuple[str, Frontmatter | None, str]:
    """Return the frontmatter with its delimiter lines; raises NoteUnreadable."""
    opening = _OPENING.match(text)
    if not opening:
        return "", None, ""
    closing = _CLOSING.search(text, opening.end())
    if closing:
        return opening[0], parse_frontmatter(text[opening.end() : closing.start()]), closing[0]
    if _LOOKS_LIKE_YAML.match(text, opening.end()):
        raise unreadable("the frontmatter has no closing line", line=1, hint="Put a line `---` below its last line")
    # A thematic break, not frontmatter.
    return "", None, ""


def _split_at_marker(body: str) -> tuple[str, str, str]:
    """Return the text above the last marker, the line of the marker, and the text below."""
    at = len(body)
    while (at := body.rfind(MARKER, 0, at)) >= 0:
        if (at == 0 or body[at - 1] == "\n") and (match := _MARKER_END.match(body, at + len(MARKER))):
            return body[:at], body[at : match.end()], body[match.end() :]
    return body, "", ""


def _split(above: str, *, is_headed: bool, is_marked: bool) -> tuple[str, str, str]:
    """Return the empty line below the frontmatter, the content, and its end: a newline, or an empty line if marked."""
    gap = "\n" if is_headed and above.startswith("\n") else ""
    rest = above[len(gap) :]
    end = "\n\n" if is_marked and rest.endswith("\n\n") else "\n" if rest.endswith("\n") else ""
    return gap, rest[: len(rest) - len(end)], end


def _canonical(note: Note, *, bom: bool = False) -> FileLayout:
    below = sections_of(note.observations, note.linked)
    marker = f"{MARKER}\n" if below or _split_at_marker(note.content)[1] else ""
    gap = "\n" if note.content or marker else ""
    end = ("\n\n" if marker else "\n") if note.content else ""
    return FileLayout(
        bom=bom,
        opening="---\n",
        head=Frontmatter(raw=new_frontmatter(note)),
        closing="---\n",
        gap=gap,
        content=note.content,
        end=end,
        marker=marker,
        pieces=(Piece("text", below),),
    )


def _changed(note: Note, like: Page) -> FileLayout:
    """Return the layout of a page with the changes of a note."""
    old, was = like.layout, like.note
    head = Frontmatter(raw=update_frontmatter(note, was=was, head=old.head)) if old.head else None
    if head is None and (lines := new_frontmatter(note)):
        head = Frontmatter(raw=lines)
    keeps = note.content == was.content
    content = old.content if keeps else note.content
    below = with_sections(old.pieces, note.observations, note.linked, keeps_strays=keeps)
    marker = old.marker or f"{MARKER}\n"
    if (
        not below.strip()
        and not _split_at_marker(content)[1]
        and (was.observations or was.linked or not keeps or not old.marker)
    ):
        marker = below = ""
    gap, end = _around(content, old, is_headed=head is not None, is_marked=bool(marker))
    return replace(
        old,
        opening=old.opening or ("---\n" if head else ""),
        head=head,
        closing=old.closing or ("---\n" if head else ""),
        gap=gap,
        content=content,
        end=end,
        marker=marker,
        pieces=(Piece("text", below),),
    )


def _around(content: str, old: FileLayout, *, is_headed: bool, is_marked: bool) -> tuple[str, str]:
    """Return the gap and the end around the content: the old ones if they parse to the same content, else ours."""
    usual = ("\n" if is_headed else "", "\n\n" if is_marked else "\n")
    was_empty = not old.content and content
    # If a marker is added or removed, the old end no longer applies.
    former = old.end if bool(old.marker) == is_marked else usual[1]
    for gap, end in () if was_empty else ((old.gap, former), (usual[0], former), (old.gap, usual[1])):
        if _split(gap + content + end, is_headed=is_headed, is_marked=is_marked) == (gap, content, end):
            return gap, end
    return usual


def _encode(layout: FileLayout) -> bytes:
    parts = (
        layout.opening,
        layout.head.raw if layout.head else "",
        layout.closing,
        layout.gap + layout.content + layout.end,
        layout.marker,
        "".join(piece.raw for piece in layout.pieces),
    )
    following = False
    text = ""
    for part in reversed(parts):
        text = (part + "\n" if following and part and not part.endswith("\n") else part) + text
        following = following or bool(part)
    if layout.newline != "\n" and "\r" not in text:
        text = text.replace("\n", layout.newline)
    return ((_BOM if layout.bom else "") + text).encode()
