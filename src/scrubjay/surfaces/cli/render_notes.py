"""Notes for people."""

from collections.abc import Callable, Sequence

from scrubjay.notes.results import (
    Backlinks,
    BrokenLinks,
    Categories,
    CurrentDate,
    DueNotes,
    NoteChanged,
    NoteLinked,
    NoteRead,
    NoteReviewed,
    NotesFound,
    NotesSynced,
    NoteWritten,
    Templates,
)
from scrubjay.surfaces.cli.paint import say
from scrubjay.surfaces.cli.render_attachments import ATTACHMENT_PRINTERS
from scrubjay.surfaces.cli.render_files import FILE_PRINTERS

__all__ = ["NOTE_PRINTERS"]

_SYNCED = ("taken", "created", "written", "moved", "trashed", "conflicts")


def _written(answer: NoteWritten) -> None:
    if not answer.id:
        say("rejected: nothing was stored")
    else:
        say(f"{answer.action} {answer.title} ({answer.id}), version {answer.version}")
        _file(answer.file_path)
    for one in answer.similar:
        say(f"  like {one.name} ({one.id}), {one.similarity:.2f}")
    for one in answer.conflicts:
        say(f"  {one.type.value} of {one.other.name}: {' '.join(one.other.statement.split())} [{one.id}]")
    _warnings(answer.warnings)


def _read(answer: NoteRead) -> None:
    if answer.format == "json":
        say(answer.content)
        return
    say(answer.content.removesuffix("\n"))
    if answer.format == "markdown":
        for one in answer.observations:
            say(f"- {one}")


def _changed(answer: NoteChanged) -> None:
    say(f"{answer.action} {answer.title} ({answer.id}), version {answer.version}")
    _file(answer.file_path)
    for one in answer.conflicts:
        say(f"  {one.type.value} of {one.other.name}: {' '.join(one.other.statement.split())} [{one.id}]")
    _warnings(answer.warnings)


def _found(answer: NotesFound) -> None:
    for number, hit in enumerate(answer.results, start=1):
        where = f" [{hit.category}]" if hit.category else ""
        tags = "".join(f" #{tag}" for tag in hit.tags)
        say(f"{number}. {hit.title}{where}{tags}  {hit.score:.2f}")
        say(f"   {' '.join(hit.snippet.split())}")
        say(f"   {hit.file_path or hit.id}")
    if not answer.results:
        say("nothing found")
    if answer.more:
        say("there are more: --limit shows them")
    for note in answer.degraded:
        say(f"note: {note}")


def _linked(answer: NoteLinked) -> None:
    say(f"{answer.action} {answer.source_title} ↔ {answer.target_title}")
    if answer.markdown_link:
        say(f"  {answer.markdown_link}")
    _warnings(answer.warnings)


def _date(answer: CurrentDate) -> None:
    say(answer.date if answer.format == "timestamp" else f"{answer.date}  ({answer.timezone})")


def _reviewed(answer: NoteReviewed) -> None:
    say(f"reviewed {answer.title} ({answer.id}) on {answer.last_reviewed.date()}")


def _due(answer: DueNotes) -> None:
    for one in answer.notes:
        say(f"{one.days:>5} days  {one.title}  {one.file_path or one.id}")
    if not answer.notes:
        say("nothing is due")


def _backlinks(answer: Backlinks) -> None:
    for one in answer.backlinks:
        text = f"  ({one.text})" if one.text and one.text != answer.title else ""
        say(f"{one.title}{text}  {one.file_path or one.id}")
    if not answer.backlinks:
        say("nothing links to it")


def _broken(answer: BrokenLinks) -> None:
    for one in answer.links:
        near = f"; did you mean {' or '.join(one.suggestions)}?" if one.suggestions else ""
        say(f"{one.title}: [[{one.target}]] leads nowhere{near}")
        say(f"  {one.file_path or one.id}")
    if not answer.links:
        say("every link leads to a note")


def _categories(answer: Categories) -> None:
    for one in answer.categories:
        say(f"{'  ' * one.path.count('/')}{one.name}  {one.total}")
    if not answer.categories:
        say("no note has a category")


def _templates(answer: Templates) -> None:
    for one in answer.templates:
        say(f"{one.name}{'  (built in)' if one.built_in else ''}")
    if answer.folder:
        say(f"your own go into {answer.folder}")


def _synced(answer: NotesSynced) -> None:
    done = ", ".join(f"{getattr(answer, name)} {name}" for name in _SYNCED if getattr(answer, name))
    say(f"{answer.checked:,} notes looked at in {answer.folder}: {done or 'all in step'}")
    for problem in answer.problems:
        say(f"  left alone: {problem}")


def _file(path: str) -> None:
    if path:
        say(f"  {path}")


def _warnings(warnings: Sequence[str]) -> None:
    for warning in warnings:
        say(f"warning: {warning}")


NOTE_PRINTERS: list[tuple[type, Callable[..., None]]] = [
    (NoteWritten, _written),
    (NoteRead, _read),
    (NoteChanged, _changed),
    (NotesFound, _found),
    (NoteLinked, _linked),
    (CurrentDate, _date),
    (NoteReviewed, _reviewed),
    (DueNotes, _due),
    (Backlinks, _backlinks),
    (BrokenLinks, _broken),
    (Categories, _categories),
    (Templates, _templates),
    (NotesSynced, _synced),
    *ATTACHMENT_PRINTERS,
    *FILE_PRINTERS,
]
