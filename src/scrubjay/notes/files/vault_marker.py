"""The mark in a folder of notes: which store and which space it belongs to, and where that store is kept."""

import json
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from scrubjay.errors import FileChanged
from scrubjay.model.identity import new_id
from scrubjay.notes.files.atomic_write import Spot, create, replace
from scrubjay.notes.files.entries import digest
from scrubjay.notes.files.errors import unavailable
from scrubjay.notes.files.tree import below, content_of, readable

__all__ = ["FOLDER", "PATH", "Mark", "claim", "is_marked", "require_fit", "rewrite"]

FOLDER = ".scrubjay"
_FILE = "vault.json"
PATH = f"{FOLDER}/{_FILE}"
_FORMAT = 1
_LARGEST = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """Whose a folder is. `home` stands for the data folder without naming it; `vault` is the folder's own id."""

    store: str
    space: str
    home: str = ""
    vault: str = ""

    def data(self) -> bytes:
        """The mark as it is written."""
        told = {"format": _FORMAT, "store": self.store, "space": self.space, "home": self.home, "vault": self.vault}
        return json.dumps(told, indent=2).encode() + b"\n"


def is_marked(root: int) -> bool:
    """Whether an open folder has the mark."""
    try:
        os.stat(PATH, dir_fd=root, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def claim(root: int, ours: Mark, *, folder: Path) -> Mark:
    """The mark of an open folder, which is ours where there is none; raises VaultUnavailable if it cannot be read."""
    with below(root, (FOLDER,), make=True) as within:
        # Whoever came first has the folder, be it another process in this moment.
        if not is_marked(root):
            with suppress(FileChanged):
                create(Spot(PATH, _FILE, within), _new(ours).data())
        return _parsed(_text(within), folder=folder)


def rewrite(root: int, mark: Mark) -> Mark:
    """Mark an open folder anew; one without an id of its own gets one."""
    with below(root, (FOLDER,)) as within:
        told = mark if mark.vault else _new(mark)
        replace(Spot(PATH, _FILE, within), told.data(), over=digest(_text(within)))
        return told


def require_fit(found: Mark, ours: Mark, *, folder: Path, adopt: bool) -> None:
    """Raise VaultUnavailable for a folder that is another's.

    A store that came of a backup is another one than before; that it is in the same place tells that the notes are its.
    """
    if found.space != ours.space:
        raise unavailable(
            f"the notes in {folder} are those of the space {found.space!r}, and not of {ours.space!r}",
            root=folder,
            reason="other_space",
        )
    is_at_home = bool(ours.home) and found.home == ours.home
    if found.store != ours.store and not adopt and not is_at_home:
        raise unavailable(f"the notes in {folder} belong to another store", root=folder, reason="other_store")


def _new(mark: Mark) -> Mark:
    return Mark(store=mark.store, space=mark.space, home=mark.home, vault=new_id())


def _text(within: int) -> bytes:
    with readable(PATH, _FILE, folder=within) as descriptor:
        return content_of(PATH, descriptor, most=_LARGEST)[1]


def _parsed(text: bytes, *, folder: Path) -> Mark:
    try:
        found: object = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    told = cast("dict[str, object]", found) if isinstance(found, dict) else {}
    if told.get("format") != _FORMAT or not all(isinstance(told.get(name), str) for name in ("store", "space")):
        raise unavailable(f"the mark of the notes in {folder / PATH} cannot be read", root=folder, reason="marker")
    return Mark(
        store=str(told["store"]), space=str(told["space"]), home=str(told.get("home") or ""),
        vault=str(told.get("vault") or ""),
    )  # fmt: skip
