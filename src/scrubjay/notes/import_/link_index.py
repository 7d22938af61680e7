"""Which note or file of an imported folder a link means: by path, name or another name, as Obsidian finds it."""

import unicodedata
from collections.abc import Iterable
from pathlib import PurePosixPath

from scrubjay.notes.markdown.wiki import key_of

__all__ = ["Atlas"]


class Atlas:
    """All that lies in a folder, by what it is called."""

    def __init__(self) -> None:
        self._stems: dict[str, list[str]] = {}
        self._others: dict[str, str] = {}
        self._files: dict[str, list[str]] = {}

    def add_note(self, path: str, others: Iterable[str]) -> None:
        """A note, and what else it is called."""
        self._stems.setdefault(key_of(PurePosixPath(path).name), []).append(path)
        for name in others:
            self._others.setdefault(key_of(name), path)

    def add_file(self, path: str) -> None:
        """A file that may be embedded."""
        self._files.setdefault(_key(PurePosixPath(path).name), []).append(path)

    def note(self, target: str, *, beside: str) -> str | None:
        """The path of the note that a link in another means; None where there is none."""
        expected = key_of(_plain(target))
        stem = expected.rpartition("/")[2]
        fitting = [item for item in self._stems.get(stem, ()) if _fits(key_of(item), expected)]
        return _nearest(fitting, beside) or self._others.get(expected)

    def file(self, target: str, *, beside: str) -> str | None:
        """The path of the file that an embed means."""
        expected = _key(_plain(target))
        fitting = [item for item in self._files.get(expected.rpartition("/")[2], ()) if _fits(_key(item), expected)]
        return _nearest(fitting, beside)


def _plain(target: str) -> str:
    """A target without the steps that lead from one note to it."""
    parts = [part for part in target.replace("\\", "/").split("/") if part not in ("", ".", "..")]
    return "/".join(parts)


def _fits(path: str, wanted: str) -> bool:
    return path == wanted or path.endswith(f"/{wanted}")


def _nearest(paths: list[str], beside: str) -> str | None:
    """Of several with the same name: the one in the same folder, else the one nearest to the top."""
    folder = str(PurePosixPath(beside).parent)
    return min(
        paths,
        key=lambda one: (str(PurePosixPath(one).parent) != folder, one.count("/"), one),
        default=None,
    )


def _key(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()
