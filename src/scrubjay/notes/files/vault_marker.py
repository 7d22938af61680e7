"""The marker file in a folder of notes: the store and the space that it belongs to, and the home of that store."""

import json
import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import cast

from scrubjay.errors import FileChanged
from scrubjay.lazy import dataclass
from scrubjay.model.identity import new_id
from scrubjay.notes.files import atomic_write
from scrubjay.notes.files.atomic_write import FolderEntry
from scrubjay.notes.files.errors import vault_unavailable
from scrubjay.notes.files.tree import digest, open_regular_file, open_subfolder, read_content

__all__ = ["FOLDER", "PATH", "VaultMarker", "claim", "has_marker", "require_match", "rewrite"]

FOLDER = ".scrubjay"
_FILE = "vault.json"
PATH = f"{FOLDER}/{_FILE}"
_FORMAT = 1
_MAX_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultMarker:
    """The owner of a folder. `home` identifies the data folder without naming it; `vault` is the folder's own id.

    `adopted`: it had notes before it was ours, whose files stay as their author wrote them.
    """

    store: str
    space: str
    home: str = ""
    vault: str = ""
    adopted: bool = False

    def serialize(self) -> bytes:
        """Return the content of the marker file."""
        fields = {"format": _FORMAT, "store": self.store, "space": self.space, "home": self.home, "vault": self.vault}
        adopted = {"adopted": True} if self.adopted else {}
        return json.dumps(fields | adopted, indent=2).encode() + b"\n"


def has_marker(root: int) -> bool:
    """Whether an open folder has the marker."""
    try:
        os.stat(PATH, dir_fd=root, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def claim(root: int, ours: VaultMarker, *, folder: Path) -> VaultMarker:
    """Return the marker of an open folder, or write ours if it has none; raise VaultUnavailable if it is unreadable."""
    with open_subfolder(root, (FOLDER,), make=True) as subfolder:
        # The first process gets the folder, even if another one writes its marker at this moment.
        if not has_marker(root):
            with suppress(FileChanged):
                marker = replace(ours, vault=new_id())
                atomic_write.create(FolderEntry(PATH, _FILE, subfolder), marker.serialize())
        return _parse(_read(subfolder), folder=folder)


def rewrite(root: int, marker: VaultMarker) -> VaultMarker:
    """Replace the marker of an open folder and return it; a folder without an id of its own gets one."""
    with open_subfolder(root, (FOLDER,)) as subfolder:
        marker = marker if marker.vault else replace(marker, vault=new_id())
        entry = FolderEntry(PATH, _FILE, subfolder)
        atomic_write.replace(entry, marker.serialize(), over=digest(_read(subfolder)))
        return marker


def require_match(marker: VaultMarker, ours: VaultMarker, *, folder: Path, adopt: bool) -> None:
    """Raise VaultUnavailable if the folder belongs to another store or space.

    A store that was restored from a backup has a new id; the same home proves that the notes belong to it.
    """
    if marker.space != ours.space:
        raise vault_unavailable(
            f"the notes in {folder} belong to the space {marker.space!r}, not to {ours.space!r}",
            root=folder,
            reason="other_space",
        )
    has_same_home = bool(ours.home) and marker.home == ours.home
    if marker.store != ours.store and not adopt and not has_same_home:
        raise vault_unavailable(f"the notes in {folder} belong to another store", root=folder, reason="other_store")


def _read(subfolder: int) -> bytes:
    with open_regular_file(PATH, _FILE, folder=subfolder) as descriptor:
        return read_content(PATH, descriptor, max_bytes=_MAX_BYTES)[1]


def _parse(text: bytes, *, folder: Path) -> VaultMarker:
    try:
        content: object = json.loads(text)
    except (ValueError, RecursionError):
        content = None
    fields = cast("dict[str, object]", content) if isinstance(content, dict) else {}
    if fields.get("format") != _FORMAT or not all(isinstance(fields.get(name), str) for name in ("store", "space")):
        raise vault_unavailable(
            f"the marker of the notes in {folder / PATH} cannot be read", root=folder, reason="marker"
        )
    return VaultMarker(
        store=str(fields["store"]), space=str(fields["space"]), home=str(fields.get("home") or ""),
        vault=str(fields.get("vault") or ""), adopted=fields.get("adopted") is True,
    )  # fmt: skip
