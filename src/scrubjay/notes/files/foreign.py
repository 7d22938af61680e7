"""A folder that had notes before it was ours: whether it has any, a copy of them, and where its templates are."""

import json
import os
import zipfile
from collections.abc import Iterator
from datetime import datetime
from typing import cast

from scrubjay.errors import NoteUnreadable, ScrubjayError
from scrubjay.model.identity import is_id
from scrubjay.model.memory import Json
from scrubjay.notes.files.tree import (
    WalkedFile,
    fsync_folder,
    open_regular_file,
    open_subfolder,
    read_content,
    walk,
)
from scrubjay.notes.markdown.format import parse

__all__ = ["has_foreign_notes", "keep_copy", "template_folders"]

_NOTE = ".md"
_MAX_NOTE_BYTES = 16 * 1024 * 1024
_MAX_SETTINGS_BYTES = 1_000_000
# The settings of Obsidian's own templates plugin and of Templater that name the folder of templates.
_SETTINGS = (
    ((".obsidian", "templates.json"), "folder"),
    ((".obsidian", "plugins", "templater-obsidian", "data.json"), "templates_folder"),
)


def has_foreign_notes(root: int) -> bool:
    """Whether an open folder has a note that we did not write: one without our id."""
    return any(not _has_our_id(root, path) for path in _notes(root))


def keep_copy(root: int, *, within: str, now: datetime) -> str:
    """Copy all notes of an open folder to an archive in its subfolder `within`, and return the path of the archive."""
    name = f"notes-before-{now:%Y%m%dT%H%M%SZ}.zip"
    partial = f".{name}.partial"
    with open_subfolder(root, (within,), make=True) as folder:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(partial, flags, 0o600, dir_fd=folder), "wb") as target:
            with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as archive:
                for path in _notes(root):
                    data = _read(root, path)
                    if data is not None:
                        archive.writestr(path, data)
            target.flush()
            os.fsync(target.fileno())
        os.rename(partial, name, src_dir_fd=folder, dst_dir_fd=folder)
        fsync_folder(folder)
    return f"{within}/{name}"


def template_folders(root: int) -> tuple[str, ...]:
    """Return the folders of templates that the settings of Obsidian and of Templater name."""
    templates: list[str] = []
    for (*folders, name), key in _SETTINGS:
        try:
            with (
                open_subfolder(root, tuple(folders)) as folder,
                open_regular_file(name, name, folder=folder) as descriptor,
            ):
                settings = json.loads(read_content(name, descriptor, max_bytes=_MAX_SETTINGS_BYTES)[1])
        except (OSError, ValueError, RecursionError, ScrubjayError):
            continue
        value = cast("dict[str, Json]", settings).get(key) if isinstance(settings, dict) else None
        if isinstance(value, str) and (place := value.strip("/ ")):
            templates.append(place)
    return tuple(templates)


def _notes(root: int) -> Iterator[str]:
    for entry in walk(root):
        if isinstance(entry, WalkedFile) and entry.path.casefold().endswith(_NOTE):
            yield entry.path


def _has_our_id(root: int, path: str) -> bool:
    data = _read(root, path)
    try:
        return data is not None and is_id(parse(data).note.id.lower())
    except NoteUnreadable:
        return False


def _read(root: int, path: str) -> bytes | None:
    """Return the bytes of a note, or None if it cannot be read now."""
    *folders, name = path.split("/")
    try:
        with (
            open_subfolder(root, tuple(folders)) as folder,
            open_regular_file(path, name, folder=folder) as descriptor,
        ):
            return read_content(path, descriptor, max_bytes=_MAX_NOTE_BYTES)[1]
    except (OSError, ScrubjayError):
        return None
