"""The verbs that carry notes out of the memory and into it: export and import."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from scrubjay.errors import InvalidInput
from scrubjay.model.draft import Caller
from scrubjay.notes.attaching import Attaching
from scrubjay.notes.exporting.results import NotesExported, Sheaf, require_format
from scrubjay.notes.importing.results import NotesImported
from scrubjay.notes.telling import tidy_category
from scrubjay.ports import Progress

if TYPE_CHECKING:
    from scrubjay.notes.exporting.export import Exporter

__all__ = ["Carrying"]


class Carrying(Attaching):
    """Export and import."""

    __slots__ = ()

    async def export_notes(
        self,
        target: str,
        *,
        who: Caller,
        refs: Sequence[str] = (),
        format: str = "md",
        category: str = "",
        tags: Sequence[str] = (),
        progress: Progress | None = None,
    ) -> NotesExported:
        """Write notes to a file or folder of this machine: for its owner alone, since it may be any place."""
        from scrubjay.notes.exporting.leaves import Wish  # noqa: PLC0415 - for the few who export

        require_format(format)
        if refs and (category or tags):
            raise InvalidInput("name notes, or a category and tags", hint="Leave one of them out", field="category")
        wish = Wish(
            refs=tuple([await self._ref(one, who=who) for one in refs]), category=tidy_category(category),
            tags=tuple(tags),
        )  # fmt: skip
        exporter = await self._exporter(who)
        return await exporter.export(wish, format=format, target=Path(target), progress=progress)

    async def export_note(self, ref: str, *, who: Caller, format: str = "md") -> Sheaf:
        """One note as a file that is handed out."""
        require_format(format)
        return await (await self._exporter(who)).sheaf(await self._ref(ref, who=who), format=format)

    async def import_notes(
        self,
        folder: str,
        *,
        who: Caller,
        category: str = "",
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> NotesImported:
        """Take in a folder of Markdown, such as a vault of Obsidian's; that folder itself is never written to."""
        from scrubjay.notes.importing.importer import Importer  # noqa: PLC0415 - for the few who import

        vault = await self._vault(who.space, make=not dry_run)
        importer = Importer(
            self.engine, who=who, vault=vault, largest=self.cabinet.largest_attachment if self.cabinet else 0
        )
        return await importer.take(
            Path(folder), category=tidy_category(category), dry_run=dry_run, progress=progress
        )  # fmt: skip

    async def _exporter(self, who: Caller) -> "Exporter":
        from scrubjay.notes.exporting.export import Exporter  # noqa: PLC0415 - for the few who export

        return Exporter(self.engine, who=who, vault=await self._vault(who.space))
