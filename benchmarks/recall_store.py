"""A store filled with collections through `MemoryClient`, and queried through it, with or without some stages."""

import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks.cache import FOLDER, VectorCache, fill_cache
from benchmarks.embedders import CachedEmbedder
from benchmarks.filling import open_engine_with
from benchmarks.recall_data import Collection, LabelledQuestion, Turn
from benchmarks.recall_metrics import DEPTH, Answer, answer_of, in_order
from scrubjay.client import MemoryClient
from scrubjay.engine import Engine
from scrubjay.model.caller import Caller
from scrubjay.model.identity import new_id
from scrubjay.model.media import Media
from scrubjay.model.memory import Method, Source, Trust
from scrubjay.model.passage import Vector
from scrubjay.ports import Embedder, Profile, Progress
from scrubjay.recalling.access_log import AccessLog
from scrubjay.settings import Settings
from scrubjay.text.passages import slices

# High enough that no answer is cut: the benchmark measures the order.
_UNLIMITED_TOKENS = 1_000_000
# Sessions are found by their turns: this many turns almost always cover ten sessions.
_TURNS_FOR_SESSIONS = 100
_WARM_UP = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class FilledStore:
    """An open, filled store: the spaces of the collections, and the turn of each memory.

    `is_plain`: the turns are stored as texts alone, without entity, session and date.
    """

    engine: Engine
    collections: tuple[Collection, ...]
    spaces: tuple[str, ...]
    is_plain: bool = False
    turns: dict[str, Turn] = field(default_factory=dict[str, Turn])


