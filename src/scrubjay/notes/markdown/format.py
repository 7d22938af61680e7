"""Notes as Markdown files, and back: what a file says, and the same file with nothing else changed than what has."""

import re
from dataclasses import dataclass, replace

from scrubjay.errors import NoteUnreadable
from scrubjay.notes.markdown.frontmatter import read_head
from scrubjay.notes.markdown.frontmatter_fields import changed_head, fits, new_head, read_fields
from scrubjay.notes.markdown.note import Note
from scrubjay.notes.markdown.sections import (
    Piece,
    links_of,
    observations_of,
    read_sections,
    sections_of,
    strays_of,
    with_sections,
)
from scrubjay.notes.markdown.unreadable import unreadable
from scrubjay.notes.markdown.yaml_values import Head

__all__ = ["MARKER", "Layout", "Page", "parse", "render"]

MARKER = "<!-- scrubjay -->"
_OPENING = re.compile(r"---[ \t]*\r?\n")
_CLOSING = re.compile(r"^---[ \t]*\r?(?:\n|\Z)", re.MULTILINE)
_LOOKS_LIKE_YAML = re.compile(r"(?:#.*\n)*[\w-]+:(?:[ \t]|\r?\n|\Z)")
_MARKED = re.compile(r"[ \t]*\r?(?:\n|\Z)")
_BOM = "\ufeff"
_FOREIGN_BOMS = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How a file writes what it says, for nobody but `render`.

    The parts in their order are the text of the file; where all its lines end in `newline`, with a line feed instead.
    """

    bom: bool = False
    newline: str = "\n"
    opening: str = ""
    head: Head | None = None
    closing: str = ""
    gap: str = ""
    content: str = ""
    end: str = ""
    marker: str = ""
    pieces: tuple[Piece, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A file: the note it tells, how it is laid out, which fields its frontmatter tells, and what is odd in it.

    A field whose value is of the wrong kind is not told; the file's lines stay, and `warnings` says so.
    """

    note: Note
    layout: Layout
    told: frozenset[str] = frozenset()
    warnings: tuple[str, ...] = ()


def parse(data: bytes) -> Page:
    """What a file says; raises NoteUnreadable for what is no note."""
    text = _text_of(data)
    bom = text.startswith(_BOM)
    text = text[1:] if bom else text
    newline = _newline_of(text)
    text = text.replace(newline, "\n") if newline != "\n" else text
    opening, head, closing = _head_of(text)
    body = text[len(opening) + len(head.raw) + len(closing) :] if head else text
    above, marker, below = _parted(body)
    gap, content, end = _split(above, is_headed=head is not None, is_marked=bool(marker))
    pieces = read_sections(below)
    read = read_fields(head or Head())
    note = replace(
        read.note,
        content="\n\n".join(part for part in (content, *strays_of(pieces)) if part) if below else content,
        observations=observations_of(pieces),
        linked=links_of(pieces),
    )
    layout = Layout(
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
    return Page(note=note, layout=layout, told=read.told, warnings=read.warnings)


def render(note: Note, *, like: Page | None = None) -> bytes:
    """The file of a note; `like` another, only the lines of what has changed differ from that one's.

    Frontmatter of others that is none (`extra`) is left out, or stays as it was.
    """
    if like is None:
        return _written(_canonical(replace(note, extra=note.extra if fits(note.extra) else "")))
    if note.extra != like.note.extra and not fits(note.extra):
        note = replace(note, extra=like.note.extra)
    if note == like.note:
        return _written(like.layout)
    written = _written(_changed(note, like))
    return written if _says(written, note) else _written(_canonical(note, bom=like.layout.bom))


def _text_of(data: bytes) -> str:
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


def _newline_of(text: str) -> str:
    """What all lines end in; where they differ a line feed, and other ends of lines are part of the text."""
    pairs = text.count("\r\n") if "\r" in text else 0
    return "\r\n" if pairs and pairs == text.count("\n") == text.count("\r") else "\n"


def _head_of(text: str) -> tuple[str, Head | None, str]:
    """The frontmatter with the lines around it; raises NoteUnreadable."""
    opening = _OPENING.match(text)
    if not opening:
        return "", None, ""
    closing = _CLOSING.search(text, opening.end())
    if closing:
        return opening[0], read_head(text[opening.end() : closing.start()]), closing[0]
    if _LOOKS_LIKE_YAML.match(text, opening.end()):
        raise unreadable(
            "the frontmatter that begins here has no end", line=1, hint="Put a line `---` below its last line"
        )
    # A line across the page.
    return "", None, ""


def _parted(body: str) -> tuple[str, str, str]:
    """What is above the last marker, its line, and what is below."""
    at = len(body)
    while (at := body.rfind(MARKER, 0, at)) >= 0:
        if (at == 0 or body[at - 1] == "\n") and (results := _MARKED.match(body, at + len(MARKER))):
            return body[:at], body[at : results.end()], body[results.end() :]
    return body, "", ""


def _split(above: str, *, is_headed: bool, is_marked: bool) -> tuple[str, str, str]:
    """The empty line below the frontmatter, the content, and what ends it: a newline, before a marker an empty line."""
    gap = "\n" if is_headed and above.startswith("\n") else ""
    rest = above[len(gap) :]
    end = "\n\n" if is_marked and rest.endswith("\n\n") else "\n" if rest.endswith("\n") else ""
    return gap, rest[: len(rest) - len(end)], end


def _canonical(note: Note, *, bom: bool = False) -> Layout:
    below = sections_of(note.observations, note.linked)
    marker = f"{MARKER}\n" if below or _parted(note.content)[1] else ""
    gap = "\n" if note.content or marker else ""
    end = ("\n\n" if marker else "\n") if note.content else ""
    return Layout(
        bom=bom,
        opening="---\n",
        head=Head(raw=new_head(note)),
        closing="---\n",
        gap=gap,
        content=note.content,
        end=end,
        marker=marker,
        pieces=(Piece("text", below),),
    )


def _changed(note: Note, like: Page) -> Layout:
    """The layout of a page with what a note says otherwise."""
    old, was = like.layout, like.note
    head = Head(raw=changed_head(note, was=was, head=old.head)) if old.head else None
    if head is None and (lines := new_head(note)):
        head = Head(raw=lines)
    keeps = note.content == was.content
    content = old.content if keeps else note.content
    below = with_sections(old.pieces, note.observations, note.linked, keeps_strays=keeps)
    marker = old.marker or f"{MARKER}\n"
    if (
        not below.strip()
        and not _parted(content)[1]
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


def _around(content: str, old: Layout, *, is_headed: bool, is_marked: bool) -> tuple[str, str]:
    """What stands before and after the content: as before if it is read in the same way, else as we write it."""
    usual = ("\n" if is_headed else "", "\n\n" if is_marked else "\n")
    was_empty = not old.content and content
    # Before a marker that comes or goes, what ended the content is another's.
    former = old.end if bool(old.marker) == is_marked else usual[1]
    for gap, end in () if was_empty else ((old.gap, former), (usual[0], former), (old.gap, usual[1])):
        if _split(gap + content + end, is_headed=is_headed, is_marked=is_marked) == (gap, content, end):
            return gap, end
    return usual


def _written(layout: Layout) -> bytes:
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


def _says(data: bytes, note: Note) -> bool:
    try:
        return parse(data).note == note
    except NoteUnreadable:
        return False
