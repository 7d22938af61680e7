"""Results about notes and their files, for people."""

from collections.abc import Callable, Sequence

from scrubjay.model import notes as results
from scrubjay.model.attachments import Attached, Attachment, NoteAttachments, Orphans
from scrubjay.model.conflict import ConflictDetails
from scrubjay.model.notes import NotesAdopted, NotesExported, NotesImported
from scrubjay.surfaces.cli.console import say, say_each, say_warnings

__all__ = ["NOTE_PRINTERS"]

_SYNC_COUNTS = ("taken", "created", "written", "moved", "removed", "trashed", "conflicts")
# The JSON output has the rest.
_MAX_LINES = 50


def _show_written(result: results.NoteWritten) -> None:
    if not result.id:
        say("rejected: nothing was stored")
    else:
        say(f"{result.action} {result.title} ({result.id}), version {result.version}")
        _show_file(result.file_path)
    for similar in result.similar:
        whose = f", {similar.mark}" if similar.mark else ""
        say(f"  similar to {similar.name} ({similar.id}{whose}), {similar.similarity:.2f}")
    _show_conflicts(result.conflicts)
    say_warnings(result.warnings)


def _show_read(result: results.NoteRead) -> None:
    if result.format == "json":
        say(result.content)
        return
    if result.state != "live":
        where = "in the trash" if result.state == "trashed" else result.state
        say(f"({where}: `scrubjay restore {result.id}` brings it back)" if where != "waiting" else f"({where})")
    if result.mark:
        say(f"({result.mark})")
    say(result.content.removesuffix("\n"))
    if result.format == "markdown":
        for observation in result.observations:
            say(f"- {observation}")


def _show_changed(result: results.NoteChanged) -> None:
    say(f"{result.action} {result.title} ({result.id}), version {result.version}")
    _show_file(result.file_path)
    _show_conflicts(result.conflicts)
    say_warnings(result.warnings)


def _show_hits(result: results.NotesFound) -> None:
    for number, hit in enumerate(result.results, start=1):
        category = f" [{hit.category}]" if hit.category else ""
        tags = "".join(f" #{tag}" for tag in hit.tags)
        whose = f"  ({hit.mark})" if hit.mark else ""
        say(f"{number}. {hit.title}{category}{tags}  {hit.score:.2f}{whose}")
        say(f"   {' '.join(hit.snippet.split())}")
        say(f"   {hit.file_path or hit.id}")
    if not result.results:
        say("nothing found")
    if result.more:
        say("there are more: --limit shows them")
    for note in result.degraded:
        say(f"note: {note}")


def _show_linked(result: results.NoteLinked) -> None:
    say(f"{result.action} {result.source_title} ↔ {result.target_title}")
    if result.markdown_link:
        say(f"  {result.markdown_link}")
    say_warnings(result.warnings)


def _show_date(result: results.CurrentDate) -> None:
    say(result.date if result.format == "timestamp" else f"{result.date}  ({result.timezone})")


def _show_reviewed(result: results.NoteReviewed) -> None:
    say(f"reviewed {result.title} ({result.id}) on {result.last_reviewed.date()}")


def _show_due(result: results.DueNotes) -> None:
    lines = (f"{note.days:>5} days  {note.title}  {note.file_path or note.id}" for note in result.notes)
    say_each(lines, none="nothing is due")


def _show_backlinks(result: results.Backlinks) -> None:
    def line(backlink: results.Backlink) -> str:
        text = f"  ({backlink.text})" if backlink.text and backlink.text != result.title else ""
        return f"{backlink.title}{text}  {backlink.file_path or backlink.id}"

    say_each(map(line, result.backlinks), none="nothing links to it")


def _show_broken(result: results.BrokenLinks) -> None:
    def lines(link: results.BrokenLink) -> str:
        suggestion = f". Did you mean {' or '.join(link.suggestions)}?" if link.suggestions else ""
        return f"{link.title}: no note is called [[{link.target}]]{suggestion}\n  {link.file_path or link.id}"

    say_each(map(lines, result.links), none="every link leads to a note")


def _show_categories(result: results.Categories) -> None:
    lines = (f"{'  ' * category.path.count('/')}{category.name}  {category.total}" for category in result.categories)
    say_each(lines, none="no note has a category")


def _show_templates(result: results.Templates) -> None:
    for template in result.templates:
        say(f"{template.name}{'  (built in)' if template.built_in else ''}")
    if result.folder:
        say(f"put your own into {result.folder}")


def _show_synced(result: results.NotesSynced) -> None:
    changes = ", ".join(f"{getattr(result, name)} {name}" for name in _SYNC_COUNTS if getattr(result, name))
    rest = "all others in sync" if result.problems else "all in sync"
    files = "1 file" if result.checked == 1 else f"{result.checked:,} files"
    say(f"checked {files} in {result.folder}: {changes or rest}")
    for problem in result.problems:
        say(f"  skipped: {problem}")


