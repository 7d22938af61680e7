"""The verbs of attachments, asked of a daemon."""

import base64

from scrubjay.model.draft import Caller
from scrubjay.notes.attachments.results import Attached, NoteAttachments, Orphans
from scrubjay.rpc.knowing import Knowing

__all__ = ["Attaching"]


class Attaching(Knowing):
    """The verbs of attachments."""

    async def attach_file(
        self, note: str, name: str, data: str | bytes, *, who: Caller, caption: str = ""
    ) -> Attached:  # fmt: skip
        """Attach what is sent to a note."""
        text = data if isinstance(data, str) else base64.b64encode(data).decode("ascii")
        return await self._write("attach_file", Attached, who, note=note, name=name, data=text, caption=caption)

    async def attach_path(self, note: str, path: str, *, who: Caller, caption: str = "", name: str = "") -> Attached:
        """Attach a file of the machine that the daemon runs on."""
        return await self._write("attach_path", Attached, who, note=note, path=path, caption=caption, name=name)

    async def note_attachments(self, note: str, *, who: Caller) -> NoteAttachments:
        """What a note embeds."""
        return await self._told("note_attachments", NoteAttachments, who, note=note)

    async def orphaned_files(self, *, who: Caller) -> Orphans:
        """What no note embeds, and what nothing knows of."""
        return await self._told("orphaned_files", Orphans, who)
