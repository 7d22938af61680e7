"""From the store to the files: write, rename and remove the files of notes."""

from dataclasses import replace

from scrubjay.model.memory import MAIN
from scrubjay.notes.files.ledger import LedgerEntry
from scrubjay.notes.files.tree import FileInfo, digest
from scrubjay.notes.markdown.format import render
from scrubjay.notes.markdown.naming import id_in, with_suffix
from scrubjay.notes.markdown.note import Link, Note
from scrubjay.notes.markdown.wiki import key_of
from scrubjay.notes.sync.context import NoteFile, SyncContext, has_file, path_without_file
from scrubjay.notes.sync.dirty import put_entry
from scrubjay.notes.sync.links import unresolved_links
from scrubjay.notes.sync.mapping import with_stored_fields
from scrubjay.notes.sync.plain import new_plain_note, plain_note
from scrubjay.notes.sync.state import NoteState

__all__ = ["FileWriter"]


class FileWriter:
    """Writes the files of one vault, and their ledger entries."""

    def __init__(self, context: SyncContext) -> None:
        self._context = context
        self._new_entries: dict[str, LedgerEntry] = {}

    def pop_entry(self, state: NoteState) -> LedgerEntry | None:
        """Return the ledger entry of a note after a step: the one that the step has written, else the old one."""
        return self._new_entries.pop(state.id, state.entry)

    async def write(
        self, state: NoteState, note: Note, file: NoteFile | None, *, is_news: bool, view: Note | None = None
    ) -> None:
        """Write a note to its file, and the ledger entry.

        `is_news`: the store has changes for the file. Otherwise the file stays as its author wrote it if only the time
        of the last change would differ. `view` is the note as a plain file shows it.
        """
        await self._context.run_blocking(self._write, state, note, file, is_news=is_news, view=view)

    async def record_unchanged(self, state: NoteState, file: NoteFile) -> None:
        """Update the ledger entry of a file whose metadata, but not its content, has changed."""
        await self._context.run_blocking(self._record, state, file.info, file.digest)

    async def remove_file(self, state: NoteState, file: NoteFile | None) -> None:
        """Remove the file of an inactive memory, if it is unchanged since it was read, or else since the last sync."""
        entry = state.require_entry()

        def remove() -> None:
            # A user's own file is only put away.
            remove = self._context.folder.move_to_trash if entry.plain else self._context.folder.remove
            remove(entry.path, over=file.digest if file else entry.digest)
            self._context.counts["removed"] += 1
            self._forget_file(state)

        await self._context.run_blocking(remove)

    async def forget_file(self, state: NoteState) -> None:
        """Record in the ledger that a note has no file; remove the entry if the memory does not exist."""
        await self._context.run_blocking(self._forget_file, state)

    def _write(self, state: NoteState, note: Note, file: NoteFile | None, *, is_news: bool, view: Note | None) -> None:
        context = self._context
        # Only a file can contain links to missing notes.
        may_have_missing = state.entry is not None and (file is None or bool(file.note.linked))
        missing = context.ledger.missing_links_of(state.id) if may_have_missing else []
        final = _final_note(state, note, file, missing, view=view)
        if file is None:
            data = render(final, bare=state.is_plain)
            info = context.folder.write(self._free_path(state), data, over=None)
        elif file.path == state.path and _is_current(final, file, is_news=is_news):
            self._record(state, file.info, file.digest)
            return
        else:
            data = render(final, like=file.page)
            info = self._overwrite(state, file, data)
        self._record(state, info, digest(data))
        context.counts["written"] += 1

    def _overwrite(self, state: NoteState, file: NoteFile, data: bytes) -> FileInfo:
        """Move a file to its new name, and then replace its content.

        In this order, a crash never leaves two files of one note.
        """
        path, new = file.path, self._free_path(state)
        if path != new:
            moved = self._context.folder.move(path, new, over=file.digest)
            entry = replace(
                state.require_entry(), path=moved.path, size=moved.size, mtime_ns=moved.mtime_ns, inode=moved.inode
            )
            self._put_entry(state, entry)
            path = moved.path
        return self._context.folder.write(path, data, over=file.digest)

    def _free_path(self, state: NoteState) -> str:
        """Return the path that a file should have; if another note has it, one with a short suffix."""
        path, context = state.path, self._context
        if id_in(path) or (state.entry is not None and state.entry.path == path):
            return path
        key = key_of(path)
        entries = context.ledger.by_file_name([key]).get(key, ())
        is_taken = any(
            has_file(entry) and entry.memory_id != state.id and key_of(entry.path) == key for entry in entries
        )
        if not is_taken and context.folder.stat(path) is not None:
            # On a file system that ignores case it may be the file itself, which is about to be renamed.
            own = state.entry.path if state.entry is not None else ""
            is_taken = key_of(own) != key and context.read_note_id(path) != state.id
        return with_suffix(path, state.id) if is_taken else path

    def _record(self, state: NoteState, info: FileInfo, digest: bytes) -> None:
        entry = state.new_entry(info, digest)
        if entry != state.entry:
            with self._context.ledger.transaction():
                self._put_entry(state, entry)
                self._context.ledger.clear_problems(info.path)

    def _put_entry(self, state: NoteState, entry: LedgerEntry) -> None:
        put_entry(
            entry, before=state.entry, neighbours=state.neighbours, context=self._context,
            is_foreseen=state.entry is None and entry.path == state.path,
        )  # fmt: skip
        self._new_entries[state.id] = entry

    def _forget_file(self, state: NoteState) -> None:
        entry = state.entry
        if entry is None:
            return
        ledger = self._context.ledger
        with ledger.transaction():
            if has_file(entry):
                ledger.clear_problems(entry.path)
            version = state.memory.version if state.memory is not None else entry.version
            updated = replace(
                entry, version=version, branch=MAIN, reviewed_at=None, created_at=None,
                path=path_without_file(state.id, entry.path),
            )  # fmt: skip
            if updated != entry:
                self._put_entry(state, updated)
            if state.memory is None:
                ledger.remove(state.id)


def _is_current(final: Note, file: NoteFile, *, is_news: bool) -> bool:
    """Whether a file shows a note already; without news, the time of the last change may differ."""
    expected = final if is_news else replace(final, updated_at=file.note.updated_at)
    return render(expected, like=file.page) == file.data


def _final_note(state: NoteState, note: Note, file: NoteFile | None, missing: list[Link], *, view: Note | None) -> Note:
    """Return the note for the file: its texts, with the stored fields and the links."""
    stored = state.note
    listed = {link.target for link in stored.linked}
    unresolved = unresolved_links(file.note, missing) if file is not None else [link for link in missing if link.text]
    linked = (*stored.linked, *(link for link in unresolved if link.target not in listed))
    if state.is_plain:
        if file is None or view is None:
            return new_plain_note(replace(note, linked=linked), path=state.path)
        return plain_note(file.page, view=view, merged=note, linked=linked)
    return replace(with_stored_fields(note, stored), linked=linked)
