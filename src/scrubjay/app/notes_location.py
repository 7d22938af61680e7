"""Where the notes of a data folder lie: where somebody says, else where they were last, else in the usual place."""

import json
import logging
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from scrubjay.errors import VaultUnavailable
from scrubjay.paths import notes_whereabouts
from scrubjay.settings import Settings

__all__ = ["NotesLocation", "notes_location", "remember"]

_log = logging.getLogger(__name__)
_MARKER = Path(".scrubjay", "vault.json")
_FORMAT = 1
_NAME_ONE = "name one with --notestore_path or SCRUBJAY_NOTESTORE_PATH"


@dataclass(frozen=True, slots=True, kw_only=True)
class NotesLocation:
    """The folder of notes and its space. `recalled`: nobody names it, and it is known from the last time alone.

    `inside`: it lies in the data folder, and goes with that. `unreadable` is the file that should tell where the notes
    were, and does not.
    """

    folder: Path
    space: str
    named: bool = False
    recalled: bool = False
    inside: bool = False
    unreadable: Path | None = None

    @property
    def expected(self) -> bool:
        """Whether there is to be a folder, also before anything is written."""
        return self.named or self.recalled or self.unreadable is not None

    def require(self, *, home: str, adopt: bool = False) -> None:
        """Raise VaultUnavailable where to go on would make a second copy of the notes, or spoil another's."""
        if self.unreadable is not None:
            raise self._unavailable(
                f"where the notes of the space {self.space!r} lie cannot be read from {self.unreadable}",
                hint=f"Remove that file if they lie in {self.folder}; else {_NAME_ONE}, and it is written anew",
                reason="whereabouts",
            )
        if not self.recalled:
            return
        if not _is_marked(self.folder):
            raise self._unavailable(
                f"the notes of the space {self.space!r} were last kept in {self.folder}, and are not there",
                hint=f"Bring that folder back, or {_NAME_ONE}: the notes are written there anew",
                reason="gone",
            )
        owner = _mark(self.folder).get("home")
        # A data folder that was copied brings along what the first one remembers.
        if home and owner and owner != home and not self.inside and not adopt:
            raise self._unavailable(
                f"the notes of the space {self.space!r} were last kept in {self.folder}, which another data folder "
                "has: one of the two was moved or copied",
                hint=f"To say which is this one's, {_NAME_ONE}: that folder or another",
                reason="other_home",
            )

    def _unavailable(self, message: str, *, hint: str, reason: str) -> VaultUnavailable:
        return VaultUnavailable(message, hint=hint, path=str(self.folder), reason=reason)


def notes_location(settings: Settings) -> NotesLocation:
    """Where the notes are to be. A folder stays that of the space it was made for, whichever the settings name."""
    folder = settings.notestore
    claimed = _claimed(folder)
    usual = NotesLocation(folder=folder, space=claimed or settings.space, named=bool(settings.notestore_path))
    if usual.named:
        return usual
    known = _read(settings.data)
    if known is None:
        return NotesLocation(folder=folder, space=settings.space, unreadable=notes_whereabouts(settings.data))
    for space in (settings.space, claimed):
        last = settings.data / known[space] if space in known else folder
        if last != folder:
            inside = Path(os.path.realpath(last)).is_relative_to(os.path.realpath(settings.data))
            return NotesLocation(folder=last, space=space, recalled=True, inside=inside)
    return usual


def remember(data: Path, *, space: str, folder: Path) -> Path | None:
    """Note where the notes of a space are kept; tells where they were before, if that was another folder."""
    known = _read(data) or {}
    # What lies in the data folder goes with it wherever it is moved.
    is_inside = folder.is_relative_to(data) and ".." not in folder.parts
    spelled = str(folder.relative_to(data) if is_inside else folder)
    before = data / known[space] if space in known else None
    if known.get(space) != spelled:
        _write(notes_whereabouts(data), known | {space: spelled})
    is_other = before is not None and os.path.realpath(before) != os.path.realpath(folder)
    return before if is_other else None


def _read(data: Path) -> dict[str, str] | None:
    """The folders by their spaces, as they are written down; None if that cannot be read."""
    try:
        found: object = json.loads(notes_whereabouts(data).read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError):
        return None
    told = cast("dict[str, object]", found) if isinstance(found, dict) else {}
    folders = told.get("folders")
    if told.get("format") != _FORMAT or not isinstance(folders, dict):
        return None
    known = cast("dict[str, object]", folders)
    sound = {space: one for space, one in known.items() if isinstance(one, str) and one and "\0" not in one}
    return sound if len(sound) == len(known) else None


def _write(file: Path, folders: dict[str, str]) -> None:
    """Replace what is written down, at once; notes can be kept also where this cannot."""
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
        _log.warning("where the notes lie cannot be remembered", extra={"fields": {"error": str(error)}})


def _is_marked(folder: Path) -> bool:
    """Whether a folder has the mark of notes; what else may be wrong with it is seen when it is opened."""
    try:
        (folder / _MARKER).lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _claimed(folder: Path) -> str:
    """The space that a folder was made for, if it was; whether all is well with it is seen when it is opened."""
    space = _mark(folder).get("space")
    return space if isinstance(space, str) else ""


def _mark(folder: Path) -> dict[str, object]:
    try:
        found: object = json.loads((folder / _MARKER).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return cast("dict[str, object]", found) if isinstance(found, dict) else {}
