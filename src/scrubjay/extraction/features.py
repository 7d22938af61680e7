"""What of a sentence speaks for or against its being a fact: named marks, each a number, for a weighted sum."""

import math
import re
from collections.abc import Collection, Sequence

from scrubjay.extraction.sentences import Sentence
from scrubjay.text.fact_words import PRAISE

__all__ = ["marks_of", "surroundings_of"]

_SHORT = 4
_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][a-zA-Z]+")


def surroundings_of(sentences: Sequence[Sentence], *, answers: bool) -> dict[str, float]:
    """The marks that all sentences of a turn share."""
    own = sum(sentence.length for sentence in sentences if sentence.is_own and not sentence.to_other)
    content = set[str]().union(*[sentence.content for sentence in sentences]) - PRAISE
    return {
        "answers_question": float(answers),
        "own_words_in_turn": math.log1p(own),
        "content_in_turn": math.log1p(len(content)),
    }


def marks_of(said: Sentence, *, names: Collection[str]) -> dict[str, float]:
    """The marks of one sentence; those of nothing are left out. `names` are those of the speakers."""
    shows, opens = said.shows, said.opens
    own, you = said.is_own, said.to_other
    marks = {"content": math.log1p(len(said.content))}
    if own:
        if not you:
            marks["own_only"] = 1.0
        if "first" in opens or "plural" in opens:
            marks["starts_with_own"] = 1.0
        for name in shows & _SPEAKERS_SHOW:
            marks[_OF_SPEAKERS[name]] = 1.0
    elif not you:
        marks["nobody"] = 1.0
    if you:
        marks["you"] = 1.0
    for name in shows & _SHOWS:
        marks[_OF_ITSELF[name]] = 1.0
    if "praise" in opens or "greeting" in opens:
        marks["reacts"] = 1.0
    if "view" in opens:
        marks["general"] = 1.0
    if said.length <= _SHORT:
        marks["short"] = 1.0
    named = _NAME.findall(said.text)
    if named and "german" not in shows and any(name.lower() not in names for name in named):
        marks["names_something"] = 1.0
    return marks


# What a class of words is called as a mark, where it counts whoever is spoken of.
_OF_ITSELF = {
    "past": "past", "time": "time", "family": "family", "things": "things_of_life", "aside": "aside",
    "thanks": "thanks", "guess": "hedge",
}  # fmt: skip
_OF_SPEAKERS = {"first": "i", "time": "own_time", "perfect": "own_perfect", "plan": "own_plan"}
_SHOWS, _SPEAKERS_SHOW = frozenset(_OF_ITSELF), frozenset(_OF_SPEAKERS)
