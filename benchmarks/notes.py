"""What notes cost: `python -m benchmarks.notes 2000 --catch-up 10000`."""

import argparse
import asyncio
import os
import random
import tempfile
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from benchmarks.corpus import load_corpus
from benchmarks.daemons import connected, daemon, settings_for
from benchmarks.memories import CALLER
from benchmarks.notes_reading import reading
from benchmarks.tables import Table, Verdict, at_most, ms, rows_of
from benchmarks.timing import spread
from scrubjay.app import make_embedder, open_engine
from scrubjay.app.notes import open_notes
from scrubjay.client import MemoryClient
from scrubjay.model.draft import Draft
from scrubjay.model.media import Media
from scrubjay.model.passage import Vector
from scrubjay.notes.requests import NoteDraft
from scrubjay.notes.service import Notes
from scrubjay.ports import Embedder, Profile
from scrubjay.settings import Settings

_SENTENCES = 6
_FOLDERS = 20
_WRITES = 200
_EDITS = 20
_IDLE_SECONDS = 20.0
_AT_ONCE = 256
# What is promised.
_SHARE = 1.1
_ADDED_MS = 5.0
_EDIT_SECONDS = 1.0
_IDLE_PERCENT = 0.5
_LONGEST = 30.0
_LOOK = 0.01


