"""Who speaks, and whom or what a sentence is about."""

import re
from functools import lru_cache

from scrubjay.extraction.sentences import Sentence
from scrubjay.text.fact_words import ASSISTANTS, MACHINES, PAST, SHOWN_BY
from scrubjay.text.tokens import STOP_WORDS

__all__ = ["attribute_to", "is_assistant", "is_machine", "subject_of"]

_WORD = re.compile(r"[a-z]+")
_PROGRAMS = frozenset(("assistant", "ai", "bot", "chatbot", "llm", "chatgpt"))
# A sentence that begins with one of these begins with no name.
_NO_NAMES = frozenset(("praise", "greeting", "time", "imperative", "back", "family"))
# What may stand before the verb.
_WHEN = r"(?:(?:now|currently|also|still|always|usually|never|just|recently|no longer) )*"
_NAMED = re.compile(
    r"(?:(?:The|A|An|This|That|Our|Their|Der|Die|Das) )?((?:[A-Z][\w&'.-]*[\w]|[A-Z]{2,})(?: (?:[A-Z][\w&'.-]*[\w]|"
    rf"[A-Z]))*)(?:'s)? {_WHEN}([a-z]+)",
)
_THING = re.compile(
    rf"(?:the|this|that|our|their|each|every|all) ((?:[\w.-]+ ){{0,2}}?[\w.-]+) {_WHEN}"
    r"(?:is|are|was|were|has|have|had|uses?|used|runs?|must|should|needs?|will|can|cannot|can't|went|got|works?|lives?|"
    r"goes|supports?|requires?|moved|failed|broke|starts?|started|ends?|ended)\b"
)
_VERBS = frozenset("is are was were has had does will can must should went got works lives likes loves prefers".split())


@lru_cache(maxsize=256)
def is_assistant(speaker: str) -> bool:
    """Whether a program speaks that answers people."""
    words = _WORD.findall(speaker.lower())
    return not _PROGRAMS.isdisjoint(words) or (len(words) == 1 and words[0] in ASSISTANTS)


@lru_cache(maxsize=256)
def is_machine(speaker: str) -> bool:
    """Whether nobody speaks: what a program was set up with, and what its tools gave."""
    return speaker.strip().lower() in MACHINES


def subject_of(said: Sentence, *, speaker: str) -> str:
    """Whom or what a sentence is about: its speaker in the first person, else what it names, else its speaker."""
    if said.is_own:
        return speaker
    named = _NAMED.match(said.text)
    if named and _is_name(named[1]) and (named[2] in PAST or named[2] in _VERBS or named[2].endswith("s")):
        return named[1]
    thing = _THING.match(said.low)
    return thing[1] if thing else speaker


def attribute_to(speaker: str, text: str) -> str:
    """What was said, so that it can be understood alone."""
    return f"{speaker}: {text}" if speaker else text


def _is_name(text: str) -> bool:
    low = text.lower()
    plain = low in STOP_WORDS or low.endswith("ing") or not _NO_NAMES.isdisjoint(SHOWN_BY.get(low, ()))
    return not plain or " " in text
