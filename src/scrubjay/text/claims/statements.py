"""A text as statements: sentences, and what loses its meaning when it is taken apart, as one piece each."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

__all__ = [
    "TextStatement",
    "close_fence",
    "comparison_key",
    "gap_after",
    "join_statements",
    "split_statements",
    "statements_of",
]

_FENCE = re.compile(r"\s{0,3}(```+|~~~+)")
_ITEM = re.compile(r"\s{0,3}(?:[-*+\u2022]|\d{1,3}[.)])\s+\S")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s")
_WHOLE = re.compile(r"\s{0,3}(?:[|>]|#{1,6}\s)|\s{4}|\t")
# After a full stop, before what may begin a sentence.
_SENTENCE_END = re.compile(
    r"(?:(?<=[.!?\u2026])|(?<=[.!?][\"')\]\u201d\u2019*]))[ \t]*(?:\n[ \t]*|(?<=\s))(?=[^a-z\s,;:)\]])"
    # What would become a list or a heading at the beginning of a line is not cut off.
    r"(?![-*+#>|\u2022]|\d{1,3}[.)]\s)"
    r"|(?<=[\u3002\uff01\uff1f])"
)
# Where a sentence may end: only there is it tried.
_STOP = re.compile(r"[.!?\u2026][\"')\]\u201d\u2019*]?(?=[ \t\n])|[\u3002\uff01\uff1f]")
_ABBREVIATION = re.compile(
    r"(?<![^\s(\u3002\uff01\uff1f])(?:[A-Z]|[A-Za-z]\.[A-Za-z]|(?i:mr|mrs|ms|dr|prof|st|vs|etc|approx|fig|ca|cf|inc|ltd|jr|sr|sept?"
    r"|jan|feb|mar|apr|jun|jul|aug|oct|nov|dec))\.$"
)
# No abbreviation is longer.
_LONGEST_ABBREVIATION = 12
_RULE = re.compile(r"\s{0,3}-{3,}\s*")
# A number may be a day, and a sign before a figure belongs to it: they are part of what is said.
_MARK = re.compile(r"\s*[-*+\u2022]\s+(?![\d.])")
_FINAL_SIGNS = re.compile(r"(?<=[\w`\"')\]\u201d\u2019\u00bb])[.!\u2026\u3002\uff01]+$")
_FIRST_WORD = re.compile(r"[^\W\d_](?=[^\W\d_A-Z]*(?:[\s,']|$))")
_CODE = re.compile(r"\s{4}|\t")
# What is longer is a document, and is not kept in memory.
_LONGEST_KNOWN = 20_000
# Of these more are kept.
_SHORT = 500


@dataclass(frozen=True, slots=True)
class TextStatement:
    """One statement, and the number of the block it stands in: a paragraph, a list, a table, code."""

    text: str
    block: int
    # What stands between it and the next one of its block.
    joint: str = " "


def statements_of(text: str) -> tuple[str, ...]:
    """The statements of a text, in order."""
    if len(text) <= _SHORT:
        return _short(text)
    return _known(text) if len(text) <= _LONGEST_KNOWN else _split(text)


def split_statements(text: str) -> tuple[TextStatement, ...]:
    """The statements of a text with where they stand."""
    found: list[TextStatement] = []
    for number, block in enumerate(_blocks(text.splitlines())):
        if _is_whole(block):
            found.append(TextStatement(close_fence("\n".join(block).strip("\n")), number, "\n"))
        elif _ITEM.match(block[0]):
            found += [TextStatement(item, number, "\n") for item in _items(block)]
        else:
            found += [TextStatement(sentence, number) for sentence in _sentences("\n".join(block))]
    return tuple(one for one in found if one.text.strip() and not _RULE.fullmatch(one.text))


def join_statements(statements: Iterable[TextStatement]) -> str:
    """Statements as a text again, blocks apart."""
    text = ""
    last: TextStatement | None = None
    for statement in statements:
        text += (
            statement.text
            if last is None
            else (last.joint if statement.block == last.block else gap_after(last.text)) + statement.text
        )
        last = statement
    return text


def close_fence(text: str) -> str:
    """A text with the fence closed that it left open."""
    fence = _open_fence(text.splitlines())
    return f"{text}\n{fence}" if fence else text


def gap_after(text: str) -> str:
    """What must stand between a text and others so that each keeps its statements."""
    if not text.strip():
        return ""
    lines = text.splitlines()
    if fence := _open_fence(lines):
        return f"\n{fence}\n\n"
    last = next(line for line in reversed(lines) if line.strip())
    return "\n\n---\n\n" if _leads(last) else "\n\n"


def comparison_key(statement: str) -> str:
    """What makes a statement the same: not its first capital letter, white space, list mark or final full stop.

    All else may be what it is about: FOO=Bar is not FOO=bar, the 12th is not the 13th, and a question claims nothing.
    """
    if "```" in statement or "~~~" in statement or _CODE.match(statement):
        return "\n".join(line.rstrip() for line in statement.splitlines() if line.strip())
    mark = _MARK.match(statement)
    plain = " ".join(statement[mark.end() if mark else 0 :].split())
    plain = _FINAL_SIGNS.sub("", plain)
    return plain[0].lower() + plain[1:] if _FIRST_WORD.match(plain) else plain


def _split(text: str) -> tuple[str, ...]:
    return tuple(statement.text for statement in split_statements(text))


# Whoever compares texts asks for those of one many times in a row.
_known = lru_cache(maxsize=256)(_split)
_short = lru_cache(maxsize=2_048)(_split)


def _blocks(lines: list[str]) -> Iterator[list[str]]:
    """Lines that stand together; what leads to a block belongs to it, and a fence has its blank lines."""
    block: list[str] = []
    fence = ""
    # Kept beside the block: whoever looked through it at each line would need long for a long one.
    whole = False
    for line in lines:
        if fence:
            block.append(line)
            if _closes(line, fence):
                yield block
                block, fence = [], ""
            continue
        if not line.strip():
            if block and not _leads(block[-1]):
                yield block
                block = []
            continue
        if _RULE.fullmatch(line):
            if block:
                yield block
            block = []
            continue
        if block and _starts_block(line, block, whole=whole):
            yield block
            block = []
        whole = _makes_whole(line) if not block else whole or _holds_fence(line) or _leads(block[-1])
        block.append(line)
        opened = _FENCE.match(line)
        fence = opened[1] if opened else ""
    if block:
        yield block


def _closes(line: str, fence: str) -> bool:
    found = _FENCE.match(line)
    return bool(found) and found[1].startswith(fence) and not line.strip().strip("`~")


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
    starts = bool(_FENCE.match(line) or _HEADING.match(line))
    return starts or (bool(_ITEM.match(line)) and not _ITEM.match(block[0]) and not whole)


def _leads(line: str) -> bool:
    return bool(_HEADING.match(line)) or line.rstrip(" *_").endswith(":")


def _is_whole(block: list[str]) -> bool:
    """Whether a block loses its meaning in pieces: code, tables, quotations, and what something leads to."""
    return _makes_whole(block[0]) or any(map(_holds_fence, block)) or any(map(_leads, block[:-1]))


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


def _sentences(paragraph: str) -> Iterator[str]:
    start = 0
    for stop in _STOP.finditer(paragraph):
        found = _SENTENCE_END.match(paragraph, stop.end())
        if found is None:
            continue
        end = found.start()
        if _ABBREVIATION.search(paragraph, max(start, end - _LONGEST_ABBREVIATION), end):
            continue
        if before := paragraph[start:end].strip():
            yield before
            start = found.end()
    if rest := paragraph[start:].strip():
        yield rest
