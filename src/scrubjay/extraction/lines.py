"""A conversation written line by line: who speaks stands before a colon, and when perhaps before that."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from scrubjay.extraction.timestamps import moment_of_text
from scrubjay.model.fact import Turn
from scrubjay.text.fact_words import ASSISTANTS, MACHINES

__all__ = ["turns_in_lines"]

_DATE = r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4},?"
_CLOCK = r"\s?\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:[\s\u202f]?[APap]\.?[Mm]\.?)?Z?(?:[+-]\d\d:?\d\d)?"
_TIME = rf"(?:{_DATE}(?:[T ]{_CLOCK})?|\d{{1,2}}:\d{{2}}(?::\d{{2}})?(?:[\s\u202f]?[APap]\.?[Mm]\.?)?)"
_STAMP = rf"(?:[\u200e\u200f]*[\[(]([^\])\n]{{1,60}})[\])]\s*(?:[-\u2013]\s+)?|({_TIME})\s*(?:[-\u2013|]\s*)?)"
_NAME = r"~?\s?([^\W\d_][^:\n*\[\](){}<>\"`?!;=/\\|]{0,39})"
_SPOKEN = re.compile(rf"\s{{0,3}}(?:[-*]\s+)?{_STAMP}?(?:\*\*|__)?{_NAME}(?:\*\*|__)?\s?:(?:\*\*|__)?(?:\s+|$)(.*)$")
# As others write it: `<Ann> text`, `Ann (10:15): text`.
_ANGLED = re.compile(rf"\s{{0,3}}{_STAMP}?<[@+%~ ]?{_NAME}>\s+(.*)$")
_TIMED = re.compile(rf"\s{{0,3}}(?:\*\*)?{_NAME}[\[(]({_TIME})[\])](?:\*\*)?\s?:(?:\*\*)?(?:\s+|$)(.*)$")
# As phones export it: where day and time stand before it, a number is a name, and so is what has signs in it.
_MARKED = rf"[\u200e\u200f\s]{{0,3}}(?:\[({_DATE}[T ]{_CLOCK})\]\s?|({_DATE}[T ]{_CLOCK})\s?[-\u2013]\s)"
_PHONED = re.compile(rf"{_MARKED}([^:\n]{{1,60}}?):\s(.*)$")
_HEADED = re.compile(r"\s{0,3}#{1,6}\s{1,3}\W{0,5}([A-Za-z]{1,20})\W{0,5}$")
# A line of a chat's own: somebody joined, messages are encrypted.
_STAMPED = re.compile(rf"\s{{0,3}}[\[(]?{_TIME}[\])]?\s*[-\u2013]\s|{_MARKED}")
# By these signs a phone sets off what it says itself, and what names are written in.
_UNSEEN = "\u200e\u200f\u202a\u202c\u2068\u2069\u00a0 ~"
_OWN_WORDS = "\u200e"
_REMARK = re.compile(rf"{_OWN_WORDS}<[^<>\n]{{1,60}}>")
_FENCE = re.compile(r"\s{0,3}(?:```|~~~)")
_ROLES = ASSISTANTS | MACHINES | {"user", "human", "me", "you"}
_SPEAKERS_BY_ROLE = {"human": "user", "me": "user", "you": "user"}
# What stands before a colon and speaks not.
_LABELS = frozenset(
    """
    note notes todo fixme warning error info debug example tip hint ps re fw fwd subject to cc bcc date time http https
    summary conclusion step steps question answer output input result results update edit source sources title usage
    important caution reminder fact facts goal problem solution context decision decided next outcome what why when how
    """.split()
)
_MOST_WORDS = 4


@dataclass(slots=True)
class _Heard:
    speaker: str
    at: datetime | None
    lines: list[str] = field(default_factory=list[str])


def turns_in_lines(text: str) -> list[Turn]:
    """What was said, in order; where nobody is named it is one speaker's lines, whose name is empty."""
    lines = text.splitlines()
    heard = list(_heard(lines, speakers=_speakers(lines)))
    told = [(one, _REMARK.sub("", "\n".join(one.lines)).strip()) for one in heard]
    return [
        Turn(speaker=one.speaker, text=said, id=str(number), at=one.at)
        for number, (one, said) in enumerate(((one, said) for one, said in told if said), 1)
    ]


def _speakers(lines: Sequence[str]) -> frozenset[str]:
    """Whoever is taken to speak: what stands before a colon like a name, or again and again."""
    found: Counter[str] = Counter()
    for line, is_code in _with_fences(lines):
        if is_code:
            continue
        if (headed := _HEADED.match(line)) and _is_role(headed[1]):
            found[headed[1]] += 1
        spoken = _spoken(line)
        if spoken and _may_speak(spoken[1]):
            found[spoken[1]] += 2 if spoken[0] else 1
    return frozenset(name for name, times in found.items() if times > 1 or _is_role(name) or _looks_named(name))


def _heard(lines: Sequence[str], *, speakers: frozenset[str]) -> Iterator[_Heard]:
    now: _Heard | None = None
    for line, is_code in _with_fences(lines):
        begun = None if is_code else _begun(line, speakers)
        if begun is None and not is_code and speakers and _STAMPED.match(line):
            continue
        if begun is None and now is not None and (speakers or is_code or _goes_on(now, line)):
            now.lines.append(line)
            continue
        if now is not None:
            yield now
        now = begun or _Heard("", None, [line])
    if now is not None:
        yield now


def _begun(line: str, speakers: frozenset[str]) -> _Heard | None:
    """The turn that a line begins, if it begins one."""
    headed = _HEADED.match(line)
    if headed and _is_role(headed[1]):
        return _Heard(_called(headed[1]), None)
    spoken = _spoken(line)
    if spoken is None or spoken[1] not in speakers:
        return None
    stamp, name, said = spoken
    if said.startswith(_OWN_WORDS):
        return None
    return _Heard(_called(name), moment_of_text(stamp) if stamp else None, [said])


def _spoken(line: str) -> tuple[str, str, str] | None:
    """When, who and what, of a line that tells who speaks; the first may be empty."""
    if found := _SPOKEN.match(line) or ("<" in line and _ANGLED.match(line)):
        return found[1] or found[2] or "", found[3].strip(), found[4]
    if timed := _TIMED.match(line):
        return timed[2], timed[1].strip(), timed[3]
    if phoned := _PHONED.match(line):
        return phoned[1] or phoned[2], phoned[3].strip(_UNSEEN), phoned[4]
    return None


def _goes_on(now: _Heard, line: str) -> bool:
    """Whether a line is the rest of one that was wrapped."""
    before, after = now.lines[-1].rstrip() if now.lines else "", line.strip()
    return bool(before and after) and before[-1] not in ".!?:\u2026" and after[0].islower()


def _with_fences(lines: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Each line, and whether it is code."""
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
    is_short = len(plain.split()) <= _MOST_WORDS or plain.startswith("+")
    return bool(plain) and plain not in _LABELS and is_short and plain[-1] not in ".,"


def _is_role(name: str) -> bool:
    return _role(name) in _ROLES


def _role(name: str) -> str:
    # `You said:` and `ChatGPT said:` stand in what is copied from a page.
    return " ".join(name.lower().split()).removesuffix(" said")


def _looks_named(name: str) -> bool:
    return all(part[:1].isupper() for part in name.split()) and len(name.split()) < _MOST_WORDS


def _called(name: str) -> str:
    role = _role(name)
    return _SPEAKERS_BY_ROLE.get(role, role) if role in _ROLES else " ".join(name.split())
