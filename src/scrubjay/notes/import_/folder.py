"""The folder that is imported: only ever read, and never through a link. Everything blocks."""

import json
import os
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path
from typing import cast

from scrubjay.errors import InvalidInput, NotFound, ScrubjayError
from scrubjay.model.memory import Json
from scrubjay.notes.files.paths import quote_path, split_path
from scrubjay.notes.files.tree import WalkedFile, open_folder, open_regular_file, open_subfolder, read_content, walk
from scrubjay.notes.markdown.templates import FOLDER as TEMPLATES

__all__ = ["Origin", "Survey"]

_LARGEST = 16 * 1024 * 1024
_MOST_SETTINGS = 1_000_000
# Where Obsidian's own plugin and the one that most use say which folder has their templates.
_SETTINGS = (
    ((".obsidian", "templates.json"), "folder"),
    ((".obsidian", "plugins", "templater-obsidian", "data.json"), "templates_folder"),
)
_NOTE = ".md"


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """What lies in a folder: notes, other files, and what is neither, with the reason."""

    notes: tuple[str, ...]
    files: tuple[str, ...]
    odd: tuple[tuple[str, str], ...] = field(default=())


class Origin:
    """A folder of Markdown."""

    def __init__(self, root: Path) -> None:
        self.root = Path(os.path.realpath(root.expanduser()))
        if not self.root.is_dir():
            raise InvalidInput(f"there is no folder {root}", hint="Check the path", field="folder", path=str(root))

    def survey(self) -> Survey:
        """List it: without what is hidden, as Obsidian's own folders are, and without templates."""
        skipped = (TEMPLATES, *self._template_folders())
        notes: list[str] = []
        files: list[str] = []
        odd: list[tuple[str, str]] = []
        with self._opened() as root:
            for one in walk(root):
                if any(one.path.casefold().startswith(f"{folder.casefold()}/") for folder in skipped):
                    continue
                if not isinstance(one, WalkedFile):
                    odd.append((one.path, f"it {one.reason}"))
                else:
                    (notes if one.path.casefold().endswith(_NOTE) else files).append(one.path)
        return Survey(notes=tuple(notes), files=tuple(files), odd=tuple(odd))

    def read(self, path: str) -> bytes:
        """All of a file; raises TooLarge for what is no note any more."""
        *folders, name = split_path(path)
        try:
            with (
                self._opened() as root,
                open_subfolder(root, tuple(folders)) as folder,
                open_regular_file(path, name, folder=folder) as descriptor,
            ):
                return read_content(path, descriptor, max_bytes=_LARGEST)[1]
        except OSError as error:
            raise NotFound(f"{quote_path(path)} cannot be read: {error.strerror}", path=path) from error

    @contextmanager
    def opened(self, path: str) -> Generator[BufferedReader]:
        """A file of any size, open for reading."""
        *folders, name = split_path(path)
        with ExitStack() as held:
            try:
                folder = held.enter_context(open_subfolder(held.enter_context(self._opened()), tuple(folders)))
                descriptor = held.enter_context(open_regular_file(path, name, folder=folder))
            except OSError as error:
                raise NotFound(f"{quote_path(path)} cannot be read: {error.strerror}", path=path) from error
            yield held.enter_context(os.fdopen(descriptor, "rb", closefd=False))

    def _template_folders(self) -> list[str]:
        found: list[str] = []
        for (*folders, name), key in _SETTINGS:
            try:
                with (
                    self._opened() as root,
                    open_subfolder(root, tuple(folders)) as folder,
                    open_regular_file(name, name, folder=folder) as descriptor,
                ):
                    told = json.loads(read_content(name, descriptor, max_bytes=_MOST_SETTINGS)[1])
            except (OSError, ValueError, RecursionError, ScrubjayError):
                continue
            value = cast("dict[str, Json]", told).get(key) if isinstance(told, dict) else None
            if isinstance(value, str) and (place := value.strip("/ ")):
                found.append(place)
        return found

    @contextmanager
    def _opened(self) -> Generator[int]:
        try:
            with open_folder(self.root) as root:
                yield root
        except (NotADirectoryError, PermissionError) as error:
            raise InvalidInput(
                f"{self.root} cannot be looked through: {error.strerror}", hint="Check its permissions", field="folder"
            ) from error
