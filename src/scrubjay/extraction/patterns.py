"""Facts by patterns: what says outright what it is, and what the marks of its words speak for. Pure, and fast."""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from scrubjay.extraction.explicit import FactPattern, explicit_in, kind_of
from scrubjay.extraction.features import marks_of, surroundings_of
from scrubjay.extraction.sentences import ORDER, Sentence, rejection_reason, split_sentences
from scrubjay.extraction.subjects import attribute_to, is_assistant, is_machine, subject_of
from scrubjay.extraction.weights import BIAS, WEIGHTS
from scrubjay.model.fact import Fact, FactType, Turn

__all__ = ["ENOUGH", "FactCandidate", "candidates_in", "facts_of", "names_of"]

# From here on a turn is taken to tell a fact; whoever talks to a program tells fewer.
ENOUGH = -0.4
_ENOUGH_TO_PROGRAM = 1.0
# So far behind the best sentence of its turn another is taken with it.
_BEHIND = 1.2
_LEAST = -1.0
_SHORTEST_NAME = 3
_SUREST = 0.99
# A program speaks of what it does; what it says of decisions and rules is worth keeping.
_OF_PROGRAMS = (FactType.DECISION, FactType.REQUIREMENT)


class FactCandidate(NamedTuple):
    """A sentence that may state a fact, its marks, and what they come to."""

    said: Sentence
    marks: dict[str, float]
    score: float
    explicit: FactPattern | None


def facts_of(turns: Sequence[Turn]) -> list[Fact]:
    """The facts that a conversation states, in its order."""
    names = names_of(turns)
    to_program = any(is_assistant(speaker) for speaker in {turn.speaker for turn in turns})
    found: list[Fact] = []
    for before, turn in pairwise((None, *turns)):
        if turn is None or is_machine(turn.speaker):
            continue
        answers = before is not None and before.speaker != turn.speaker and before.text.rstrip().endswith("?")
        candidates = candidates_in(turn, names=names, answers=answers)
        if is_assistant(turn.speaker):
            chosen = [
                (candidate, 1.0)
                for candidate in candidates
                if candidate.explicit and candidate.explicit.type in _OF_PROGRAMS
            ]
        else:
            chosen = list(_chosen(candidates, enough=_ENOUGH_TO_PROGRAM if to_program else ENOUGH))
        found += _told(chosen, turn)
    return found


def names_of(turns: Sequence[Turn]) -> frozenset[str]:
    """The names by which the speakers call each other, shortened ones too, in lower case."""
    parts = {part.lower() for speaker in {turn.speaker for turn in turns} for part in speaker.split()}
    return frozenset(part[:end] for part in parts for end in range(min(_SHORTEST_NAME, len(part)), len(part) + 1))


def candidates_in(turn: Turn, *, names: frozenset[str], answers: bool) -> list[FactCandidate]:
    """The sentences of a turn that are not left out, with what speaks for each."""
    kept: list[tuple[Sentence, FactPattern | None]] = []
    for said in split_sentences(turn.text, asked=False):
        reason = rejection_reason(said)
        explicit = explicit_in(said) if reason in ("", ORDER) else None
        # What is to hold from now on is told as an order, too.
        if not reason or explicit:
            kept.append((said, explicit))
    around = surroundings_of([said for said, _ in kept], answers=answers)
    shared = BIAS + _sum(around)
    found: list[FactCandidate] = []
    for said, explicit in kept:
        marks = marks_of(said, names=names)
        score = shared + _sum(marks)
        marks.update(around)
        found.append(FactCandidate(said, marks, score, explicit))
    return found


def _sum(marks: dict[str, float]) -> float:
    total = 0.0
    for name, value in marks.items():
        total += WEIGHTS[name] * value
    return total


def _chosen(candidates: Sequence[FactCandidate], *, enough: float) -> Iterator[tuple[FactCandidate, float]]:
    """The sentences that are facts, each with how sure that is."""
    if not candidates:
        return
    best = max([candidate.score for candidate in candidates])
    if best + math.log(len(candidates)) < enough and not any(candidate.explicit for candidate in candidates):
        # It cannot come to enough: most turns are done with here.
        return
    # All that a turn says speaks for its having said something.
    together = best + math.log(sum(math.exp(candidate.score - best) for candidate in candidates))
    for one in candidates:
        logit = together - (best - one.score)
        by_marks = together >= enough and one.score >= max(best - _BEHIND, min(best, _LEAST))
        sure = one.explicit.confidence if one.explicit else 0.0
        if by_marks or one.explicit:
            yield one, max(sure, 1 / (1 + math.exp(-logit)))


def _told(chosen: Sequence[tuple[FactCandidate, float]], turn: Turn) -> Iterator[Fact]:
    """The facts of a turn; a sentence that points back to the one before it is told with that."""
    found: list[tuple[str, FactCandidate, float]] = []
    for one, sure in chosen:
        if found and one.said.points_back and not one.explicit:
            text, first, surer = found[-1]
            found[-1] = (f"{text} {one.said.text}", first, max(sure, surer))
        else:
            found.append((one.said.text, one, sure))
    for text, one, sure in found:
        yield Fact(
            statement=attribute_to(turn.speaker, text),
            type=one.explicit.type if one.explicit else kind_of(one.said),
            subject=subject_of(one.said, speaker=turn.speaker),
            speaker=turn.speaker,
            turn=turn.id,
            confidence=round(min(sure, _SUREST), 2),
            at=turn.at,
        )
