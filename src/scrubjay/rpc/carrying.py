"""Export and import of notes, asked of a daemon."""

from scrubjay.model.draft import Caller
from scrubjay.model.transfer import Progress
from scrubjay.notes.export.results import NotesExported
from scrubjay.notes.import_.results import NotesImported
from scrubjay.notes.requests import NotesSelection
from scrubjay.rpc.attaching import Attaching

__all__ = ["Carrying"]


class Carrying(Attaching):
    """Export and import, to and from the machine that the daemon runs on."""

    async def export_notes(
        self,
        target: str,
        selection: NotesSelection,
        *,
        who: Caller,
        format: str = "md",
        progress: Progress | None = None,
    ) -> NotesExported:
        """Write notes to a file or folder."""
        return await self._write(
            "export_notes", NotesExported, who, progress=progress, target=target, selection=selection, format=format
        )

    async def import_notes(
        self, folder: str, *, who: Caller, category: str = "", dry_run: bool = False, progress: Progress | None = None
    ) -> NotesImported:
        """Take in a folder of Markdown."""
        return await self._write(
            "import_notes", NotesImported, who, progress=progress, folder=folder, category=category, dry_run=dry_run
        )
