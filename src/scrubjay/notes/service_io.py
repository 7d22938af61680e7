"""The verbs that carry notes out of the memory and into it: export and import."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from scrubjay.errors import InvalidInput
from scrubjay.model.draft import Caller
from scrubjay.notes.export.results import NotesExported, Sheaf, require_format
from scrubjay.notes.import_.results import NotesImported
from scrubjay.notes.render import tidy_category
from scrubjay.notes.requests import NotesSelection
from scrubjay.notes.service_attachments import Attaching
from scrubjay.ports import Progress

if TYPE_CHECKING:
    from scrubjay.notes.export.exporter import Exporter

__all__ = ["Carrying"]


class Carrying(Attaching):
    """Export and import."""

    __slots__ = ()

    async def export_notes(
        self, target: str, wanted: NotesSelection, *, who: Caller, format: str = "md", progress: Progress | None = None
    ) -> NotesExported:
        """Write notes to a file or folder of this machine: for its owner alone, since it may be any place."""
        require_format(format)
        if wanted.refs and (wanted.category or wanted.tags):
            raise InvalidInput("name notes, or a category and tags", hint="Leave one of them out", field="category")
        named = tuple([await self._ref(ref, who=who) for ref in wanted.refs])
        found = replace(wanted, refs=named, category=tidy_category(wanted.category))
        exporter = await self._exporter(who)
        return await exporter.export(found, format=format, target=Path(target), progress=progress)

    async def export_note(self, ref: str, *, who: Caller, format: str = "md") -> Sheaf:
        """One note as a file that is handed out."""
        require_format(format)
        return await (await self._exporter(who)).sheaf(await self._ref(ref, who=who), format=format)

    async def import_notes(
        self, folder: str, *, who: Caller, category: str = "", dry_run: bool = False, progress: Progress | None = None
    ) -> NotesImported:
        """Take in a folder of Markdown, such as a vault of Obsidian's; that folder itself is never written to."""
        from scrubjay.notes.import_.importer import Importer  # noqa: PLC0415 - for the few who import

        vault = await self._vault(who.space, make=not dry_run)
        importer = Importer(
            self.engine, who=who, vault=vault, largest=self.vaults.largest_attachment if self.vaults else 0
        )
        return await importer.take(Path(folder), category=tidy_category(category), dry_run=dry_run, progress=progress)

    async def _exporter(self, who: Caller) -> "Exporter":
        from scrubjay.notes.export.exporter import Exporter  # noqa: PLC0415 - for the few who export

        return Exporter(self.engine, who=who, vault=await self._vault(who.space))
