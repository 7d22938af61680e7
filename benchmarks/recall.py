"""Measures recall: `python -m benchmarks.recall --dataset locomo --data FILE`. See benchmarks/README.md."""

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
from benchmarks.recall_data import BadData, as_plain_texts
from benchmarks.recall_figures import Measured, Method, Pace, RecallResults
from benchmarks.recall_metrics import DEPTH, Answer, answer_of, by_category, quality
from benchmarks.recall_plot import plot
from benchmarks.recall_report import page
from benchmarks.recall_sources import LOADERS, MADE, Dataset, choose
from benchmarks.recall_store import (
    DatasetEmbedder,
    FilledStore,
    answers_of,
    fill,
    open_filled_store,
    sessions_of,
    time_recalls,
)
from benchmarks.timing import spread
from scrubjay.app import make_embedder
from scrubjay.errors import ScrubjayError
from scrubjay.model.ranking import STAGES
from scrubjay.ports import Embedder
from scrubjay.ports import Progress as ReportProgress
from scrubjay.settings import Settings
from scrubjay.version import VERSION

# The environment may change the embedding and the ranking only.
_SETTINGS_PREFIXES = (
    "SCRUBJAY_EMBED",
    "SCRUBJAY_RECALL",
    "SCRUBJAY_RERANK",
    "SCRUBJAY_READER",
    "SCRUBJAY_PAIR_MODEL",
    "SCRUBJAY_ALLOW_DOWNLOAD",
)
# Reranking is off by default.
_ABLATED = tuple(stage for stage in STAGES if stage != "rerank")
_EMBEDDED, _POSTGRES = "embedded", "PostgreSQL"
_MAX_EMBEDDED = 200


