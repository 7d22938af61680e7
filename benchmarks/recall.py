"""How well recall finds: `python -m benchmarks.recall --dataset locomo --data FILE`. See benchmarks/README.md."""

import argparse
import asyncio
import json
import os
import platform
import sys
import tempfile
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from benchmarks.cache import FOLDER
from benchmarks.recall_bm25 import Bm25
from benchmarks.recall_data import BadData
from benchmarks.recall_figures import Measured, Pace, RecallResults, Way
from benchmarks.recall_metrics import DEPTH, Answer, answer_of, by_category, quality
from benchmarks.recall_plot import plot
from benchmarks.recall_report import page
from benchmarks.recall_sources import LOADERS, MADE, Dataset, choose
from benchmarks.recall_store import CachingEmbedder, Store, answers_of, fill, moved_in, sessions_of, time_recalls
from benchmarks.timing import spread
from scrubjay.app import make_embedder
from scrubjay.errors import ScrubjayError
from scrubjay.model.ranking import STAGES
from scrubjay.ports import Embedder
from scrubjay.ports import Progress as Told
from scrubjay.settings import Settings
from scrubjay.version import VERSION

# What the environment may change: how texts are embedded, and how recall ranks.
_CHOSEN = ("SCRUBJAY_EMBED", "SCRUBJAY_RECALL", "SCRUBJAY_RERANK", "SCRUBJAY_ALLOW_DOWNLOAD")
# Nobody reranks unless asked to.
_ABLATED = tuple(stage for stage in STAGES if stage != "rerank")
_EMBEDDED, _POSTGRES = "embedded", "PostgreSQL"
_EMBEDDED_ANEW = 200


