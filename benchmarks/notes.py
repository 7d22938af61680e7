"""Times notes: `python -m benchmarks.notes 2000 --catch-up 10000`."""

import argparse
import asyncio
import os
import random
import tempfile
import time
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import median

from benchmarks.corpus import load_corpus
from benchmarks.daemons import connected, daemon, settings_for
from benchmarks.memories import CALLER
from benchmarks.tables import Check, Table, at_most, ms, rows_of
from benchmarks.timing import spread
from scrubjay.app import make_embedder, open_engine
from scrubjay.app.notes import open_notes
from scrubjay.client import MemoryClient
from scrubjay.model.draft import Draft
from scrubjay.model.media import Media
from scrubjay.model.passage import Vector
from scrubjay.model.requests import (
    ExportNotesRequest,
    ImportNotesRequest,
    SearchNotesRequest,
    SyncNotesRequest,
    WriteNoteRequest,
)
from scrubjay.notes.service import Notes
from scrubjay.ports import Embedder, Profile
from scrubjay.settings import Settings

_SENTENCES = 6
_FOLDERS = 20
_WRITES = 200
_EDITS = 20
_IDLE_SECONDS = 20.0
_BATCH = 256
# Up to so many notes, an import is timed several times.
_SMALL = 500
_TURNS = 5
# Targets.
_SHARE = 1.3
_ADDED_MS = 5.0
_EDIT_SECONDS = 1.0
_IDLE_PERCENT = 0.5
_TIMEOUT = 30.0
_POLL_SECONDS = 0.01
_FORMATS = {"md": "notes-md", "json": "notes.json", "csv": "notes.csv", "html": "notes-html", "pdf": "notes-pdf"}
_TIMES = 30