def main() -> None:
    """Measure, and print it as Markdown; each part can be had alone."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("notes", nargs="?", type=int, default=2_000, help="how many are imported")
    parser.add_argument("--catch-up", type=int, default=10_000, help="how many files are looked through at start")
    parser.add_argument("--only", choices=("import", "write", "daemon", "catch-up", "read"), help="one part alone")
    request = parser.parse_args()
    tables, verdicts = asyncio.run(measure(request.notes, catch_up=request.catch_up, only=request.only))
    for table in tables:
        print(f"## {table.title}\n\n{chr(10).join(rows_of(table))}\n")
    for promise, is_kept in verdicts:
        print(f"- {'kept' if is_kept else 'BROKEN'}: {promise}")


async def measure(notes: int, *, catch_up: int, only: str | None) -> tuple[list[Table], list[Verdict]]:
    """All parts, or one alone, one after the other."""
    tables: list[Table] = []
    verdicts: list[Verdict] = []
    with tempfile.TemporaryDirectory(prefix="scrubjay-notes-") as folder:
        home = Path(folder)
        parts = {
            "import": lambda: _importing(home, notes), "write": lambda: _writing(home),
            "daemon": lambda: _following(home), "catch-up": lambda: _catching_up(home, catch_up),
            "read": lambda: _reading(home, notes),
        }  # fmt: skip
        for name in [only] if only else parts:
            shown, stored = await parts[name]()
            tables += shown
            verdicts += stored
    return tables, verdicts


def make_vault(root: Path, notes: int) -> Path:
    """A folder of Markdown as people have it: sub-folders, tags, links forwards and back."""
    sentences = load_corpus(sentences=notes * _SENTENCES, questions=1).sentences
    source = random.Random(7)
    for number in range(notes):
        folder = root / f"folder {number % _FOLDERS}"
        folder.mkdir(parents=True, exist_ok=True)
        spoken = sentences[number * _SENTENCES : (number + 1) * _SENTENCES]
        others = ", ".join(f"[[Note {source.randrange(notes)}]]" for _ in range(3))
        text = f"---\ntags: [one, tag{number % 50}]\n---\n# Note {number}\n\n{' '.join(spoken)}\n\nSee {others}.\n"
        (folder / f"Note {number}.md").write_text(text, encoding="utf-8")
    return root


async def _importing(home: Path, notes: int) -> tuple[list[Table], list[Verdict]]:
    """A first import beside the bare embedding of the very texts that it embeds, and another that finds all known."""
    vault = await asyncio.to_thread(make_vault, home / "vault", notes)
    inner = make_embedder(_settings(home / "import"))
    await inner.embed(["to be ready"])
    hearing = _Hearing(inner)
    marks: dict[str, float] = {}
    async with _context(home / "import", hearing) as context:
        began = time.perf_counter()

        def tell(done: int, total: int) -> None:
            if done == notes and total == notes:
                marks.setdefault("stored", time.perf_counter() - began)

        done = await context.import_notes(str(vault), who=CALLER, progress=tell)
        first = time.perf_counter() - began
        began = time.perf_counter()
        again = await context.import_notes(str(vault), who=CALLER)
        second = time.perf_counter() - began
    assert (done.created, again.unchanged) == (notes, notes)
    began = time.perf_counter()
    for start in range(0, len(hearing.heard), _AT_ONCE):
        await inner.embed(hearing.heard[start : start + _AT_ONCE])
    bare = time.perf_counter() - began
    await inner.close()
    rows = (
        ("bare embedding of the same texts", f"{bare:.1f}", f"{notes / bare:,.0f}"),
        ("import, until all is stored and embedded", f"{marks['stored']:.1f}", f"{notes / marks['stored']:,.0f}"),
        ("import, until all files are written too", f"{first:.1f}", f"{notes / first:,.0f}"),
        ("the same again, nothing changed", f"{second:.1f}", f"{notes / second:,.0f}"),
    )
    table = Table(title=f"Import of {notes:,} notes", head=("", "seconds", "notes a second"), rows=rows)
    return [table], [
        at_most("import against bare embedding", marks["stored"] / bare, _SHARE, "times as long"),
        at_most("import with its files against bare embedding", first / bare, _SHARE, "times as long"),
    ]


async def _writing(home: Path) -> tuple[list[Table], list[Verdict]]:
    """What a file for each note adds to a write, by turns."""
    sentences = load_corpus(sentences=2 * (_WRITES + 10) * 3, questions=1).sentences
    texts = [" ".join(sentences[at : at + 3]) for at in range(0, len(sentences), 3)]
    plain: list[float] = []
    filed: list[float] = []
    async with _context(home / "write", make_embedder(_settings(home / "write"))) as context:
        for number, (item, other) in enumerate(zip(texts[::2], texts[1::2], strict=True)):
            began = time.perf_counter()
            draft = Draft(text=item, title=f"Plain {number}", category="bench", intent="new")
            await context.engine.remember(draft, who=CALLER)
            plain.append(time.perf_counter() - began)
            began = time.perf_counter()
            await context.write_note(NoteDraft(title=f"Filed {number}", content=other, category="bench"), who=CALLER)
            filed.append(time.perf_counter() - began)
    low, high = spread(plain[10:]), spread(filed[10:])
    rows = (
        ("remember", ms(low.p50), ms(low.p95)), ("write_mem", ms(high.p50), ms(high.p95)),
        ("added", ms(high.p50 - low.p50), ""),
    )  # fmt: skip
    table = Table(title="A note with its file beside a plain memory", head=("", "p50, ms", "p95, ms"), rows=rows)
    return [table], [at_most("added by the file of a note, p50", high.p50 - low.p50, _ADDED_MS, "ms")]


async def _following(home: Path) -> tuple[list[Table], list[Verdict]]:
    """How soon an edit in the folder is found through a daemon, and what that computes when nobody does anything."""
    # A daemon keeps the notes of the space that it works in.
    settings = replace(settings_for(home / "follow"), space=Settings().space)
    async with daemon(settings) as running, connected(settings) as memory:
        written = [
            await memory.write_note(f"Note {number}", f"The first words of number {number}.")
            for number in range(_EDITS)
        ]
        seconds = [await _edited(memory, Path(item.file_path), number) for number, item in enumerate(written)]
        await asyncio.sleep(2)
        before = running.busy
        await asyncio.sleep(_IDLE_SECONDS)
        share = (running.busy - before) / _IDLE_SECONDS * 100
    results = spread(seconds)
    rows = (
        ("an edit is searchable, p50 / p95, ms", f"{ms(results.p50)} / {ms(results.p95)}"),
        (f"CPU when idle, over {_IDLE_SECONDS:.0f} s", f"{share:.2f} %"),
    )
    table = Table(title="A daemon that follows a folder", head=("", ""), rows=rows)
    return [table], [
        at_most("an edit is searchable, p95", results.p95 / 1000, _EDIT_SECONDS, "s"),
        at_most("CPU when idle", share, _IDLE_PERCENT, "%"),
    ]


async def _edited(memory: MemoryClient, place: Path, number: int) -> float:
    """Seconds from a save in the folder until a search finds what was saved."""
    word = f"quokka{number}{os.getpid()}"
    text = (await asyncio.to_thread(place.read_bytes)).decode()
    began = time.perf_counter()
    await asyncio.to_thread(place.write_bytes, text.replace("The first words", f"The {word} words").encode())
    while not (await memory.search_notes(word)).results:
        if time.perf_counter() - began > _LONGEST:
            raise SystemExit(f"{place.name} was not found within {_LONGEST:.0f} s")
        await asyncio.sleep(_LOOK)
    return time.perf_counter() - began


async def _catching_up(home: Path, files: int) -> tuple[list[Table], list[Verdict]]:
    """How long it takes to look through many files of which a few were changed while nobody looked."""
    vault = await asyncio.to_thread(make_vault, home / "many", files)
    settings = replace(_settings(home / "catch-up"), embedder="none")
    async with open_engine(settings) as engine, open_notes(settings, engine) as context:
        await context.import_notes(str(vault), who=CALLER)
    await asyncio.to_thread(_touch, settings.notestore)
    async with open_engine(settings) as engine, open_notes(settings, engine) as context:
        began = time.perf_counter()
        done = await context.sync_notes(who=CALLER)
        seconds = time.perf_counter() - began
    rows = ((f"{done.checked:,}", f"{done.taken:,}", f"{seconds:.1f}"),)
    return [Table(title="Catching up at start", head=("files", "changed", "seconds"), rows=rows)], []


async def _reading(home: Path, notes: int) -> tuple[list[Table], list[Verdict]]:
    vault = await asyncio.to_thread(make_vault, home / "read-vault", notes)
    return await reading(_settings(home / "read"), vault, notes, out=home / "out"), []


def _touch(folder: Path) -> None:
    for place in sorted(folder.glob("*.md"))[:10]:
        place.write_text(place.read_text(encoding="utf-8").replace("See ", "Look at "), encoding="utf-8")


class _Hearing:
    """Writes down what is embedded."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self.heard: list[str] = []

    async def profile(self) -> Profile:
        return await self._inner.profile()

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        self.heard += texts
        return await self._inner.embed(texts)

    async def embed_query(self, text: str) -> Vector:
        return await self._inner.embed_query(text)

    async def embed_media(self, items: Sequence[Media]) -> list[Vector | None]:
        return await self._inner.embed_media(items)

    async def close(self) -> None:
        """It is not ours to close."""


@asynccontextmanager
async def _context(home: Path, embedder: Embedder) -> AsyncGenerator[Notes]:
    settings = _settings(home)
    async with open_engine(settings) as engine:
        received = replace(engine, embedder=embedder)
        async with open_notes(settings, received) as context:
            yield context


def _settings(home: Path) -> Settings:
    return Settings.load(environment={}, home=str(home), space=CALLER.space, agent=CALLER.agent)


if __name__ == "__main__":
    main()
