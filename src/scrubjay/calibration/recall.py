"""What one unit of cosine is worth: questions are asked with one weight after the other, through the real read path."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from scrubjay.calibration.embedders import Silent, Weighing
from scrubjay.calibration.labels import Cases
from scrubjay.calibration.weights import WEIGHTS
from scrubjay.engine import Engine
from scrubjay.model.draft import Caller, Draft
from scrubjay.model.memory import Source
from scrubjay.model.query import Question
from scrubjay.ports import Progress
from scrubjay.recalling.access_log import AccessLog
from scrubjay.recalling.answer_cache import AnswerCache

_DEPTH = 10
_ALL_THERE_IS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightRow:
    """What one weight finds: the share of the relevant memories among the first ten, and the mean of 1/rank."""

    weight: float
    recall: float
    mrr: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightHalf:
    """The weight that one half of the questions chooses, and what it finds for the other half."""

    chosen: float
    recall: float
    mrr: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallCurve:
    """Every weight that was tried, the best, and what two halves of the questions say of each other."""

    model: str
    before: float
    memories: int
    questions: int
    rows: tuple[WeightRow, ...]
    chosen: WeightRow
    halves: tuple[WeightHalf, WeightHalf]


_Answer = tuple[float, float]
"""Of one question: the share of the relevant that was found, and 1/rank of the first of them."""


async def calibrate_recall(
    cases: Cases, *, engine: Engine, weights: Sequence[float] = WEIGHTS, progress: Progress | None = None
) -> RecallCurve:
    """Fill an engine over an empty store with the memories, and ask all questions with each weight.

    Texts and questions are embedded once. The engine is not to be used for anything else.
    """
    profile = await engine.embedder.profile()
    embedder = Weighing(engine.embedder)
    ids = await _fill(cases, engine=engine)
    await engine.embed_missing(progress=progress)
    unnoted = _Unnoted(engine.store, clock=engine.clock)
    answers: dict[float, list[_Answer]] = {}
    for number, weight in enumerate(weights):
        tried = replace(engine, embedder=embedder.at(weight), answers=AnswerCache(), access_log=unnoted)
        answers[weight] = await _ask(cases, engine=tried, ids=ids, progress=progress, done=number, rounds=len(weights))
    even, odd = ({weight: results[start::2] for weight, results in answers.items()} for start in (0, 1))
    return RecallCurve(
        model=profile.model,
        before=profile.weight,
        memories=len(cases.memories),
        questions=len(cases.questions),
        rows=tuple(_row(weight, results) for weight, results in answers.items()),
        chosen=_best(answers),
        halves=(_half(even, odd), _half(odd, even)),
    )


class _Unnoted(AccessLog):
    """Forgets what was read: what is found often would rank higher with every weight that is tried."""

    def note(self, accesses: Iterable[tuple[str, str]]) -> None:
        """Nothing is noted."""


_Ids = dict[tuple[str, str], str]
"""The ids that memories were given, by collection and their id in the file."""


async def _fill(cases: Cases, *, engine: Engine) -> _Ids:
    """Remember all; vectors follow in large batches, which is faster than a text at a time."""
    writing = replace(engine, embedder=Silent())
    ids: _Ids = {}
    for reported in cases.memories:
        draft = Draft(text=reported.text, intent="new", source=Source(session=reported.session, at=reported.at))
        done = await writing.remember(draft, who=_caller(reported.collection))
        ids[reported.collection, reported.id] = done.id
    return ids


async def _ask(
    cases: Cases, *, engine: Engine, ids: _Ids, progress: Progress | None, done: int, rounds: int
) -> list[_Answer]:
    answers: list[_Answer] = []
    for request in cases.questions:
        question = Question(query=request.query, limit=_DEPTH, max_tokens=_ALL_THERE_IS)
        results = await engine.recall(question, who=_caller(request.collection))
        relevant = {ids[request.collection, item] for item in request.relevant}
        answers.append(_judged([hit.id for hit in results.hits], relevant))
        if progress:
            progress(done * len(cases.questions) + len(answers), rounds * len(cases.questions))
    return answers


def _judged(found: Sequence[str], relevant: set[str]) -> _Answer:
    ranks = [rank for rank, item in enumerate(found, start=1) if item in relevant]
    return len(ranks) / len(relevant), 1 / ranks[0] if ranks else 0.0


def _caller(collection: str) -> Caller:
    return Caller(space=collection or "default", agent="calibrate")


def _row(weight: float, answers: Sequence[_Answer]) -> WeightRow:
    return WeightRow(weight=weight, recall=fmean(share for share, _ in answers), mrr=fmean(rank for _, rank in answers))


def _best(answers: dict[float, list[_Answer]]) -> WeightRow:
    """The most that is found; then the earliest; then the smallest weight."""
    rows = (_row(weight, results) for weight, results in answers.items())
    return max(rows, key=lambda row: (round(row.recall, 6), round(row.mrr, 6), -row.weight))


def _half(here: dict[float, list[_Answer]], there: dict[float, list[_Answer]]) -> WeightHalf:
    chosen = _best(here).weight
    other = _row(chosen, there[chosen])
    return WeightHalf(chosen=chosen, recall=other.recall, mrr=other.mrr)
