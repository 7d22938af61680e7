"""The notes of earlier imports, by the path and the content of each file."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

from scrubjay.lazy import dataclass
from scrubjay.model.memory import Json, Memory, State
from scrubjay.model.query import Filter
from scrubjay.notes.markdown.naming import PATH_KEY
from scrubjay.ports import MemoryReader

__all__ = ["DIGEST", "PATH", "VERSION", "EarlierImport", "Manifest", "folder_key", "import_metadata"]

FOLDER, PATH, DIGEST, VERSION = "imported_from", "imported_path", "imported_sha256", "imported_version"
_PAGE = 500
_MAX_FOLDERS = 100
_STATES = (State.LIVE, State.TRASHED, State.ARCHIVED, State.WAITING, State.MERGED)


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierImport:
    """A note of an earlier import."""

    id: str
    path: str
    digest: str
    state: State
    # The path of the note's own file.
    file: str = ""


class Manifest:
    """All imported notes of a space; those of a folder by path."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._own: dict[str, EarlierImport] = {}
        self._others: dict[tuple[str, str], EarlierImport] = {}
        self._digests: dict[str, list[EarlierImport]] = {}

    @classmethod
    async def load(cls, reader: MemoryReader, *, space: str, folder: str) -> "Manifest":
        """Load the imported notes of a space."""
        notes = cls(folder)
        for state in reversed(_STATES):
            values = await reader.facet_values(space, f"meta.{FOLDER}", state=state, limit=_MAX_FOLDERS)
            for key in dict.fromkeys((folder, *(value for value, _ in values))):
                after: str | None = None
                among = Filter(metadata={FOLDER: key}, state=state)
                while ids := await reader.list_ids(space, among, limit=_PAGE, after=after):
                    for memory in (await reader.get(space, ids)).values():
                        notes._add(memory)
                    after = ids[-1]
        return notes

    def find(self, path: str, digest: str, *, listed: Mapping[str, object]) -> EarlierImport | None:
        """Return the earlier note of a file: at the same path, in a moved folder, or of a moved file."""
        existing = self._own.get(path) or self._others.get((path, digest))
        if existing is not None:
            return existing
        moved = [item for item in self._digests.get(digest, ()) if item.path not in listed]
        return moved[0] if len(moved) == 1 else None

    def _add(self, memory: Memory) -> None:
        item = EarlierImport(
            id=memory.id, path=str(memory.metadata.get(PATH) or ""), digest=str(memory.metadata.get(DIGEST) or ""),
            state=memory.state, file=str(memory.metadata.get(PATH_KEY) or ""),
        )  # fmt: skip
        # Live notes are read last, so that they replace the others.
        if memory.metadata.get(FOLDER) == self._folder:
            self._own[item.path] = item
            self._digests.setdefault(item.digest, []).append(item)
        else:
            self._others[item.path, item.digest] = item


def folder_key(root: Path) -> str:
    """Return the key of a folder: a hash that reveals nothing about the machine."""
    return hashlib.sha256(str(root).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def import_metadata(*, folder: str, path: str, digest: str, version: int) -> dict[str, Json]:
    """Return the metadata that records the source file of a note."""
    return {FOLDER: folder, PATH: path, DIGEST: digest, VERSION: version}
