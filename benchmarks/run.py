"""Measures Scrubjay at several sizes: `python -m benchmarks.run 1000 10000`. See benchmarks/README.md."""

import argparse
import asyncio
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table as Grid

from benchmarks import reference_server
from benchmarks.bulk import measure_bulk
from benchmarks.cache import VectorCache, fill_cache
from benchmarks.corpus import Corpus, load_corpus
from benchmarks.embedders import CachedEmbedder
from benchmarks.figures import Filling, Measured, Reference, Results, Serving, Watching
from benchmarks.filling import Workspace, fill, open_engine_with, open_store_with, share_commits, with_readers
from benchmarks.nearest import compare_with_scan
from benchmarks.observing_cost import measure_watching
from benchmarks.probe import Job, probe_in_child
from benchmarks.report import checks, facts, markdown, tables
from benchmarks.serving import Job as ServingJob
from benchmarks.serving import serve_in_child
from benchmarks.size import weigh
from scrubjay.app import make_embedder
from scrubjay.ports import Embedder
from scrubjay.ports import Progress as ReportProgress
from scrubjay.settings import Settings
from scrubjay.version import VERSION

FOLDER = Path(__file__).parent
# Sentences that are not stored at first: they are for timed writes, the same ones at every size.
_SPARE = 950
_TIMED = 325
_SHARED = slice(325, 581)
_BATCHED = slice(581, 800)
# Fewer texts with the models that read two of them, which take several times as long.
_WITH_READERS = slice(800, 950)
# Texts that are written at once; twenty of them warm up the store before.
_MANY = 1_020
_REFERENCE_OPERATIONS = 100
_REFERENCE_SECONDS = 20.0


