"""Wiki links in Markdown: where they stand, what they name, and how they are given another target."""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from scrubjay.notes.markdown.naming import link_target

__all__ = ["Mention", "key_of", "mentions", "retargeted"]

# Nothing here looks back or ahead further than a link or a line, so that hostile text takes no longer than other text.
_TOKEN = re.compile(
    r"""
    ^(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t]){0,40}+(?P<fence>`{3,}(?=[^`\n]*$)|~{3,})
    |(?P<ticks>`+)
    |(?P<comment><!--)
    |\\(?:[^\n])
    |(?P<link>(?P<bang>!?)\[\[(?P<body>(?!\[)(?:[^\[\]\n]|\[(?!\[)|\](?!\]))++)\]\])
    """,
    re.VERBOSE | re.MULTILINE,
)
# Spaces before what still begins its line.
_DEEPEST = 3
_TICKS = re.compile("`+")
_BLANK = re.compile(r"\n[ \t]*\n")
_FENCE_LINE = re.compile(r"^[ \t>]{0,80}+(?P<fence>`{3,}|~{3,})[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """`[[target#heading|text]]`, or `![[target|text]]` where it embeds; `start` and `end` are its place in the content.

    A link to a heading of the same note has no target.
    """

    target: str
    heading: str = ""
    text: str = ""
    embeds: bool = False
    start: int = 0
    end: int = 0


def mentions(content: str) -> tuple[Mention, ...]:
    """The wiki links of a content, in order; not those in code, in comments, or after a backslash."""
    return tuple(_mention(results) for results in _links(content))


def retargeted(content: str, targets: Mapping[str, str]) -> str:
    """The content with other targets in its links, all else as it is; a target is known in every spelling."""
    expected = {key_of(old): new for old, new in targets.items()}
    parts: list[str] = []
    done = 0
    for results in _links(content):
        target = _mention(results).target
        new = expected.get(key_of(target)) if target else None
        if new is not None:
            at = content.index(target, results.start("body"))
            parts += [content[done:at], new]
            done = at + len(target)
    return "".join([*parts, content[done:]])


def key_of(target: str) -> str:
    """What two spellings of one target have in common: case, composition, white space and `.md` are not told apart."""
    plain = link_target(" ".join(unicodedata.normalize("NFC", target).split()))
    return unicodedata.normalize("NFC", plain.casefold())


def _mention(found: re.Match[str]) -> Mention:
    place, _, text = found["body"].partition("|")
    # In a table the stroke has a backslash before it.
    target, _, heading = place.removesuffix("\\").partition("#")
    return Mention(
        target=target.strip(),
        heading=heading.strip(),
        text=text.strip(),
        embeds=bool(found["bang"]),
        start=found.start(),
        end=found.end(),
    )


def _links(content: str) -> Iterator[re.Match[str]]:
    if "[[" not in content:
        return
    reader = _Reader(content)
    at = 0
    while results := _TOKEN.search(content, at):
        at = results.end()
        if results["link"]:
            yield results
        elif results["fence"]:
            at = reader.after_fence(results["fence"], at)
        elif results["ticks"]:
            at = reader.after_code(results["ticks"], at)
        elif results["comment"]:
            at = reader.after_comment(at)


class _Reader:
    """Where the things end in which nothing is a link; each is looked for once, from the front to the back."""

    def __init__(self, content: str) -> None:
        self._content = content
        self._ticks: dict[int, list[int]] | None = None
        self._fences: list[tuple[int, int, str]] | None = None
        self._paragraph = -1
        self._has_comment_end = True

    def after_fence(self, fence: str, at: int) -> int:
        """Behind the line that closes a fence; one that is never closed goes to the end."""
        if self._fences is None:
            self._fences = [(item.start(), item.end(), item["fence"]) for item in _FENCE_LINE.finditer(self._content)]
        for number in range(bisect_left(self._fences, (at, 0, "")), len(self._fences)):
            _, end, closing = self._fences[number]
            if closing.startswith(fence):
                return end
        return len(self._content)

    def after_code(self, ticks: str, at: int) -> int:
        """Behind the next row of as many backticks in the paragraph; without one they are nothing but themselves."""
        if self._ticks is None:
            self._ticks = {}
            for item in _TICKS.finditer(self._content):
                self._ticks.setdefault(len(item[0]), []).append(item.start())
        rows = self._ticks.get(len(ticks), [])
        next_one = bisect_left(rows, at)
        if next_one < len(rows) and rows[next_one] < self._paragraph_end(at):
            return rows[next_one] + len(ticks)
        return at

    def after_comment(self, at: int) -> int:
        """Behind the end of a comment; without one it is none, unless it begins its line."""
        end = self._content.find("-->", at) if self._has_comment_end else -1
        if end >= 0:
            return end + len("-->")
        self._has_comment_end = False
        start = at - len("<!--")
        line = self._content.rfind("\n", max(0, start - 4), start) + 1
        begins = (line or start <= _DEEPEST) and not self._content[line:start].strip(" ")
        return len(self._content) if begins else at

    def _paragraph_end(self, at: int) -> int:
        if at >= self._paragraph:
            results = _BLANK.search(self._content, at)
            self._paragraph = results.start() if results else len(self._content)
        return self._paragraph
