"""How good an answer is: whether what was sought is among the first that are told, and how far up."""

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

DEPTH = 10
_SHALLOW = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One question answered: of how many sought memories, those found stand at these places, the first being 1."""

    category: str
    sought: int
    places: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """Means over so many questions."""

    questions: int
    r5: float
    r10: float
    all10: float
    mrr: float
    ndcg10: float


def answer_of(category: str, found: Sequence[str], *, gold: Collection[str]) -> Answer:
    """Where what was sought stands among the first ten that were found."""
    places = tuple(place for place, item in enumerate(found[:DEPTH], 1) if item in gold)
    return Answer(category=category, sought=len(gold), places=places)


def quality(answers: Sequence[Answer]) -> Quality:
    """How good the answers are: recall, all that was sought, the place of the first, and all places."""
    count = max(1, len(answers))
    return Quality(
        questions=len(answers),
        r5=sum(_recall(answer, _SHALLOW) for answer in answers) / count,
        r10=sum(_recall(answer, DEPTH) for answer in answers) / count,
        all10=sum(len(answer.places) == answer.sought for answer in answers) / count,
        mrr=sum(1 / answer.places[0] for answer in answers if answer.places) / count,
        ndcg10=sum(_ndcg(answer) for answer in answers) / count,
    )


def by_category(answers: Sequence[Answer]) -> dict[str, Quality]:
    """The same for each kind of question, in the order of their names."""
    names = sorted({answer.category for answer in answers})
    return {name: quality([answer for answer in answers if answer.category == name]) for name in names}


def in_order(names: Iterable[str]) -> list[str]:
    """Each name once, where it comes first."""
    return list(dict.fromkeys(names))


def _recall(one: Answer, depth: int) -> float:
    return sum(place <= depth for place in one.places) / one.sought


def _ndcg(one: Answer) -> float:
    """What was found counts less the further down it stands, beside the best possible order."""
    best = sum(_gain(place) for place in range(1, min(one.sought, DEPTH) + 1))
    return sum(_gain(place) for place in one.places) / best


def _gain(place: int) -> float:
    return 1 / math.log2(place + 1)
