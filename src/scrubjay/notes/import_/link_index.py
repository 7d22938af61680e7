"""Resolve links in an imported folder like Obsidian: by path, file name or alias."""

import unicodedata
from collections.abc import Iterable
from pathlib import PurePosixPath

from scrubjay.notes.markdown.wiki import key_of

__all__ = ["LinkIndex"]


class LinkIndex:
    """The notes and files of a folder, by their names."""

    def __init__(self) -> None:
        self._stems: dict[str, list[str]] = {}
        self._others: dict[str, str] = {}
        self._files: dict[str, list[str]] = {}

    def add_note(self, path: str, others: Iterable[str]) -> None:
        """Add a note and its other names."""
        self._stems.setdefault(key_of(PurePosixPath(path).name), []).append(path)
        for name in others:
            self._others.setdefault(key_of(name), path)

    def add_file(self, path: str) -> None:
        """Add a file that notes may embed."""
        self._files.setdefault(_key(PurePosixPath(path).name), []).append(path)

    def note(self, target: str, *, beside: str) -> str | None:
        """Return the path of the note that a link names, or None; `beside` is the path of the linking note."""
        target_key = key_of(_plain(target))
        stem = target_key.rpartition("/")[2]
        matches = [path for path in self._stems.get(stem, ()) if _fits(key_of(path), target_key)]
        return _nearest(matches, beside) or self._others.get(target_key)

    def file(self, target: str, *, beside: str) -> str | None:
        """Return the path of the file that an embed names, or None."""
        target_key = _key(_plain(target))
        matches = [path for path in self._files.get(target_key.rpartition("/")[2], ()) if _fits(_key(path), target_key)]
        return _nearest(matches, beside)


def _plain(target: str) -> str:
    """Return a target without relative steps such as `../`."""
    parts = [part for part in target.replace("\\", "/").split("/") if part not in ("", ".", "..")]
    return "/".join(parts)


def _fits(path: str, target_key: str) -> bool:
    return path == target_key or path.endswith(f"/{target_key}")


def _nearest(paths: list[str], beside: str) -> str | None:
    """Of paths with the same name, return the one in the same folder, else the one nearest to the root."""
    folder = str(PurePosixPath(beside).parent)
    return min(
        paths,
        key=lambda path: (str(PurePosixPath(path).parent) != folder, path.count("/"), path),
        default=None,
    )


def _key(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()
