"""Read-only access to the folder of an import, without following links. All functions block."""

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

__all__ = ["SourceFolder", "FolderListing"]

_LARGEST = 16 * 1024 * 1024
_MOST_SETTINGS = 1_000_000
# The settings of Obsidian's own templates plugin and of Templater that name the folder of templates.
_SETTINGS = (
    ((".obsidian", "templates.json"), "folder"),
    ((".obsidian", "plugins", "templater-obsidian", "data.json"), "templates_folder"),
)
_NOTE = ".md"


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderListing:
    """The content of a folder: notes, other files, and skipped entries with the reason."""

    notes: tuple[str, ...]
    files: tuple[str, ...]
    odd: tuple[tuple[str, str], ...] = field(default=())


class SourceFolder:
    """A folder of Markdown files."""

    def __init__(self, root: Path) -> None:
        self.root = Path(os.path.realpath(root.expanduser()))
        if not self.root.is_dir():
            raise InvalidInput(f"there is no folder {root}", hint="Check the path", field="folder", path=str(root))

    def survey(self) -> FolderListing:
        """List the folder without templates and hidden entries, such as Obsidian's own folders."""
        skipped = (TEMPLATES, *self._template_folders())
        notes: list[str] = []
        files: list[str] = []
        odd: list[tuple[str, str]] = []
        with self._opened() as root:
            for entry in walk(root):
                if any(entry.path.casefold().startswith(f"{folder.casefold()}/") for folder in skipped):
                    continue
                if not isinstance(entry, WalkedFile):
                    odd.append((entry.path, f"it {entry.reason}"))
                else:
                    (notes if entry.path.casefold().endswith(_NOTE) else files).append(entry.path)
        return FolderListing(notes=tuple(notes), files=tuple(files), odd=tuple(odd))

    def read(self, path: str) -> bytes:
        """Read a whole file; raises TooLarge if it is too large for a note."""
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
        """Open a file of any size for reading."""
        *folders, name = split_path(path)
        with ExitStack() as stack:
            try:
                folder = stack.enter_context(open_subfolder(stack.enter_context(self._opened()), tuple(folders)))
                descriptor = stack.enter_context(open_regular_file(path, name, folder=folder))
            except OSError as error:
                raise NotFound(f"{quote_path(path)} cannot be read: {error.strerror}", path=path) from error
            yield stack.enter_context(os.fdopen(descriptor, "rb", closefd=False))

    def _template_folders(self) -> list[str]:
        templates: list[str] = []
        for (*folders, name), key in _SETTINGS:
            try:
                with (
                    self._opened() as root,
                    open_subfolder(root, tuple(folders)) as folder,
                    open_regular_file(name, name, folder=folder) as descriptor,
                ):
                    settings = json.loads(read_content(name, descriptor, max_bytes=_MOST_SETTINGS)[1])
            except (OSError, ValueError, RecursionError, ScrubjayError):
                continue
            value = cast("dict[str, Json]", settings).get(key) if isinstance(settings, dict) else None
            if isinstance(value, str) and (place := value.strip("/ ")):
                templates.append(place)
        return templates

    @contextmanager
    def _opened(self) -> Generator[int]:
        try:
            with open_folder(self.root) as root:
                yield root
        except (NotADirectoryError, PermissionError) as error:
            raise InvalidInput(
                f"{self.root} cannot be listed: {error.strerror}", hint="Check its permissions", field="folder"
            ) from error
