"""Measures a model on labelled data: recall at each weight of the cosine, and errors at each threshold of equality."""

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

import numpy as np

from scrubjay.app.calibration.labels import LabelledCases, LabelledPair
from scrubjay.embedding.none import NoEmbedder
from scrubjay.engine import Engine
from scrubjay.lazy import dataclass
from scrubjay.model.caller import Caller
from scrubjay.model.draft import Draft
from scrubjay.model.media import Media
from scrubjay.model.memory import Source
from scrubjay.model.passage import Vector
from scrubjay.model.requests import RecallRequest
from scrubjay.ports import Embedder, Profile, Progress
from scrubjay.recalling.access_log import AccessLog
from scrubjay.recalling.answer_cache import AnswerCache
from scrubjay.writing.similarity_score import compare_texts

_RECALL_DEPTH = 10
_PAIRS_PER_BATCH = 64
_SHOWN_THRESHOLDS = tuple(round(0.5 + step * 0.025, 3) for step in range(20))
# Thresholds are multiples of 1/1000; finer differences mean nothing.
_THRESHOLD_STEPS = 1000
# The threshold need not be lower than the similarity that all but this share of the same pairs reach.
_MISSED_SHARE = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightRow:
    """The result of one weight: the share of relevant memories among the first ten hits, and the mean of 1/rank."""

    weight: float
    recall: float
    mrr: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightHalf:
    """The best weight for half of the questions, and its result on the other half."""

    chosen: float
    recall: float
    mrr: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallCurve:
    """The results of all weights, the best of them, and a cross-check with two halves of the questions."""

    model: str
    before: float
    memories: int
    questions: int
    rows: tuple[WeightRow, ...]
    chosen: WeightRow
    halves: tuple[WeightHalf, WeightHalf]


@dataclass(frozen=True, slots=True, kw_only=True)
class SameRow:
    """The result of one threshold: the share of same pairs above it, and of different pairs, which are errors."""

    threshold: float
    found: float
    wrong: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SameCurve:
    """The results of several thresholds, the best of all, and a cross-check with two halves of the pairs."""

    model: str
    before: float
    pairs: int
    same: int
    bound: float
    rows: tuple[SameRow, ...]
    chosen: SameRow
    halves: tuple[SameRow, SameRow]


_Score = tuple[float, float]
"""The result of one question: the share of relevant memories among the hits, and 1/rank of the first of them."""
_Scores = dict[float, list[_Score]]
"""The results of all questions by weight."""
_Ids = dict[tuple[str, str], str]
"""The ids of stored memories by their collection and their id in the file."""
_LabelledSimilarity = tuple[float, bool]
"""The similarity of a pair as the similarity gate computes it, and whether its texts mean the same."""


async def calibrate_recall(
    cases: LabelledCases, *, engine: Engine, weights: Sequence[float], progress: Progress | None = None
) -> RecallCurve:
    """Store the memories in an engine over an empty store, and ask all questions with each weight.

    Each text and question is embedded once. The engine cannot be used for anything else afterwards.
    """
    profile = await engine.embedder.profile()
    embedder = _ReweightedEmbedder(engine.embedder)
    ids = await _store_memories(cases, engine=engine)
    await engine.backfill(progress=progress)
    # Reads with one weight must not raise ranks with the next.
    access_log = AccessLog(None, clock=engine.clock)
    scores: _Scores = {}
    for number, weight in enumerate(weights):
        variant = replace(engine, embedder=embedder.at(weight), answers=AnswerCache(), access_log=access_log)
        scores[weight] = await _ask_all(
            cases, engine=variant, ids=ids, progress=progress, finished=number, rounds=len(weights)
        )
    even, odd = ({weight: results[start::2] for weight, results in scores.items()} for start in (0, 1))
    return RecallCurve(
        model=profile.model,
        before=profile.weight,
        memories=len(cases.memories),
        questions=len(cases.questions),
        rows=tuple(_weight_row(weight, results) for weight, results in scores.items()),
        chosen=_best_weight(scores),
        halves=(_cross_check(even, odd), _cross_check(odd, even)),
    )


async def calibrate_same(
    pairs: Sequence[LabelledPair], *, embedder: Embedder, wrong: float = 0.01, progress: Progress | None = None
) -> SameCurve:
    """Find the lowest threshold that at most a share of `wrong` of the different pairs reach.

    Pairs are scored as the similarity gate scores them; a pair that the gate always treats as different counts as
    similarity 0. The shares do not depend on the ratio of same to different pairs in the file.
    """
    profile = await embedder.profile()
    similarities = await _score_pairs(pairs, embedder=embedder, progress=progress)
    even, odd = similarities[::2], similarities[1::2]
    return SameCurve(
        model=profile.model,
        before=profile.same,
        pairs=len(similarities),
        same=sum(same for _, same in similarities),
        bound=wrong,
        rows=tuple(_same_row(threshold, similarities) for threshold in _SHOWN_THRESHOLDS),
        chosen=_same_row(_lowest_threshold(similarities, wrong=wrong), similarities),
        halves=(
            _same_row(_lowest_threshold(even, wrong=wrong), odd),
            _same_row(_lowest_threshold(odd, wrong=wrong), even),
        ),
    )


