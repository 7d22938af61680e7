"""Parse a foreign Markdown file into a note, including Obsidian's conventions."""

import re
from collections.abc import Iterator
from dataclasses import field, replace
from pathlib import PurePosixPath
from urllib.parse import unquote

from scrubjay.errors import NoteUnreadable
from scrubjay.lazy import dataclass
from scrubjay.notes.markdown.aliases import MAX_ALIASES, aliases_among, texts_of
from scrubjay.notes.markdown.fields import comment_out_foreign
from scrubjay.notes.markdown.foreign import creation_time_in, inline_tags, outside_code
from scrubjay.notes.markdown.format import parse, unreadable_head
from scrubjay.notes.markdown.naming import link_target
from scrubjay.notes.markdown.note import Link, Note
from scrubjay.notes.markdown.wiki import mentions
from scrubjay.notes.markdown.yaml_values import Frontmatter
from scrubjay.notes.sync.mapping import tag_key

__all__ = ["ParsedFile", "parse_file", "picture_links"]

_PICTURE = re.compile(r"!\[([^\[\]\n]{0,1000})\]\(<?([^()<>\s\n]{1,1000})>?(?:\s+[\"'][^\"'\n]{0,300}[\"'])?\)")
_PAGE = re.compile(r"(?<!!)\[([^\[\]\n]{0,1000})\]\(<?([^()<>\n]{1,1000}?\.md)(?:#[^()<>\n]{0,300})?>?\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedFile:
    """A parsed file: its note, links with their texts, aliases, and warnings.

    `text_targets` are the targets that occur only in wiki links of the content.
    """

    note: Note
    links: tuple[Link, ...] = ()
    text_targets: frozenset[str] = frozenset()
    aliases: tuple[str, ...] = ()
    warnings: tuple[str, ...] = field(default=())


def parse_file(data: bytes, *, path: str, category: str = "") -> ParsedFile:
    """Parse a file; raises NoteUnreadable if it is not text. Unreadable frontmatter stays in the content."""
    try:
        page = parse(data)
        head = page.layout.head or Frontmatter()
        # A foreign `id` or `links` value would be lost when our own line replaces it.
        note = replace(page.note, extra=page.note.extra + comment_out_foreign(head).replace("\r\n", "\n"))
        entries, warnings = head.entries, page.warnings
    except NoteUnreadable as error:
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise error from None
        if "\0" in text:
            raise
        note, entries = Note(content=text.replace("\r\n", "\n")), ()
        warnings = (unreadable_head(error),)
    place = PurePosixPath(link_target(path))
    folder = str(place.parent) if str(place.parent) != "." else ""
    within = "/".join(part for part in (category, note.category or folder) if part)
    tags = {tag_key(item): item for item in (*note.tags, *texts_of(entries, "tag"), *inline_tags(note.content))}
    aliases = aliases_among(entries)
    others = [place.name, *aliases] if note.title.strip() and note.title.strip() != place.name else aliases
    wiki_links = tuple(
        Link(target=mention.target, text=mention.text) for mention in mentions(note.content) if mention.target
    )
    other_links = tuple(_other_links(note))
    return ParsedFile(
        note=replace(
            note, title=note.title.strip() or place.name, category=within,
            created_at=note.created_at or creation_time_in(entries),
            tags=tuple(item.lstrip("#") for key, item in tags.items() if key),
        ),
        links=(*wiki_links, *other_links),
        text_targets=frozenset(link.target for link in wiki_links) - {link.target for link in other_links},
        aliases=tuple(dict.fromkeys(other for other in others if other.strip()))[:MAX_ALIASES],
        warnings=warnings,
    )  # fmt: skip


def picture_links(content: str) -> Iterator[tuple[int, int, str, str]]:
    """Yield the Markdown images of a text: start, end, target and caption."""
    if "](" not in content:
        return
    for start, end in outside_code(content):
        for match in _PICTURE.finditer(content, start, end):
            yield match.start(), match.end(), match[2], match[1].partition("|")[0]


def _other_links(note: Note) -> Iterator[Link]:
    if ".md" in note.content:
        for start, end in outside_code(note.content):
            for match in _PAGE.finditer(note.content, start, end):
                if "://" not in match[2]:
                    yield Link(target=unquote(match[2]), text=match[1])
    yield from (Link(target=item.target.partition("#")[0], text=item.text) for item in note.linked)
