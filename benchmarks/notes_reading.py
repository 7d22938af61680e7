"""What reading many notes costs: full text at a size, and taking all of them out again."""

import asyncio
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.memories import CALLER
from benchmarks.tables import Table, ms
from benchmarks.timing import spread
from scrubjay.app import open_engine
from scrubjay.app.notes import open_notes
from scrubjay.notes.requests import NoteSearch, NotesSelection

if TYPE_CHECKING:
    from scrubjay.notes.service import Notes
    from scrubjay.settings import Settings

_FORMATS = {"md": "notes-md", "json": "notes.json", "csv": "notes.csv", "html": "notes-html", "pdf": "notes-pdf"}
_TIMES = 30


async def reading(settings: "Settings", vault: Path, notes: int, *, out: Path) -> list[Table]:
    """Import a folder, search it by words, and export it in each format; nothing is embedded."""
    async with open_engine(replace(settings, embedder="none")) as engine, open_notes(settings, engine) as context:
        began = time.perf_counter()
        await context.import_notes(str(vault), who=CALLER)
        imported = time.perf_counter() - began
        await asyncio.to_thread(out.mkdir)
        sought = [await _sought(context, kind, query) for kind, query in _questions(notes)]
        carried = [await _carried(context, kind, out / name) for kind, name in _FORMATS.items()]
    return [
        Table(title=f"Full text at {notes:,} notes", head=("", "found", "p50, ms", "p95, ms"), rows=tuple(sought)),
        Table(
            title=f"{notes:,} notes without embedding", head=("", "seconds"),
            rows=(("import, with all files written", f"{imported:.1f}"), *carried),
        ),
    ]  # fmt: skip


def _questions(notes: int) -> tuple[tuple[str, str], ...]:
    return (
        ("a word of one note", f"{notes // 2}"), ("a beginning", "not*"),
        ("a phrase that most have", '"see note"'), ("two words", f"note {notes // 3}"),
    )  # fmt: skip


async def _sought(context: "Notes", kind: str, query: str) -> tuple[str, ...]:
    seconds: list[float] = []
    results = 0
    for _ in range(_TIMES):
        began = time.perf_counter()
        answer = await context.search_notes(NoteSearch(query=query), who=CALLER)
        seconds.append(time.perf_counter() - began)
        results = len(answer.results)
    taken = spread(seconds)
    return f"{kind}: `{query}`", f"{results}", ms(taken.p50), ms(taken.p95)


async def _carried(context: "Notes", format: str, target: Path) -> tuple[str, str]:
    began = time.perf_counter()
    await context.export_notes(str(target), NotesSelection(), who=CALLER, format=format)
    return f"export as {format}", f"{time.perf_counter() - began:.1f}"
