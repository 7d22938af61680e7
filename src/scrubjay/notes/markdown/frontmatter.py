"""Parse the YAML frontmatter of a file and keep its lines as they are.

A few patterns parse our own files and most others, line by line. They agree with the full parser, which parses the
rest, and leave any text to it that it might read differently.
"""

import re
from functools import cache
from typing import NamedTuple

from scrubjay.notes.markdown.note import unreadable
from scrubjay.notes.markdown.yaml_values import PRINTABLE, Frontmatter, FrontmatterEntry, Scalar

__all__ = ["parse_frontmatter", "parse_simple_yaml"]

_DOUBLE = rf'"(?:(?!["\\])[{PRINTABLE}]|\\["\\/nrt]|\\u(?!d[89a-f])[0-9a-f]{{4}}|\\U000[0-9a-f]{{5}})*+"'
_SINGLE = rf"'(?:(?!')[{PRINTABLE}]|'')*+'"
_PLAIN = rf"\w(?:(?!:[ ]|:$|[ ]\#)[{PRINTABLE}])*(?<!\s)"
# Inside brackets, commas, brackets and colons are syntax.
_PLAIN_ITEM = r"\w(?:[\w./+-]|[ ](?=[\w./+-]))*+"
_ITEM = rf"(?:{_DOUBLE}|{_SINGLE}|{_PLAIN_ITEM})"
_LIST = rf"\[[ ]?(?:{_ITEM}(?:,[ ]?{_ITEM})*+)?[ ]?\]"
_QUOTED = rf"(?P<double>{_DOUBLE})|(?P<single>{_SINGLE})"
_PAIR = rf"(?P<key>[A-Za-z_][A-Za-z0-9_-]{{0,100}}):(?:[ ]+(?:{_QUOTED}|(?P<list>{_LIST})|(?P<plain>{_PLAIN})))?[ ]*"
_DASH = rf"(?P<indent>[ ]*)-[ ]+(?:{_QUOTED}|(?P<plain>{_PLAIN}))[ ]*"
_EACH = rf"{_QUOTED}|(?P<plain>{_PLAIN_ITEM})"
_COMMENT = rf"#[{PRINTABLE}]*"
_ESCAPE = re.compile(r"\\(?:u(.{4})|U(.{8})|(.))")
_SHORT = {"n": "\n", "r": "\r", "t": "\t"}


def parse_frontmatter(text: str) -> Frontmatter:
    """Parse the entries of a frontmatter; raises NoteUnreadable."""
    simple = parse_simple_yaml(text)
    if simple:
        head = Frontmatter(raw=text, entries=simple[0], tail=simple[1])
    else:
        # Few files need the parser, so it is loaded on first use.
        from scrubjay.notes.markdown.yaml_parser import parse_full_yaml  # noqa: PLC0415

        head = parse_full_yaml(text)
    seen: set[str] = set()
    # The first line of the file is the opening delimiter.
    first = line = 2
    for entry in head.entries:
        if entry.key in seen:
            where = first if head.is_odd else line + entry.lead.count("\n")
            raise unreadable(f"the frontmatter has the key {entry.key[:80]!r} twice", line=where)
        seen.add(entry.key)
        line += entry.text.count("\n")
    return head


def parse_simple_yaml(text: str) -> tuple[tuple[FrontmatterEntry, ...], str] | None:
    """Return the entries of a frontmatter and the lines after the last entry; None if it needs the full parser."""
    if text and not text.endswith("\n"):
        return None
    grammar = _grammar()
    entries: list[FrontmatterEntry] = []
    lines = text.split("\n")
    at, lead = 0, ""
    while at < len(lines) - 1:
        line = lines[at]
        at += 1
        if not line or grammar.comment.fullmatch(line):
            lead += line + "\n"
            continue
        match = grammar.pair.fullmatch(line)
        if not match:
            return None
        entry = _pair(match, lead)
        end = at
        if match.lastgroup == "key":
            while end < len(lines) and lines[end].lstrip(" ").startswith("-"):
                end += 1
        if end > at:
            entry = _with_items(entry, lines[at:end])
            if not entry:
                return None
        entries.append(entry)
        at, lead = end, ""
    return tuple(entries), lead


class _Grammar(NamedTuple):
    pair: re.Pattern[str]
    dash: re.Pattern[str]
    each: re.Pattern[str]
    comment: re.Pattern[str]


@cache
def _grammar() -> _Grammar:
    """Compile the patterns on first use: that is slow, and not every installation has notes."""
    return _Grammar(*map(re.compile, (_PAIR, _DASH, _EACH, _COMMENT)))


def _pair(match: re.Match[str], lead: str) -> FrontmatterEntry:
    kind = match.lastgroup or ""
    raw = match[0] + "\n"
    if kind == "key":
        return FrontmatterEntry(key=match["key"], raw=raw, value=Scalar("", is_plain=True), lead=lead)
    start, end = match.span(kind)
    value = tuple(_scalar(item) for item in _grammar().each.finditer(match[kind])) if kind == "list" else _scalar(match)
    return FrontmatterEntry(key=match["key"], raw=raw, value=value, lead=lead, start=start, end=end)


def _with_items(entry: FrontmatterEntry, lines: list[str]) -> FrontmatterEntry | None:
    """Return an entry with a list of an item per line; None if a line may be anything else."""
    dash = _grammar().dash
    items = [item for line in lines if (item := dash.fullmatch(line))]
    if len(items) < len(lines) or len({item["indent"] for item in items}) > 1:
        return None
    raw = entry.raw + "".join(line + "\n" for line in lines)
    return FrontmatterEntry(key=entry.key, raw=raw, value=tuple(_scalar(item) for item in items), lead=entry.lead)


def _scalar(match: re.Match[str]) -> Scalar:
    kind = match.lastgroup or ""
    text = match[kind]
    if kind == "plain":
        return Scalar(text, is_plain=True)
    if kind == "single":
        return Scalar(text[1:-1].replace("''", "'"))
    return Scalar(_ESCAPE.sub(_unescape, text[1:-1]) if "\\" in text else text[1:-1])


def _unescape(match: re.Match[str]) -> str:
    code = match[1] or match[2]
    return chr(int(code, 16)) if code else _SHORT.get(match[3], match[3])
