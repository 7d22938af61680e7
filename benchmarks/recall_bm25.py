"""Textbook BM25 over the product's terms, the baseline for recall."""

import heapq
import math
from collections import Counter
from collections.abc import Sequence

from benchmarks.recall_data import Turn
from scrubjay.text.tokens import terms_of

_K1 = 1.2
_B = 0.75


class Bm25:
    """An index of turns; the day and the speaker are part of the text."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        self._ids = [turn.id for turn in turns]
        counts = [Counter(terms_of(_text(turn))) for turn in turns]
        self._lengths = [count.total() for count in counts]
        self._average = max(1.0, sum(self._lengths) / max(1, len(turns)))
        self._postings: dict[str, list[tuple[int, int]]] = {}
        for number, count in enumerate(counts):
            for term, times in count.items():
                self._postings.setdefault(term, []).append((number, times))

    def first(self, question: str, *, count: int) -> list[str]:
        """Return the turns that match a question best."""
        scores: dict[int, float] = {}
        for term in dict.fromkeys(terms_of(question)):
            postings = self._postings.get(term, [])
            rarity = math.log(1 + (len(self._ids) - len(postings) + 0.5) / (len(postings) + 0.5))
            for number, times in postings:
                norm = _K1 * (1 - _B + _B * self._lengths[number] / self._average)
                scores[number] = scores.get(number, 0.0) + rarity * times * (_K1 + 1) / (times + norm)
        best = heapq.nsmallest(count, scores, key=lambda number: (-scores[number], number))
        return [self._ids[number] for number in best]


def _text(turn: Turn) -> str:
    return turn.text if turn.at is None else f"({turn.at.day} {turn.at:%B %Y}) {turn.text}"
