"""The text of a memory as HTML: Markdown without raw HTML, without scripts, and without anything from other sites."""

from collections.abc import Sequence
from html import escape
from urllib.parse import urlsplit

from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markupsafe import Markup

from scrubjay.notes.export.markup import BOX, SCHEMES, WIKI, markdown, words_of
from scrubjay.surfaces.dashboard.addresses import memory_address

__all__ = ["MAX_RENDERED", "render_markdown"]

MAX_RENDERED = 100_000
"""The longest text that is rendered; a longer one is shown as it is, because rendering takes too long."""
# A page has one heading of the first level, its own.
_HEADINGS_BELOW = 2
_DEEPEST_HEADING = 6


def render_markdown(text: str, *, space: str = "") -> Markup:
    """Return a text as HTML that a page may contain."""
    parser = markdown()
    env: dict[str, object] = {}
    tokens = parser.parse(text, env)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1:]) + _HEADINGS_BELOW, _DEEPEST_HEADING)}"
    # The renderer escapes every text; raw HTML is text to this parser.
    return Markup(_Renderer(space).render(tokens, parser.options, env))  # noqa: S704


class _Renderer(RendererHTML):
    """Renders tokens; links lead to memories or to other sites, and pictures are never loaded."""

    def __init__(self, space: str) -> None:
        super().__init__()
        self._space = space
        self._open: list[str] = []
        self.rules |= {WIKI: self._wiki, BOX: self._box}

    def _wiki(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        del options, env
        meta = tokens[idx].meta
        target, text = str(meta["target"]), str(meta["text"] or meta["target"] or meta["heading"])
        if not target:
            return escape(text)
        return f'<a href="{escape(memory_address(target, space=self._space))}">{escape(text)}</a>'

    def _box(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        del options, env
        return "☑ " if tokens[idx].meta["done"] else "☐ "

    def link_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        """Begin a link to another site; any other becomes plain text."""
        del options, env
        address = _safe_address(str(tokens[idx].attrGet("href") or ""))
        self._open.append("a" if address else "span")
        return f'<a href="{escape(address)}" rel="noreferrer noopener">' if address else "<span>"

    def link_close(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        """End a link."""
        del tokens, idx, options, env
        return f"</{self._open.pop()}>"

    def image(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        """Render a picture as a link to it: loading it would tell its server who reads."""
        del options, env
        words, address = words_of(tokens[idx].children or ()), _safe_address(str(tokens[idx].attrGet("src") or ""))
        if not address or self._open:
            return escape(words)
        return f'<a href="{escape(address)}" rel="noreferrer noopener">{escape(words or address)}</a>'


def _safe_address(address: str) -> str:
    try:
        return address if urlsplit(address).scheme.lower() in SCHEMES else ""
    except ValueError:
        return ""
