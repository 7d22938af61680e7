"""Measures Scrubjay at some sizes: `python -m benchmarks.run 1000 10000`. See benchmarks/README.md."""

import asyncio
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table as Grid

from benchmarks import npm_server, reference_server
from benchmarks.cache import VectorCache, fill_cache
from benchmarks.corpus import Corpus, load_corpus
from benchmarks.embedders import KnowingEmbedder
from benchmarks.figures import Filling, Measured, Reference, Results, Serving, Watching
from benchmarks.filling import Ground, fill, opened, share_commits
from benchmarks.nearest import compare_with_scan
from benchmarks.observing_cost import measure_watching
from benchmarks.probe import Job, probe_in_child
from benchmarks.report import facts, markdown, tables, verdicts
from benchmarks.serving import Job as ServingJob
from benchmarks.serving import serve_in_child
from benchmarks.size import weigh
from scrubjay.app import make_embedder
from scrubjay.ports import Embedder
from scrubjay.ports import Progress as Told
from scrubjay.settings import Settings
from scrubjay.version import VERSION

FOLDER = Path(__file__).parent
# Sentences that no store is filled with: written while the clock runs, and the same ones at every size.
_SPARE = 800
_TIMED = 325
_SHARED = slice(325, 581)
_BATCHED = slice(581, 800)
# The reference server rewrites its whole file at every write.
_REFERENCE_UP_TO = 10_000
_REFERENCE_OPERATIONS = 100
_REFERENCE_SECONDS = 20.0


def main() -> None:
    """Measure at the sizes that the arguments name, print it and write it down."""
    sizes = sorted({int(size.replace(",", "").replace("_", "")) for size in sys.argv[1:]})
    if not sizes or sizes[0] < 2 * _REFERENCE_OPERATIONS:
        raise SystemExit("usage: python -m benchmarks.run SIZE…, each 200 at least")
    results = asyncio.run(Bench(Console()).run(sizes))
    (FOLDER / "results.json").write_text(json.dumps(asdict(results), indent=1) + "\n", encoding="utf-8")
    (FOLDER / "results.md").write_text(markdown(results), encoding="utf-8")


class Bench:
    """One run, told on a console as it goes."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._notes: list[str] = []

    async def run(self, sizes: Sequence[int]) -> Results:
        """Measure at every size, smallest first."""
        corpus = load_corpus(sentences=sizes[-1] + _SPARE, questions=_TIMED)
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
        knowing = await self._knowing(corpus, embedder)
        spare, stock = corpus.sentences[:_SPARE], corpus.sentences[_SPARE:]
        sharing = await share_commits(Ground(home=folder / "shared", embedder=knowing), spare[_SHARED])
        program = await self._reference_program()
        measured: list[Measured] = []
        serving: Serving | None = None
        watching: Watching | None = None
        for size in sizes:
            ground = Ground(home=folder / str(size), embedder=knowing)
            reference = await self._reference(program, stock[:size], corpus.questions, file=folder / f"{size}.graph")
            filling = await self._fill(ground, stock[:size])
            if size == sizes[0]:
                texts = Corpus(origin=corpus.origin, sentences=spare[_TIMED:], questions=corpus.questions)
                serving = await self._serving(ground, texts, size=size, program=program)
            job = Job(settings=ground.settings, questions=corpus.questions, sentences=spare[:_TIMED], first=size)
            measured.append(await self._measure_size(ground, job, filling=filling, reference=reference))
            if size == sizes[0]:
                watching = await self._watching(ground, corpus.questions, size=size)
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
            notes=tuple(self._notes),
        )

    async def _knowing(self, corpus: Corpus, embedder: Embedder) -> KnowingEmbedder:
        cache = VectorCache(await embedder.profile())
        with self._bar("embedding what is not in the cache") as progress:
            await fill_cache(cache, [*corpus.sentences, *corpus.questions], embedder=embedder, progress=progress)
        return KnowingEmbedder(embedder, cache)

    async def _fill(self, ground: Ground, sentences: Sequence[str]) -> Filling:
        with self._bar(f"filling a store with {len(sentences):,}") as progress:
            return await fill(ground, sentences, first=0, progress=progress)

    async def _measure_size(
        self, ground: Ground, job: Job, *, filling: Filling, reference: Reference | None
    ) -> Measured:
        size = job.first
        self._say(f"weighing {size:,}, and comparing the index with a scan")
        async with opened(ground.settings, ground.embedder) as engine:
            sizes = await weigh(engine, ground.settings)
            nearness = await compare_with_scan(engine, job.questions)
        self._say(f"asking and remembering at {size:,}")
        probe = await probe_in_child(job)
        return Measured(size=size, filling=filling, sizes=sizes, nearness=nearness, probe=probe, reference=reference)

    async def _serving(
        self, ground: Ground, texts: Corpus, *, size: int, program: npm_server.Program | None
    ) -> Serving | None:
        """The daemon, with a copy of a store that only its filling has touched."""
        if sys.platform == "win32":
            self._note("The daemon was left out: this system has no Unix sockets")
            return None
        self._say(f"serving at {size:,}: starts, ways to the daemon, and a crowd")
        job = ServingJob(
            store=ground.home,
            size=size,
            folder=ground.home.with_name("serving"),
            questions=texts.questions,
            sentences=texts.sentences,
            program=program,
        )
        return await serve_in_child(job)

    async def _watching(self, ground: Ground, questions: Sequence[str], *, size: int) -> Watching:
        self._say(f"watching at {size:,}: a scrape of the metrics, and what counting adds to a recall")
        async with opened(ground.settings, ground.embedder) as engine:
            return await measure_watching(engine, questions)

    async def _reference_program(self) -> npm_server.Program | None:
        try:
            return await npm_server.install()
        except npm_server.Unavailable as reason:
            self._note(f"The reference server was left out: {reason}")
            return None

    async def _reference(
        self,
        program: npm_server.Program | None,
        sentences: Sequence[str],
        questions: Sequence[str],
        *,
        file: Path,
    ) -> Reference | None:
        if program is None or len(sentences) > _REFERENCE_UP_TO:
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
        except npm_server.Unavailable as reason:
            self._note(f"The reference server was left out at {len(sentences):,}: {reason}")
            return None

    def _note(self, note: str) -> None:
        self._notes.append(note)
        self._say(note)

    def _say(self, what: str) -> None:
        self._console.print(f"[dim]{time.strftime('%H:%M:%S')}[/dim] {what}", highlight=False)

    @contextmanager
    def _bar(self, what: str) -> Generator[Told]:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=self._console, transient=True) as bars:
            task = bars.add_task(what, total=None)
            yield lambda done, total: bars.update(task, completed=min(done, total), total=total)
        self._say(what)

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
        for promise, stored in verdicts(results):
            self._console.print(f"[green]PASS[/green] {promise}" if stored else f"[red]MISS[/red] {promise}")


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
