"""Chat logs line by line: the speaker before a colon, and perhaps the time before the speaker."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from scrubjay.extraction.sentences import FACT_WORDS
from scrubjay.extraction.timestamps import parse_timestamp_text
from scrubjay.model.fact import Turn

__all__ = ["read_lines"]

_DATE = r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4},?"
_CLOCK = r"\s?\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:[\s\u202f]?[APap]\.?[Mm]\.?)?Z?(?:[+-]\d\d:?\d\d)?"
_TIME = rf"(?:{_DATE}(?:[T ]{_CLOCK})?|\d{{1,2}}:\d{{2}}(?::\d{{2}})?(?:[\s\u202f]?[APap]\.?[Mm]\.?)?)"
_STAMP = rf"(?:[\u200e\u200f]*[\[(]([^\])\n]{{1,60}})[\])]\s*(?:[-\u2013]\s+)?|({_TIME})\s*(?:[-\u2013|]\s*)?)"
_NAME = r"~?\s?([^\W\d_][^:\n*\[\](){}<>\"`?!;=/\\|]{0,39})"
_SPOKEN = re.compile(rf"\s{{0,3}}(?:[-*]\s+)?{_STAMP}?(?:\*\*|__)?{_NAME}(?:\*\*|__)?\s?:(?:\*\*|__)?(?:\s+|$)(.*)$")
# Other notations: `<Ann> text`, `Ann (10:15): text`.
_ANGLED = re.compile(rf"\s{{0,3}}{_STAMP}?<[@+%~ ]?{_NAME}>\s+(.*)$")
_TIMED = re.compile(rf"\s{{0,3}}(?:\*\*)?{_NAME}[\[(]({_TIME})[\])](?:\*\*)?\s?:(?:\*\*)?(?:\s+|$)(.*)$")
# Exports of phones: after a day and a time, a number is a name, and so is a text with signs in it.
_MARKED = rf"[\u200e\u200f\s]{{0,3}}(?:\[({_DATE}[T ]{_CLOCK})\]\s?|({_DATE}[T ]{_CLOCK})\s?[-\u2013]\s)"
_PHONED = re.compile(rf"{_MARKED}([^:\n]{{1,60}}?):\s(.*)$")
_HEADED = re.compile(r"\s{0,3}#{1,6}\s{1,3}\W{0,5}([A-Za-z]{1,20})\W{0,5}$")
# A notice of the chat itself: a new member, encrypted messages.
_STAMPED = re.compile(rf"\s{{0,3}}[\[(]?{_TIME}[\])]?\s*[-\u2013]\s|{_MARKED}")
# Invisible signs around names, and before the phone's own notices.
_UNSEEN = "\u200e\u200f\u202a\u202c\u2068\u2069\u00a0 ~"
_NOTICE_SIGN = "\u200e"
_REMARK = re.compile(rf"{_NOTICE_SIGN}<[^<>\n]{{1,60}}>")
_FENCE = re.compile(r"\s{0,3}(?:```|~~~)")
_ROLES = FACT_WORDS.words("assistants") | FACT_WORDS.words("machines") | {"user", "human", "me", "you"}
_SPEAKERS_BY_ROLE = {"human": "user", "me": "user", "you": "user"}
# Words before a colon that are no speakers.
_LABELS = FACT_WORDS.words("labels")
_MAX_NAME_WORDS = 4


# The time, the speaker and the words of a line.
_Spoken = tuple[str, str, str]


class _Line(NamedTuple):
    """A line, whether it is code, the role that it names as a heading, and what it says if it names its speaker."""

    text: str
    is_code: bool
    heading: str | None = None
    spoken: _Spoken | None = None


_EMPTY = {is_code: _Line("", is_code) for is_code in (False, True)}


@dataclass(slots=True)
class _OpenTurn:
    """A turn whose lines are still being read."""

    speaker: str
    at: datetime | None
    lines: list[str] = field(default_factory=list[str])


def read_lines(text: str) -> Iterator[Turn]:
    """Return the turns in order; without speakers, each line is a turn of one speaker with an empty name."""
    lines = [
        (_Line(line, is_code) if is_code else _Line(line, is_code, _role_heading(line), _parse_line(line)))
        if line
        else _EMPTY[is_code]
        for line, is_code in _mark_code(text.splitlines())
    ]
    number = 1
    for turn in _read_turns(lines, speakers=_find_speakers(lines)):
        if words := _without_remarks("\n".join(turn.lines)).strip():
            yield Turn(speaker=turn.speaker, text=words, id=str(number), at=turn.at)
            number += 1


def _without_remarks(text: str) -> str:
    return _REMARK.sub("", text) if _NOTICE_SIGN in text else text


def _find_speakers(lines: Sequence[_Line]) -> frozenset[str]:
    """Return the speakers: words before a colon that look like a name, or that are repeated."""
    counts: Counter[str] = Counter()
    for _, is_code, heading, spoken in lines:
        if is_code:
            continue
        if heading is not None:
            counts[heading] += 1
        if spoken and _may_speak(spoken[1]):
            counts[spoken[1]] += 2 if spoken[0] else 1
    return frozenset(name for name, count in counts.items() if count > 1 or _is_role(name) or _looks_like_name(name))


def _read_turns(lines: Sequence[_Line], *, speakers: frozenset[str]) -> Iterator[_OpenTurn]:
    current: _OpenTurn | None = None
    for entry in lines:
        line, is_code, _, _ = entry
        if not speakers and not is_code and not line.strip():
            if current is not None:
                yield current
            current = None
            continue
        new = None if is_code else _start_turn(entry, speakers)
        if new is None and not is_code and speakers and _STAMPED.match(line):
            continue
        if new is None and current is not None and (speakers or is_code or _continues(current, line)):
            current.lines.append(line)
            continue
        if current is not None:
            yield current
        current = new or _OpenTurn("", None, [line])
    if current is not None:
        yield current


def _start_turn(line: _Line, speakers: frozenset[str]) -> _OpenTurn | None:
    """Return the turn that a line begins, if it begins one."""
    spoken = line.spoken
    if line.heading is not None:
        return _OpenTurn(_normalize_name(line.heading), None)
    if spoken is None or spoken[1] not in speakers:
        return None
    stamp, name, words = spoken
    if words.startswith(_NOTICE_SIGN):
        return None
    return _OpenTurn(_normalize_name(name), parse_timestamp_text(stamp) if stamp else None, [words])


def _role_heading(line: str) -> str | None:
    """Return the role that a heading names."""
    heading = _HEADED.match(line) if "#" in line else None
    return heading[1] if heading and _is_role(heading[1]) else None


def _parse_line(line: str) -> _Spoken | None:
    """Return time, speaker and text of a line that names its speaker; the time may be empty."""
    if ":" not in line and "<" not in line:
        return None
    if match := _SPOKEN.match(line) or ("<" in line and _ANGLED.match(line)):
        return match[1] or match[2] or "", match[3].strip(), match[4]
    if timed := _TIMED.match(line):
        return timed[2], timed[1].strip(), timed[3]
    if phoned := _PHONED.match(line):
        return phoned[1] or phoned[2], phoned[3].strip(_UNSEEN), phoned[4]
    return None


def _continues(turn: _OpenTurn, line: str) -> bool:
    """Return whether a line is the rest of a wrapped line."""
    before, after = turn.lines[-1].rstrip() if turn.lines else "", line.strip()
    return bool(before and after) and before[-1] not in ".!?:\u2026" and after[0].islower()


def _mark_code(lines: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Return each line, and whether it is code."""
    within = False
    for line in lines:
        fence = "`" in line or "~" in line
        if fence and _FENCE.match(line):
            within = not within
            yield line, True
        else:
            yield line, within


def _may_speak(name: str) -> bool:
    plain = name.strip().lower()
    is_short = len(plain.split()) <= _MAX_NAME_WORDS or plain.startswith("+")
    return bool(plain) and plain not in _LABELS and is_short and plain[-1] not in ".,"


def _is_role(name: str) -> bool:
    return _role(name) in _ROLES


def _role(name: str) -> str:
    # A copied page has `You said:` and `ChatGPT said:`.
    return " ".join(name.lower().split()).removesuffix(" said")


def _looks_like_name(name: str) -> bool:
    return all(part[:1].isupper() for part in name.split()) and len(name.split()) < _MAX_NAME_WORDS


def _normalize_name(name: str) -> str:
    role = _role(name)
    return _SPEAKERS_BY_ROLE.get(role, role) if role in _ROLES else " ".join(name.split())
