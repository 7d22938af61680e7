"""What `doctor` searches for beside an encrypted store: files in clear, most of them from the time before the key."""

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from scrubjay.app.notes_location import recorded_folders
from scrubjay.engine import PlainFile
from scrubjay.paths import notes_ledger
from scrubjay.settings import Settings

__all__ = ["find_plain_files"]

_DATABASE = b"SQLite format 3\x00"
_TEXTS = frozenset({".md", ".jsonl", ".json", ".csv", ".html", ".pdf", ".zip", ".txt", ".partial"})
# Files of ours without a text of a memory.
_OURS = frozenset({"notes.json", "profiles.json", "daemon.lock", "store.lock", "qdrant.lock"})
_GENERATION = "gen-*"
# What killed commands left: an export on its way to standard output, or the store of a calibration.
# The name that `tempfile` gives has eight characters; benchmarks and tests have longer prefixes.
_TEMPORARY = tuple(f"scrubjay-{'?' * 8}/{name}" for name in ("notes.*", ".notes.*.partial", "memory.db"))
_MOST = 10_000
_DELETE = "delete what you do not need any more, here and in your backups"
_REBUILT = "delete the files of the index: an encrypted store does not use them"


def find_plain_files(settings: Settings) -> list[PlainFile]:
    """Return the plain files in the data folder, the index, the folders of notes and the temporary folder. Blocks."""
    files = [*_notes(settings), *_index(settings), *_data(settings), *_temporary(), *_key(settings)]
    return list({file.path: file for file in files}.values())


def _notes(settings: Settings) -> Iterator[PlainFile]:
    """Find the folders of notes, except the one that the user has named."""
    chosen = os.path.realpath(settings.notestore) if settings.notestore_path else ""
    for folder in dict.fromkeys((settings.data / "notes", *recorded_folders(settings.data))):
        count = sum(1 for _ in _files(folder)) if os.path.realpath(folder) != chosen else 0
        if count:
            advice = (
                f"take over the last edits with `SCRUBJAY_NOTESTORE_PATH={folder} scrubjay notes sync`, then delete "
                f"the folder, or keep that setting if its files may be plain"
            )
            yield PlainFile(path=folder, what=f"{count:,} {'file' if count == 1 else 'files'} of notes", advice=advice)


def _index(settings: Settings) -> Iterator[PlainFile]:
    """Find the ledger of notes and the vectors of a store without a key."""
    ledger = notes_ledger(settings.index)
    for file in (ledger, *ledger.parent.glob(f"{ledger.name}.*")):
        if _is_database(file):
            yield PlainFile(path=file, what="titles of notes", advice=_REBUILT)
    for folder in settings.index.glob(_GENERATION):
        if folder.is_dir():
            yield PlainFile(path=folder, what="vectors", advice=_REBUILT)


def _data(settings: Settings) -> Iterator[PlainFile]:
    """Find databases and exports in the data folder itself."""
    with suppress(OSError):
        for file in islice(settings.data.iterdir(), _MOST):
            if file.name in _OURS or not file.is_file():
                continue
            if _is_database(file):
                yield PlainFile(path=file, what="a database without a key", advice=_DELETE)
            elif file.suffix.lower() in _TEXTS:
                yield PlainFile(path=file, what="perhaps an export", advice=_DELETE)


def _temporary() -> Iterator[PlainFile]:
    """Find what commands left in the temporary folder when they were killed."""
    user = getattr(os, "getuid", lambda: 0)()
    for file in (file for pattern in _TEMPORARY for file in Path(tempfile.gettempdir()).glob(pattern)):
        with suppress(OSError):
            status = file.stat()
            if stat.S_ISREG(status.st_mode) and status.st_uid == user and (file.suffix != ".db" or _is_database(file)):
                yield PlainFile(path=file, what="left by a killed command", advice=_DELETE)


def _key(settings: Settings) -> Iterator[PlainFile]:
    """Find the key itself, if a copy of the data folder contains it."""
    if settings.key_file:
        file = Path(settings.key_file).expanduser()
        if Path(os.path.realpath(file)).is_relative_to(os.path.realpath(settings.data)):
            yield PlainFile(path=file, what="the key itself", advice="move the key file out of the data folder")


def _files(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder of notes, up to a limit, without its marker and its lock."""
    return (path for path in islice(folder.rglob("*"), _MOST) if path.is_file() and ".scrubjay" not in path.parts)


def _is_database(file: Path) -> bool:
    try:
        with file.open("rb") as stream:
            return stream.read(len(_DATABASE)) == _DATABASE
    except OSError:
        return False