def main() -> None:
    """Measure at the sizes that the arguments name, and print and write the results."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument("sizes", nargs="+", type=_size, metavar="SIZE", help="a number of memories, at least 200")
    results = asyncio.run(Benchmark(Console()).run(sorted(set(parser.parse_args().sizes))))
    (FOLDER / "results.json").write_text(json.dumps(asdict(results), indent=1) + "\n", encoding="utf-8")
    (FOLDER / "results.md").write_text(markdown(results), encoding="utf-8")


def _size(text: str) -> int:
    size = int(text.replace(",", ""))
    if size < 2 * _REFERENCE_OPERATIONS:
        raise argparse.ArgumentTypeError(f"{size} is less than {2 * _REFERENCE_OPERATIONS}")
    return size


class Benchmark:
    """One run, with its progress on a console."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._notes: list[str] = []

    async def run(self, sizes: Sequence[int]) -> Results:
        """Measure at every size, smallest first."""
        corpus = load_corpus(sentences=max(sizes[-1], _MANY) + _SPARE, questions=_TIMED)
        self._console.print(corpus.origin)
        embedder = make_embedder(Settings.load(environment={}))
        try:
            with tempfile.TemporaryDirectory(prefix="scrubjay-bench-") as folder:
                results = await self._measure(sizes, corpus, embedder=embedder, folder=Path(folder))
        finally:
            await embedder.close()
        self._show(results)
        return results

    async def _measure(self, sizes: Sequence[int], corpus: Corpus, *, embedder: Embedder, folder: Path) -> Results:
        profile = await embedder.profile()
        rate = await _embedding_rate(embedder, corpus.sentences[_BATCHED])
        cached = await self._cached_embedder(corpus, embedder)
        self._say(f"{_MANY:,} texts at once")
        bulk = await measure_bulk(embedder, corpus.sentences[-_MANY:], folder=folder / "bulk")
        spare, stock = corpus.sentences[:_SPARE], corpus.sentences[_SPARE:]
        sharing = await share_commits(Workspace(home=folder / "shared", embedder=cached), spare[_SHARED])
        program = await self._reference_program()
        measured: list[Measured] = []
        serving: Serving | None = None
        watching: Watching | None = None
        for size in sizes:
            workspace = Workspace(home=folder / str(size), embedder=cached)
            reference = await self._reference(program, stock[:size], corpus.questions, file=folder / f"{size}.graph")
            filling = await self._fill(workspace, stock[:size])
            if size == sizes[0]:
                texts = replace(corpus, sentences=spare[_TIMED : _WITH_READERS.start])
                serving = await self._serving(workspace, texts, size=size, program=program)
            job = Job(settings=workspace.settings, questions=corpus.questions, sentences=spare[:_TIMED], first=size)
            reading = replace(
                job,
                settings=with_readers(workspace.settings),
                questions=corpus.questions[: _WITH_READERS.stop - _WITH_READERS.start],
                sentences=spare[_WITH_READERS],
                first=size + _TIMED,
            )
            measured.append(await self._measure_size(workspace, job, reading, filling=filling, reference=reference))
            if size == sizes[0]:
                watching = await self._watching(workspace, corpus.questions, size=size)
        return Results(
            version=VERSION,
            machine=_machine(),
            corpus=corpus.origin,
            model=f"{profile.model}, {profile.dimension} dimensions",
            embedded_per_second=rate,
            sharing=sharing,
            sizes=tuple(measured),
            serving=serving,
            watching=watching,
            bulk=bulk,
            notes=tuple(self._notes),
        )

    async def _cached_embedder(self, corpus: Corpus, embedder: Embedder) -> CachedEmbedder:
        cache = VectorCache(await embedder.profile())
        with self._bar("embedding what is not in the cache") as progress:
            await fill_cache(cache, [*corpus.sentences, *corpus.questions], embedder=embedder, progress=progress)
        return CachedEmbedder(embedder, cache)

    async def _fill(self, workspace: Workspace, sentences: Sequence[str]) -> Filling:
        with self._bar(f"filling a store with {len(sentences):,}") as progress:
            return await fill(workspace, sentences, first=0, progress=progress)

    async def _measure_size(
        self, workspace: Workspace, job: Job, reading: Job, *, filling: Filling, reference: Reference | None
    ) -> Measured:
        size = job.first
        self._say(f"measuring sizes at {size:,}, and comparing the index with a scan")
        async with open_store_with(workspace.settings, workspace.embedder) as (engine, store):
            sizes = await weigh(store, workspace.settings)
            nearness = await compare_with_scan(engine, store, job.questions)
        self._say(f"recalling and remembering at {size:,}")
        probe = await probe_in_child(job)
        self._say(f"the same at {size:,} with the models that read two texts")
        return Measured(
            size=size,
            filling=filling,
            sizes=sizes,
            nearness=nearness,
            probe=probe,
            with_readers=await probe_in_child(reading),
            reference=reference,
        )

    async def _serving(
        self, workspace: Workspace, texts: Corpus, *, size: int, program: reference_server.Program | None
    ) -> Serving | None:
        """Measure the daemon with a copy of a store that has only been filled."""
        if sys.platform == "win32":
            self._note("The daemon was left out: this system has no Unix sockets")
            return None
        self._say(f"serving at {size:,}: starts, transports, and concurrent clients")
        job = ServingJob(
            store=workspace.home,
            size=size,
            folder=workspace.home.with_name("serving"),
            questions=texts.questions,
            sentences=texts.sentences,
            program=program,
        )
        return await serve_in_child(job)

    async def _watching(self, workspace: Workspace, questions: Sequence[str], *, size: int) -> Watching:
        self._say(f"observability at {size:,}: a scrape of the metrics, and the time that counting adds to a recall")
        async with open_engine_with(workspace.settings, workspace.embedder) as engine:
            return await measure_watching(engine, questions)

    async def _reference_program(self) -> reference_server.Program | None:
        try:
            return await reference_server.install()
        except reference_server.Unavailable as reason:
            self._note(f"The reference server was left out: {reason}")
            return None

    async def _reference(
        self,
        program: reference_server.Program | None,
        sentences: Sequence[str],
        questions: Sequence[str],
        *,
        file: Path,
    ) -> Reference | None:
        if program is None:
            return None
        self._say(f"the reference server at {len(sentences):,}")
        try:
            return await reference_server.measure(
                program,
                sentences,
                questions,
                file=file,
                operations=_REFERENCE_OPERATIONS,
                seconds=_REFERENCE_SECONDS,
            )
        except reference_server.Unavailable as reason:
            self._note(f"The reference server was left out at {len(sentences):,}: {reason}")
            return None

    def _note(self, note: str) -> None:
        self._notes.append(note)
        self._say(note)

    def _say(self, line: str) -> None:
        self._console.print(f"[dim]{time.strftime('%H:%M:%S')}[/dim] {line}", highlight=False)

    @contextmanager
    def _bar(self, description: str) -> Generator[ReportProgress]:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=self._console, transient=True) as bars:
            task = bars.add_task(description, total=None)
            yield lambda done, total: bars.update(task, completed=min(done, total), total=total)
        self._say(description)

    def _show(self, results: Results) -> None:
        for table in tables(results):
            grid = Grid(title=table.title, title_justify="left")
            for place, name in enumerate(table.head):
                grid.add_column(name, justify="right" if place else "left")
            for row in table.rows:
                grid.add_row(*row)
            self._console.print(grid)
        for fact in facts(results):
            self._console.print(f"- {fact}", highlight=False)
        for target, is_met in checks(results):
            self._console.print(f"[green]PASS[/green] {target}" if is_met else f"[red]MISS[/red] {target}")


async def _embedding_rate(embedder: Embedder, texts: Sequence[str]) -> float:
    await embedder.embed(texts[:8])
    began = time.perf_counter()
    await embedder.embed(texts)
    return len(texts) / (time.perf_counter() - began)


def _machine() -> str:
    load = f", load {os.getloadavg()[0]:.1f} at the end" if hasattr(os, "getloadavg") else ""
    python = platform.python_version()
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {python}{load}"


if __name__ == "__main__":
    main()
