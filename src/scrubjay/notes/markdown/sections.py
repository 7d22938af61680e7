"""The sections below the marker of a file: observations and links.

Any other text there belongs to the user and is part of the content.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from scrubjay.notes.markdown.note import Link
from scrubjay.notes.markdown.wiki import mentions

__all__ = [
    "Item", "Piece", "link_syntax", "links_of", "observations_of", "read_sections", "sections_of", "strays_of",
    "with_sections",
]  # fmt: skip

_HEADING = re.compile(r"#{1,6}[ \t]+(Observations|Links)[ \t]*#*\s*", re.IGNORECASE)
_BULLETS = ("- ", "* ", "+ ")
_INDENT = "  "
_LINK = re.compile(r"\[\[((?:(?!\]\]|\[\[).)*+)\]\]")
# Characters that would end a link or its line; brackets only where they look like those of the link.
_UNSAFE = re.compile(r"&#|[\n\r]|\A\[|\[(?=\[)|\](?=\]|\Z)")
_ESCAPED = re.compile(r"&#(10|13|38|91|93|124);")

Item = str | Link


class Piece(NamedTuple):
    """Consecutive lines: the heading of a section, an item, an empty line, or the user's own text (`stray`)."""

    kind: str
    raw: str
    section: str = ""
    values: tuple[Item, ...] = ()


def read_sections(text: str) -> tuple[Piece, ...]:
    """Split the lines below the marker into pieces, without leaving any out."""
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    if not lines[-1]:
        lines.pop()
    return tuple(_pieces(lines))


def observations_of(pieces: Sequence[Piece]) -> tuple[str, ...]:
    """Return the observations, in order."""
    return tuple(value for piece in pieces for value in piece.values if isinstance(value, str))


def links_of(pieces: Sequence[Piece]) -> tuple[Link, ...]:
    """Return the links, in order."""
    return tuple(value for piece in pieces for value in piece.values if isinstance(value, Link))


def strays_of(pieces: Sequence[Piece]) -> tuple[str, ...]:
    """Return the texts that are neither observations nor links."""
    return tuple(piece.raw.strip("\n") for piece in pieces if piece.kind == "stray")


def sections_of(observations: Sequence[str], links: Sequence[Link]) -> str:
    """Render new sections."""
    return _section("observations", observations) + _section("links", links)


def with_sections(
    pieces: Sequence[Piece], observations: tuple[str, ...], links: tuple[Link, ...], *, keeps_strays: bool
) -> str:
    """Render the lines below the marker with new items; unchanged items keep their lines."""
    stored = [piece for piece in pieces if keeps_strays or piece.kind != "stray"]
    if observations_of(stored) != observations:
        stored = _replace_section(stored, "observations", observations)
    if links_of(stored) != links:
        stored = _replace_section(stored, "links", links)
    ended = [piece.raw if piece.raw.endswith("\n") else piece.raw + "\n" for piece in stored[:-1]]
    return "".join(ended) + (stored[-1].raw if stored else "")


def _pieces(lines: Sequence[str]) -> Iterator[Piece]:
    at, section = 0, ""
    blank = Piece("blank", "\n")
    while at < len(lines):
        line = lines[at]
        end = at + 1
        if not line.strip():
            if (line, section) != (blank.raw, blank.section):
                blank = Piece("blank", line, section)
            yield blank
        elif heading := _heading(line):
            section = heading[1].lower()
            yield Piece("heading", line, section)
        elif section and (line.startswith(_BULLETS) or line.rstrip() in ("-", "*", "+")):
            end = _item_end(lines, at)
            yield _item(lines[at:end], section)
        else:
            # Until the next section begins, everything is the user's own text.
            section = ""
            while end < len(lines) and not _heading(lines[end]):
                end += 1
            yield Piece("stray", "".join(lines[at:end]))
        at = end


def _heading(line: str) -> re.Match[str] | None:
    return _HEADING.fullmatch(line) if line[0] == "#" else None


def _item_end(lines: Sequence[str], at: int) -> int:
    """Return the end of an item: its indented lines, and empty lines that precede an indented one."""
    end = look = at + 1
    while look < len(lines) and (lines[look] == "\n" or lines[look].startswith(_INDENT)):
        look += 1
        if lines[look - 1] != "\n":
            end = look
    return end


