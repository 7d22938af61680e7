"""Snippets: a few words around the matches of a search, with the matches in bold."""

import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence

from scrubjay.text.clauses import ClauseMatch

__all__ = ["snippet_of"]

_LENGTH = 160
# A cut moves this far at most to lie between two words.
_MAX_SHIFT = 24
_ELLIPSIS = "…"
_BOLD = "**"
_JOINER = "\u200d"
_FIRST_FLAG, _LAST_FLAG = "\U0001f1e6", "\U0001f1ff"
_FIRST_SKIN, _LAST_SKIN = "\U0001f3fb", "\U0001f3ff"


def snippet_of(text: str, matches: Sequence[ClauseMatch], *, length: int = _LENGTH) -> str:
    """Return the part of a text that matches the most different clauses, or its beginning."""
    start, end = _window(text, matches, length)
    inside = [match for match in matches if start <= match.start and match.end <= end]
    shown = _mark_matches(text, start, end, inside)
    before = _ELLIPSIS if text[:start].strip() else ""
    after = _ELLIPSIS if text[end:].strip() else ""
    return f"{before}{shown}{after}"


def _window(text: str, matches: Sequence[ClauseMatch], length: int) -> tuple[int, int]:
    first, last = _densest_span(matches, length) if matches else (0, 0)
    spare = max(0, length - (last - first))
    # Show more of the text after a match than before it: it says what follows from it.
    start = max(0, first - spare * 2 // 5) if matches else 0
    end = min(len(text), max(start + length, last))
    start = max(0, min(start, end - length)) if matches else 0
    start = _next_word_start(text, start, latest=first) if start else 0
    end = _previous_word_end(text, end, earliest=last) if end < len(text) else end
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def _densest_span(matches: Sequence[ClauseMatch], length: int) -> tuple[int, int]:
    """Return the span with the most different clauses, then with the most matches, then the first one."""
    best = (0, 0, 0)
    span = matches[0].start, min(matches[0].end, matches[0].start + length)
    counts: Counter[int] = Counter()
    tail = 0
    for head, match in enumerate(matches):
        counts[match.clause] += 1
        while tail < head and match.end - matches[tail].start > length:
            counts[matches[tail].clause] -= 1
            tail += 1
        score = sum(count > 0 for count in counts.values()), head - tail + 1, -matches[tail].start
        if score > best or best == (0, 0, 0):
            best, span = score, (matches[tail].start, min(match.end, matches[tail].start + length))
    return span


def _next_word_start(text: str, at: int, *, latest: int) -> int:
    """Return the beginning of a word a little after a position."""
    for place in range(at, min(at + _MAX_SHIFT, latest)):
        if text[place - 1].isspace():
            return place
    return _character_start(text, at)


def _previous_word_end(text: str, at: int, *, earliest: int) -> int:
    """Return the end of a word a little before a position."""
    for place in range(at, max(at - _MAX_SHIFT, earliest), -1):
        if text[place].isspace():
            return place
    return _character_start(text, at)


def _character_start(text: str, at: int) -> int:
    """Return the nearest position before that separates no letter from its marks and splits no emoji."""
    while 0 < at < len(text) and (_continues(text[at]) or text[at - 1] == _JOINER or _is_in_flag(text, at)):
        at -= 1
    return at


def _continues(character: str) -> bool:
    return (
        character == _JOINER
        or unicodedata.category(character)[0] == "M"
        or _FIRST_SKIN <= character <= _LAST_SKIN
    )  # fmt: skip


def _is_in_flag(text: str, at: int) -> bool:
    run = 0
    while run < at and _FIRST_FLAG <= text[at - 1 - run] <= _LAST_FLAG:
        run += 1
    return run % 2 == 1 and _FIRST_FLAG <= text[at] <= _LAST_FLAG


def _mark_matches(text: str, start: int, end: int, matches: Sequence[ClauseMatch]) -> str:
    parts: list[str] = []
    for match in matches:
        parts.append(text[start : match.start])
        matched = text[match.start : match.end]
        is_bold = text.startswith(_BOLD, match.start - len(_BOLD)) and text.startswith(_BOLD, match.end)
        parts.append(matched if is_bold else _BOLD.join(_mark_parts(matched)))
        start = match.end
    return "".join((*parts, text[start:end]))


def _mark_parts(matched: str) -> Iterator[str]:
    """Put marks around a match; where bold begins or ends within it, only around the part that is not bold."""
    for number, part in enumerate(matched.split(_BOLD)):
        bare = part.strip()
        yield part if number % 2 or not bare else part.replace(bare, f"{_BOLD}{bare}{_BOLD}", 1)
