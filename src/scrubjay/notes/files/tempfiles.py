"""The files that a write makes beside the one it is about, and what becomes of those that a crash left behind.

A new text is written to a `new` file; whatever a crash leaves of it may go. From the moment on in which it can change
names with the file that it replaces, it is called a `swap` file, and its name tells the digests of both texts: if a
crash leaves neither of them in it, then somebody saved the file in that very instant, and that text is brought back.
"""

import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from scrubjay.notes.files.atomic_rename import rename_new
from scrubjay.notes.files.tree import below, digest_of, readable, sync_folder

__all__ = ["Leftover", "is_leftover", "keep_beside", "leftovers", "new_name", "swap_name", "sweep"]

_PREFIX = ".scrubjay-"
_LEFTOVER = re.compile(r"\.scrubjay-(?:new|swap-(?P<texts>[0-9a-f]{16}-[0-9a-f]{16}))-[0-9a-f]{16}\.tmp")
_HEX = 16
_NAMES_TRIED = 100


@dataclass(frozen=True, slots=True)
class Leftover:
    """A file of ours that a crash left: in which folder, and which texts may go (none: whatever it is)."""

    parts: tuple[str, ...]
    name: str
    expendable: frozenset[str]


def new_name() -> str:
    """A name for a text that is being written."""
    return f"{_PREFIX}new-{secrets.token_hex(_HEX // 2)}.tmp"


def swap_name(*, new: bytes, over: bytes) -> str:
    """A name for what is about to change places: the new text before, and after that the old."""
    return f"{_PREFIX}swap-{_short(new)}-{_short(over)}-{secrets.token_hex(_HEX // 2)}.tmp"


def is_leftover(name: str) -> bool:
    """Whether a file's name is one of ours for the time of a write."""
    return _LEFTOVER.fullmatch(name) is not None


def leftovers(root: int) -> Iterator[Leftover]:
    """What crashes left anywhere below an open folder."""
    waiting: list[tuple[str, ...]] = [()]
    while waiting:
        parts = waiting.pop()
        with suppress(OSError), below(root, parts) as folder, os.scandir(folder) as entries:
            for entry in entries:
                found = _LEFTOVER.fullmatch(entry.name)
                if found and entry.is_file(follow_symlinks=False):
                    yield Leftover(parts, entry.name, frozenset((found["texts"] or "").split("-")) - {""})
                elif entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
                    waiting.append((*parts, entry.name))


def sweep(root: int) -> int:
    """Remove what crashes left below an open folder, and bring back what a user wrote; tells how many there were."""
    count = 0
    for leftover in list(leftovers(root)):
        with suppress(FileNotFoundError), below(root, leftover.parts) as folder:
            if leftover.expendable and _text_of(leftover.name, folder) not in leftover.expendable:
                keep_beside(leftover.name, folder=folder)
            else:
                os.unlink(leftover.name, dir_fd=folder)
            sync_folder(folder)
            count += 1
    return count


def keep_beside(name: str, *, folder: int) -> str:
    """Give a text that is in nobody's file a visible name in its folder, which makes a note of it."""
    kind = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    ending = ".md" if stat.S_ISREG(kind) else ""
    for _ in range(_NAMES_TRIED):
        visible = f"recovered-{secrets.token_hex(4)}{ending}"
        with suppress(FileExistsError):
            rename_new(name, visible, folders=(folder, folder))
            return visible
    raise FileExistsError(name)


def _text_of(name: str, folder: int) -> str:
    with readable(name, name, folder=folder) as descriptor:
        return _short(digest_of(name, descriptor)[1])


def _short(text: bytes) -> str:
    return text.hex()[:_HEX]
