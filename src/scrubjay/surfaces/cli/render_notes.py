"""Notes for people."""

from collections.abc import Callable, Sequence

from scrubjay.model.conflict import ConflictDetails
from scrubjay.notes import results
from scrubjay.surfaces.cli.console import say, say_each, say_warnings
from scrubjay.surfaces.cli.render_attachments import ATTACHMENT_PRINTERS
from scrubjay.surfaces.cli.render_files import FILE_PRINTERS

__all__ = ["NOTE_PRINTERS"]

_SYNCED = ("taken", "created", "written", "moved", "trashed", "conflicts")


def _written(answer: results.NoteWritten) -> None:
    if not answer.id:
        say("rejected: nothing was stored")
    else:
        say(f"{answer.action} {answer.title} ({answer.id}), version {answer.version}")
        _file(answer.file_path)
    for one in answer.similar:
        say(f"  like {one.name} ({one.id}), {one.similarity:.2f}")
    _conflicts(answer.conflicts)
    say_warnings(answer.warnings)


def _read(answer: results.NoteRead) -> None:
    if answer.format == "json":
        say(answer.content)
        return
    say(answer.content.removesuffix("\n"))
    if answer.format == "markdown":
        for observation in answer.observations:
            say(f"- {observation}")


def _changed(answer: results.NoteChanged) -> None:
    say(f"{answer.action} {answer.title} ({answer.id}), version {answer.version}")
    _file(answer.file_path)
    _conflicts(answer.conflicts)
    say_warnings(answer.warnings)


def _found(answer: results.NotesFound) -> None:
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


def _linked(answer: results.NoteLinked) -> None:
    say(f"{answer.action} {answer.source_title} ↔ {answer.target_title}")
    if answer.markdown_link:
        say(f"  {answer.markdown_link}")
    say_warnings(answer.warnings)


def _date(answer: results.CurrentDate) -> None:
    say(answer.date if answer.format == "timestamp" else f"{answer.date}  ({answer.timezone})")


def _reviewed(answer: results.NoteReviewed) -> None:
    say(f"reviewed {answer.title} ({answer.id}) on {answer.last_reviewed.date()}")


def _due(answer: results.DueNotes) -> None:
    lines = (f"{note.days:>5} days  {note.title}  {note.file_path or note.id}" for note in answer.notes)
    say_each(lines, none="nothing is due")


def _backlinks(answer: results.Backlinks) -> None:
    def line(one: results.Backlink) -> str:
        text = f"  ({one.text})" if one.text and one.text != answer.title else ""
        return f"{one.title}{text}  {one.file_path or one.id}"

    say_each(map(line, answer.backlinks), none="nothing links to it")


def _broken(answer: results.BrokenLinks) -> None:
    def lines(one: results.BrokenLink) -> str:
        near = f"; did you mean {' or '.join(one.suggestions)}?" if one.suggestions else ""
        return f"{one.title}: [[{one.target}]] leads nowhere{near}\n  {one.file_path or one.id}"

    say_each(map(lines, answer.links), none="every link leads to a note")


def _categories(answer: results.Categories) -> None:
    lines = (f"{'  ' * category.path.count('/')}{category.name}  {category.total}" for category in answer.categories)
    say_each(lines, none="no note has a category")


def _templates(answer: results.Templates) -> None:
    for template in answer.templates:
        say(f"{template.name}{'  (built in)' if template.built_in else ''}")
    if answer.folder:
        say(f"your own go into {answer.folder}")


def _synced(answer: results.NotesSynced) -> None:
    done = ", ".join(f"{getattr(answer, name)} {name}" for name in _SYNCED if getattr(answer, name))
    rest = "all others in step" if answer.problems else "all in step"
    files = "1 file" if answer.checked == 1 else f"{answer.checked:,} files"
    say(f"{files} looked at in {answer.folder}: {done or rest}")
    for problem in answer.problems:
        say(f"  left alone: {problem}")


def _file(path: str) -> None:
    if path:
        say(f"  {path}")


def _conflicts(conflicts: Sequence[ConflictDetails]) -> None:
    for conflict in conflicts:
        say(
            f"  {conflict.type.value} of {conflict.other.name}: "
            f"{' '.join(conflict.other.statement.split())} [{conflict.id}]"
        )


NOTE_PRINTERS: list[tuple[type, Callable[..., None]]] = [
    (results.NoteWritten, _written),
    (results.NoteRead, _read),
    (results.NoteChanged, _changed),
    (results.NotesFound, _found),
    (results.NoteLinked, _linked),
    (results.CurrentDate, _date),
    (results.NoteReviewed, _reviewed),
    (results.DueNotes, _due),
    (results.Backlinks, _backlinks),
    (results.BrokenLinks, _broken),
    (results.Categories, _categories),
    (results.Templates, _templates),
    (results.NotesSynced, _synced),
    *ATTACHMENT_PRINTERS,
    *FILE_PRINTERS,
]
