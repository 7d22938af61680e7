"""How the memory is, and copies of it."""

from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from pathlib import Path

from scrubjay.client.coerce import reopened
from scrubjay.client.connection import Connection
from scrubjay.errors import NotAllowed
from scrubjay.graph.jsonl import FORMATS
from scrubjay.model.results import DoctorReport, Status
from scrubjay.model.transfer import Imported, Progress


class ClientHealth(Connection):
    """How the memory is, and copies of it."""

    async def status(self) -> Status:
        """Health, sizes, backends, and what is degraded."""
        return await (await self._noting()).status(who=self._who)

    async def doctor(self, *, deep: bool = False, repair: bool = False) -> DoctorReport:
        """Look at everything; `repair` mends what can be mended."""
        return await (await self._noting()).doctor(who=self._who, deep=deep, repair=repair)

    async def backup(self, target: str | Path, *, progress: Progress | None = None) -> Path:
        """Copy the store to a file while it is in use, and verify the copy."""
        return await self._open.backup(Path(target), progress=progress)

    def export(self, *, format: str = FORMATS[0], progress: Progress | None = None) -> AsyncIterator[str]:
        """Every memory of the space as JSON Lines, with its whole past; `kg` as the reference graph server keeps it."""
        return self._open.export(who=self._who, format=format, progress=progress)

    async def import_lines(
        self, lines: Sequence[str] | Path, *, progress: Progress | None = None, embed: bool = True
    ) -> Imported:
        """Take in an export; everything is checked before anything is stored."""
        done = await self._open.import_(reopened(lines), who=self._who, progress=progress)
        if embed:
            # A server to which this client is a guest has done it by itself.
            with suppress(NotAllowed):
                await self._open.embed_missing(progress=progress)
        return done
