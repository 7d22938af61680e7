"""The part of YAML that nearly every frontmatter is written in, read line by line and quickly.

Whatever is not certain to mean the same to a real parser is left to it.
"""

import re
from functools import cache
from typing import NamedTuple

from scrubjay.notes.markdown.yaml_values import PRINTABLE, Entry, Scalar

__all__ = ["read_plainly"]

_DOUBLE = rf'"(?:(?!["\\])[{PRINTABLE}]|\\["\\/nrt]|\\u(?!d[89a-f])[0-9a-f]{{4}}|\\U000[0-9a-f]{{5}})*+"'
_SINGLE = rf"'(?:(?!')[{PRINTABLE}]|'')*+'"
_PLAIN = rf"\w(?:(?!:[ ]|:$|[ ]\#)[{PRINTABLE}])*(?<!\s)"
# Within brackets a comma, a bracket or a colon means something.
_PLAIN_ITEM = r"\w(?:[\w./+-]|[ ](?=[\w./+-]))*+"
_ITEM = rf"(?:{_DOUBLE}|{_SINGLE}|{_PLAIN_ITEM})"
_LIST = rf"\[[ ]?(?:{_ITEM}(?:,[ ]?{_ITEM})*+)?[ ]?\]"
_ONE = rf"(?P<double>{_DOUBLE})|(?P<single>{_SINGLE})"
_PAIR = rf"(?P<key>[A-Za-z_][A-Za-z0-9_-]{{0,100}}):(?:[ ]+(?:{_ONE}|(?P<list>{_LIST})|(?P<plain>{_PLAIN})))?[ ]*"
_DASH = rf"(?P<indent>[ ]*)-[ ]+(?:{_ONE}|(?P<plain>{_PLAIN}))[ ]*"
_EACH = rf"{_ONE}|(?P<plain>{_PLAIN_ITEM})"
_COMMENT = rf"#[{PRINTABLE}]*"
_ESCAPE = re.compile(r"\\(?:u(.{4})|U(.{8})|(.))")
_SHORT = {"n": "\n", "r": "\r", "t": "\t"}


def read_plainly(text: str) -> tuple[tuple[Entry, ...], str] | None:
    """The entries of a frontmatter and the lines after the last of them; None where it takes a parser to tell."""
    if text and not text.endswith("\n"):
        return None
    grammar = _grammar()
    entries: list[Entry] = []
    lines = text.split("\n")
    at, lead = 0, ""
    while at < len(lines) - 1:
        line = lines[at]
        at += 1
        if not line or grammar.comment.fullmatch(line):
            lead += line + "\n"
            continue
        results = grammar.pair.fullmatch(line)
        if not results:
            return None
        entry = _pair(results, lead)
        end = at
        if results.lastgroup == "key":
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
    """Compiled for the first note: that takes a while, and not everybody has notes."""
    return _Grammar(*map(re.compile, (_PAIR, _DASH, _EACH, _COMMENT)))


def _pair(found: re.Match[str], lead: str) -> Entry:
    kind = found.lastgroup or ""
    raw = found[0] + "\n"
    if kind == "key":
        return Entry(key=found["key"], raw=raw, value=Scalar("", is_plain=True), lead=lead)
    start, end = found.span(kind)
    value = tuple(_one(item) for item in _grammar().each.finditer(found[kind])) if kind == "list" else _one(found)
    return Entry(key=found["key"], raw=raw, value=value, lead=lead, start=start, end=end)


def _with_items(entry: Entry, lines: list[str]) -> Entry | None:
    """A key whose value is a list, an item to a line; None if one of them may be more than that."""
    dash = _grammar().dash
    items = [results for line in lines if (results := dash.fullmatch(line))]
    if len(items) < len(lines) or len({results["indent"] for results in items}) > 1:
        return None
    raw = entry.raw + "".join(line + "\n" for line in lines)
    return Entry(key=entry.key, raw=raw, value=tuple(_one(results) for results in items), lead=entry.lead)


def _one(found: re.Match[str]) -> Scalar:
    kind = found.lastgroup or ""
    text = found[kind]
    if kind == "plain":
        return Scalar(text, is_plain=True)
    if kind == "single":
        return Scalar(text[1:-1].replace("''", "'"))
    return Scalar(_ESCAPE.sub(_unescaped, text[1:-1]) if "\\" in text else text[1:-1])


def _unescaped(found: re.Match[str]) -> str:
    code = found[1] or found[2]
    return chr(int(code, 16)) if code else _SHORT.get(found[3], found[3])