def _show_attached(result: Attached) -> None:
    say(f"{result.action} {_describe_attachment(result.attachment)}")
    say(f"  embedded as {result.attachment.embed}")
    say_warnings(result.warnings)


def _show_attachments(result: NoteAttachments) -> None:
    def lines(attachment: Attachment) -> str:
        path = attachment.path or f"{attachment.file} is gone"
        caption = f" - {attachment.caption}" if attachment.caption else ""
        return f"{_describe_attachment(attachment)}\n  {path}{caption}"

    say_each(map(lines, result.attachments), none="the note embeds no files")


def _describe_attachment(attachment: Attachment) -> str:
    return f"{attachment.title} ({attachment.id}), {attachment.media_type}, {attachment.bytes:,} bytes"


def _show_orphans(result: Orphans) -> None:
    lines = (
        f"{orphan.file}: {orphan.why}, {orphan.bytes:,} bytes{f' ({orphan.id})' if orphan.id else ''}"
        for orphan in result.orphans
    )
    say_each(lines, none="every attachment is embedded and has its file")


def _show_exported(result: NotesExported) -> None:
    notes = f"{result.notes:,} {'note' if result.notes == 1 else 'notes'}"
    files = f" with {result.files:,} {'file' if result.files == 1 else 'files'}" if result.files else ""
    say(f"exported {notes}{files} to {result.target} ({result.bytes:,} bytes)")
    say_warnings(result.warnings)


def _show_imported(result: NotesImported) -> None:
    verb = "would be" if result.dry_run else "were"
    say(
        f"{result.found:,} notes found in {result.folder}: {result.created:,} {verb} created, "
        f"{result.updated:,} updated, {result.unchanged:,} are unchanged, {len(result.skipped):,} skipped"
    )
    say(f"  {result.linked:,} links, {result.attachments:,} attachments, {len(result.broken_links):,} broken links")
    _show_lines("skipped", [f"{skipped.path}: {skipped.reason}" for skipped in result.skipped])
    _show_lines("broken link", [f"{link.path}: [[{link.target}]]" for link in result.broken_links])
    _show_lines("warning", list(result.warnings))


def _show_adopted(result: NotesAdopted) -> None:
    verb = "would become" if result.dry_run else "became"
    total = f"{result.found:,} notes found in {result.folder}"
    say(f"{total}: {result.adopted:,} {verb} memories, with {result.linked:,} links")
    changed = f"{len(result.changed):,} files were changed meanwhile" if result.changed else "no file was changed"
    say(f"  {'no file would be changed' if result.dry_run else changed}")
    if result.new:
        say(f"  {result.new:,} other memories of this space {verb} new files")
    _show_lines("changed", list(result.changed))
    _show_lines("+", list(result.new_files) if result.dry_run else [])
    _show_lines("skipped", [f"{skipped.path}: {skipped.reason}" for skipped in result.skipped])
    _show_lines("broken link", [f"{link.path}: [[{link.target}]]" for link in result.broken_links])
    _show_lines("warning", list(result.warnings))
    if result.copy:
        say(f"  a copy of the notes is in {result.copy}")
    if result.run:
        say(f"  scrubjay undo --run {result.run} takes the memories back")


def _show_lines(label: str, lines: list[str]) -> None:
    for line in lines[:_MAX_LINES]:
        say(f"  {label}: {line}")
    if len(lines) > _MAX_LINES:
        say(f"  and {len(lines) - _MAX_LINES:,} more: --json shows all")


def _show_file(path: str) -> None:
    if path:
        say(f"  {path}")


def _show_conflicts(conflicts: Sequence[ConflictDetails]) -> None:
    for conflict in conflicts:
        statement = " ".join(conflict.other.statement.split())
        say(f"  {conflict.type.value} of {conflict.other.name}: {statement} [{conflict.id}]")


NOTE_PRINTERS: list[tuple[type, Callable[..., None]]] = [
    (results.NoteWritten, _show_written),
    (results.NoteRead, _show_read),
    (results.NoteChanged, _show_changed),
    (results.NotesFound, _show_hits),
    (results.NoteLinked, _show_linked),
    (results.CurrentDate, _show_date),
    (results.NoteReviewed, _show_reviewed),
    (results.DueNotes, _show_due),
    (results.Backlinks, _show_backlinks),
    (results.BrokenLinks, _show_broken),
    (results.Categories, _show_categories),
    (results.Templates, _show_templates),
    (results.NotesSynced, _show_synced),
    (Attached, _show_attached),
    (NoteAttachments, _show_attachments),
    (Orphans, _show_orphans),
    (NotesExported, _show_exported),
    (NotesImported, _show_imported),
    (NotesAdopted, _show_adopted),
]
