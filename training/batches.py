"""Draws the batches of a training: questions with a positive and negatives in the forms that memories have."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import DataLoader, Dataset

from training.corpus import END, MAX_TOKENS, QUESTION_PARTS, START, Corpus
from training.data import FACTS

Tensor = Any
Tokens = NDArray[Any]

# How often each group of a source is drawn in an epoch: talk of people most, since memories come from it.
MIX = {
    "friendsqa": 4.0,
    "molweni": 1.5,
    "qmsum": 2.0,
    "musique": 2.0,
    "hotpotqa": 1.0,
    "circa": 1.0,
    "squadshifts-reddit": 1.0,
    "cosmosqa": 1.0,
    "squadshifts-amazon": 0.8,
    "qasper": 0.7,
    "squadshifts-wiki": 0.5,
    "adversarialqa": 0.5,
    "disflqa": 0.5,
    "2wiki": 0.4,
    "doqa": 0.4,
    "iirc": 0.3,
    "boolq": 0.25,
    "qasc": 0.15,
    FACTS: 3.0,
}
_DIALOGUES = frozenset({"friendsqa", "molweni", "qmsum"})
_BY_SHARE, _TITLE_SHARE, _NAME_SHARE, _FACT_NAME_SHARE = 0.92, 0.8, 0.35, 0.1
_DATE_SHARE, _PERSON_SHARE, _SAME_PERSON_SHARE, _PREFIXED_PAIRS = 0.3, 0.8, 0.65, 0.2
# A mined text whose score is so close to the positive's may be an answer.
_MIN_DISTANCE = 0.5
_SHARPNESS = 0.35
_CHUNK_TOKENS = 8192


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchPlan:
    """How batches are drawn."""

    seed: int
    steps: int
    blocks: int = 6
    block: int = 32
    negatives: int = 5
    mined_share: float = 0.5
    triples: int = 64
    facts: float = MIX[FACTS]
    pairs: Mapping[str, int] = field(default_factory=lambda: {"stsb": 48, "paws": 16, FACTS: 32})

    @property
    def groups(self) -> int:
        """How many groups a batch has."""
        return self.blocks * self.block


@dataclass(slots=True, kw_only=True)
class Batch:
    """Token ids in chunks of similar length, and the places of the parts among the texts in `order`.

    First the questions, then a positive and the negatives for each, then triples, then pairs. `scores` are the
    teacher's
    for these candidates, `ids` their numbers; `also` says which positives of the batch answer a question too.
    """

    chunks: list[tuple[Tensor, Tensor]]
    order: Tensor
    groups: int
    scores: Tensor
    ids: Tensor
    also: Tensor
    triples: int
    pairs: dict[str, tuple[int, Tensor]]


class BatchSource(Dataset[Batch]):
    """The batches of a training by number: a batch depends on the seed and its number alone."""

    def __init__(self, corpus: Corpus, plan: BatchPlan) -> None:
        self._corpus = corpus
        self._plan = plan
        sources = [str(source) for source in corpus.sources]
        self._of_source = [np.flatnonzero(corpus.source == number) for number in range(len(sources))]
        mix = MIX | {FACTS: plan.facts}
        shares = np.array([mix.get(name, 0.5) * len(self._of_source[number]) for number, name in enumerate(sources)])
        self._shares = shares / shares.sum()
        self._names = sources
        self._pairs = {name: np.flatnonzero(corpus.pair_source == name) for name in plan.pairs}

    def __len__(self) -> int:
        return self._plan.steps

    def __getitem__(self, number: int) -> Batch:
        plan, random = self._plan, np.random.default_rng([self._plan.seed, number])
        groups = np.concatenate([self._block(random) for _ in range(plan.blocks)])
        drawn = [self._draw(int(group), random) for group in groups]
        texts = [each.question for each in drawn] + [text for each in drawn for text in each.texts]
        ids = np.array([each.ids for each in drawn])
        answers = [set(self._positives(int(group)).tolist()) for group in groups]
        also = np.array([[int(id_) in own for id_ in ids[:, 0]] for own in answers])
        texts += self._triples(random)
        pairs: dict[str, tuple[int, Tensor]] = {}
        for name in plan.pairs:
            chosen = self._choose_pairs(name, random)
            pairs[name] = len(chosen), torch.tensor(self._corpus.pair_score[chosen])
            for pair in chosen:
                prefix = self._prefix(random)
                texts += [_whole(prefix, self._corpus.pairs[2 * int(pair) + place]) for place in (0, 1)]
        chunks, order = chunked(texts)
        return Batch(
            chunks=chunks, order=order, groups=len(groups), ids=torch.tensor(ids), also=torch.tensor(also),
            scores=torch.tensor(np.array([each.scores for each in drawn], dtype=np.float32)),
            triples=min(plan.triples, len(self._corpus.triples) // 3), pairs=pairs,
        )  # fmt: skip

    def _block(self, random: np.random.Generator) -> NDArray[np.int64]:
        """Choose groups of one source, so that the positives of a batch are hard to tell apart."""
        own = self._of_source[random.choice(len(self._shares), p=self._shares)]
        return random.choice(own, size=self._plan.block, replace=len(own) < self._plan.block)

    def draw_from(self, sources: Sequence[int], random: np.random.Generator) -> "DrawnGroup":
        """Draw one group of these sources, each as often as in the mix."""
        shares = self._shares[list(sources)]
        source = sources[random.choice(len(shares), p=shares / shares.sum())]
        return self._draw(int(random.choice(self._of_source[source])), random)

    def _draw(self, group: int, random: np.random.Generator) -> "DrawnGroup":
        positive = int(random.choice(self._positives(group)))
        chosen = [positive, *self._choose_negatives(group, random)]
        corpus = self._corpus
        candidates, scores = corpus.candidates[group], corpus.scores[group]
        known = dict(zip(candidates.tolist(), scores.tolist(), strict=True))
        person, prefixes = self._forms(group, chosen, random)
        before, words, lead, tail, after = self._question(group)
        question = np.concatenate([before, words, after] if person is None else [before, lead, person, tail, after])
        return DrawnGroup(
            question=_whole(question[:0], question),
            texts=[_whole(prefix, corpus.texts[text]) for prefix, text in zip(prefixes, chosen, strict=True)],
            ids=chosen,
            scores=[known.get(text, np.nan) for text in chosen],
        )

    def _question(self, group: int) -> list[Tokens]:
        return [self._corpus.questions[QUESTION_PARTS * group + part] for part in range(QUESTION_PARTS)]

    def _positives(self, group: int) -> Tokens:
        return self._corpus.candidates[group][: self._corpus.positives[group]]

    def _choose_negatives(self, group: int, random: np.random.Generator) -> list[int]:
        """Choose mined texts in a share of the draws, else texts of the same page or conversation, else any."""
        corpus, count = self._corpus, self._plan.negatives
        candidates, scores = corpus.candidates[group], corpus.scores[group]
        first, second = int(corpus.positives[group]), int(corpus.positives[group] + corpus.negatives[group])
        local, mined, mined_scores = candidates[first:second], candidates[second:], scores[second:]
        own = set(candidates[:first].tolist())
        best = float(np.nanmin(scores[:first])) if first and not np.isnan(scores[:first]).all() else np.nan
        if not np.isnan(best):
            far = mined_scores <= best - _MIN_DISTANCE
            mined, mined_scores = mined[far], mined_scores[far]
        wants_mined = len(mined) and (random.random() < self._plan.mined_share or not len(local))
        chosen = _sharp(mined, mined_scores - best, count, random) if wants_mined else _some(local, count, random)
        others = self._of_source[int(corpus.source[group])]
        while len(chosen) < count:
            other = int(random.choice(corpus.candidates[int(random.choice(others))]))
            if other not in own or len(others) < 2:
                chosen.append(other)
        return chosen

    def _forms(
        self, group: int, texts: Sequence[int], random: np.random.Generator
    ) -> tuple[Tokens | None, list[Tokens]]:
        """Return the name that stands in the question, if any, and what stands before each text."""
        corpus, source = self._corpus, self._names[int(self._corpus.source[group])]
        has_date = random.random() < _DATE_SHARE
        person: Tokens | None = None
        if len(self._question(group)[1]) and random.random() < _PERSON_SHARE:
            person = self._name(random)
        share = _BY_SHARE if source in _DIALOGUES else _TITLE_SHARE
        shows_by = random.random() < share
        shows_name = random.random() < (_FACT_NAME_SHARE if source == FACTS else _NAME_SHARE)
        prefixes: list[Tokens] = []
        for place, text in enumerate(texts):
            by = corpus.by[text]
            if person is not None:
                by = person if not place or random.random() < _SAME_PERSON_SHARE else self._name(random)
            elif not len(by):
                by = self._name(random) if shows_name else by
            elif not shows_by:
                by = by[:0]
            date = corpus.dates[int(random.integers(len(corpus.dates)))] if has_date else by[:0]
            prefixes.append(np.concatenate([date, by, corpus.marks[0] if len(by) else by]))
        return person, prefixes

    def _triples(self, random: np.random.Generator) -> list[NDArray[np.int64]]:
        count = min(self._plan.triples, len(self._corpus.triples) // 3)
        texts: list[NDArray[np.int64]] = []
        for triple in random.choice(len(self._corpus.triples) // 3, size=count, replace=False):
            prefix = self._prefix(random)
            texts += [_whole(prefix, self._corpus.triples[3 * int(triple) + place]) for place in range(3)]
        return texts

    def _choose_pairs(self, name: str, random: np.random.Generator) -> NDArray[np.int64]:
        own = self._pairs[name]
        return random.choice(own, size=min(self._plan.pairs[name], len(own)), replace=False) if len(own) else own

    def _prefix(self, random: np.random.Generator) -> Tokens:
        """Return a name for both texts of a pair in some of the draws: what all have in common must not count."""
        if random.random() >= _PREFIXED_PAIRS:
            return self._corpus.marks[0][:0]
        return np.concatenate([self._name(random), self._corpus.marks[0]])

    def _name(self, random: np.random.Generator) -> Tokens:
        return self._corpus.names[int(random.integers(len(self._corpus.names)))]


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnGroup:
    """A question with a positive and negatives, the ids of these and the teacher's scores."""

    question: NDArray[np.int64]
    texts: list[NDArray[np.int64]]
    ids: list[int]
    scores: list[float]


