"""Notes as HTML pages without scripts or external resources."""

import base64
import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from html import escape
from pathlib import PurePosixPath
from urllib.parse import quote, unquote, urlsplit

from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from scrubjay.model.attachments import Attachment
from scrubjay.model.timestamps import to_iso
from scrubjay.notes.export.exported import ExportedNote, NoteIndex, NoteIndexEntry, ReadAttachment
from scrubjay.notes.export.markup import BOX, SCHEMES, WIKI, anchor_of, markdown, split_size, words_of
from scrubjay.notes.markdown.naming import link_target

__all__ = ["FILES", "STYLE", "STYLE_FILE", "HtmlPages", "file_place", "page_of"]

STYLE_FILE = "style.css"
STYLE = """:root { color-scheme: light dark; }
body { font: 1rem/1.6 system-ui, sans-serif; max-width: 44rem; margin: 2rem auto; padding: 0 1rem; }
h1, h2, h3 { line-height: 1.25; }
pre { overflow-x: auto; padding: .75rem 1rem; background: #8881; border-radius: .4rem; }
code { font-family: ui-monospace, monospace; font-size: .95em; }
blockquote { margin: 1rem 0; padding-left: 1rem; border-left: .25rem solid #8886; }
table { border-collapse: collapse; } th, td { border: 1px solid #8886; padding: .3rem .6rem; }
img, video { max-width: 100%; } img:not([height]), video { height: auto; } audio { width: 100%; }
header p, footer, .missing { color: #777; } .tag { margin-right: .5rem; }
li.task { list-style: none; margin-left: -1.3rem; }
"""
_POLICY = (
    "default-src 'none'; img-src 'self' file: data:; media-src 'self' file: data:; "
    "style-src 'self' file: 'unsafe-inline'; form-action 'none'; base-uri 'none'"
)
_PAGES = "notes"
FILES = "files"
# Media that a page shows inline; it links all others. An SVG in an `img` element cannot run scripts.
_INLINE_TAGS = {"image": "img", "audio": "audio", "video": "video"}
_SAFE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def page_of(path: str) -> str:
    """Return the path of a note's page in an export."""
    return f"{_PAGES}/{link_target(path)}.html"


def file_place(file: str) -> str:
    """Return the path of an embedded file in an export."""
    return f"{FILES}/{file}"


@dataclass(slots=True, kw_only=True)
class HtmlPages:
    """Renders pages. `files` are the exported attachments; with `inline`, each page contains its media."""

    index: NoteIndex
    inline: ReadAttachment | None = None
    files: AbstractSet[str] = frozenset()
    missing: set[str] = field(default_factory=set[str])

    def page(self, exported: ExportedNote) -> bytes:
        """Render the page of a note."""
        place = "" if self.inline else page_of(exported.path)
        note = exported.note
        body = _Body(pages=self, exported=exported, place=place)
        parts = [
            f"<header><h1>{escape(note.title)}</h1>\n<p>{self._facts(exported, body)}</p></header>\n<main>\n",
            body.render(note.content),
            "</main>\n",
        ]
        if note.observations:
            items = "".join(f"<li>{escape(observation)}</li>\n" for observation in note.observations)
            parts.append(f"<section><h2>Observations</h2>\n<ul>\n{items}</ul></section>\n")
        linked = [(link, self.index.find(link.target)) for link in note.linked]
        lines = [
            f"<li>{body.to_note(entry, link.text)}</li>\n" for link, entry in linked if entry and entry.id != note.id
        ]
        if lines:
            parts.append(f"<section><h2>Links</h2>\n<ul>\n{''.join(lines)}</ul></section>\n")
        return _document(note.title, "".join(parts), style=None if self.inline else body.relative(STYLE_FILE))

    def table_of_contents(self, *, title: str) -> bytes:
        """Render the list of all pages, by category."""
        groups: dict[str, list[NoteIndexEntry]] = {}
        for entry in self.index.entries.values():
            groups.setdefault(entry.category, []).append(entry)
        parts = [f"<header><h1>{escape(title)}</h1>\n<p>{len(self.index.entries):,} notes</p></header>\n<main>\n"]
        for category in sorted(groups, key=lambda name: (not name, name.casefold())):
            entries = sorted(groups[category], key=lambda entry: (entry.title.casefold(), entry.id))
            items = "".join(
                f'<li><a href="{escape(quote(page_of(entry.path)))}">{escape(entry.title)}</a></li>\n'
                for entry in entries
            )
            parts.append(f"<h2>{escape(category or 'Without a category')}</h2>\n<ul>\n{items}</ul>\n")
        return _document(title, "".join([*parts, "</main>\n"]), style=STYLE_FILE)

    def _facts(self, exported: ExportedNote, body: "_Body") -> str:
        note = exported.note
        text = [escape(note.category)] if note.category else []
        text += [f"<time>{to_iso(note.updated_at)[:10]}</time>"] if note.updated_at else []
        text += ["".join(f'<span class="tag">#{escape(tag)}</span>' for tag in note.tags)] if note.tags else []
        text += [] if self.inline else [f'<a href="{body.relative("index.html")}">all notes</a>']
        return " · ".join(text)