def main() -> None:
    """Measure all parts, or one of them, and print Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("notes", nargs="?", type=int, default=2_000, help="the number of notes to import")
    parser.add_argument("--catch-up", type=int, default=10_000, help="the number of files to check at start")
    parser.add_argument(
        "--only", choices=("import", "write", "daemon", "catch-up", "read"), help="measure one part only"
    )
    options = parser.parse_args()
    tables, checks = asyncio.run(measure(options.notes, catch_up=options.catch_up, only=options.only))
    for table in tables:
        print(f"## {table.title}\n\n{chr(10).join(rows_of(table))}\n")
    for target, is_met in checks:
        print(f"- {'met' if is_met else 'MISSED'}: {target}")


async def measure(notes: int, *, catch_up: int, only: str | None) -> tuple[list[Table], list[Check]]:
    """Measure all parts one after the other, or one part."""
    tables: list[Table] = []
    checks: list[Check] = []
    with tempfile.TemporaryDirectory(prefix="scrubjay-notes-") as folder:
        home = Path(folder)
        parts = {
            "import": lambda: _import(home, notes), "write": lambda: _write(home),
            "daemon": lambda: _follow(home), "catch-up": lambda: _catch_up(home, catch_up),
            "read": lambda: _read(home, notes),
        }  # fmt: skip
        for name in [only] if only else parts:
            part_tables, part_checks = await parts[name]()
            tables += part_tables
            checks += part_checks
    return tables, checks


def make_vault(root: Path, notes: int) -> Path:
    """Make a folder of Markdown with sub-folders, tags, and links in both directions."""
    sentences = load_corpus(sentences=notes * _SENTENCES, questions=1).sentences
    source = random.Random(7)
    for number in range(notes):
        folder = root / f"folder {number % _FOLDERS}"
        folder.mkdir(parents=True, exist_ok=True)
        paragraph = sentences[number * _SENTENCES : (number + 1) * _SENTENCES]
        others = ", ".join(f"[[Note {source.randrange(notes)}]]" for _ in range(3))
        text = f"---\ntags: [one, tag{number % 50}]\n---\n# Note {number}\n\n{' '.join(paragraph)}\n\nSee {others}.\n"
        (folder / f"Note {number}.md").write_text(text, encoding="utf-8")
    return root


async def _import(home: Path, notes: int) -> tuple[list[Table], list[Check]]:
    """Time imports of a folder into new stores, each followed by the bare embedding of the same texts."""
    vault = await asyncio.to_thread(make_vault, home / "vault", notes)
    inner = make_embedder(_settings(home / "import"))
    await inner.embed(["to be ready"])
    # The first import of a process also loads modules, and small ones vary: a few of them, by turns, and the median.
    turns = [
        await _import_and_embed(home / f"import-{turn}", vault, notes, inner)
        for turn in range(1 if notes > _SMALL else _TURNS)
    ]
    await inner.close()
    names = {
        "bare": "bare embedding of the same texts", "import": "import, until all files are written",
        "again": "the same again, nothing changed",
    }  # fmt: skip
    medians = {name: [median(turn[name][clock] for turn in turns) for clock in (0, 1)] for name in names}
    rows = tuple(
        (label, f"{medians[name][0]:.2f}", f"{medians[name][1]:.2f}", f"{notes / medians[name][0]:,.0f}")
        for name, label in names.items()
    )
    title = f"Import of {notes:,} notes" + (f", {len(turns)} times" if len(turns) > 1 else "")
    table = Table(title=title, head=("", "seconds", "CPU seconds", "notes a second"), rows=rows)
    # Of CPU time, which other programs of the machine hardly change.
    share = median(turn["import"][1] / turn["bare"][1] for turn in turns)
    return [table], [at_most("CPU time of the import against bare embedding", share, _SHARE, "times")]


async def _import_and_embed(home: Path, vault: Path, notes: int, inner: Embedder) -> dict[str, tuple[float, float]]:
    """Return the seconds of a first import, of the bare embedding, and of a second import without changes."""
    recorder = _RecordingEmbedder(inner)
    taken: dict[str, tuple[float, float]] = {}

    @contextmanager
    def timing(name: str) -> Generator[None]:
        began, busy = time.perf_counter(), time.process_time()
        yield
        taken[name] = (time.perf_counter() - began, time.process_time() - busy)

    async with _context(home, recorder) as context:
        with timing("import"):
            done = await context.import_notes(ImportNotesRequest(folder=vault), who=CALLER)
        with timing("bare"):
            for start in range(0, len(recorder.texts), _BATCH):
                await inner.embed(recorder.texts[start : start + _BATCH])
        with timing("again"):
            again = await context.import_notes(ImportNotesRequest(folder=vault), who=CALLER)
    assert (done.created, again.unchanged) == (notes, notes)
    return taken


async def _write(home: Path) -> tuple[list[Table], list[Check]]:
    """Time writes with and without a file, in turn."""
    sentences = load_corpus(sentences=2 * (_WRITES + 10) * 3, questions=1).sentences
    texts = [" ".join(sentences[at : at + 3]) for at in range(0, len(sentences), 3)]
    plain: list[float] = []
    filed: list[float] = []
    async with _context(home / "write", make_embedder(_settings(home / "write"))) as context:
        for number, (text, other) in enumerate(zip(texts[::2], texts[1::2], strict=True)):
            began = time.perf_counter()
            draft = Draft(text=text, title=f"Plain {number}", category="benchmark", intent="new")
            await context.engine.remember(draft, who=CALLER)
            plain.append(time.perf_counter() - began)
            began = time.perf_counter()
            await context.write_note(
                WriteNoteRequest(title=f"Filed {number}", content=other, category="benchmark"), who=CALLER
            )
            filed.append(time.perf_counter() - began)
    low, high = spread(plain[10:]), spread(filed[10:])
    rows = (
        ("remember", ms(low.p50), ms(low.p95)), ("write_mem", ms(high.p50), ms(high.p95)),
        ("added", ms(high.p50 - low.p50), ""),
    )  # fmt: skip
    table = Table(title="A note with its file beside a plain memory", head=("", "p50, ms", "p95, ms"), rows=rows)
    return [table], [at_most("added by the file of a note, p50", high.p50 - low.p50, _ADDED_MS, "ms")]


async def _follow(home: Path) -> tuple[list[Table], list[Check]]:
    """Time edits in the folder until a search finds them, and measure the CPU of an idle daemon."""
    # A daemon syncs the notes of its own space.
    settings = replace(settings_for(home / "follow"), space=Settings().space)
    async with daemon(settings) as running, connected(settings) as memory:
        written = [
            await memory.write_note(f"Note {number}", f"The first words of number {number}.")
            for number in range(_EDITS)
        ]
        seconds = [await _edit(memory, Path(note.file_path), number) for number, note in enumerate(written)]
        await asyncio.sleep(2)
        before = running.busy
        await asyncio.sleep(_IDLE_SECONDS)
        share = (running.busy - before) / _IDLE_SECONDS * 100
    times = spread(seconds)
    rows = (
        ("an edit is searchable, p50 / p95, ms", f"{ms(times.p50)} / {ms(times.p95)}"),
        (f"CPU when idle, over {_IDLE_SECONDS:.0f} s", f"{share:.2f} %"),
    )
    table = Table(title="A daemon that follows a folder", head=("", ""), rows=rows)
    return [table], [
        at_most("an edit is searchable, p95", times.p95 / 1000, _EDIT_SECONDS, "s"),
        at_most("CPU when idle", share, _IDLE_PERCENT, "%"),
    ]


async def _edit(memory: MemoryClient, place: Path, number: int) -> float:
    """Return the seconds from a save in the folder until a search finds the new text."""
    word = f"quokka{number}{os.getpid()}"
    text = (await asyncio.to_thread(place.read_bytes)).decode()
    began = time.perf_counter()
    await asyncio.to_thread(place.write_bytes, text.replace("The first words", f"The {word} words").encode())
    while not (await memory.search_notes(word)).results:
        if time.perf_counter() - began > _TIMEOUT:
            raise SystemExit(f"{place.name} was not found within {_TIMEOUT:.0f} s")
        await asyncio.sleep(_POLL_SECONDS)
    return time.perf_counter() - began


async def _catch_up(home: Path, files: int) -> tuple[list[Table], list[Check]]:
    """Time the sync of many files, a few of which have changed while no daemon ran."""
    vault = await asyncio.to_thread(make_vault, home / "many", files)
    settings = replace(_settings(home / "catch-up"), embedder="none")
    async with open_engine(settings) as engine, open_notes(settings, engine) as context:
        await context.import_notes(ImportNotesRequest(folder=vault), who=CALLER)
    await asyncio.to_thread(_touch, settings.notestore)
    async with open_engine(settings) as engine, open_notes(settings, engine) as context:
        began = time.perf_counter()
        done = await context.sync_notes(SyncNotesRequest(), who=CALLER)
        seconds = time.perf_counter() - began
    rows = ((f"{done.checked:,}", f"{done.taken:,}", f"{seconds:.1f}"),)
    return [Table(title="Catching up at start", head=("files", "changed", "seconds"), rows=rows)], []


async def _read(home: Path, notes: int) -> tuple[list[Table], list[Check]]:
    """Import a folder, search it by words, and export it in each format; nothing is embedded."""
    vault = await asyncio.to_thread(make_vault, home / "read-vault", notes)
    settings, out = _settings(home / "read"), home / "out"
    async with open_engine(replace(settings, embedder="none")) as engine, open_notes(settings, engine) as context:
        began = time.perf_counter()
        await context.import_notes(ImportNotesRequest(folder=vault), who=CALLER)
        imported = time.perf_counter() - began
        await asyncio.to_thread(out.mkdir)
        searches = [await _search(context, kind, query) for kind, query in _questions(notes)]
        exports = [await _export(context, kind, out / name) for kind, name in _FORMATS.items()]
    return [
        Table(title=f"Full text at {notes:,} notes", head=("", "found", "p50, ms", "p95, ms"), rows=tuple(searches)),
        Table(
            title=f"{notes:,} notes without embedding", head=("", "seconds"),
            rows=(("import, with all files written", f"{imported:.1f}"), *exports),
        ),
    ], []  # fmt: skip


def _questions(notes: int) -> tuple[tuple[str, str], ...]:
    return (
        ("a word of one note", f"{notes // 2}"), ("a beginning", "not*"),
        ("a phrase that most have", '"see note"'), ("two words", f"note {notes // 3}"),
    )  # fmt: skip


async def _search(context: Notes, kind: str, query: str) -> tuple[str, ...]:
    seconds: list[float] = []
    hits = 0
    for _ in range(_TIMES):
        began = time.perf_counter()
        answer = await context.search_notes(SearchNotesRequest(query=query), who=CALLER)
        seconds.append(time.perf_counter() - began)
        hits = len(answer.results)
    taken = spread(seconds)
    return f"{kind}: `{query}`", f"{hits}", ms(taken.p50), ms(taken.p95)


async def _export(context: Notes, format: str, target: Path) -> tuple[str, str]:
    began = time.perf_counter()
    await context.export_notes(ExportNotesRequest.of(target=target, format=format), who=CALLER)
    return f"export as {format}", f"{time.perf_counter() - began:.1f}"


def _touch(folder: Path) -> None:
    for place in sorted(folder.glob("*.md"))[:10]:
        place.write_text(place.read_text(encoding="utf-8").replace("See ", "Look at "), encoding="utf-8")


class _RecordingEmbedder:
    """Records the texts that it embeds."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self.texts: list[str] = []

    async def profile(self) -> Profile:
        return await self._inner.profile()

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        self.texts += texts
        return await self._inner.embed(texts)

    async def embed_query(self, text: str) -> Vector:
        return await self._inner.embed_query(text)

    async def embed_media(self, items: Sequence[Media]) -> list[Vector | None]:
        return await self._inner.embed_media(items)

    async def close(self) -> None:
        """Leave the inner embedder open."""


@asynccontextmanager
async def _context(home: Path, embedder: Embedder) -> AsyncGenerator[Notes]:
    settings = _settings(home)
    async with open_engine(settings) as engine:
        with_embedder = replace(engine, embedder=embedder)
        async with open_notes(settings, with_embedder) as context:
            yield context


def _settings(home: Path) -> Settings:
    return Settings.load(environment={}, home=str(home), space=CALLER.space, agent=CALLER.agent)


if __name__ == "__main__":
    main()
