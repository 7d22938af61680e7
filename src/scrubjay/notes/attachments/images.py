"""The pictures beside the notes, for a model that sees."""

import asyncio
import hashlib
from pathlib import Path

from scrubjay.errors import ScrubjayError
from scrubjay.model.media import Media, media_type_in
from scrubjay.model.memory import Memory
from scrubjay.notes.attachments.storage import AttachmentStorage

__all__ = ["NotesGallery"]

# A larger picture is not worth its memory: models see them with a few hundred pixels a side.
_LARGEST = 64_000_000


class NotesGallery:
    """Has the pictures that memories stand for, and hands out the very bytes that a memory names by their hash."""

    def __init__(self, root: Path) -> None:
        self._depot = AttachmentStorage(root, largest=_LARGEST)

    async def media(self, memory: Memory) -> Media | None:
        """The picture that a memory stands for, if it is at hand."""
        kind = media_type_in(memory)
        data = await asyncio.to_thread(self._read, memory) if kind else None
        return None if data is None else Media(type=kind, data=data)

    def _read(self, memory: Memory) -> bytes | None:
        try:
            with self._depot.opened(str(memory.metadata.get("file") or "")) as stream:
                data = stream.read(_LARGEST + 1)
        except ScrubjayError:
            return None
        is_it = len(data) <= _LARGEST and hashlib.sha256(data).hexdigest() == memory.metadata.get("sha256")
        return data if is_it else None