class _ReweightedEmbedder:
    """An embedder with another weight; copies share the vectors of questions, so that each is embedded once."""

    def __init__(self, embedder: Embedder, *, weight: float | None = None) -> None:
        self._embedder = embedder
        self._weight = weight
        self._query_vectors: dict[str, Vector] = {}

    def at(self, weight: float) -> "_ReweightedEmbedder":
        """Return a copy with another weight."""
        copy = _ReweightedEmbedder(self._embedder, weight=weight)
        copy._query_vectors = self._query_vectors
        return copy

    async def profile(self) -> Profile:
        profile = await self._embedder.profile()
        return profile if self._weight is None else replace(profile, weight=self._weight)

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        return await self._embedder.embed(texts)

    async def embed_query(self, text: str) -> Vector:
        if text not in self._query_vectors:
            self._query_vectors[text] = await self._embedder.embed_query(text)
        return self._query_vectors[text]

    async def embed_media(self, items: Sequence[Media]) -> list[Vector | None]:
        return await self._embedder.embed_media(items)

    async def close(self) -> None:
        """Do nothing: the engine closes the wrapped embedder."""


async def _store_memories(cases: LabelledCases, *, engine: Engine) -> _Ids:
    """Store the memories without vectors; embedding them later in large batches is faster."""
    writer = replace(engine, embedder=NoEmbedder())
    ids: _Ids = {}
    for memory in cases.memories:
        draft = Draft(text=memory.text, intent="new", source=Source(session=memory.session, at=memory.at))
        result = await writer.remember(draft, who=_caller(memory.collection))
        ids[memory.collection, memory.id] = result.id
    return ids


async def _ask_all(
    cases: LabelledCases, *, engine: Engine, ids: _Ids, progress: Progress | None, finished: int, rounds: int
) -> list[_Score]:
    scores: list[_Score] = []
    for labelled in cases.questions:
        question = RecallRequest(query=labelled.query, limit=_RECALL_DEPTH, min_score=0.0)
        answer = await engine.recall(question, who=_caller(labelled.collection))
        relevant = {ids[labelled.collection, id_] for id_ in labelled.relevant}
        ranks = [rank for rank, hit in enumerate(answer.hits, start=1) if hit.id in relevant]
        scores.append((len(ranks) / len(relevant), 1 / ranks[0] if ranks else 0.0))
        if progress:
            progress(finished * len(cases.questions) + len(scores), rounds * len(cases.questions))
    return scores


def _caller(collection: str) -> Caller:
    return Caller(space=collection or "default", agent="calibrate")


def _weight_row(weight: float, scores: Sequence[_Score]) -> WeightRow:
    return WeightRow(weight=weight, recall=fmean(share for share, _ in scores), mrr=fmean(rank for _, rank in scores))


def _best_weight(scores: _Scores) -> WeightRow:
    """Return the row with the best recall; a tie goes to the better MRR, then to the smaller weight."""
    rows = (_weight_row(weight, results) for weight, results in scores.items())
    return max(rows, key=lambda row: (round(row.recall, 6), round(row.mrr, 6), -row.weight))


def _cross_check(half: _Scores, other: _Scores) -> WeightHalf:
    weight = _best_weight(half).weight
    row = _weight_row(weight, other[weight])
    return WeightHalf(chosen=weight, recall=row.recall, mrr=row.mrr)


async def _score_pairs(
    pairs: Sequence[LabelledPair], *, embedder: Embedder, progress: Progress | None
) -> list[_LabelledSimilarity]:
    similarities: list[_LabelledSimilarity] = []
    for start in range(0, len(pairs), _PAIRS_PER_BATCH):
        batch = pairs[start : start + _PAIRS_PER_BATCH]
        vectors = await embedder.embed([text for pair in batch for text in (pair.first, pair.second)])
        for pair, first, second in zip(batch, vectors[::2], vectors[1::2], strict=True):
            score = compare_texts(pair.first, pair.second, cosine=float(np.dot(first, second)))
            similarities.append((0.0 if score.differs else score.similarity, pair.same))
        if progress:
            progress(len(similarities), len(pairs))
    return similarities


def _lowest_threshold(similarities: Sequence[_LabelledSimilarity], *, wrong: float) -> float:
    different = sorted((similarity for similarity, same in similarities if not same), reverse=True)
    allowed = math.floor(wrong * len(different))
    lowest = 1 / _THRESHOLD_STEPS
    if allowed < len(different):
        # Just above the first pair that exceeds the allowed number.
        lowest = math.floor(different[allowed] * _THRESHOLD_STEPS + 1) / _THRESHOLD_STEPS
    return min(1.0, max(lowest, _least_useful_threshold(similarities)))


def _least_useful_threshold(similarities: Sequence[_LabelledSimilarity]) -> float:
    """Return a threshold that nearly all same pairs reach: a lower value mostly adds errors."""
    same = sorted(similarity for similarity, same in similarities if same and similarity > 0)
    if not same:
        return 1 / _THRESHOLD_STEPS
    return max(1, math.floor(same[int(_MISSED_SHARE * len(same))] * _THRESHOLD_STEPS)) / _THRESHOLD_STEPS


def _same_row(threshold: float, similarities: Sequence[_LabelledSimilarity]) -> SameRow:
    shares: dict[bool, float] = {}
    for kind in (True, False):
        reached = [similarity >= threshold for similarity, same in similarities if same is kind]
        shares[kind] = sum(reached) / max(1, len(reached))
    return SameRow(threshold=threshold, found=shares[True], wrong=shares[False])
