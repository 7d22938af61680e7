"""The folder of the notes: the one in the settings, else the one used last, else the default."""

import json
import logging
import os
import tempfile
from pathlib import Path
from typing import cast

from scrubjay.errors import VaultUnavailable
from scrubjay.lazy import dataclass
from scrubjay.paths import notes_location_file
from scrubjay.settings import Settings

__all__ = ["NotesLocation", "notes_location", "recorded_folders", "remember"]

_log = logging.getLogger(__name__)
_MARKER = Path(".scrubjay", "vault.json")
_FORMAT = 1
_NAME_ONE = "name a folder with --notestore_path or SCRUBJAY_NOTESTORE_PATH"


@dataclass(frozen=True, slots=True, kw_only=True)
class NotesLocation:
    """The folder of notes and its space. `recalled`: the settings do not name it; it was used last.

    `inside`: it is part of the data folder. `unreadable` is the file with the last folder, if it cannot be read.
    """

    folder: Path
    space: str
    named: bool = False
    recalled: bool = False
    inside: bool = False
    unreadable: Path | None = None

    @property
    def expected(self) -> bool:
        """Whether there should be a folder before the first note is written."""
        return self.named or self.recalled or self.unreadable is not None

    def require(self, *, home: str, adopt: bool = False) -> None:
        """Raise VaultUnavailable if using the folder would create a second copy of the notes, or damage another's."""
        if self.unreadable is not None:
            raise self._unavailable(
                f"{self.unreadable}, which names the folder of notes of the space {self.space!r}, cannot be read",
                hint=f"Remove that file if the notes are in {self.folder}; else {_NAME_ONE}, and it is written again",
                reason="whereabouts",
            )
        if not self.recalled:
            return
        if not _is_marked(self.folder):
            raise self._unavailable(
                f"the notes of the space {self.space!r} were last in {self.folder}, and are not there",
                hint=f"Bring that folder back, or {_NAME_ONE}: the notes are written there again",
                reason="gone",
            )
        owner = _marker(self.folder).get("home")
        # A copied data folder contains the last folder of the original.
        if home and owner and owner != home and not self.inside and not adopt:
            raise self._unavailable(
                f"the notes of the space {self.space!r} were last in {self.folder}, which belongs to another data "
                "folder: one of the two was moved or copied",
                hint=f"To decide, {_NAME_ONE}: that folder or another",
                reason="other_home",
            )

    def _unavailable(self, message: str, *, hint: str, reason: str) -> VaultUnavailable:
        return VaultUnavailable(message, hint=hint, path=str(self.folder), reason=reason)


def notes_location(settings: Settings) -> NotesLocation:
    """Return the location of the notes. A folder keeps the space it was created for, whatever the settings say."""
    folder = settings.notestore
    owner = _space_of(folder)
    default = NotesLocation(folder=folder, space=owner or settings.space, named=bool(settings.notestore_path))
    if default.named:
        return default
    folders = _read(settings.data)
    if folders is None:
        return NotesLocation(folder=folder, space=settings.space, unreadable=notes_location_file(settings.data))
    for space in (settings.space, owner):
        last = settings.data / folders[space] if space in folders else folder
        if last != folder:
            inside = Path(os.path.realpath(last)).is_relative_to(os.path.realpath(settings.data))
            return NotesLocation(folder=last, space=space, recalled=True, inside=inside)
    return default


def recorded_folders(data: Path) -> list[Path]:
    """Return the folders of notes that this data folder has used last, one for each space."""
    return [data / folder for folder in (_read(data) or {}).values()]


def remember(data: Path, *, space: str, folder: Path) -> Path | None:
    """Record the folder of the notes of a space; return the previous one if it was another."""
    folders = _read(data) or {}
    # A folder inside the data folder moves with it.
    is_inside = folder.is_relative_to(data) and ".." not in folder.parts
    entry = str(folder.relative_to(data) if is_inside else folder)
    before = data / folders[space] if space in folders else None
    if folders.get(space) != entry:
        _write(notes_location_file(data), folders | {space: entry})
    is_other = before is not None and os.path.realpath(before) != os.path.realpath(folder)
    return before if is_other else None


def _read(data: Path) -> dict[str, str] | None:
    """Return the recorded folders by space; None if the file cannot be read."""
    try:
        content: object = json.loads(notes_location_file(data).read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError):
        return None
    record = cast("dict[str, object]", content) if isinstance(content, dict) else {}
    folders = record.get("folders")
    if record.get("format") != _FORMAT or not isinstance(folders, dict):
        return None
    entries = cast("dict[str, object]", folders)
    valid = {space: name for space, name in entries.items() if isinstance(name, str) and name and "\0" not in name}
    return valid if len(valid) == len(entries) else None


def _write(file: Path, folders: dict[str, str]) -> None:
    """Replace the record atomically; a failure is only logged."""
    text = json.dumps({"format": _FORMAT, "folders": folders}, indent=2) + "\n"
    try:
        descriptor, partial = tempfile.mkstemp(prefix=f"{file.name}.", suffix=".partial", dir=file.parent)
        try:
            with open(descriptor, "w", encoding="utf-8") as target:  # noqa: PTH123 - it is open already
                target.write(text)
                target.flush()
                os.fsync(target.fileno())
            Path(partial).replace(file)
        except BaseException:
            Path(partial).unlink(missing_ok=True)
            raise
    except OSError as error:
        _log.warning("the folder of the notes cannot be recorded", extra={"fields": {"error": str(error)}})


def _is_marked(folder: Path) -> bool:
    """Return whether a folder has the marker of notes; opening it finds other problems."""
    try:
        (folder / _MARKER).lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _space_of(folder: Path) -> str:
    """Return the space that a folder was created for, or an empty text."""
    space = _marker(folder).get("space")
    return space if isinstance(space, str) else ""


def _marker(folder: Path) -> dict[str, object]:
    try:
        content: object = json.loads((folder / _MARKER).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return cast("dict[str, object]", content) if isinstance(content, dict) else {}
