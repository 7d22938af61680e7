"""A Markdown parser for notes: with wiki links, embeds and task boxes, and without raw HTML."""

import re
from collections.abc import Sequence
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from scrubjay.text.slug import slug

__all__ = ["BOX", "SCHEMES", "WIKI", "anchor_of", "markdown", "split_size", "words_of"]

WIKI = "wiki"
"""The token type of a wiki link; its `meta` has target, heading, text, embeds and size."""
BOX = "task_box"
"""The token type of a task's checkbox; its `meta` has `done`."""
SCHEMES = ("http", "https", "mailto", "tel")
"""The schemes of the external links that an export keeps."""
_LINK = re.compile(r"(!?)\[\[(?!\[)((?:[^\[\]\n]|\[(?!\[)|\](?!\]))++)\]\]")
_TASK = re.compile(r"\[([ xX])\][ \t]+")
# Width and height: the part after the last bar.
_SIZE = re.compile(r"(?:(.*)\|)?[ \t]*(\d{1,5}(?:x\d{1,5})?)[ \t]*", re.DOTALL)
_BEFORE_PARAGRAPH = 2


@cache
def markdown() -> MarkdownIt:
    """Return the parser, which has no state between texts."""
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    parser.inline.ruler.before("link", WIKI, _wiki)
    parser.core.ruler.push(BOX, _boxes)
    return parser


def words_of(tokens: Sequence[Token]) -> str:
    """Return the plain text of inline tokens."""
    text: list[str] = []
    for token in tokens:
        if token.type in ("text", "code_inline"):
            text.append(token.content)
        elif token.type == WIKI:
            text.append(str(token.meta["text"] or token.meta["target"] or token.meta["heading"]))
        elif token.type == "image":
            text.append(words_of(token.children or ()))
        elif token.type in ("softbreak", "hardbreak"):
            text.append(" ")
    return "".join(text)


def anchor_of(heading: str) -> str:
    """Return the URL fragment of a heading: the last part of `A#B`; empty for a block (`^id`)."""
    last = heading.rpartition("#")[2].strip()
    return "" if last.startswith("^") else slug(last)


def split_size(text: str) -> tuple[str, str]:
    """Split the text of an embed into its caption and its size, such as `300` or `300x200`."""
    match = _SIZE.fullmatch(text)
    return ((match[1] or "").strip(), match[2]) if match else (text, "")


def _wiki(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] not in "![":
        return False
    match = _LINK.match(state.src, state.pos, state.posMax)
    if not match:
        return False
    if not silent:
        place, _, text = match[2].partition("|")
        target, _, heading = place.removesuffix("\\").partition("#")
        label, size = split_size(text.strip()) if match[1] else (text.strip(), "")
        token = state.push(WIKI, "", 0)
        token.meta = {
            "target": target.strip(), "heading": heading.strip(), "text": label, "embeds": bool(match[1]),
            "size": size,
        }  # fmt: skip
    state.pos = match.end()
    return True


def _boxes(state: StateCore) -> None:
    """Replace `[ ]` and `[x]` at the start of list items with checkbox tokens."""
    for at, token in enumerate(state.tokens):
        children = token.children
        if token.type != "inline" or not children or at < _BEFORE_PARAGRAPH:
            continue
        if state.tokens[at - 2].type != "list_item_open" or children[0].type != "text":
            continue
        match = _TASK.match(children[0].content)
        if match:
            children[0].content = children[0].content[match.end() :]
            children.insert(0, Token(BOX, "", 0, meta={"done": match[1] != " "}))