def main() -> None:
    """Measure the data sets that the arguments name, and print and write the results."""
    options = _options(sys.argv[1:])
    try:
        datasets = choose(options.dataset, options.data)
        results = asyncio.run(RecallBenchmark(options).run(datasets))
    except (BadData, ScrubjayError) as error:
        raise SystemExit(f"{error}") from error
    print(page(results), end="")
    if options.json is not None:
        options.json.write_text(json.dumps(asdict(results), indent=1) + "\n", encoding="utf-8")
    if options.plot is not None:
        options.plot.write_text(plot(results), encoding="utf-8")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of the command line."""

    dataset: str = ""
    data: Path | None = None
    collections: int | None = None
    ablate: bool = False
    plain: bool = False
    postgres: bool = False
    database: str = ""
    json: Path | None = None
    plot: Path | None = None
    cache: Path = FOLDER


class RecallBenchmark:
    """One run, with a progress bar on stderr."""

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
            embedder = DatasetEmbedder(model, profile, folder=self._options.cache)
            measured = [await self._measure(dataset, settings=settings, embedder=embedder) for dataset in datasets]
        finally:
            await model.close()
        return RecallResults(
            version=VERSION,
            machine=f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
            model=f"{profile.model}, {profile.dimension} dimensions",
            ranking=_ranking(settings),
            datasets=tuple(measured),
        )

    async def _measure(self, dataset: Dataset, *, settings: Settings, embedder: DatasetEmbedder) -> Measured:
        dataset = replace(dataset, collections=dataset.collections[: self._options.collections])
        if self._options.plain:
            dataset = replace(dataset, collections=tuple(map(as_plain_texts, dataset.collections)))
        with self._bar(f"{dataset.name}: embedding what is not in the cache") as progress:
            await embedder.learn(dataset.collections, progress=progress)
        backends, paces = dict[str, list[Answer]](), dict[str, Pace]()
        methods: list[Method] = []
        sessions: list[Answer] = []
        async with aclosing(self._stores(dataset, settings=settings, embedder=embedder)) as stores:
            async for name, filled in stores:
                backends[name] = await self._answers(filled, f"{dataset.name}: recalling, {name}")
                paces[name] = await self._pace(filled, settings=settings)
                if name == _EMBEDDED:
                    methods = await self._methods(dataset, filled, backends[name])
                    with self._bar(f"{dataset.name}: recalling sessions") as progress:
                        sessions = await sessions_of(filled, progress=progress)
        return Measured(
            dataset=dataset.name,
            origin=dataset.origin,
            collections=len(dataset.collections),
            memories=sum(len(collection.memories) for collection in dataset.collections),
            methods=tuple(methods),
            categories=by_category(backends[_EMBEDDED]),
            backends={name: quality(answers) for name, answers in backends.items()},
            paces=paces,
            sessions=quality(sessions) if sessions else None,
        )

    async def _stores(
        self, dataset: Dataset, *, settings: Settings, embedder: DatasetEmbedder
    ) -> AsyncGenerator[tuple[str, FilledStore]]:
        """Yield a store of each kind with the same memories, in temporary folders."""
        async with _databases(self._options) as places:
            for name, url in places.items():
                with tempfile.TemporaryDirectory(prefix="scrubjay-recall-") as folder:
                    there = replace(settings, home=folder, database_url=url)
                    async with open_filled_store(
                        there, dataset.collections, embedder=embedder, is_plain=self._options.plain
                    ) as filled:
                        with self._bar(f"{dataset.name}: remembering, {name}") as progress:
                            await fill(filled, progress=progress)
                        yield name, filled

    async def _methods(self, dataset: Dataset, filled: FilledStore, product: list[Answer]) -> list[Method]:
        methods = [
            Method(name="Scrubjay", quality=quality(product)),
            Method(name="BM25 alone", quality=quality(_bm25(dataset))),
        ]
        others = [
            (f"{stage} alone", tuple(other for other in STAGES if other != stage)) for stage in ("words", "meaning")
        ]
        if self._options.ablate:
            left = [stage for stage in _ABLATED if filled.engine.ranking.uses(stage)]
            others += [(f"without {stage}", (stage,)) for stage in left]
        for name, without in others:
            answers = await self._answers(filled, f"{dataset.name}: recalling, {name}", without=without)
            methods.append(Method(name=name, quality=quality(answers)))
        return methods

    async def _answers(self, filled: FilledStore, description: str, *, without: Sequence[str] = ()) -> list[Answer]:
        with self._bar(description) as progress:
            return await answers_of(filled, progress=progress, without=without)

    async def _pace(self, filled: FilledStore, *, settings: Settings) -> Pace:
        with self._bar("recalling with the defaults") as progress:
            rest = await time_recalls(filled, embedder=filled.engine.embedder, progress=progress)
        # A new embedder, because embedders cache the vectors of the last questions.
        model = self._make(settings)
        try:
            await model.embed_query("Is the model loaded?")
            with self._bar("the same, embedding the questions") as progress:
                embedding = await time_recalls(filled, embedder=model, progress=progress, max_questions=_MAX_EMBEDDED)
        finally:
            await model.close()
        return Pace(
            recall=spread(embedding.seconds),
            recall_rest=spread(rest.seconds),
            tokens_mean=sum(rest.tokens) / max(1, len(rest.tokens)),
            tokens_most=max(rest.tokens, default=0),
        )

    @contextmanager
    def _bar(self, description: str) -> Generator[ReportProgress]:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=self._console, transient=True, disable=not self._console.is_terminal) as bars:
            task = bars.add_task(description, total=None)
            yield lambda done, total: bars.update(task, completed=min(done, total), total=total)


def _bm25(dataset: Dataset) -> list[Answer]:
    answers: list[Answer] = []
    for collection in dataset.collections:
        index = Bm25(collection.memories)
        answers += [
            answer_of(question.category, index.first(question.text, count=DEPTH), gold=question.gold)
            for question in collection.questions
        ]
    return answers


@asynccontextmanager
async def _databases(options: Options) -> AsyncGenerator[dict[str, str]]:
    """Yield the stores to measure by name: the embedded one, and a database if the options name one."""
    if options.postgres:
        # This needs the dependencies of the tests.
        from tests.postgres import a_database, private_server  # noqa: PLC0415

        with private_server() as server:
            async with a_database(server) as name:
                yield {_EMBEDDED: "", _POSTGRES: server.url(name)}
    else:
        yield {_EMBEDDED: ""} | ({_POSTGRES: options.database} if options.database else {})


def _ranking(settings: Settings) -> str:
    """Describe the changes of the environment to the ranking."""
    changes = [
        *([f"without {settings.recall_without}"] if settings.recall_without else []),
        *([f"weights {settings.recall_weights}"] if settings.recall_weights else []),
    ]
    return "; ".join(changes) or "the defaults"


def _settings(environment: Mapping[str, str]) -> Settings:
    """Return the default settings, except those of the model and of the ranking."""
    chosen = {name: value for name, value in environment.items() if name.startswith(_SETTINGS_PREFIXES)}
    return Settings.load(environment=chosen, home=tempfile.gettempdir(), agent="benchmark")


def _positive(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"a number from 1 on, not {text!r}")
    return int(text)


def _options(arguments: Sequence[str]) -> Options:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recall", description="Measures the quality of recall.")
    parser.add_argument("--dataset", choices=[*LOADERS, MADE], default="", help="the kind of data")
    parser.add_argument("--data", type=Path, help="the file or folder of the data; see benchmarks/README.md")
    parser.add_argument("--collections", type=_positive, help="measure only this many conversations")
    parser.add_argument("--ablate", action="store_true", help="also measure without each stage")
    parser.add_argument(
        "--plain", action="store_true", help="store turns as texts that begin with their date, no fields"
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--postgres", action="store_true", help="also measure on a temporary PostgreSQL")
    where.add_argument("--database", default="", help="also measure on this PostgreSQL database, in new spaces")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    parser.add_argument("--plot", type=Path, help="draw the figures into this SVG file")
    inputs = parser.parse_args(arguments)
    return Options(**vars(inputs))


if __name__ == "__main__":
    main()
