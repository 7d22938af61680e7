"""Notes that go out as files, and come in from them."""

from collections.abc import Sequence
from pathlib import Path

from scrubjay.client.attachments import ClientAttachments
from scrubjay.client.coerce import as_tuple
from scrubjay.model.transfer import Progress
from scrubjay.notes.export.results import NotesExported
from scrubjay.notes.import_.results import NotesImported
from scrubjay.notes.requests import NotesSelection

__all__ = ["ClientNotesIO"]


class ClientNotesIO(ClientAttachments):
    """Notes that go out as files, and come in from them."""

    async def export_notes(
        self,
        target: str | Path,
        *,
        refs: Sequence[str] = (),
        format: str = "md",
        category: str = "",
        tags: Sequence[str] = (),
        progress: Progress | None = None,
    ) -> NotesExported:
        """Write notes as `md`, `json`, `csv`, `html` or `pdf`: those named, else all of a category and with tags.

        The target is a file, a folder, or a .zip, which is there as a whole when this returns.
        """
        wanted = NotesSelection(refs=as_tuple(refs), category=category, tags=as_tuple(tags))
        return await (await self._noting()).export_notes(
            _place(target), wanted, who=self._who, format=format, progress=progress
        )

    async def import_notes(
        self, folder: str | Path, *, category: str = "", dry_run: bool = False, progress: Progress | None = None
    ) -> NotesImported:
        """Take in a folder of Markdown, such as a vault of Obsidian's, which itself is never written to.

        What was taken in before is known again: only what is new or has changed is written. `category` goes before
        the categories that the folders below it are.
        """
        return await (await self._noting()).import_notes(
            _place(folder), who=self._who, category=category, dry_run=dry_run, progress=progress
        )


def _place(path: str | Path) -> str:
    return str(Path(path).expanduser().absolute())
