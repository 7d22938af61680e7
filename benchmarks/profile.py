"""Counts what one remember and one recall do, by stage: `python -m benchmarks.profile 1000 10000`."""

import asyncio
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import Context
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import apsw

from benchmarks.cache import VectorCache, fill_cache
from benchmarks.corpus import load_corpus
from benchmarks.embedders import CachedEmbedder
from benchmarks.filling import open_engine_with, remember_all
from benchmarks.memories import CALLER, drafts
from benchmarks.tables import Table, rows_of
from scrubjay import telemetry
from scrubjay.app import make_embedder
from scrubjay.engine import Engine
from scrubjay.model.draft import Draft
from scrubjay.model.media import Media
from scrubjay.model.passage import Vector
from scrubjay.model.requests import RecallRequest
from scrubjay.ports import Embedder, Profile
from scrubjay.settings import Settings

_SIZES = (1_000, 10_000)
_OPERATIONS = 40
_WARM_UP = 10
_WHOLE = "all"
# A callback with these arguments, which a loop passes on.
_Callback = Callable[..., object]


class Work(NamedTuple):
    """What was done so far: seconds, CPU seconds, and counts."""

    seconds: float = 0.0
    cpu: float = 0.0
    statements: float = 0
    rows: float = 0
    hops: float = 0
    embeddings: float = 0
    calls: float = 0

    def plus(self, other: "Work") -> "Work":
        """Return the sum of both."""
        return Work(*(first + second for first, second in zip(self, other, strict=True)))

    def minus(self, other: "Work") -> "Work":
        """Return the difference."""
        return Work(*(first - second for first, second in zip(self, other, strict=True)))

    def divided_by(self, count: int) -> "Work":
        """Return the share of one of so many operations."""
        return Work(*(value / count for value in self))


class CountingLoop(asyncio.SelectorEventLoop):
    """An event loop that counts the results that threads hand back to it: one for each hop."""

    hops = 0

    def call_soon_threadsafe(
        self, callback: _Callback, *args: Any, context: Context | None = None
    ) -> asyncio.Handle:  # fmt: skip
        """Count, and call soon."""
        self.hops += 1
        return super().call_soon_threadsafe(callback, *args, context=context)