@dataclass(slots=True, kw_only=True)
class _Body:
    """Renders the content of one page."""

    pages: HtmlPages
    exported: ExportedNote
    place: str
    anchors: set[str] = field(default_factory=set[str])

    def render(self, content: str) -> str:
        parser = markdown()
        env: dict[str, object] = {}
        tokens = parser.parse(content, env)
        for at, token in enumerate(tokens):
            if token.type == "heading_open":
                token.attrSet("id", self._anchor(words_of(tokens[at + 1].children or ())))
            elif token.type == "list_item_open":
                inline = next((item for item in tokens[at : at + 3] if item.type == "inline"), None)
                if inline and inline.children and inline.children[0].type == BOX:
                    token.attrSet("class", "task")
        return _Renderer(self).render(tokens, parser.options, env)

    def relative(self, target: str) -> str:
        """Return the URL of another exported file relative to this page."""
        start = posixpath.dirname(self.place)
        return escape(quote(posixpath.relpath(target, start or ".")))

    def to_note(self, entry: NoteIndexEntry | None, text: str, *, heading: str = "") -> str:
        """Render a link to another note, or only its text if that note is not exported."""
        if entry is None or (self.pages.inline is not None and entry.id != self.exported.note.id):
            return f'<span class="missing">{escape(text)}</span>'
        anchor = f"#{quote(anchor)}" if (anchor := anchor_of(heading)) else ""
        href = "#" if self.pages.inline and not anchor else "" if self.pages.inline else None
        address = self.relative(page_of(entry.path)) if href is None else href
        return f'<a href="{address}{anchor}">{escape(text)}</a>'

    def wiki(self, meta: Mapping[str, object]) -> str:
        target, heading, text = (str(meta[name]) for name in ("target", "heading", "text"))
        attachment = self.exported.attachment(target) if target else None
        if attachment is not None:
            caption = attachment.caption if meta["embeds"] else text
            label, size = caption or text or attachment.title, str(meta["size"])
            return self.file(attachment, text=label, shows=bool(meta["embeds"]), size=size)
        entry = self.pages.index.find(target) if target else self.pages.index.entries.get(self.exported.note.id)
        if entry is None:
            self.pages.missing.add(target)
        label = text or " > ".join(part for part in (target, heading.replace("#", " > ")) if part)
        return self.to_note(entry, label, heading=heading)

    def file(self, attachment: Attachment, *, text: str, shows: bool, size: str = "") -> str:
        """Render an embedded file: inline if a browser can show it, else as a link."""
        tag = _INLINE_TAGS.get(attachment.media_type.partition("/")[0], "") if shows else ""
        if self.pages.inline is None:
            if attachment.file not in self.pages.files:
                return f'<span class="missing">{escape(text)}</span>'
            address = self.relative(file_place(attachment.file))
        else:
            data = self.pages.inline(attachment) if tag else None
            if data is None:
                return f'<span class="missing">{escape(text)}</span>'
            address = f"data:{escape(attachment.media_type)};base64,{base64.b64encode(data).decode('ascii')}"
        if tag == "img":
            wide, _, high = size.partition("x")
            large = (f' width="{wide}"' if wide else "") + (f' height="{high}"' if high else "")
            return f'<img src="{address}" alt="{escape(text)}"{large} loading="lazy">'
        if tag:
            return f'<{tag} src="{address}" controls>{escape(text)}</{tag}>'
        return f'<a href="{address}" download>{escape(text)}</a>'

    def address(self, href: str) -> tuple[str, Attachment | NoteIndexEntry | None]:
        """Resolve a Markdown link to an external URL, a note or an attachment; empty if it has no target."""
        if href.startswith("#"):
            return (f"#{anchor}", None) if (anchor := anchor_of(unquote(href[1:]))) else ("#", None)
        try:
            scheme = urlsplit(href).scheme.lower()
        except ValueError:
            return "", None
        if scheme or _SAFE.match(href) or href.startswith(("/", "\\")):
            return (href, None) if scheme in SCHEMES else ("", None)
        path = unquote(href.partition("#")[0].partition("?")[0])
        attachment = self.exported.attachment(path)
        if attachment is None and PurePosixPath(path).suffix.lower() in ("", ".md"):
            relative = posixpath.normpath(posixpath.join(posixpath.dirname(self.exported.path), path))
            return "", self.pages.index.find(relative) or self.pages.index.find(path)
        return "", attachment

    def _anchor(self, words: str) -> str:
        own = anchor_of(words) or "section"
        name, number = own, 2
        while name in self.anchors:
            name, number = f"{own}-{number}", number + 1
        self.anchors.add(name)
        return name


