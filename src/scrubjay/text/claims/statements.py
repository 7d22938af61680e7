"""Statements of a text: its sentences, and each block that loses its meaning when it is cut, as one statement."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from scrubjay.lazy import regex
from scrubjay.text.claims.extract import claims_of
from scrubjay.text.claims.words import QUALIFIERS

__all__ = [
    "TextStatement", "close_fence", "comparison_key", "gap_after", "join_statements", "parts_of", "split_statements",
    "statements_of",
]  # fmt: skip

_FENCE = regex(r"\s{0,3}(```+|~~~+)")
_ITEM = regex(r"\s{0,3}(?:[-*+\u2022]|\d{1,3}[.)])\s+\S")
_HEADING = regex(r"\s{0,3}#{1,6}\s")
_WHOLE = regex(r"\s{0,3}(?:[|>]|#{1,6}\s)|\s{4}|\t")
# After a full stop, before what may begin a sentence.
_SENTENCE_END = regex(
    r"(?:(?<=[.!?\u2026])|(?<=[.!?][\"')\]\u201d\u2019*]))[ \t]*(?:\n[ \t]*|(?<=\s))(?=[^a-z\s,;:)\]])"
    # No cut before a sign that would begin a list or a heading in a new line.
    r"(?![-*+#>|\u2022]|\d{1,3}[.)]\s)"
    r"|(?<=[\u3002\uff01\uff1f])"
)
# A sentence can end only here, which is cheap to find.
_STOP = regex(r"[.!?\u2026][\"')\]\u201d\u2019*]?(?=[ \t\n])|[\u3002\uff01\uff1f]")
_ABBREVIATION = regex(
    r"(?<![^\s(\u3002\uff01\uff1f])(?:[A-Z]|[A-Za-z]\.[A-Za-z]|(?i:mr|mrs|ms|dr|prof|st|vs|etc|approx|fig|ca|cf|inc|ltd|jr|sr|sept?"
    r"|jan|feb|mar|apr|jun|jul|aug|oct|nov|dec))\.$"
)
_MAX_ABBREVIATION = 12
_RULE = regex(r"\s{0,3}-{3,}\s*")
# Not before a figure: the sign may belong to it, as in -5.
_MARK = regex(r"\s*[-*+\u2022]\s+(?![\d.])")
_FINAL_SIGNS = regex(r"(?<=[\w`\"')\]\u201d\u2019\u00bb])[.!\u2026\u3002\uff01]+$")
_FIRST_WORD = regex(r"[^\W\d_](?=[^\W\d_A-Z]*(?:[\s,']|$))")
_CODE = regex(r"\s{4}|\t")
# A longer text is a document, which is not cached.
_MAX_CACHED_TEXT = 20_000
# The cache for short texts is larger.
_SHORT_TEXT = 500


class TextStatement(NamedTuple):
    """One statement, the number of its block (a paragraph, a list, a table, code), and what separates it from the next.

    The separator is the one within its block.
    """

    text: str
    block: int
    joint: str = " "


def statements_of(text: str) -> tuple[str, ...]:
    """Return the statements of a text, in order."""
    if len(text) <= _SHORT_TEXT:
        return _short_texts(text)
    return _long_texts(text) if len(text) <= _MAX_CACHED_TEXT else _split(text)


def split_statements(text: str) -> tuple[TextStatement, ...]:
    """Return the statements of a text with their blocks."""
    return tuple(
        [
            TextStatement(statement, number, joint)
            for number, block in enumerate(_blocks(text.splitlines()))
            for statements, joint in [_split_block(block)]
            for statement in statements
        ]
    )


def join_statements(statements: Iterable[TextStatement]) -> str:
    """Return statements as a text, with a gap between blocks."""
    text = ""
    last: TextStatement | None = None
    for statement in statements:
        if last is not None:
            text += last.joint if statement.block == last.block else gap_after(last.text)
        text += statement.text
        last = statement
    return text


def close_fence(text: str) -> str:
    """Return a text with its last code fence closed."""
    fence = _open_fence(text.splitlines())
    return f"{text}\n{fence}" if fence else text


def gap_after(text: str) -> str:
    """Return the separator that keeps the statements of a text apart from those of the next one."""
    if not text.strip():
        return ""
    lines = text.splitlines()
    if fence := _open_fence(lines):
        return f"\n{fence}\n\n"
    last = next(line for line in reversed(lines) if line.strip())
    return "\n\n---\n\n" if _leads(last) else "\n\n"


def comparison_key(statement: str) -> str:
    """Return a statement without its first capital letter, white space, list mark and final full stop.

    All else may matter: FOO=Bar is not FOO=bar, the 12th is not the 13th, and a question claims nothing.
    """
    if "```" in statement or "~~~" in statement or _CODE.match(statement):
        return "\n".join(line.rstrip() for line in statement.splitlines() if line.strip())
    mark = _MARK.match(statement)
    plain = " ".join(statement[mark.end() if mark else 0 :].split())
    plain = _FINAL_SIGNS.sub("", plain)
    return plain[0].lower() + plain[1:] if _FIRST_WORD.match(plain) else plain


def _split(text: str) -> tuple[str, ...]:
    return tuple([statement for block in _blocks(text.splitlines()) for statement in _split_block(block)[0]])


def _split_block(block: list[str]) -> tuple[list[str], str]:
    """Return the statements of a block, and what separates them."""
    if len(block) == 1 and _is_prose(block[0]):
        return _sentences(block[0]), " "
    if _is_whole(block):
        statements, joint = [close_fence("\n".join(block).strip("\n"))], "\n"
    elif _ITEM.match(block[0]):
        statements, joint = list(_items(block)), "\n"
    else:
        statements, joint = _sentences("\n".join(block)), " "
    return [each for each in statements if each.strip() and not ("---" in each and _RULE.fullmatch(each))], joint


# A comparison asks for the statements of one text many times in a row.
_long_texts = lru_cache(maxsize=256)(_split)
_short_texts = lru_cache(maxsize=2_048)(_split)


def _blocks(lines: list[str]) -> Iterator[list[str]]:
    """Return lines that belong together: a line that leads to a block with it, and a fence with its blank lines."""
    block: list[str] = []
    fence = ""
    # Kept beside the block: a test of all its lines at each line would be quadratic.
    whole = False
    for line in lines:
        if fence:
            block.append(line)
            if _closes(line, fence):
                yield block
                block, fence = [], ""
            continue
        if not line or line.isspace():
            if block and not _leads(block[-1]):
                yield block
                block = []
            continue
        is_prose = line[0].isalpha()
        if not is_prose and "---" in line and _RULE.fullmatch(line):
            if block:
                yield block
            block = []
            continue
        if block and not is_prose and _starts_block(line, block, whole=whole):
            yield block
            block = []
        if block:
            whole = whole or _holds_fence(line) or _leads(block[-1])
        else:
            whole = _holds_fence(line) if is_prose else _makes_whole(line)
        block.append(line)
        opened = _FENCE.match(line) if not is_prose and _holds_fence(line) else None
        fence = opened[1] if opened else ""
    if block:
        yield block


def _closes(line: str, fence: str) -> bool:
    match = _FENCE.match(line)
    return bool(match) and match[1].startswith(fence) and not line.strip().strip("`~")


def _open_fence(lines: Iterable[str]) -> str:
    fence = ""
    for line in lines:
        if fence:
            fence = "" if _closes(line, fence) else fence
        elif opened := _FENCE.match(line):
            fence = opened[1]
    return fence


def _starts_block(line: str, block: list[str], *, whole: bool) -> bool:
    if _leads(block[-1]):
        return False
    starts = (_holds_fence(line) and bool(_FENCE.match(line))) or ("#" in line and bool(_HEADING.match(line)))
    return starts or (bool(_ITEM.match(line)) and not _ITEM.match(block[0]) and not whole)


def _leads(line: str) -> bool:
    return ("#" in line and bool(_HEADING.match(line))) or (":" in line and line.rstrip(" *_").endswith(":"))


def _is_whole(block: list[str]) -> bool:
    """Return whether a block loses its meaning when cut: code, tables, quotations, and lines that a line leads to."""
    return _makes_whole(block[0]) or any(map(_holds_fence, block)) or any(map(_leads, block[:-1]))


def _is_prose(line: str) -> bool:
    """Return whether a line begins with a letter, as most do, and so begins no rule, list, table, heading or code."""
    return line[0].isalpha() and not _holds_fence(line)


def _makes_whole(first: str) -> bool:
    return bool(_WHOLE.match(first)) or _holds_fence(first)


def _holds_fence(line: str) -> bool:
    return "```" in line or "~~~" in line


def _items(block: list[str]) -> Iterator[str]:
    item: list[str] = []
    for line in block:
        if _ITEM.match(line) and item:
            yield "\n".join(item)
            item = []
        item.append(line)
    yield "\n".join(item)


def _sentences(paragraph: str) -> list[str]:
    if _STOP.search(paragraph) is None:
        return [rest] if (rest := paragraph.strip()) else []
    sentences: list[str] = []
    start = 0
    for stop in _STOP.finditer(paragraph):
        gap = _SENTENCE_END.match(paragraph, stop.end())
        if gap is None:
            continue
        end = gap.start()
        is_dot = paragraph[end - 1] == "."
        if is_dot and _ABBREVIATION.search(paragraph, max(start, end - _MAX_ABBREVIATION), end):
            continue
        if before := paragraph[start:end].strip():
            sentences.append(before)
            start = gap.end()
    if rest := paragraph[start:].strip():
        sentences.append(rest)
    return sentences


# A shorter part may mean anything.
_MIN_PART_WORDS = 3
_MAX_STATEMENT = 1_000
_STAMP = r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?Z?)?"
_OPENER = regex(
    rf"(?:\[{_STAMP}\]\s*|{_STAMP}\s*[:\u2013\u2014-]\s+)?"
    r"(?:(?:note|update|fyi|reminder|important|info|remember|fact)(?::\s+|\s+that\s+))?(?:(?:also|and),?\s+)?",
    re.IGNORECASE,
)
_WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|yesterday|today|last\s(?:week|month|year)"
_CLOSER = regex(
    rf"(?:,?\s+(?:too|as\swell)|\s+\({_STAMP}\)|,?\s+(?:since|as\sof)\s(?:{_STAMP}|\d{{4}}|{_WEEKDAY}))[.!]*$",
    re.IGNORECASE,
)
_JOINT = regex(r",\s+and\s+", re.IGNORECASE)
# With one of these, a comma does not show where a clause ends.
_NESTED = regex(r"[\"\u201c\u201d\u00ab\u00bb`()\[\]{}|<>\n]")


def parts_of(statement: str) -> Iterator[str]:
    """Return parts that claim the same alone as in the statement; it is better to return too few.

    They are the statement without a note before it or a date after it, and its first clause.
    """
    if len(statement) > _MAX_STATEMENT or "\n" in statement.strip() or statement.rstrip().endswith("?"):
        return
    bare = statement.strip()
    opener = _OPENER.match(bare)
    opened = bare[opener.end() if opener else 0 :]
    for text in (opened, _CLOSER.sub("", bare, count=1), _CLOSER.sub("", opened, count=1), _first_clause(opened)):
        if text != bare and len(text.split()) >= _MIN_PART_WORDS:
            yield text


def _first_clause(statement: str) -> str:
    joint = _JOINT.search(statement)
    if joint is None or _NESTED.search(statement):
        return ""
    rest = claims_of(statement[joint.end() :])
    is_qualified = rest.negations or rest.states or not QUALIFIERS.isdisjoint(rest.words)
    return "" if is_qualified else statement[: joint.start()]
