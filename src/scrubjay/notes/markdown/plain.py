"""Convert Markdown to plain text."""

import re
from collections.abc import Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token

__all__ = ["plain_text"]

_WIKI = re.compile(r"!?\[\[([^\[\]|]*)(?:\|([^\[\]]*))?\]\]")
_BLANKS = re.compile(r"\n{3,}")
_CELL = "\t"
# Longer texts take seconds to parse, so the rest keeps its markup.
_MAX_PARSED = 200_000


def plain_text(markdown: str) -> str:
    """Return the text without markup; code stays as it is."""
    end = len(markdown) if len(markdown) <= _MAX_PARSED else markdown.rfind("\n\n", 0, _MAX_PARSED)
    end = _MAX_PARSED if end < 0 else end
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    text = _BLANKS.sub("\n\n", "\n".join(_Reader().lines_of(parser.parse(markdown[:end])))).strip()
    return f"{text}{markdown[end:].rstrip()}"


class _Reader:
    """Collects the lines of a text; list items keep their bullets, which separate them."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._lists: list[int] = []
        self._lead = ""
        self._row: list[str] | None = None

    def lines_of(self, tokens: Sequence[Token]) -> list[str]:
        for token in tokens:
            if token.type == "inline":
                self._add(_words(token.children or ()))
            elif token.type in ("fence", "code_block"):
                self._lines += [*token.content.rstrip("\n").split("\n"), ""]
            elif token.type in ("bullet_list_open", "ordered_list_open"):
                self._lists.append(int(token.attrGet("start") or 1) if token.type.startswith("ordered") else 0)
            elif token.type == "list_item_open":
                number = self._lists[-1]
                self._lead = "  " * (len(self._lists) - 1) + (f"{number}. " if number else "- ")
                self._lists[-1] += 1 if number else 0
            elif token.type == "tr_open":
                self._row = []
            elif token.type == "tr_close":
                self._lines.append(_CELL.join(self._row or ()))
                self._row = None
            elif token.type.endswith("_close"):
                self._end(token)
        return self._lines

    def _add(self, words: str) -> None:
        if self._row is not None:
            self._row.append(words)
            return
        self._lines += [self._lead + line if line else line for line in words.split("\n")]
        self._lead = ""

    def _end(self, token: Token) -> None:
        is_list = token.type in ("bullet_list_close", "ordered_list_close")
        if is_list:
            self._lists.pop()
        ends_block = token.type in ("heading_close", "table_close", "blockquote_close") or (is_list and not self._lists)
        if ends_block or (token.type == "paragraph_close" and not token.hidden):
            self._lines.append("")


def _words(tokens: Sequence[Token]) -> str:
    text: list[str] = []
    for token in tokens:
        if token.type in ("text", "code_inline"):
            text.append(token.content)
        elif token.type == "image":
            text.append(_words(token.children or ()))
        elif token.type in ("softbreak", "hardbreak"):
            text.append("\n")
    return _WIKI.sub(lambda match: match[2] or match[1], "".join(text))