def main() -> None:
    """Measure what the arguments name, print it as Markdown and write it where they say."""
    options = _options(sys.argv[1:])
    try:
        datasets = choose(options.dataset, options.data)
        results = asyncio.run(Bench(options).run(datasets))
    except (BadData, ScrubjayError) as error:
        raise SystemExit(f"{error}") from error
    print(page(results), end="")
    if options.json is not None:
        options.json.write_text(json.dumps(asdict(results), indent=1) + "\n", encoding="utf-8")
    if options.plot is not None:
        options.plot.write_text(plot(results), encoding="utf-8")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the command line says."""

    dataset: str = ""
    data: Path | None = None
    collections: int | None = None
    ablate: bool = False
    postgres: bool = False
    database: str = ""
    json: Path | None = None
    plot: Path | None = None
    cache: Path = FOLDER


class Bench:
    """One run; a bar on stderr tells how far it is."""

    def __init__(self, options: Options, *, make: Callable[[Settings], Embedder] = make_embedder) -> None:
        self._options = options
        self._make = make
        self._console = Console(stderr=True)

    async def run(self, datasets: Sequence[Dataset]) -> RecallResults:
        """Measure every data set."""
        settings = _settings(os.environ)
        model = self._make(settings)
        try:
            profile = await model.profile()
            stored = CachingEmbedder(model, profile, folder=self._options.cache)
            measured = [await self._measure(dataset, settings=settings, kept=stored) for dataset in datasets]
        finally:
            await model.close()
        return RecallResults(
            version=VERSION,
            machine=f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
            model=f"{profile.model}, {profile.dimension} dimensions",
            ranking=_ranking(settings),
            datasets=tuple(measured),
        )

    async def _measure(self, one: Dataset, *, settings: Settings, kept: CachingEmbedder) -> Measured:
        one = replace(one, collections=one.collections[: self._options.collections])
        with self._bar(f"{one.name}: embedding what is not in the cache") as reported:
            await kept.learn(one.collections, progress=reported)
        backends, paces = dict[str, list[Answer]](), dict[str, Pace]()
        ways: list[Way] = []
        sessions: list[Answer] = []
        async with aclosing(self._houses(one, settings=settings, kept=kept)) as houses:
            async for name, store_ in houses:
                backends[name] = await self._answers(store_, f"{one.name}: asking, {name}")
                paces[name] = await self._pace(store_, settings=settings)
                if name == _EMBEDDED:
                    ways = await self._transports(one, store_, backends[name])
                    with self._bar(f"{one.name}: asking for sessions") as reported:
                        sessions = await sessions_of(store_, progress=reported)
        return Measured(
            dataset=one.name,
            origin=one.origin,
            collections=len(one.collections),
            memories=sum(len(collection.memories) for collection in one.collections),
            ways=tuple(ways),
            categories=by_category(backends[_EMBEDDED]),
            backends={name: quality(answers) for name, answers in backends.items()},
            paces=paces,
            sessions=quality(sessions) if sessions else None,
        )

    async def _houses(
        self, one: Dataset, *, settings: Settings, kept: CachingEmbedder
    ) -> AsyncGenerator[tuple[str, Store]]:
        """The same memories in each store, in folders that are gone afterwards."""
        async with _databases(self._options) as places:
            for name, url in places.items():
                with tempfile.TemporaryDirectory(prefix="scrubjay-recall-") as folder:
                    there = replace(settings, home=folder, database_url=url)
                    async with moved_in(there, one.collections, embedder=kept) as store_:
                        with self._bar(f"{one.name}: remembering, {name}") as reported:
                            await fill(store_, progress=reported)
                        yield name, store_

    async def _transports(self, one: Dataset, store_: Store, product: list[Answer]) -> list[Way]:
        results = [Way(name="Scrubjay", quality=quality(product)), Way(name="BM25 alone", quality=quality(_bm25(one)))]
        others = [(f"{stage} alone", tuple(each for each in STAGES if each != stage)) for stage in ("words", "meaning")]
        if self._options.ablate:
            left = [stage for stage in _ABLATED if store_.engine.ranking.uses(stage)]
            others += [(f"without {stage}", (stage,)) for stage in left]
        for name, without in others:
            answers = await self._answers(store_, f"{one.name}: asking, {name}", without=without)
            results.append(Way(name=name, quality=quality(answers)))
        return results

    async def _answers(self, store_: Store, what: str, *, without: Sequence[str] = ()) -> list[Answer]:
        with self._bar(what) as reported:
            return await answers_of(store_, progress=reported, without=without)

    async def _pace(self, store_: Store, *, settings: Settings) -> Pace:
        with self._bar("asking as users do") as reported:
            rest = await time_recalls(store_, embedder=store_.engine.embedder, progress=reported)
        # One that has not heard the questions: embedders keep the vectors of the last ones.
        model = self._make(settings)
        try:
            await model.embed_query("Is the model loaded?")
            with self._bar("the same, embedding the questions") as reported:
                again = await time_recalls(store_, embedder=model, progress=reported, most=_EMBEDDED_ANEW)
        finally:
            await model.close()
        return Pace(
            recall=spread(again.seconds),
            recall_rest=spread(rest.seconds),
            tokens_mean=sum(rest.tokens) / max(1, len(rest.tokens)),
            tokens_most=max(rest.tokens, default=0),
        )

    @contextmanager
    def _bar(self, what: str) -> Generator[Told]:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=self._console, transient=True, disable=not self._console.is_terminal) as bars:
            task = bars.add_task(what, total=None)
            yield lambda done, total: bars.update(task, completed=min(done, total), total=total)


def _bm25(one: Dataset) -> list[Answer]:
    results: list[Answer] = []
    for collection in one.collections:
        index = Bm25(collection.memories)
        results += [
            answer_of(request.category, index.first(request.text, count=DEPTH), gold=request.gold)
            for request in collection.questions
        ]
    return results


@asynccontextmanager
async def _databases(options: Options) -> AsyncGenerator[dict[str, str]]:
    """The stores to measure by their names: the embedded one, and a database if one is asked for."""
    if options.postgres:
        # Needs what the tests are installed with.
        from tests.postgres import a_database, private_server  # noqa: PLC0415

        with private_server() as server:
            async with a_database(server) as name:
                yield {_EMBEDDED: "", _POSTGRES: server.url(name)}
    else:
        yield {_EMBEDDED: ""} | ({_POSTGRES: options.database} if options.database else {})


def _ranking(settings: Settings) -> str:
    """How the environment changes what recall does."""
    changes = [
        *([f"without {settings.recall_without}"] if settings.recall_without else []),
        *([f"weights {settings.recall_weights}"] if settings.recall_weights else []),
    ]
    return "; ".join(changes) or "the defaults"


def _settings(environment: Mapping[str, str]) -> Settings:
    """The product's defaults, but for what belongs to the model and to ranking."""
    chosen = {name: value for name, value in environment.items() if name.startswith(_CHOSEN)}
    return Settings.load(environment=chosen, home=tempfile.gettempdir(), agent="bench")


def _positive(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"a number from 1 on, not {text!r}")
    return int(text)


def _options(arguments: Sequence[str]) -> Options:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recall", description="How well recall finds.")
    parser.add_argument("--dataset", choices=[*LOADERS, MADE], default="", help="what kind of data it is")
    parser.add_argument("--data", type=Path, help="its file or folder; see benchmarks/README.md")
    parser.add_argument("--collections", type=_positive, help="measure so many of its conversations only")
    parser.add_argument("--ablate", action="store_true", help="ask again without each stage")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--postgres", action="store_true", help="also in a PostgreSQL that is started for it")
    where.add_argument("--database", default="", help="also in this PostgreSQL database, in spaces of its own")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    parser.add_argument("--plot", type=Path, help="draw them into this SVG file")
    inputs = parser.parse_args(arguments)
    return Options(**vars(inputs))


if __name__ == "__main__":
    main()