def loader(corpus: Corpus, plan: BatchPlan, *, workers: int) -> "DataLoader[Batch]":
    """Return the batches in order, drawn by other processes if there are any."""
    return DataLoader(
        BatchSource(corpus, plan), batch_size=None, num_workers=workers, prefetch_factor=4 if workers else None
    )


def chunked(texts: Sequence[Tokens], *, tokens: int = _CHUNK_TOKENS) -> tuple[list[tuple[Tensor, Tensor]], Tensor]:
    """Pad texts in chunks of similar length; the second value puts the rows of all chunks back into order."""
    by_length = np.argsort([len(text) for text in texts], kind="stable")
    chunks: list[tuple[Tensor, Tensor]] = []
    start = 0
    while start < len(texts):
        end = start
        while end < len(texts) and (end - start + 1) * _padded(len(texts[by_length[end]])) <= tokens:
            end += 1
        end = max(end, start + 1)
        rows = [texts[at] for at in by_length[start:end]]
        ids = np.zeros((len(rows), _padded(len(rows[-1]))), dtype=np.int64)
        for row, text in zip(ids, rows, strict=True):
            row[: len(text)] = text
        chunks.append((torch.from_numpy(ids), torch.tensor([len(row) for row in rows])))
        start = end
    order = np.empty(len(texts), dtype=np.int64)
    order[by_length] = np.arange(len(texts))
    return chunks, torch.from_numpy(order)


def _padded(length: int) -> int:
    return -(-length // 8) * 8


def _whole(prefix: Tokens, text: Tokens) -> NDArray[np.int64]:
    return np.concatenate([[START], prefix, text[: MAX_TOKENS - 2 - len(prefix)], [END]]).astype(np.int64)


def _some(texts: Tokens, count: int, random: np.random.Generator) -> list[int]:
    return random.choice(texts, size=min(count, len(texts)), replace=False).tolist() if len(texts) else []


def _sharp(texts: Tokens, distances: Tokens, count: int, random: np.random.Generator) -> list[int]:
    """Choose half of them among the hardest, by their scores, and the others by chance."""
    hard = min(count // 2, len(texts))
    if np.isnan(distances.astype(float)).any():
        return _some(texts, count, random)
    chances = np.exp(_SHARPNESS * distances.astype(float))
    chosen = random.choice(len(texts), size=hard, replace=False, p=chances / chances.sum())
    left = np.setdiff1d(np.arange(len(texts)), chosen)
    return [int(text) for text in texts[chosen]] + _some(texts[left], count - hard, random)
