"""A small lexical ranking to measure an encoder beside: words with their neighbours, and a few priors.

The product ranks better and slower. This one needs no store, so that many models are compared within seconds.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

_K1, _B = 0.9, 0.3
_BEFORE, _AFTER = (0.5, 0.3, 0.2, 0.1), (0.4, 0.24, 0.16, 0.08)
_SHORT = 8
_BIGRAMS = 0.2
_QUESTION_COST, _SPEAKER_GAIN, _LENGTH_GAIN = 0.6, 0.5, 0.2
_WORD = re.compile(r"[^\W_]+(?:'[a-z]+)?")
_STOP_WORDS = frozenset(
    "a about after all also am an and any are as at be because been before being but by can could did do does "
    "doing don for from had has have having he her here him his how i if in into is it its just like me more "
    "most my no not of on or our out she should so some such than that the their them then there these they "
    "this those to up us very was we were what when where which while who whom whose why will with would you "
    "your".split()
)
_ENDINGS = ("ations", "ation", "ingly", "ings", "ing", "ies", "ied", "edly", "ed", "ers", "er", "ly", "es", "s", "e")
_IRREGULAR = {
    form: word
    for form, _, word in (
        pair.partition(":")
        for pair in (
            "went:go gone:go bought:buy got:get gave:give given:give made:make took:take taken:take saw:see seen:see "
            "said:say told:tell came:come found:find met:meet felt:feel kept:keep left:leave lost:lose won:win "
            "wrote:write written:write read:read ran:run ate:eat drove:drive flew:fly taught:teach thought:think "
            "brought:bring caught:catch children:child"
        ).split()
    )
}


class LexicalRanking:
    """The texts of one collection in their order, with the session and the speaker of each."""

    def __init__(self, texts: Sequence[str], sessions: Sequence[str], speakers: Sequence[str]) -> None:
        own = [terms(text) for text in texts]
        self._count = len(texts)
        self._context = _Index(_with_neighbours(own, sessions), [set(each) for each in own])
        pairs = [Counter(pairwise(each)) for each in own]
        self._pairs = _Index(
            [{key: float(n) for key, n in each.items()} for each in pairs], [set(each) for each in pairs]
        )
        self._priors = np.array(
            [
                _LENGTH_GAIN * np.log(1 + len(each)) - _QUESTION_COST * text.rstrip().endswith("?")
                for text, each in zip(texts, own, strict=True)
            ]
        )
        self._speakers = [frozenset(terms(speaker)) for speaker in speakers]

    def scores(self, question: str) -> NDArray[np.float64]:
        """Return the score of every text."""
        asked = terms(question)
        scores = self._context.scores(asked) + _BIGRAMS * self._pairs.scores(list(pairwise(asked)))
        named = np.array([bool(speaker & set(asked)) for speaker in self._speakers])
        return scores + self._priors + _SPEAKER_GAIN * named


class _Index:
    def __init__(self, counts: Sequence[dict[object, float]], own: Sequence[set[object]]) -> None:
        frequency = Counter(term for each in own for term in each)
        lengths = np.array([sum(each.values()) for each in counts])
        self._norm = _K1 * (1 - _B + _B * lengths / max(1e-9, float(lengths.mean())))
        self._size = len(counts)
        self._rarity = {term: float(np.log(1 + (self._size - n + 0.5) / (n + 0.5))) for term, n in frequency.items()}
        self._postings: defaultdict[object, list[tuple[int, float]]] = defaultdict(list)
        for row, each in enumerate(counts):
            for term, count in each.items():
                self._postings[term].append((row, count))

    def scores(self, asked: Sequence[object]) -> NDArray[np.float64]:
        scores = np.zeros(self._size)
        for term in dict.fromkeys(asked):
            for row, count in self._postings.get(term, ()):
                scores[row] += self._rarity.get(term, 0.0) * count * (_K1 + 1) / (count + self._norm[row])
        return scores


def _with_neighbours(own: Sequence[Sequence[str]], sessions: Sequence[str]) -> list[dict[object, float]]:
    counts: list[dict[object, float]] = []
    for row, each in enumerate(own):
        total: defaultdict[object, float] = defaultdict(float)
        for term in each:
            total[term] += 1
        for weights, step in ((_BEFORE, -1), (_AFTER, 1)):
            for distance, weight in enumerate(weights, 1):
                other = row + step * distance
                if not 0 <= other < len(own) or sessions[other] != sessions[row]:
                    break
                share = weight * min(1.0, _SHORT / max(1, len(own[other])))
                for term in own[other]:
                    total[term] += share
        counts.append(dict(total))
    return counts


def terms(text: str) -> list[str]:
    """Return the words that count, without their endings."""
    return [_stem(word) for word in _WORD.findall(text.lower()) if word not in _STOP_WORDS]


@lru_cache(maxsize=100_000)
def _stem(word: str) -> str:
    word = _IRREGULAR.get(word.partition("'")[0], word.partition("'")[0])
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)].removesuffix("i")
    return word
