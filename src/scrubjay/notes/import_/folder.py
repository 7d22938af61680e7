"""The folder of an import: list and read it without following links, and copy the files that its notes embed."""

import asyncio
import os
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import field
from io import BufferedReader
from pathlib import Path
from urllib.parse import unquote

from scrubjay.errors import InvalidInput, NotFound, ScrubjayError
from scrubjay.lazy import dataclass
from scrubjay.notes.attachments.records import caption_of
from scrubjay.notes.attachments.storage import AttachmentStorage
from scrubjay.notes.files.foreign import template_folders
from scrubjay.notes.files.paths import quote_path, split_path
from scrubjay.notes.files.tree import WalkedFile, open_folder, open_regular_file, open_subfolder, read_content, walk
from scrubjay.notes.import_.links import LinkIndex
from scrubjay.notes.import_.parse import picture_links
from scrubjay.notes.markdown.templates import FOLDER as TEMPLATES
from scrubjay.notes.markdown.wiki import mentions

__all__ = ["AttachmentCopier", "CopiedEmbeds", "FolderListing", "SourceFolder"]

_MAX_NOTE_BYTES = 16 * 1024 * 1024
_NOTE = ".md"


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderListing:
    """The content of a folder: notes, other files, and skipped entries with the reason."""

    notes: tuple[str, ...]
    files: tuple[str, ...]
    skipped: tuple[tuple[str, str], ...] = field(default=())


class SourceFolder:
    """A folder of Markdown files. All methods block."""

    def __init__(self, root: Path) -> None:
        self.root = Path(os.path.realpath(root.expanduser()))
        if not self.root.is_dir():
            raise InvalidInput(f"there is no folder {root}", hint="Check the path", field="folder", path=str(root))

    def list_files(self) -> FolderListing:
        """List the folder without templates and hidden entries, such as Obsidian's own folders."""
        notes: list[str] = []
        files: list[str] = []
        skipped: list[tuple[str, str]] = []
        with self._open_root() as root:
            excluded = (TEMPLATES, *template_folders(root))
            for entry in walk(root):
                if any(entry.path.casefold().startswith(f"{folder.casefold()}/") for folder in excluded):
                    continue
                if not isinstance(entry, WalkedFile):
                    skipped.append((entry.path, f"it {entry.reason}"))
                else:
                    (notes if entry.path.casefold().endswith(_NOTE) else files).append(entry.path)
        return FolderListing(notes=tuple(notes), files=tuple(files), skipped=tuple(skipped))

    def read(self, path: str) -> bytes:
        """Read a whole file; raises TooLarge if it is too large for a note."""
        *folders, name = split_path(path)
        try:
            with (
                self._open_root() as root,
                open_subfolder(root, tuple(folders)) as folder,
                open_regular_file(path, name, folder=folder) as descriptor,
            ):
                return read_content(path, descriptor, max_bytes=_MAX_NOTE_BYTES)[1]
        except OSError as error:
            raise NotFound(f"{quote_path(path)} cannot be read: {error.strerror}", path=path) from error

    @contextmanager
    def open_file(self, path: str) -> Generator[BufferedReader]:
        """Open a file of any size for reading."""
        *folders, name = split_path(path)
        with ExitStack() as stack:
            try:
                folder = stack.enter_context(open_subfolder(stack.enter_context(self._open_root()), tuple(folders)))
                descriptor = stack.enter_context(open_regular_file(path, name, folder=folder))
            except OSError as error:
                raise NotFound(f"{quote_path(path)} cannot be read: {error.strerror}", path=path) from error
            yield stack.enter_context(os.fdopen(descriptor, "rb", closefd=False))

    @contextmanager
    def _open_root(self) -> Generator[int]:
        try:
            with open_folder(self.root) as root:
                yield root
        except (NotADirectoryError, PermissionError) as error:
            raise InvalidInput(
                f"{self.root} cannot be listed: {error.strerror}", hint="Check its permissions", field="folder"
            ) from error


# ---- embedded files ----


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiedEmbeds:
    """A content with updated embeds, the files that it embeds, and missing targets."""

    content: str
    files: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Embed:
    """An embed and its position; `part` is a fragment such as `#page=2`."""

    start: int
    end: int
    target: str
    caption: str
    part: str = ""


class AttachmentCopier:
    """Copies the embedded files of a folder, each once. Without a storage, it only counts them."""

    def __init__(self, folder: SourceFolder, *, index: LinkIndex, storage: AttachmentStorage | None) -> None:
        self._folder = folder
        self._index = index
        self._storage = storage
        self._copies: dict[str, asyncio.Task[str]] = {}

    async def copy_embeds(self, content: str, *, path: str) -> CopiedEmbeds:
        """Copy the files that a content embeds, and return it with their new names."""
        parts: list[str] = []
        files: list[str] = []
        missing: list[str] = []
        warnings: list[str] = []
        done = 0
        for embed in sorted(_embeds(content), key=lambda embed: embed.start):
            file = self._index.find_file(embed.target, source=path)
            if file is None:
                missing += [embed.target] if self._index.find_note(embed.target, source=path) is None else []
                continue
            try:
                stored = await self._copy(file) if self._storage is not None else ""
            except ScrubjayError as error:
                warnings.append(f"{file} was not copied: {error.message}")
                continue
            files.append(file)
            if stored and embed.start >= done:
                caption = f"|{embed.caption}" if embed.caption else ""
                parts += [content[done : embed.start], f"![[{stored}{embed.part}{caption}]]"]
                done = embed.end
        changed = "".join([*parts, content[done:]])
        return CopiedEmbeds(content=changed, files=tuple(files), missing=tuple(missing), warnings=tuple(warnings))

    async def _copy(self, file: str) -> str:
        """Copy a file and return its new name; concurrent callers share the copy."""
        task = self._copies.get(file)
        if task is None:
            task = self._copies[file] = asyncio.ensure_future(asyncio.to_thread(self._store, file))
        return await asyncio.shield(task)

    def _store(self, file: str) -> str:
        assert self._storage is not None
        with self._folder.open_file(file) as stream:
            received = self._storage.receive(stream, name=file.rpartition("/")[2])
        try:
            return self._storage.settle(received).file.rpartition("/")[2]
        except BaseException:
            self._storage.discard(received)
            raise


def _embeds(content: str) -> Iterator[_Embed]:
    """Yield the embeds of a text that name a local file other than a note."""
    for mention in mentions(content):
        if mention.embeds and "." in mention.target:
            part = f"#{mention.heading}" if mention.heading else ""
            yield _Embed(mention.start, mention.end, mention.target, mention.text, part)
    for start, end, target, text in picture_links(content):
        if "://" not in target and not target.startswith(("data:", "#")):
            yield _Embed(start, end, unquote(target), caption_of(text))
