"""Which file of the folder an embed means: by its path, or as Obsidian does by its name alone, wherever it lies."""

import time
import unicodedata

from scrubjay.errors import ScrubjayError
from scrubjay.notes.attachments.file_types import extension_of
from scrubjay.notes.attachments.storage import AttachmentStorage
from scrubjay.notes.markdown.naming import link_target

__all__ = ["FileNames"]

# A name that nobody has may have been put there since: few are listed anew at once, and many take no more than a
# tenth of the time.
_FEW = 1_000
_PATIENCE = 10


class FileNames:
    """The names of the files in a folder, listed when they are first asked for. It blocks."""

    def __init__(self, depot: AttachmentStorage) -> None:
        self._depot = depot
        self._listed: dict[str, list[tuple[str, int]]] | None = None
        self._fresh_until = 0.0

    def forget(self) -> None:
        """List them anew when they are next asked for."""
        self._listed = None

    def find(self, target: str) -> str | None:
        """The path of the file that an embed names; of several, the one nearest to the top."""
        if not self.names_a_file(target):
            return None
        expected = _key(target).lstrip("/")
        for _ in range(2):
            fitting = [path for path in self._named(expected.rpartition("/")[2]) if _fits(path, expected)]
            there = [path for path in fitting if self._depot.size_of(path) is not None]
            if there:
                return min(there, key=lambda path: (_key(path) != expected, path.count("/"), path))
            if not self._is_stale(missed=bool(fitting)):
                break
            self.forget()
        return None

    def with_bytes(self, sha256: str, *, size: int) -> str:
        """The path of the file with these very bytes, if there is one."""
        for paths in self._names().values():
            for path, length in paths:
                if length == size:
                    try:
                        results = self._depot.stored(path)
                    except ScrubjayError:
                        continue
                    if results is not None and results.sha256 == sha256:
                        return path
        return ""

    def names_a_file(self, target: str) -> bool:
        """Whether an embed can mean a file: a note's name has no ending, or `.md`."""
        return bool(extension_of(target.rpartition("/")[2])) and link_target(target) == target

    def _named(self, name: str) -> list[str]:
        return [path for path, _ in self._names().get(name, [])]

    def _names(self) -> dict[str, list[tuple[str, int]]]:
        if self._listed is None:
            began = time.monotonic()
            listed: dict[str, list[tuple[str, int]]] = {}
            for seen in self._depot.files():
                listed.setdefault(_key(seen.path.rpartition("/")[2]), []).append((seen.path, seen.size))
            now = time.monotonic()
            self._listed = listed
            self._fresh_until = now if len(listed) < _FEW else now + _PATIENCE * (now - began)
        return self._listed

    def _is_stale(self, *, missed: bool) -> bool:
        return missed or time.monotonic() >= self._fresh_until


def _fits(path: str, wanted: str) -> bool:
    key = _key(path)
    return key == wanted or key.endswith(f"/{wanted}")


def _key(path: str) -> str:
    return unicodedata.normalize("NFC", path.strip().casefold())
