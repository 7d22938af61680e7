"""The verbs of attachments, for whoever has the notes of an engine and their folder."""

import base64
import binascii
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from scrubjay.errors import InvalidInput
from scrubjay.model.checks import require_text
from scrubjay.model.draft import Caller
from scrubjay.notes.attachments.results import Attached, Attachment, NoteAttachments, Orphans
from scrubjay.notes.context import NotesContext, told_as_notes

if TYPE_CHECKING:
    from scrubjay.notes.attachments.service import Attachments

__all__ = ["Attaching"]

_LISTED_BY = "List those of a note: `GET /api/v1/notes/{id}/attachments`, or `scrubjay notes attachments`"


class Attaching(NotesContext):
    """The verbs of attachments. They need the folder that the notes of a space are in."""

    __slots__ = ()

    async def attach_file(
        self, note: str, name: str, data: str | bytes, *, who: Caller, caption: str = ""
    ) -> Attached:  # fmt: skip
        """Attach what a caller sends to a note: bytes, or text that is base64 of them."""
        if not require_text(name, field="name").strip():
            raise InvalidInput("a file needs a name", hint="Say what it is called, such as picture.png", field="name")
        given = data if isinstance(data, bytes) else _bytes_in(data)
        attachments = await self._attachments(who)
        ref = await self._ref(note, who=who)
        with told_as_notes():
            done = await attachments.attach(ref, data=given, name=name, caption=caption, who=who)
        return await self._settled(done)

    async def attach_path(self, note: str, path: str, *, who: Caller, caption: str = "", name: str = "") -> Attached:
        """Attach a file of this machine to a note: for its owner alone, since it may be any file."""
        attachments = await self._attachments(who)
        ref = await self._ref(note, who=who)
        with told_as_notes():
            done = await attachments.attach(ref, path=Path(path), name=name, caption=caption, who=who)
        return await self._settled(done)

    async def note_attachments(self, note: str, *, who: Caller) -> NoteAttachments:
        """What a note embeds."""
        attachments = await self._attachments(who, make=False)
        ref = await self._ref(note, who=who)
        with told_as_notes():
            memory_id = await attachments.note(ref)
        return NoteAttachments(note=memory_id, attachments=await attachments.attachments_of(memory_id, who=who))

    async def orphaned_files(self, *, who: Caller) -> Orphans:
        """Attachments that no note embeds or whose file is gone, and files that nothing knows of."""
        attachments = await self._attachments(who, make=False)
        assert self.vaults is not None
        # Where no note was ever written there is no folder yet, and nothing in it.
        is_empty = await self.vaults.vault() is None and not self.vaults.problem
        return Orphans(orphans=()) if is_empty else await attachments.orphans()

    @asynccontextmanager
    async def attachment_content(
        self, ref: str, *, who: Caller
    ) -> AsyncGenerator[tuple[Attachment, AsyncIterator[bytes]]]:
        """An attachment and its bytes, piece by piece."""
        attachments = await self._attachments(who, make=False)
        async with AsyncExitStack() as stack:
            with told_as_notes("attachment", hint=_LISTED_BY):
                found = await stack.enter_async_context(attachments.content(ref, who=who))
            yield found

    async def _settled(self, done: Attached) -> Attached:
        """The note's file has the embed before anybody hears of it."""
        if self.vaults is not None and (vault := await self.vaults.vault()) is not None:
            await vault.settle([done.note])
        return done

    async def _attachments(self, who: Caller, *, make: bool = True) -> "Attachments":
        # What reads documents is loaded by those who attach some.
        from scrubjay.notes.attachments.service import Attachments  # noqa: PLC0415

        if self.vaults is None or self.vaults.space != who.space:
            raise InvalidInput(
                f"the space {who.space!r} has no folder of notes that files could be kept in",
                hint="The folder is that of the server's own space",
                field="space",
            )
        vault = await (self.vaults.require() if make else self.vaults.vault())
        if vault is not None and vault.attachments is not None:
            return vault.attachments
        return Attachments(
            self.engine, root=self.vaults.folder, space=self.vaults.space, largest=self.vaults.largest_attachment
        )


def _bytes_in(text: str) -> bytes:
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidInput("data is not base64", hint="Encode the bytes of the file", field="data") from error
