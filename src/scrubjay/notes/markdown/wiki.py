"""Find wiki links in Markdown and change their targets."""

import posixpath
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping

from scrubjay.lazy import dataclass
from scrubjay.notes.markdown.naming import link_target

__all__ = ["Mention", "best_match", "key_of", "mentions", "rename_targets", "retarget_links"]

# No pattern looks back or ahead beyond a link or a line, so hostile text takes no longer than other text.
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
# The number of spaces that may precede text that begins its line.
_MAX_INDENT = 3
_TICKS = re.compile("`+")
_BLANK = re.compile(r"\n[ \t]*\n")
_FENCE_LINE = re.compile(r"^[ \t>]{0,80}+(?P<fence>`{3,}|~{3,})[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """A link `[[target#heading|text]]` or an embed `![[target|text]]`, from `start` to `end` in the content.

    A link to a heading of the same note has no target.
    """

    target: str
    heading: str = ""
    text: str = ""
    embeds: bool = False
    start: int = 0
    end: int = 0


def mentions(content: str) -> tuple[Mention, ...]:
    """Return the wiki links of a content, in order, except in code, in comments, and after a backslash."""
    return tuple(_mention(match) for match in _links(content))


def retarget_links(content: str, targets: Mapping[str, str]) -> str:
    """Return the content with new link targets and no other change; every spelling of a target matches."""
    new_targets = {key_of(old): new for old, new in targets.items()}
    parts: list[str] = []
    done = 0
    for match in _links(content):
        target = _mention(match).target
        new = new_targets.get(key_of(target)) if target else None
        if new is not None:
            at = content.index(target, match.start("body"))
            parts += [content[done:at], new]
            done = at + len(target)
    return "".join([*parts, content[done:]])


def rename_targets(content: str, new_target: Callable[[Mention], str | None]) -> str:
    """Return the content with other targets for some links, which still show what they showed."""
    parts: list[str] = []
    done = 0
    for match in _links(content):
        mention = _mention(match)
        new = new_target(mention) if mention.target else None
        if new is not None:
            at = content.index(mention.target, match.start("body"))
            after = at + len(mention.target)
            parts += [content[done:at], new]
            done = after
            if not mention.text and not mention.embeds:
                heading = content[after : match.end() - 2]
                parts += [f"{heading}|{mention.target}"]
                done = match.end() - 2
    return "".join([*parts, content[done:]])


def key_of(target: str) -> str:
    """Normalise a target: case, Unicode composition, white space and `.md` make no difference."""
    plain = link_target(" ".join(unicodedata.normalize("NFC", target).split()))
    return unicodedata.normalize("NFC", plain.casefold())


def best_match(paths: Iterable[str], target: str, *, source: str) -> str | None:
    """Return the path that a link of a note means, by Obsidian's rules; `source` is the path of the linking note.

    The path from the root counts first (with `./` and `../`, that from the folder of the note), then files below that
    folder, then the shortest path.
    """
    folder = posixpath.dirname(source)
    plain = target.replace("\\", "/")
    key = key_of("/".join(part for part in plain.split("/") if part not in ("", ".", "..")))
    is_relative = plain.startswith(("./", "../"))
    exact = key_of(posixpath.normpath(posixpath.join(folder, plain))) if is_relative else key

    def rank(path: str) -> tuple[bool, bool, int, str]:
        return key_of(path) != exact, bool(folder) and not path.startswith(f"{folder}/"), len(path), path

    return min((path for path in paths if f"/{key_of(path)}".endswith(f"/{key}")), key=rank, default=None)


def _mention(match: re.Match[str]) -> Mention:
    place, _, text = match["body"].partition("|")
    # In a table, a backslash precedes the bar.
    target, _, heading = place.removesuffix("\\").partition("#")
    return Mention(
        target=target.strip(),
        heading=heading.strip(),
        text=text.strip(),
        embeds=bool(match["bang"]),
        start=match.start(),
        end=match.end(),
    )


def _links(content: str) -> Iterator[re.Match[str]]:
    if "[[" not in content:
        return
    reader = _Reader(content)
    at = 0
    while match := _TOKEN.search(content, at):
        at = match.end()
        if match["link"]:
            yield match
        elif match["fence"]:
            at = reader.after_fence(match["fence"], at)
        elif match["ticks"]:
            at = reader.after_code(match["ticks"], at)
        elif match["comment"]:
            at = reader.after_comment(at)


class _Reader:
    """Finds the ends of code and comments, which contain no links, in a single pass over the content."""

    def __init__(self, content: str) -> None:
        self._content = content
        self._ticks: dict[int, list[int]] | None = None
        self._fences: list[tuple[int, int, str]] | None = None
        self._paragraph = -1
        self._has_comment_end = True

    def after_fence(self, fence: str, at: int) -> int:
        """Return the position after the closing line of a fence; an unclosed fence extends to the end."""
        if self._fences is None:
            self._fences = [(item.start(), item.end(), item["fence"]) for item in _FENCE_LINE.finditer(self._content)]
        for number in range(bisect_left(self._fences, (at, 0, "")), len(self._fences)):
            _, end, closing = self._fences[number]
            if closing.startswith(fence):
                return end
        return len(self._content)

    def after_code(self, ticks: str, at: int) -> int:
        """Return the position after the matching backticks in the paragraph; without a match, they are plain text."""
        if self._ticks is None:
            self._ticks = {}
            for item in _TICKS.finditer(self._content):
                self._ticks.setdefault(len(item[0]), []).append(item.start())
        rows = self._ticks.get(len(ticks), [])
        index = bisect_left(rows, at)
        if index < len(rows) and rows[index] < self._paragraph_end(at):
            return rows[index] + len(ticks)
        return at

    def after_comment(self, at: int) -> int:
        """Return the position after a comment; an unclosed one is plain text, unless it begins its line."""
        end = self._content.find("-->", at) if self._has_comment_end else -1
        if end >= 0:
            return end + len("-->")
        self._has_comment_end = False
        start = at - len("<!--")
        line = self._content.rfind("\n", max(0, start - 4), start) + 1
        begins = (line or start <= _MAX_INDENT) and not self._content[line:start].strip(" ")
        return len(self._content) if begins else at

    def _paragraph_end(self, at: int) -> int:
        if at >= self._paragraph:
            blank = _BLANK.search(self._content, at)
            self._paragraph = blank.start() if blank else len(self._content)
        return self._paragraph
