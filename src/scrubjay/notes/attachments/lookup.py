"""Find the file that an embed names: by its path or, like Obsidian, by its name in any folder."""

import time
import unicodedata

from scrubjay.errors import ScrubjayError
from scrubjay.notes.attachments.file_types import extension_of
from scrubjay.notes.attachments.storage import AttachmentStorage
from scrubjay.notes.markdown.naming import link_target

__all__ = ["FileNames"]

# An unknown name may belong to a new file: a small folder is listed again at once, a large one so rarely that
# listing takes at most a tenth of the time.
_FEW = 1_000
_PATIENCE = 10


class FileNames:
    """The names of the files in a folder, listed on first use. All methods block."""

    def __init__(self, storage: AttachmentStorage) -> None:
        self._storage = storage
        self._listed: dict[str, list[tuple[str, int]]] | None = None
        self._fresh_until = 0.0

    def forget(self) -> None:
        """Discard the list; the next lookup lists the folder again."""
        self._listed = None

    def find(self, target: str) -> str | None:
        """Return the path of the file that an embed names; of several, the one nearest to the root."""
        if not self.names_a_file(target):
            return None
        key = _key(target).lstrip("/")
        for _ in range(2):
            matches = [path for path, _ in self._names().get(key.rpartition("/")[2], []) if _fits(path, key)]
            present = [path for path in matches if self._storage.size_of(path) is not None]
            if present:
                return min(present, key=lambda path: (_key(path) != key, path.count("/"), path))
            # A listed file that is gone also makes the list stale.
            if not matches and time.monotonic() < self._fresh_until:
                break
            self.forget()
        return None

    def with_bytes(self, sha256: str, *, size: int) -> str:
        """Return the path of the file with these bytes, or an empty text."""
        for paths in self._names().values():
            for path, length in paths:
                if length == size:
                    try:
                        stored = self._storage.stored(path)
                    except ScrubjayError:
                        continue
                    if stored is not None and stored.sha256 == sha256:
                        return path
        return ""

    def names_a_file(self, target: str) -> bool:
        """Return whether an embed can name a file: the target of a note has no extension, or `.md`."""
        return bool(extension_of(target.rpartition("/")[2])) and link_target(target) == target

    def _names(self) -> dict[str, list[tuple[str, int]]]:
        if self._listed is None:
            began = time.monotonic()
            listed: dict[str, list[tuple[str, int]]] = {}
            for file in self._storage.files():
                listed.setdefault(_key(file.path.rpartition("/")[2]), []).append((file.path, file.size))
            now = time.monotonic()
            self._listed = listed
            self._fresh_until = now if len(listed) < _FEW else now + _PATIENCE * (now - began)
        return self._listed


def _fits(path: str, target_key: str) -> bool:
    key = _key(path)
    return key == target_key or key.endswith(f"/{target_key}")


def _key(path: str) -> str:
    return unicodedata.normalize("NFC", path.strip().casefold())
