"""What a file of another program says in its own way: tags in the text, and the time of creation under many keys."""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from scrubjay.errors import InvalidInput
from scrubjay.model.timestamps import parse_moment
from scrubjay.notes.markdown.aliases import texts_of
from scrubjay.notes.markdown.yaml_values import FrontmatterEntry

__all__ = ["creation_time_in", "inline_tags", "outside_code"]

_CREATED = ("created", "date", "date created", "creation date", "created_on", "date_created")
_TAG = re.compile(r"(?<![^\s(\[,;])#([\w/-]*[^\W\d_][\w/-]*)")
_FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})")
_TICKS = re.compile(r"(`+)[^`\n]*\1|<!--")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}$")


def inline_tags(content: str) -> tuple[str, ...]:
    """Return the `#tags` of a text by Obsidian's rules: no code, headings or numbers."""
    if "#" not in content:
        return ()
    tags = (tag[1] for start, end in outside_code(content) for tag in _TAG.finditer(content, start, end))
    return tuple(dict.fromkeys(tidy for tag in tags if (tidy := tag.strip("/-"))))


def outside_code(content: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of a text outside code and comments, line by line."""
    fence = ""
    at = 0
    for line in content.splitlines(keepends=True):
        start, at = at, at + len(line)
        match = _FENCE.match(line)
        if fence:
            if match and match[1].startswith(fence) and not line[match.end() :].strip():
                fence = ""
            continue
        if match:
            fence = match[1]
            continue
        for first, last in _code_spans(line):
            yield start, at - len(line) + first
            start = at - len(line) + last
        yield start, at


def _code_spans(line: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of code and comments in a line."""
    # The end of a comment is searched for once, not again for each beginning.
    last_end, at = line.rfind("-->"), 0
    while match := _TICKS.search(line, at):
        at = match.end()
        if match[1]:
            yield match.span()
        elif at <= last_end:
            at = line.index("-->", at) + len("-->")
            yield match.start(), at


def creation_time_in(entries: Sequence[FrontmatterEntry]) -> datetime | None:
    """Return the time of creation under one of the keys that people and plugins use for it."""
    for key in _CREATED:
        for text in texts_of(entries, key):
            try:
                if _DAY.match(text):
                    return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
                return parse_moment(text.replace(" ", "T", 1), field=key)
            except (InvalidInput, ValueError):
                continue
    return None
