"""Metrics of recall: whether the relevant memories are among the first results, and at which ranks."""

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

DEPTH = 10
_SHALLOW = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answered question: the number of relevant memories, and the ranks of those found, from 1."""

    category: str
    relevant: int
    ranks: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """Means over a number of questions."""

    questions: int
    r5: float
    r10: float
    all10: float
    mrr: float
    ndcg10: float


def answer_of(category: str, results: Sequence[str], *, gold: Collection[str]) -> Answer:
    """Find the ranks of the relevant names among the first ten results."""
    ranks = tuple(rank for rank, name in enumerate(results[:DEPTH], 1) if name in gold)
    return Answer(category=category, relevant=len(gold), ranks=ranks)


def quality(answers: Sequence[Answer]) -> Quality:
    """Return the mean metrics of answers."""
    count = max(1, len(answers))
    return Quality(
        questions=len(answers),
        r5=sum(_recall(answer, _SHALLOW) for answer in answers) / count,
        r10=sum(_recall(answer, DEPTH) for answer in answers) / count,
        all10=sum(len(answer.ranks) == answer.relevant for answer in answers) / count,
        mrr=sum(1 / answer.ranks[0] for answer in answers if answer.ranks) / count,
        ndcg10=sum(_ndcg(answer) for answer in answers) / count,
    )


def by_category(answers: Sequence[Answer]) -> dict[str, Quality]:
    """Return the metrics of each category, sorted by name."""
    names = sorted({answer.category for answer in answers})
    return {name: quality([answer for answer in answers if answer.category == name]) for name in names}


def in_order(names: Iterable[str]) -> list[str]:
    """Return distinct names in the order of their first occurrence."""
    return list(dict.fromkeys(names))


def _recall(answer: Answer, depth: int) -> float:
    return sum(rank <= depth for rank in answer.ranks) / answer.relevant


def _ndcg(answer: Answer) -> float:
    """Return the discounted gain of the ranks, relative to the best possible order."""
    best = sum(_gain(rank) for rank in range(1, min(answer.relevant, DEPTH) + 1))
    return sum(_gain(rank) for rank in answer.ranks) / best


def _gain(rank: int) -> float:
    return 1 / math.log2(rank + 1)