class DatasetEmbedder:
    """The product's embedder with separate caches for the vectors of texts and of questions."""

    def __init__(self, inner: Embedder, profile: Profile, *, folder: Path = FOLDER) -> None:
        self._text_vectors = VectorCache(profile, folder=folder)
        # A model may embed a question differently from the same text.
        self._question_vectors = VectorCache(profile, folder=folder / "questions")
        self._inner = inner
        self._text_embedder = CachedEmbedder(inner, self._text_vectors)
        self._question_embedder = CachedEmbedder(inner, self._question_vectors)

    async def learn(self, collections: Sequence[Collection], *, progress: Progress) -> None:
        """Embed the texts that are not cached, in batches, which takes half the time."""
        turns = [turn.text for collection in collections for turn in collection.memories]
        texts = [text[start:end] for text in dict.fromkeys(turns) for start, end in slices(text)]
        await fill_cache(self._text_vectors, texts, embedder=self._inner, progress=progress)

    async def profile(self) -> Profile:
        """Return the model's profile."""
        return await self._inner.profile()

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return the vectors of texts in order."""
        return await self._text_embedder.embed(texts)

    async def embed_query(self, text: str) -> Vector:
        """Return the vector of a question."""
        return await self._question_embedder.embed_query(text)

    async def embed_media(self, items: Sequence[Media]) -> list[Vector | None]:
        """Return the vectors of media in order."""
        return await self._text_embedder.embed_media(items)

    async def close(self) -> None:
        """Leave the model open; its creator closes it."""


@asynccontextmanager
async def open_filled_store(
    settings: Settings, collections: Sequence[Collection], *, embedder: Embedder, is_plain: bool = False
) -> AsyncGenerator[FilledStore]:
    """Open a store with a new, empty space for each collection."""
    spaces = tuple(f"benchmark-{new_id()}" for _ in collections)
    async with open_engine_with(settings, embedder) as engine:
        # The results of one question must not rank higher for the next.
        unlogged = replace(engine, access_log=AccessLog(None, clock=engine.clock))
        yield FilledStore(engine=unlogged, collections=tuple(collections), spaces=spaces, is_plain=is_plain)


async def fill(filled: FilledStore, *, progress: Progress) -> None:
    """Remember every turn in order, and build the index."""
    total = sum(len(collection.memories) for collection in filled.collections)
    for space, collection in zip(filled.spaces, filled.collections, strict=True):
        memory = MemoryClient.over(filled.engine, Caller(space=space, agent="benchmark"))
        for turn in collection.memories:
            filled.turns.update(dict.fromkeys(await _remember(memory, turn, is_plain=filled.is_plain), turn))
            progress(len(filled.turns), total)
    await filled.engine.index.rebuild()


async def answers_of(filled: FilledStore, *, progress: Progress, without: Sequence[str] = ()) -> list[Answer]:
    """Answer every question by the first turns found, without some stages if named."""
    ranking = filled.engine.ranking
    left_out = replace(ranking, without=ranking.without.union(without))
    questions = _questions(filled, replace(filled.engine, ranking=left_out))
    answers: list[Answer] = []
    for memory, question in questions:
        turns = await _recall(filled, memory, question, limit=DEPTH)
        answers.append(answer_of(question.category, [turn.id for turn in turns], gold=question.gold))
        progress(len(answers), len(questions))
    return answers


async def sessions_of(filled: FilledStore, *, progress: Progress) -> list[Answer]:
    """Answer every question that has sessions by sessions, each at the rank of its first turn."""
    questions = [(memory, question) for memory, question in _questions(filled, filled.engine) if question.sessions]
    answers: list[Answer] = []
    for memory, question in questions:
        turns = await _recall(filled, memory, question, limit=_TURNS_FOR_SESSIONS)
        names = in_order(turn.session for turn in turns)
        answers.append(answer_of(question.category, names, gold=question.sessions))
        progress(len(answers), len(questions))
    return answers


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """Seconds of each recall with the defaults, and the tokens of each answer."""

    seconds: tuple[float, ...]
    tokens: tuple[int, ...]


async def time_recalls(
    filled: FilledStore, *, embedder: Embedder, progress: Progress, max_questions: int | None = None
) -> Timed:
    """Recall with the defaults, at most `max_questions` evenly chosen questions."""
    questions = _questions(filled, replace(filled.engine, embedder=embedder))
    questions = questions[:: max(1, len(questions) // max_questions)][:max_questions] if max_questions else questions
    seconds: list[float] = []
    tokens: list[int] = []
    for number, (memory, question) in enumerate(questions, 1):
        began = time.perf_counter()
        answer = await memory.recall(question.text, today=question.today)
        seconds.append(time.perf_counter() - began)
        tokens.append(answer.tokens)
        progress(number, len(questions))
    timed = seconds[_WARM_UP:] if len(seconds) > 2 * _WARM_UP else seconds
    return Timed(seconds=tuple(timed), tokens=tuple(tokens))


def _questions(filled: FilledStore, engine: Engine) -> list[tuple[MemoryClient, LabelledQuestion]]:
    return [
        (memory, question)
        for space, collection in zip(filled.spaces, filled.collections, strict=True)
        for memory in (MemoryClient.over(engine, Caller(space=space, agent="benchmark")),)
        for question in collection.questions
    ]


async def _remember(memory: MemoryClient, turn: Turn, *, is_plain: bool) -> tuple[str, ...]:
    source = Source(method=Method.IMPORT, trust=Trust.USER)
    done = await memory.remember(
        turn.text,
        entities=[turn.speaker] if turn.speaker and not is_plain else (),
        source=source if is_plain else replace(source, session=turn.session, at=turn.at),
        metadata={"turn": turn.id},
        # Conversations repeat sentences.
        intent="new",
    )
    if done.action != "created":
        raise SystemExit(f"a turn was {done.action} instead of created: {turn.text}")
    return done.ids


async def _recall(filled: FilledStore, memory: MemoryClient, question: LabelledQuestion, *, limit: int) -> list[Turn]:
    answer = await memory.recall(question.text, limit=limit, max_tokens=_UNLIMITED_TOKENS, today=question.today)
    return [filled.turns[hit.id] for hit in answer.hits]
