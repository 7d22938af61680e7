"""The mark in a folder of notes: which store and which space it belongs to."""

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import cast

from scrubjay.errors import FileChanged
from scrubjay.notes.replacing import Spot, create
from scrubjay.notes.tree import below, content_of, readable
from scrubjay.notes.trouble import unavailable

__all__ = ["FOLDER", "PATH", "claim", "is_marked"]

FOLDER = ".scrubjay"
_FILE = "vault.json"
PATH = f"{FOLDER}/{_FILE}"
_FORMAT = 1
_LARGEST = 64 * 1024


def is_marked(root: int) -> bool:
    """Whether an open folder has the mark."""
    try:
        os.stat(PATH, dir_fd=root, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def claim(root: int, *, store_id: str, space: str, folder: Path) -> None:
    """Mark an open folder as this store's and space's; raises VaultUnavailable when it is another's."""
    with below(root, (FOLDER,), make=True) as within:
        # Whoever came first has the folder, be it another process in this moment.
        if not is_marked(root):
            mark = {"format": _FORMAT, "store": store_id, "space": space}
            with suppress(FileChanged):
                create(Spot(PATH, _FILE, within), json.dumps(mark, indent=2).encode() + b"\n")
        with readable(PATH, _FILE, folder=within) as descriptor:
            _, text = content_of(PATH, descriptor, most=_LARGEST)
    _check(_parsed(text), store_id=store_id, space=space, folder=folder)


def _parsed(text: bytes) -> dict[str, object]:
    try:
        found: object = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, object]", found) if isinstance(found, dict) else {}


def _check(mark: dict[str, object], *, store_id: str, space: str, folder: Path) -> None:
    if mark.get("format") != _FORMAT or not isinstance(mark.get("store"), str):
        raise unavailable(f"the mark of the notes in {folder / PATH} cannot be read", root=folder, reason="marker")
    if mark["store"] != store_id:
        raise unavailable(f"the notes in {folder} belong to another store", root=folder, reason="other_store")
    if mark.get("space") != space:
        raise unavailable(
            f"the notes in {folder} are those of the space {mark.get('space')!r}, and not of {space!r}",
            root=folder,
            reason="other_space",
        )
