"""What was imported before: by where a file lay and what was in it."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from scrubjay.model.memory import Json, Memory, State
from scrubjay.model.query import Filter
from scrubjay.ports import RecordStore

__all__ = ["Before", "Known", "folder_key", "marks"]

FOLDER, PATH, DIGEST, VERSION = "imported_from", "imported_path", "imported_sha256", "imported_version"
_PAGE = 500
_MOST_FOLDERS = 100
_STATES = (State.LIVE, State.TRASHED, State.ARCHIVED, State.WAITING, State.MERGED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """A note that came from a file."""

    id: str
    path: str
    digest: str
    state: State


class Known:
    """All notes of a space that were imported, those of one folder by their paths."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._own: dict[str, Before] = {}
        self._others: dict[tuple[str, str], Before] = {}
        self._digests: dict[str, list[Before]] = {}

    @classmethod
    async def load(cls, store: RecordStore, *, space: str, folder: str) -> "Known":
        """Read what there is."""
        results = cls(folder)
        for state in reversed(_STATES):
            values = await store.facet_values(space, f"meta.{FOLDER}", state=state, limit=_MOST_FOLDERS)
            for key in dict.fromkeys((folder, *(value for value, _ in values))):
                after: str | None = None
                expected = Filter(metadata={FOLDER: key}, state=state)
                while ids := await store.list_ids(space, expected, limit=_PAGE, after=after):
                    for memory in (await store.get(space, ids)).values():
                        results._add(memory)
                    after = ids[-1]
        return results

    def at(self, path: str, digest: str, *, listed: Mapping[str, object]) -> Before | None:
        """The note that a file was before: at the same path, or in a folder that was moved, or moved itself."""
        existing = self._own.get(path) or self._others.get((path, digest))
        if existing is not None:
            return existing
        moved = [item for item in self._digests.get(digest, ()) if item.path not in listed]
        return moved[0] if len(moved) == 1 else None

    def _add(self, memory: Memory) -> None:
        item = Before(
            id=memory.id, path=str(memory.metadata.get(PATH) or ""), digest=str(memory.metadata.get(DIGEST) or ""),
            state=memory.state,
        )  # fmt: skip
        # Those that live are read last, and go before those that do not.
        if memory.metadata.get(FOLDER) == self._folder:
            self._own[item.path] = item
            self._digests.setdefault(item.digest, []).append(item)
        else:
            self._others[item.path, item.digest] = item


def folder_key(root: Path) -> str:
    """What a folder is known by; whoever reads it learns nothing of the machine."""
    return hashlib.sha256(str(root).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def marks(*, folder: str, path: str, digest: str, version: int) -> dict[str, Json]:
    """What a note's metadata says of the file that it came from."""
    return {FOLDER: folder, PATH: path, DIGEST: digest, VERSION: version}