def _item(lines: Sequence[str], section: str) -> Piece:
    raw = "".join(lines)
    parts = [line.removesuffix("\n") for line in lines]
    text = "\n".join([parts[0][2:], *(part.removeprefix(_INDENT) for part in parts[1:])])
    if section == "observations":
        return Piece("item", raw, section, (text,))
    links = _links(text)
    return Piece("item" if links else "stray", raw, section, links)


def _links(text: str) -> tuple[Link, ...]:
    whole = _LINK.fullmatch(text)
    if not whole:
        return tuple(
            Link(target=f"{mention.target}#{mention.heading}" if mention.heading else mention.target, text=mention.text)
            for mention in mentions(text)
        )
    target, _, words = whole[1].partition("|")
    return (Link(target=_unescape(target), text=_unescape(words)),)


def _replace_section(pieces: list[Piece], section: str, new: tuple[Item, ...]) -> list[Piece]:
    """Replace the items of one section; unchanged items at its beginning and end keep their lines."""
    own = [at for at, piece in enumerate(pieces) if piece.section == section and piece.kind == "item"]
    if not own:
        return _with_section(pieces, section, new)
    done, ahead = 0, 0
    while ahead < len(own) and new[done : done + len(pieces[own[ahead]].values)] == pieces[own[ahead]].values:
        done += len(pieces[own[ahead]].values)
        ahead += 1
    left, behind = len(new), len(own)
    while behind > ahead:
        values = pieces[own[behind - 1]].values
        if left - len(values) < done or new[left - len(values) : left] != values:
            break
        left -= len(values)
        behind -= 1
    lines = {pieces[at].values: pieces[at].raw for at in own[ahead:behind]}
    middle = [Piece("item", lines.get((item,), "") or _line(item), section, (item,)) for item in new[done:left]]
    where = own[ahead] if ahead < len(own) else own[-1] + 1
    gone = set(own[ahead:behind])
    stored = [piece for at, piece in enumerate(pieces[:where]) if at not in gone]
    stored += [*middle, *(piece for at, piece in enumerate(pieces[where:], start=where) if at not in gone)]
    return stored if new else _without_section(stored, section)


def _with_section(pieces: list[Piece], section: str, new: tuple[Item, ...]) -> list[Piece]:
    """Add a section; observations precede links."""
    pieces = _without_section(pieces, section)
    at = len(pieces)
    if section == "observations":
        at = next((at for at, piece in enumerate(pieces) if piece.kind == "heading"), at)
        while at and pieces[at - 1].kind == "blank":
            at -= 1
    return [*pieces[:at], *read_sections(_section(section, new)), *pieces[at:]]


def _without_section(pieces: list[Piece], section: str) -> list[Piece]:
    """Remove the heading of an empty section and the empty lines around it."""
    stored: list[Piece] = []
    if any(piece.section == section and piece.kind in ("item", "stray") for piece in pieces):
        return pieces
    for piece in pieces:
        if piece.section != section or piece.kind not in ("heading", "blank"):
            stored.append(piece)
        elif piece.kind == "heading":
            while stored and stored[-1].kind == "blank":
                stored.pop()
    return stored


def _section(name: str, items: Sequence[Item]) -> str:
    return f"\n## {name.capitalize()}\n\n{''.join(map(_line, items))}" if items else ""


def _line(item: Item) -> str:
    if isinstance(item, Link):
        return f"- {link_syntax(item)}\n"
    first, *further = item.split("\n")
    if not further:
        return f"- {first}\n"
    # Trailing empty lines need the indent: without it, they would not belong to the item.
    last = max((at for at, line in enumerate(further) if line), default=-1)
    lines = [_INDENT + line if line or at > last else "" for at, line in enumerate(further)]
    return "".join(f"{line}\n" for line in (f"- {first}", *lines))


def link_syntax(link: Link) -> str:
    """Render a link, with any brackets in its target and text escaped."""
    words = f"|{_escape(link.text)}" if link.text else ""
    return f"[[{_escape(link.target).replace('|', '&#124;')}{words}]]"


def _escape(text: str) -> str:
    return _UNSAFE.sub(lambda match: "&#38;#" if match[0] == "&#" else f"&#{ord(match[0])};", text)


def _unescape(text: str) -> str:
    return _ESCAPED.sub(lambda match: chr(int(match[1])), text)
