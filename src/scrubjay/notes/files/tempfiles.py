"""The temporary files that a write creates next to its target, and the cleanup of those that a crash leaves behind.

New content is written to a `new` file, which may be deleted after a crash. Before it changes names with the file that
it replaces, it becomes a `swap` file whose name holds the digests of both contents. If a swap file has neither of these
contents after a crash, a user saved the file in that very instant, and we recover that content.
"""

import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from scrubjay.notes.files.atomic_rename import rename_new
from scrubjay.notes.files.tree import digest_file, fsync_folder, open_regular_file, open_subfolder

__all__ = ["Leftover", "find_leftovers", "new_file_name", "recover", "swap_file_name", "sweep"]

_PREFIX = ".scrubjay-"
_LEFTOVER = re.compile(r"\.scrubjay-(?:new|swap-(?P<digests>[0-9a-f]{16}-[0-9a-f]{16}))-[0-9a-f]{16}\.tmp")
_HEX_DIGITS = 16
_MAX_ATTEMPTS = 100


@dataclass(frozen=True, slots=True)
class Leftover:
    """A temporary file that a crash left: its folder, and the digests that it may be deleted with (none: any)."""

    parts: tuple[str, ...]
    name: str
    expendable: frozenset[str]


def new_file_name() -> str:
    """Return a name for content that is being written."""
    return f"{_PREFIX}new-{secrets.token_hex(_HEX_DIGITS // 2)}.tmp"


def swap_file_name(*, new: bytes, over: bytes) -> str:
    """Return a name for a file about to be exchanged: it holds the new content before, and the old one after."""
    return f"{_PREFIX}swap-{_shorten(new)}-{_shorten(over)}-{secrets.token_hex(_HEX_DIGITS // 2)}.tmp"


def find_leftovers(root: int) -> Iterator[Leftover]:
    """Yield the temporary files that crashes left anywhere in an open folder."""
    pending: list[tuple[str, ...]] = [()]
    while pending:
        parts = pending.pop()
        with suppress(OSError), open_subfolder(root, parts) as folder, os.scandir(folder) as entries:
            for entry in entries:
                match = _LEFTOVER.fullmatch(entry.name)
                if match and entry.is_file(follow_symlinks=False):
                    yield Leftover(parts, entry.name, frozenset((match["digests"] or "").split("-")) - {""})
                elif entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
                    pending.append((*parts, entry.name))


def sweep(root: int) -> int:
    """Remove what crashes left in an open folder, recover what a user wrote, and return the number of files."""
    count = 0
    for leftover in list(find_leftovers(root)):
        with suppress(FileNotFoundError), open_subfolder(root, leftover.parts) as folder:
            if leftover.expendable and _short_digest(leftover.name, folder) not in leftover.expendable:
                recover(leftover.name, folder=folder)
            else:
                os.unlink(leftover.name, dir_fd=folder)
            fsync_folder(folder)
            count += 1
    return count


def recover(name: str, *, folder: int) -> str:
    """Give a temporary file a visible name in its folder, which makes it a note; return that name."""
    mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    ending = ".md" if stat.S_ISREG(mode) else ""
    for _ in range(_MAX_ATTEMPTS):
        visible = f"recovered-{secrets.token_hex(4)}{ending}"
        with suppress(FileExistsError):
            rename_new(name, visible, folders=(folder, folder))
            return visible
    raise FileExistsError(name)


def _short_digest(name: str, folder: int) -> str:
    with open_regular_file(name, name, folder=folder) as descriptor:
        return _shorten(digest_file(name, descriptor)[1])


def _shorten(digest: bytes) -> str:
    return digest.hex()[:_HEX_DIGITS]
