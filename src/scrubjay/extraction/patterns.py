"""Facts by patterns: sentences of an explicit form, and sentences whose features speak for a fact. Pure and fast."""

import math
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from scrubjay.extraction.explicit_patterns import CHANGES, ENGLISH, GERMAN
from scrubjay.extraction.features import BIAS, WEIGHTS, features_of, turn_features
from scrubjay.extraction.sentences import (
    ORDER,
    Sentence,
    attribute_to,
    rejection_reason,
    split_sentences,
    subject_of,
)
from scrubjay.extraction.speakers import is_assistant, is_machine
from scrubjay.lazy import dataclass
from scrubjay.model.fact import Fact, FactType, Turn

__all__ = ["MIN_SCORE", "FactCandidate", "FactPattern", "candidates_in", "facts_of", "names_of"]

# From this score on a turn states a fact; a turn to a program states fewer.
MIN_SCORE = -0.4
_MIN_SCORE_TO_PROGRAM = 1.0
# A sentence this far behind the best one of its turn is taken with it.
_MAX_BEHIND = 1.2
_MIN_SENTENCE_SCORE = -1.0
_MIN_NAME = 3
_MAX_CONFIDENCE = 0.99
# A program reports its own work; only its decisions and rules are worth keeping.
_TYPES_OF_PROGRAMS = (FactType.DECISION, FactType.REQUIREMENT)


@dataclass(frozen=True, slots=True)
class FactPattern:
    """An explicit form of a type of fact, and the confidence that it is meant so."""

    type: FactType
    pattern: re.Pattern[str]
    confidence: float
    # Only sentences with one of these words are tried.
    words: frozenset[str]


class FactCandidate(NamedTuple):
    """A sentence that may state a fact, its features, their score, and its explicit pattern."""

    sentence: Sentence
    features: dict[str, float]
    score: float
    explicit: FactPattern | None


def facts_of(turns: Sequence[Turn]) -> list[Fact]:
    """Return the facts that a conversation states, in order."""
    names = names_of(turns)
    to_program = any(is_assistant(speaker) for speaker in {turn.speaker for turn in turns})
    facts: list[Fact] = []
    for before, turn in pairwise((None, *turns)):
        if turn is None or is_machine(turn.speaker):
            continue
        answers = before is not None and before.speaker != turn.speaker and before.text.rstrip().endswith("?")
        candidates = candidates_in(turn, names=names, answers=answers)
        if is_assistant(turn.speaker):
            selected = [
                (candidate, 1.0)
                for candidate in candidates
                if candidate.explicit and candidate.explicit.type in _TYPES_OF_PROGRAMS
            ]
        else:
            selected = list(_select(candidates, min_score=_MIN_SCORE_TO_PROGRAM if to_program else MIN_SCORE))
        facts += _make_facts(selected, turn)
    return facts


def names_of(turns: Sequence[Turn]) -> frozenset[str]:
    """Return the names of the speakers and their short forms, in lower case."""
    parts = {part.lower() for speaker in {turn.speaker for turn in turns} for part in speaker.split()}
    return frozenset(part[:end] for part in parts for end in range(min(_MIN_NAME, len(part)), len(part) + 1))


def candidates_in(turn: Turn, *, names: frozenset[str], answers: bool) -> list[FactCandidate]:
    """Return the sentences of a turn that may state a fact, with their features."""
    accepted: list[tuple[Sentence, FactPattern | None]] = []
    for sentence in split_sentences(turn.text, questions=False):
        reason = rejection_reason(sentence)
        explicit = _match_explicit(sentence) if reason in ("", ORDER) else None
        # A lasting rule may have the form of an order.
        if not reason or explicit:
            accepted.append((sentence, explicit))
    shared = turn_features([sentence for sentence, _ in accepted], answers=answers)
    shared_score = BIAS + _weigh(shared)
    candidates: list[FactCandidate] = []
    for sentence, explicit in accepted:
        features = features_of(sentence, names=names)
        score = shared_score + _weigh(features)
        features.update(shared)
        candidates.append(FactCandidate(sentence, features, score, explicit))
    return candidates