class _Renderer(RendererHTML):
    """Renders Markdown tokens; a link without a target becomes plain text."""

    def __init__(self, body: _Body) -> None:
        super().__init__()
        self._body = body
        self._open: list[str] = []
        self.rules |= {WIKI: self._wiki, BOX: self._box}

    def _wiki(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        del options, env
        return self._body.wiki(tokens[idx].meta)

    def _box(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        del options, env
        return f'<input type="checkbox" disabled{" checked" if tokens[idx].meta["done"] else ""}> '

    def link_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        del options, env
        href = str(tokens[idx].attrGet("href") or "")
        address, target = self._body.address(href)
        if isinstance(target, NoteIndexEntry) and self._body.pages.inline is None:
            anchor = anchor_of(unquote(href.partition("#")[2]))
            address = self._body.relative(page_of(target.path)) + (f"#{quote(anchor)}" if anchor else "")
        elif isinstance(target, Attachment) and target.file in self._body.pages.files:
            address = self._body.relative(file_place(target.file))
        elif address:
            address = escape(address)
        self._open.append("a" if address else "span")
        return f'<a href="{address}" rel="noreferrer">' if address else '<span class="missing">'

    def link_close(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        del tokens, idx, options, env
        return f"</{self._open.pop()}>"

    def image(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        """Render an attached picture; an external one becomes a link, since loading it would reveal the reader."""
        del options, env
        words, size = split_size(words_of(tokens[idx].children or ()))
        address, target = self._body.address(str(tokens[idx].attrGet("src") or ""))
        if isinstance(target, Attachment):
            return self._body.file(target, text=words or target.title, shows=True, size=size)
        if address and not self._open:
            return f'<a href="{escape(address)}" rel="noreferrer">{escape(words or address)}</a>'
        return f'<span class="missing">{escape(words)}</span>'


def _document(title: str, body: str, *, style: str | None) -> bytes:
    styles = f"<style>\n{STYLE}</style>" if style is None else f'<link rel="stylesheet" href="{style}">'
    head: Iterable[str] = (
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="referrer" content="no-referrer">',
        f"<title>{escape(title)}</title>",
        styles,
    )
    lines = "\n".join(head)
    page = f'<!doctype html>\n<html>\n<head>\n{lines}\n</head>\n<body dir="auto">\n{body}</body>\n</html>\n'
    return page.encode("utf-8", "replace")
