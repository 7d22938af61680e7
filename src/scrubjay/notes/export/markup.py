"""Markdown of notes, taken apart: with wiki links, embeds and task boxes, and without raw HTML."""

import re
from collections.abc import Sequence
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from scrubjay.text.slug import slug

__all__ = ["BOX", "WIKI", "anchor_of", "markdown", "sized", "words_of"]

WIKI = "wiki"
"""The kind of token that a wiki link is; its `meta` has target, heading, text, and whether and how large it embeds."""
BOX = "task_box"
"""The kind of token that the box of a task is; its `meta` says whether it is `done`."""
_LINK = re.compile(r"(!?)\[\[(?!\[)((?:[^\[\]\n]|\[(?!\[)|\](?!\]))++)\]\]")
_TASK = re.compile(r"\[([ xX])\][ \t]+")
# How wide, and how high: the last of what stands behind a bar.
_SIZE = re.compile(r"(?:(.*)\|)?[ \t]*(\d{1,5}(?:x\d{1,5})?)[ \t]*", re.DOTALL)
_BEFORE_PARAGRAPH = 2


@cache
def markdown() -> MarkdownIt:
    """The parser; it keeps nothing between two texts."""
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    parser.inline.ruler.before("link", WIKI, _wiki)
    parser.core.ruler.push(BOX, _boxes)
    return parser


def words_of(tokens: Sequence[Token]) -> str:
    """The words of what stands on a line."""
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
    """What a heading is called in an address; of `A#B`, the last counts, and a block (`^id`) has none."""
    last = heading.rpartition("#")[2].strip()
    return "" if last.startswith("^") else slug(last)


def sized(text: str) -> tuple[str, str]:
    """What is said of something embedded, and the size at which it is to be shown, as `300` or `300x200`."""
    results = _SIZE.fullmatch(text)
    return ((results[1] or "").strip(), results[2]) if results else (text, "")


def _wiki(state: StateInline, silent: bool) -> bool:
    sign = state.src[state.pos]
    if sign not in "![":
        return False
    results = _LINK.match(state.src, state.pos, state.posMax)
    if not results:
        return False
    if not silent:
        place, _, text = results[2].partition("|")
        target, _, heading = place.removesuffix("\\").partition("#")
        spoken, size = sized(text.strip()) if results[1] else (text.strip(), "")
        token = state.push(WIKI, "", 0)
        token.meta = {
            "target": target.strip(), "heading": heading.strip(), "text": spoken, "embeds": bool(results[1]),
            "size": size,
        }  # fmt: skip
    state.pos = results.end()
    return True


def _boxes(state: StateCore) -> None:
    """Make boxes of what begins the items of a list."""
    for at, token in enumerate(state.tokens):
        children = token.children
        if token.type != "inline" or not children or at < _BEFORE_PARAGRAPH:
            continue
        if state.tokens[at - 2].type != "list_item_open" or children[0].type != "text":
            continue
        results = _TASK.match(children[0].content)
        if results:
            children[0].content = children[0].content[results.end() :]
            children.insert(0, Token(BOX, "", 0, meta={"done": results[1] != " "}))
