"""Files that notes embed."""

import asyncio
from pathlib import Path

from scrubjay.client.connection import Connection
from scrubjay.errors import InvalidInput, TooLarge
from scrubjay.notes.attachments.results import Attached, NoteAttachments, Orphans

__all__ = ["ClientAttachments"]


class ClientAttachments(Connection):
    """Files that notes embed."""

    async def attach_file(self, note: str, name: str, data: str | bytes, *, caption: str = "") -> Attached:
        """Attach bytes, or text that is base64 of them, to a note: kept beside it, and embedded in it."""
        return await (await self._noting()).attach_file(note, name, data, who=self._who, caption=caption)

    async def attach_path(self, note: str, path: str | Path, *, caption: str = "", name: str = "") -> Attached:
        """Attach a file of this machine to a note; a server elsewhere is sent its bytes instead."""
        place = _place(path)
        if self._way.is_far:
            data = await asyncio.to_thread(_read, place, most=self._settings.max_attachment_bytes)
            return await self.attach_file(note, name or place.name, data, caption=caption)
        noting = await self._noting()
        return await noting.attach_path(note, str(place), who=self._who, caption=caption, name=name)

    async def note_attachments(self, note: str) -> NoteAttachments:
        """What a note embeds."""
        return await (await self._noting()).note_attachments(note, who=self._who)

    async def orphaned_files(self) -> Orphans:
        """Attachments that no note embeds or whose file is gone, and files that nothing knows of."""
        return await (await self._noting()).orphaned_files(who=self._who)


def _place(path: str | Path) -> Path:
    return Path(path).expanduser().absolute()


def _read(path: Path, *, most: int) -> bytes:
    try:
        if not path.is_file():
            raise InvalidInput(f"{path} is no file", field="file")
        with path.open("rb") as stream:
            data = stream.read(most + 1)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}", field="file") from error
    if len(data) > most:
        raise TooLarge(f"{path} has more than {most:,} bytes", hint="Raise SCRUBJAY_MAX_ATTACHMENT_BYTES", limit=most)
    return data