class CountingEmbedder:
    """Counts the texts that are embedded."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self.count = 0

    async def profile(self) -> Profile:
        """Return the model's profile."""
        return await self._inner.profile()

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return the vectors of texts."""
        self.count += len(texts)
        return await self._inner.embed(texts)

    async def embed_query(self, text: str) -> Vector:
        """Return the vector of a question."""
        self.count += 1
        return await self._inner.embed_query(text)

    async def embed_media(self, items: Sequence[Media]) -> list[Vector | None]:
        """Return the vectors of media."""
        self.count += len(items)
        return await self._inner.embed_media(items)

    async def close(self) -> None:
        """Close the model."""
        await self._inner.close()


@dataclass(kw_only=True)
class Meter:
    """Counts the work of this process, and as an observer of telemetry that of each stage.

    A stage includes the stages inside it, and what else ran meanwhile. Python calls are those of the event loop.
    """

    embedder: CountingEmbedder
    loop: CountingLoop
    needs_starts: bool = True
    stages: dict[str, Work] = field(default_factory=dict[str, Work])
    _connections: list[apsw.Connection] = field(default_factory=list[apsw.Connection])
    _statements: int = 0
    _rows: int = 0
    _calls: int = 0

    @contextmanager
    def watch(self) -> Generator["Meter"]:
        """Count the statements of all connections that are opened in the block."""
        apsw.connection_hooks.append(self._add_connection)
        try:
            yield self
        finally:
            apsw.connection_hooks.remove(self._add_connection)

    async def measure(
        self, operations: Sequence[Callable[[], Awaitable[object]]], *, counts: bool
    ) -> dict[str, Work]:  # fmt: skip
        """Return what one of some operations does, by stage; without `counts` only how long it takes."""
        self.stages = {}
        for connection in self._connections:
            connection.set_exec_trace(self._on_statement if counts else None)
            connection.set_row_trace(self._on_row if counts else None)
        with telemetry.observe(self), self._counted_calls(on=counts):
            before = self._now()
            for operation in operations:
                await operation()
            whole = self._now().minus(before)
        return {name: work.divided_by(len(operations)) for name, work in {_WHOLE: whole, **self.stages}.items()}

    def on_start(self, span: telemetry.Span, /) -> object:
        """Note the state before a stage."""
        del span
        return self._now()

    def on_end(self, span: telemetry.Span, mark: object, /) -> None:
        """Add the work of a stage."""
        if isinstance(mark, Work):
            self.stages[span.name] = self.stages.get(span.name, Work()).plus(self._now().minus(mark))

    def on_count(self, name: str, amount: int, labels: Mapping[str, str], /) -> None:
        """Ignore events."""

    def _now(self) -> Work:
        return Work(
            seconds=time.perf_counter(), cpu=time.process_time(), statements=self._statements, rows=self._rows,
            hops=self.loop.hops, embeddings=self.embedder.count, calls=self._calls,
        )  # fmt: skip

    def _add_connection(self, connection: apsw.Connection) -> None:
        self._connections.append(connection)

    def _on_statement(self, cursor: apsw.Cursor, statement: str, bindings: object) -> bool:
        del cursor, statement, bindings
        self._statements += 1
        return True

    def _on_row(self, cursor: apsw.Cursor, row: tuple[Any, ...]) -> tuple[Any, ...]:
        del cursor
        self._rows += 1
        return row

    @contextmanager
    def _counted_calls(self, *, on: bool) -> Generator[None]:
        def count(frame: FrameType, event: str, argument: object) -> None:
            del frame, argument
            if event == "call":
                self._calls += 1

        if on:
            sys.setprofile(count)
        try:
            yield
        finally:
            if on:
                sys.setprofile(None)


def main() -> None:
    """Profile at the sizes that the arguments name, and print Markdown."""
    sizes = tuple(map(int, sys.argv[1:])) or _SIZES
    loop = CountingLoop()
    with asyncio.Runner(loop_factory=lambda: loop) as runner, tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            for table in runner.run(_profile(size, home=Path(folder) / str(size), loop=loop)):
                print(f"## {table.title}\n")
                print("\n".join(rows_of(table)), end="\n\n", flush=True)


async def _profile(size: int, *, home: Path, loop: CountingLoop) -> list[Table]:
    corpus = load_corpus(sentences=size + 2 * _OPERATIONS + _WARM_UP, questions=2 * _OPERATIONS + _WARM_UP)
    # Without a model that reads pairs, as without the embedder: what is counted is the work besides the models.
    settings = Settings.load(
        environment={}, home=str(home), space=CALLER.space, agent=CALLER.agent, pair_model="off", reader=False
    )  # fmt: skip
    inner = make_embedder(settings)
    cache = VectorCache(await inner.profile())
    await fill_cache(cache, list(corpus.sentences), embedder=inner, progress=lambda _, __: None)
    # Filled before: what is measured is the work besides the model.
    cached = CachedEmbedder(inner, cache)
    for question in corpus.questions:
        await cached.embed_query(question)
    embedder = CountingEmbedder(cached)
    with Meter(embedder=embedder, loop=loop).watch() as meter:
        async with open_engine_with(settings, embedder) as engine:
            await remember_all(engine, drafts(corpus.sentences[:size]), progress=lambda _, __: None)
            await engine.index.rebuild()
            tables = [
                await _table(title, operations, meter=meter, size=size)
                for title, operations in (
                    ("One remember", _remembers(engine, corpus.sentences[size:])),
                    ("One recall", _recalls(engine, corpus.questions)),
                )
            ]
    await inner.close()
    return tables


def _remembers(engine: Engine, sentences: Sequence[str]) -> list[Callable[[], Awaitable[object]]]:
    return [lambda text=text: engine.remember(Draft(text=text), who=CALLER) for text in sentences]


def _recalls(engine: Engine, questions: Sequence[str]) -> list[Callable[[], Awaitable[object]]]:
    return [lambda text=text: engine.recall(RecallRequest(query=text), who=CALLER) for text in questions]


async def _table(
    title: str, operations: Sequence[Callable[[], Awaitable[object]]], *, meter: Meter, size: int
) -> Table:  # fmt: skip
    for operation in operations[:_WARM_UP]:
        await operation()
    timed = await meter.measure(operations[_WARM_UP : _WARM_UP + _OPERATIONS], counts=False)
    counted = await meter.measure(operations[_WARM_UP + _OPERATIONS :], counts=True)
    none = Work()
    rows = [
        (
            name, f"{timed.get(name, none).seconds * 1000:.2f}", f"{timed.get(name, none).cpu * 1000:.2f}",
            f"{work.statements:.1f}", f"{work.rows:.0f}", f"{work.hops:.1f}", f"{work.embeddings:.1f}",
            f"{work.calls:,.0f}",
        )
        for name, work in sorted(counted.items(), key=lambda entry: (entry[0] != _WHOLE, -entry[1].calls))
    ]  # fmt: skip
    return Table(
        title=f"{title} at {size:,} memories, vectors ready",
        head=("stage", "ms", "CPU ms", "statements", "rows", "hops", "embeddings", "Python calls"),
        rows=tuple(rows),
    )


if __name__ == "__main__":
    main()
