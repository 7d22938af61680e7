"""Features of a sentence for and against a fact, and their weights: numbers for a weighted sum."""

import math
import re
import tomllib
from collections.abc import Collection, Sequence

from scrubjay.extraction.sentences import DATA, PRAISE, Sentence

__all__ = ["BIAS", "WEIGHTS", "features_of", "turn_features"]

# benchmarks/extraction_fit.py finds the numbers.
_FITTED = tomllib.loads((DATA / "weights.toml").read_text("utf-8"))
BIAS: float = _FITTED["bias"]
WEIGHTS: dict[str, float] = _FITTED["weights"]

_SHORT = 4
_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][a-zA-Z]+")
# The feature of each class of words, whatever the sentence is about …
_CLASS_FEATURES = {
    "past": "past", "time": "time", "family": "family", "things": "things_of_life", "aside": "aside",
    "thanks": "thanks", "guess": "hedge",
}  # fmt: skip
# … and where it is about the speaker.
_OWN_FEATURES = {"first": "i", "time": "own_time", "perfect": "own_perfect", "plan": "own_plan"}
_CLASSES, _OWN_CLASSES = frozenset(_CLASS_FEATURES), frozenset(_OWN_FEATURES)


def turn_features(sentences: Sequence[Sentence], *, answers: bool) -> dict[str, float]:
    """Return the features that all sentences of a turn share."""
    own = sum(sentence.length for sentence in sentences if sentence.is_own and not sentence.to_other)
    content = set[str]().union(*[sentence.content for sentence in sentences]) - PRAISE
    return {
        "answers_question": float(answers),
        "own_words_in_turn": math.log1p(own),
        "content_in_turn": math.log1p(len(content)),
    }


def features_of(sentence: Sentence, *, names: Collection[str]) -> dict[str, float]:
    """Return the features of one sentence, without those that are 0; `names` are those of the speakers."""
    shows, opens = sentence.shows, sentence.opens
    features = {"content": math.log1p(len(sentence.content))}
    if sentence.is_own:
        if not sentence.to_other:
            features["own_only"] = 1.0
        if "first" in opens or "plural" in opens:
            features["starts_with_own"] = 1.0
        for name in shows & _OWN_CLASSES:
            features[_OWN_FEATURES[name]] = 1.0
    elif not sentence.to_other:
        features["nobody"] = 1.0
    if sentence.to_other:
        features["you"] = 1.0
    for name in shows & _CLASSES:
        features[_CLASS_FEATURES[name]] = 1.0
    if "praise" in opens or "greeting" in opens:
        features["reacts"] = 1.0
    if "view" in opens:
        features["general"] = 1.0
    if sentence.length <= _SHORT:
        features["short"] = 1.0
    named = _NAME.findall(sentence.text)
    if named and "german" not in shows and any(name.lower() not in names for name in named):
        features["names_something"] = 1.0
    return features
