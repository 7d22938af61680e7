"""What is exported: notes with their attachments, and the index by which links are resolved."""

from collections.abc import Callable
from dataclasses import field
from pathlib import PurePosixPath

from scrubjay.lazy import dataclass
from scrubjay.model.attachments import Attachment
from scrubjay.model.memory import Memory
from scrubjay.notes.markdown.naming import id_in, link_target
from scrubjay.notes.markdown.note import Note
from scrubjay.notes.markdown.wiki import key_of

__all__ = ["ExportedNote", "NoteIndex", "NoteIndexEntry", "ReadAttachment"]

ReadAttachment = Callable[[Attachment], bytes | None]
"""Returns the bytes of an embedded file; None if it is not available."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteIndexEntry:
    """An entry of the index: a note of an export."""

    id: str
    title: str
    category: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedNote:
    """An exported note with the path of its file and its attachments."""

    memory: Memory
    note: Note
    path: str
    attachments: tuple[Attachment, ...] = ()

    def attachment(self, target: str) -> Attachment | None:
        """Return the attachment that an embed names."""
        name = _file_key(target)
        return next((attachment for attachment in self.attachments if _file_key(attachment.file) == name), None)


@dataclass(slots=True, kw_only=True)
class NoteIndex:
    """All notes of an export by every name that links use. The first note with a name keeps it."""

    entries: dict[str, NoteIndexEntry] = field(default_factory=dict[str, NoteIndexEntry])
    _keys: dict[str, str] = field(default_factory=dict[str, str])

    def add(self, memory: Memory, path: str) -> None:
        """Add a note."""
        self.entries[memory.id] = NoteIndexEntry(id=memory.id, title=memory.label, category=memory.category, path=path)
        aliases = memory.metadata.get("aliases")
        others = [alias for alias in aliases if isinstance(alias, str)] if isinstance(aliases, list) else []
        stem = PurePosixPath(link_target(path)).name
        for name in (memory.id, link_target(path), stem, memory.label, memory.name, *others):
            if key := key_of(name):
                self._keys.setdefault(key, memory.id)

    def find(self, target: str) -> NoteIndexEntry | None:
        """Return the note that a link names, if it is exported."""
        own = self._keys.get(key_of(target)) or self._keys.get(key_of(PurePosixPath(link_target(target)).name))
        return self.entries.get(own or id_in(target))


def _file_key(path: str) -> str:
    return key_of(path.rpartition("/")[2])
