"""A few words around what was found, in which it is shown."""

import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence

from scrubjay.text.matching import ClauseMatch

__all__ = ["snippet_of"]

_LENGTH = 160
# So far a cut moves to stand between words.
_REACH = 24
_ELLIPSIS = "…"
_MARK = "**"
_JOINER = "\u200d"
_FIRST_FLAG, _LAST_FLAG = "\U0001f1e6", "\U0001f1ff"
_FIRST_SKIN, _LAST_SKIN = "\U0001f3fb", "\U0001f3ff"


def snippet_of(text: str, places: Sequence[ClauseMatch], *, length: int = _LENGTH) -> str:
    """The part of a text in which the most different things stand that were looked for, or its beginning."""
    start, end = _window(text, places, length)
    inside = [place for place in places if start <= place.start and place.end <= end]
    shown = _marked(text, start, end, inside)
    before = _ELLIPSIS if text[:start].strip() else ""
    after = _ELLIPSIS if text[end:].strip() else ""
    return f"{before}{shown}{after}"


def _window(text: str, places: Sequence[ClauseMatch], length: int) -> tuple[int, int]:
    first, last = _densest(places, length) if places else (0, 0)
    spare = max(0, length - (last - first))
    # A little more of what comes after: it says what became of it.
    start = max(0, first - spare * 2 // 5) if places else 0
    end = min(len(text), max(start + length, last))
    start = max(0, min(start, end - length)) if places else 0
    start = _between(text, start, latest=first) if start else 0
    end = _between_back(text, end, earliest=last) if end < len(text) else end
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def _densest(places: Sequence[ClauseMatch], length: int) -> tuple[int, int]:
    """Where the most different clauses stand near each other, then the most of them, then the first."""
    best = (0, 0, 0)
    chosen = places[0].start, min(places[0].end, places[0].start + length)
    has: Counter[int] = Counter()
    tail = 0
    for head, place in enumerate(places):
        has[place.clause] += 1
        while tail < head and place.end - places[tail].start > length:
            has[places[tail].clause] -= 1
            tail += 1
        worth = sum(count > 0 for count in has.values()), head - tail + 1, -places[tail].start
        if worth > best or best == (0, 0, 0):
            best, chosen = worth, (places[tail].start, min(place.end, places[tail].start + length))
    return chosen


def _between(text: str, at: int, *, latest: int) -> int:
    """The beginning of a word, a little later than a place."""
    for place in range(at, min(at + _REACH, latest)):
        if text[place - 1].isspace():
            return place
    return _whole(text, at)


def _between_back(text: str, at: int, *, earliest: int) -> int:
    """The end of a word, a little earlier than a place."""
    for place in range(at, max(at - _REACH, earliest), -1):
        if text[place].isspace():
            return place
    return _whole(text, at)


def _whole(text: str, at: int) -> int:
    """The nearest place before, at which no letter is parted from its marks, and no picture from its others."""
    while 0 < at < len(text) and (_belongs(text[at]) or text[at - 1] == _JOINER or _is_in_flag(text, at)):
        at -= 1
    return at


def _belongs(sign: str) -> bool:
    return sign == _JOINER or unicodedata.category(sign)[0] == "M" or _FIRST_SKIN <= sign <= _LAST_SKIN


def _is_in_flag(text: str, at: int) -> bool:
    run = 0
    while run < at and _FIRST_FLAG <= text[at - 1 - run] <= _LAST_FLAG:
        run += 1
    return run % 2 == 1 and _FIRST_FLAG <= text[at] <= _LAST_FLAG


def _marked(text: str, start: int, end: int, places: Sequence[ClauseMatch]) -> str:
    parts: list[str] = []
    for place in places:
        parts.append(text[start : place.start])
        said = text[place.start : place.end]
        # What is bold already need not be made so.
        is_bold = text.startswith(_MARK, place.start - len(_MARK)) and text.startswith(_MARK, place.end)
        parts.append(said if is_bold else _MARK.join(_bold(said)))
        start = place.end
    return "".join((*parts, text[start:end]))


def _bold(said: str) -> Iterator[str]:
    """What was found with marks around it; of what begins to be bold within, as much as is not."""
    for number, part in enumerate(said.split(_MARK)):
        bare = part.strip()
        yield part if number % 2 or not bare else part.replace(bare, f"{_MARK}{bare}{_MARK}", 1)
