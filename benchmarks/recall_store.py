"""A store filled with collections through `MemoryClient`, and asked through it, with every stage or without some."""

import time
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks.cache import FOLDER, VectorCache, fill_cache
from benchmarks.embedders import KnowingEmbedder
from benchmarks.filling import opened
from benchmarks.recall_data import Asked, Collection, Turn
from benchmarks.recall_metrics import DEPTH, Answer, answer_of, in_order
from scrubjay.client import MemoryClient
from scrubjay.engine import Engine
from scrubjay.model.draft import Caller
from scrubjay.model.identity import new_id
from scrubjay.model.media import Media
from scrubjay.model.memory import Method, Source, Trust
from scrubjay.model.passage import Vector
from scrubjay.ports import Embedder, Profile, Progress
from scrubjay.recalling.access_log import AccessLog
from scrubjay.settings import Settings
from scrubjay.text.passages import slices

# So much that the answer is never cut: what is measured is the order.
_PLENTY = 1_000_000
# Sessions are found by their turns: so many turns name ten sessions almost always.
_TURNS_FOR_SESSIONS = 100
_WARM_UP = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """A filled store that is open: the spaces of the collections, and which memory is which turn."""

    engine: Engine
    collections: tuple[Collection, ...]
    spaces: tuple[str, ...]
    turns: dict[str, Turn] = field(default_factory=dict[str, Turn])


class CachingEmbedder:
    """The product's embedder, with the vectors of texts and of questions kept apart between runs."""

    def __init__(self, inner: Embedder, profile: Profile, *, folder: Path = FOLDER) -> None:
        self._texts = VectorCache(profile, folder=folder)
        # A model may embed a question in another way than the same text.
        self._asked = VectorCache(profile, folder=folder / "questions")
        self._inner = inner
        self._knowing = KnowingEmbedder(inner, self._texts)
        self._hearing = KnowingEmbedder(inner, self._asked)

    async def learn(self, collections: Sequence[Collection], *, progress: Progress) -> None:
        """Embed what is not kept yet: in portions, which takes half the time."""
        turns = [turn.text for collection in collections for turn in collection.memories]
        texts = [text[start:end] for text in dict.fromkeys(turns) for start, end in slices(text)]
        await fill_cache(self._texts, texts, embedder=self._inner, progress=progress)

    async def profile(self) -> Profile:
        """The model's profile."""
        return await self._inner.profile()

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Vectors of texts, in order."""
        return await self._knowing.embed(texts)

    async def embed_query(self, text: str) -> Vector:
        """The vector of a question."""
        return await self._hearing.embed_query(text)

    async def embed_media(self, items: Sequence[Media]) -> list[Vector | None]:
        """Vectors of media, in order."""
        return await self._knowing.embed_media(items)

    async def close(self) -> None:
        """Leave the model to whoever made it."""


@asynccontextmanager
async def moved_in(
    settings: Settings, collections: Sequence[Collection], *, embedder: Embedder
) -> AsyncGenerator[Store]:
    """A house with a fresh space for each collection, and nothing in them yet."""
    spaces = tuple(f"bench-{new_id()}" for _ in collections)
    async with opened(settings, embedder) as engine:
        unseen = replace(engine, access_log=_Unseen(engine.store, clock=engine.clock))
        yield Store(engine=unseen, collections=tuple(collections), spaces=spaces)


async def fill(store_: Store, *, progress: Progress) -> None:
    """Remember every turn, in the order in which they were said, and have the index ready."""
    total = sum(len(collection.memories) for collection in store_.collections)
    for space, item in zip(store_.spaces, store_.collections, strict=True):
        memory = MemoryClient.over(store_.engine, Caller(space=space, agent="bench"))
        for turn in item.memories:
            store_.turns.update(dict.fromkeys(await _remember(memory, turn), turn))
            progress(len(store_.turns), total)
    await store_.engine.index.rebuild()


async def answers_of(store_: Store, *, progress: Progress, without: Sequence[str] = ()) -> list[Answer]:
    """Every question answered, by the turns that are found first; without some stages if they are named."""
    ranking = store_.engine.ranking
    left_out = replace(ranking, without=ranking.without.union(without))
    questions = _questions(store_, replace(store_.engine, ranking=left_out))
    results: list[Answer] = []
    for memory, request in questions:
        turns = await _recall(store_, memory, request, limit=DEPTH)
        results.append(answer_of(request.category, [turn.id for turn in turns], gold=request.gold))
        progress(len(results), len(questions))
    return results


async def sessions_of(store_: Store, *, progress: Progress) -> list[Answer]:
    """Every question that knows its sessions answered by sessions: each stands where its first turn does."""
    questions = [(memory, request) for memory, request in _questions(store_, store_.engine) if request.sessions]
    results: list[Answer] = []
    for memory, request in questions:
        turns = await _recall(store_, memory, request, limit=_TURNS_FOR_SESSIONS)
        names = in_order(turn.session for turn in turns)
        results.append(answer_of(request.category, names, gold=request.sessions))
        progress(len(results), len(questions))
    return results


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """Seconds of each recall as users ask, and the tokens of each answer."""

    seconds: tuple[float, ...]
    tokens: tuple[int, ...]


async def time_recalls(store_: Store, *, embedder: Embedder, progress: Progress, most: int | None = None) -> Timed:
    """Ask as users do, with the defaults; `most` questions at most, taken from everywhere."""
    questions = _questions(store_, replace(store_.engine, embedder=embedder))
    questions = questions[:: max(1, len(questions) // most)][:most] if most else questions
    seconds: list[float] = []
    tokens: list[int] = []
    for number, (memory, request) in enumerate(questions, 1):
        began = time.perf_counter()
        answer = await memory.recall(request.text, today=request.today)
        seconds.append(time.perf_counter() - began)
        tokens.append(answer.tokens)
        progress(number, len(questions))
    timed = seconds[_WARM_UP:] if len(seconds) > 2 * _WARM_UP else seconds
    return Timed(seconds=tuple(timed), tokens=tuple(tokens))


class _Unseen(AccessLog):
    """Counts nothing: what one question finds must not stand higher when the next is asked."""

    def note(self, accesses: Iterable[tuple[str, str]]) -> None:
        """Leave no trace."""


def _questions(store_: Store, engine: Engine) -> list[tuple[MemoryClient, Asked]]:
    return [
        (memory, request)
        for space, item in zip(store_.spaces, store_.collections, strict=True)
        for memory in (MemoryClient.over(engine, Caller(space=space, agent="bench")),)
        for request in item.questions
    ]


async def _remember(memory: MemoryClient, turn: Turn) -> tuple[str, ...]:
    done = await memory.remember(
        turn.text,
        entities=[turn.speaker] if turn.speaker else (),
        source=Source(session=turn.session, at=turn.at, method=Method.IMPORT, trust=Trust.USER),
        metadata={"turn": turn.id},
        # The same is said more than once.
        intent="new",
    )
    if done.action != "created":
        raise SystemExit(f"a turn was {done.action} instead of created: {turn.text}")
    return done.ids


async def _recall(store_: Store, memory: MemoryClient, asked: Asked, *, limit: int) -> list[Turn]:
    results = await memory.recall(asked.text, limit=limit, max_tokens=_PLENTY, today=asked.today)
    return [store_.turns[hit.id] for hit in results.hits]