def _weigh(features: dict[str, float]) -> float:
    total = 0.0
    for name, value in features.items():
        total += WEIGHTS[name] * value
    return total


def _select(candidates: Sequence[FactCandidate], *, min_score: float) -> Iterator[tuple[FactCandidate, float]]:
    """Return the sentences that are facts, each with its confidence."""
    if not candidates:
        return
    best = max([candidate.score for candidate in candidates])
    if best + math.log(len(candidates)) < min_score and not any(candidate.explicit for candidate in candidates):
        # The sum cannot reach the minimum: most turns end here.
        return
    # All sentences of a turn together speak for a fact in it.
    total = best + math.log(sum(math.exp(candidate.score - best) for candidate in candidates))
    for candidate in candidates:
        logit = total - (best - candidate.score)
        is_close = candidate.score >= max(best - _MAX_BEHIND, min(best, _MIN_SENTENCE_SCORE))
        if (total >= min_score and is_close) or candidate.explicit:
            explicit_confidence = candidate.explicit.confidence if candidate.explicit else 0.0
            yield candidate, max(explicit_confidence, 1 / (1 + math.exp(-logit)))


def _make_facts(selected: Sequence[tuple[FactCandidate, float]], turn: Turn) -> Iterator[Fact]:
    """Return the facts of a turn; a sentence that points back to the one before is joined to it."""
    joined: list[tuple[str, FactCandidate, float]] = []
    for candidate, confidence in selected:
        if joined and candidate.sentence.points_back and not candidate.explicit:
            text, first, first_confidence = joined[-1]
            joined[-1] = (f"{text} {candidate.sentence.text}", first, max(confidence, first_confidence))
        else:
            joined.append((candidate.sentence.text, candidate, confidence))
    for text, candidate, confidence in joined:
        yield Fact(
            statement=attribute_to(turn.speaker, text),
            type=candidate.explicit.type if candidate.explicit else _guess_type(candidate.sentence),
            subject=subject_of(candidate.sentence, speaker=turn.speaker),
            speaker=turn.speaker,
            turn=turn.id,
            confidence=round(min(confidence, _MAX_CONFIDENCE), 2),
            at=turn.at,
        )


def _match_explicit(sentence: Sentence) -> FactPattern | None:
    """Return the surest pattern that a sentence matches, if any."""
    numbers = {number for word in sentence.words & _HINTS for number in _BY_HINT[word]}
    return next(
        (_PATTERNS[number] for number in sorted(numbers) if _PATTERNS[number].pattern.search(sentence.low)), None
    )


def _guess_type(sentence: Sentence) -> FactType:
    """Return the type of a fact without an explicit form: most are events."""
    return next((kind for kind, words in _TYPE_WORDS if not words.isdisjoint(sentence.content)), FactType.EVENT)


# The surest first; of the same confidence, in the order of the tables.
_PATTERNS = sorted(
    (
        FactPattern(form.type, re.compile(form.expression), form.confidence, frozenset(form.words.split()))
        for form in (*ENGLISH, *CHANGES, *GERMAN)
    ),
    key=lambda pattern: -pattern.confidence,
)
_BY_HINT = {
    word: tuple(number for number, pattern in enumerate(_PATTERNS) if word in pattern.words)
    for word in frozenset[str]().union(*(pattern.words for pattern in _PATTERNS))
}
_HINTS = frozenset(_BY_HINT)
# Words that show the type of a fact, the surest type first.
_TYPE_WORDS = (
    (FactType.DECISION, frozenset("decided agreed chose chosen opted settled".split())),
    (FactType.REQUIREMENT, frozenset("need require must required gotta".split())),
    (FactType.HABIT, frozenset("always usually often every regularly daily weekly".split())),
    (FactType.IDENTITY, frozenset("name husband wife hometown born married".split())),
    (
        FactType.PREFERENCE,
        frozenset("love loves like likes prefer enjoy enjoys favorite favourite hate dislike passion".split()),
    ),
)
