"""The files that notes embed, on disk: stored under readable names, identified by hash, and found by name."""

import asyncio
import hashlib
import os
import time
import unicodedata
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

from scrubjay.errors import FileChanged, InvalidInput, NotFound, PathRefused, ScrubjayError, TooLarge
from scrubjay.lazy import dataclass
from scrubjay.model.media import Media, media_type_in
from scrubjay.model.memory import Memory
from scrubjay.notes.attachments.file_types import HEAD, Sniffed, extension_of, sniff
from scrubjay.notes.files.atomic_rename import rename_new
from scrubjay.notes.files.atomic_write import new_file_name
from scrubjay.notes.files.errors import map_os_errors
from scrubjay.notes.files.folder import ATTACHMENTS, Folder
from scrubjay.notes.files.paths import quote_path, split_path
from scrubjay.notes.files.tree import FileInfo, file_info, open_folder, open_regular_file, open_subfolder
from scrubjay.notes.markdown.naming import link_target
from scrubjay.text.slug import slug

__all__ = ["AttachmentStorage", "FileNames", "NoteMedia", "ReceivedFile", "StoredFile"]

_CHUNK = 1 << 20
_MAX_STEM = 80
# Models scale pictures down to a few hundred pixels a side, so a larger file is not worth its memory.
_MAX_PICTURE_BYTES = 64_000_000
# An unknown name may belong to a new file: a small folder is listed again at once, a large one so rarely that
# listing takes at most a tenth of the time.
_SMALL_FOLDER = 1_000
_LISTING_INTERVAL = 10
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFile:
    """A file in the folder: its path there, its type, its size, and its SHA-256 in hexadecimal."""

    file: str
    sha256: str
    size: int
    sniffed: Sniffed


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedFile:
    """A copied file that still has a temporary name."""

    temporary: str
    name: str
    sha256: str
    size: int
    sniffed: Sniffed


class AttachmentStorage:
    """The files beside the notes of a folder. All methods block, and no path leads out of the folder."""

    def __init__(self, root: Path, *, largest: int) -> None:
        self.folder = Folder(root)
        self.root = self.folder.root
        self._largest = largest
        self._cache: dict[str, tuple[FileInfo, StoredFile]] = {}

    def receive(self, source: BinaryIO, *, name: str) -> ReceivedFile:
        """Copy a file to a hidden, private temporary name; call `settle` or `discard` afterwards."""
        temporary = new_file_name()
        with map_os_errors(self.root), self._attachments() as folder:
            try:
                digest, size, head = self._copy(source, temporary, folder)
                _require_content(size, name)
            except BaseException:
                _unlink(temporary, folder)
                raise
        return ReceivedFile(temporary=temporary, name=name, sha256=digest, size=size, sniffed=sniff(head, name))

    def settle(self, received: ReceivedFile) -> StoredFile:
        """Move a received file to its final name; the same bytes may already exist there."""
        with map_os_errors(self.root), self._attachments() as folder:
            try:
                name = _move_to_name(received, folder)
                os.fsync(folder)
            finally:
                _unlink(received.temporary, folder)
        return StoredFile(
            file=f"{ATTACHMENTS}/{name}", sha256=received.sha256, size=received.size, sniffed=received.sniffed
        )

    def discard(self, received: ReceivedFile) -> None:
        """Remove a received file."""
        with map_os_errors(self.root), self._attachments() as folder:
            _unlink(received.temporary, folder)

    def remove(self, stored: StoredFile) -> None:
        """Remove a file if it is unchanged."""
        with suppress(FileChanged, NotFound):
            self.folder.remove(stored.file, over=bytes.fromhex(stored.sha256))

    def find(self, file: str) -> StoredFile | None:
        """Return the file at a path, or None; the hash is cached until the file's status changes."""
        try:
            with self.open_file(file) as stream:
                info = file_info(file, os.fstat(stream.fileno()))
                cached = self._cache.get(file)
                if cached is not None and cached[0] == info:
                    return cached[1]
                self._require_size(info.size, file)
                head = stream.read(HEAD)
                stream.seek(0)
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
        except NotFound:
            return None
        stored = StoredFile(file=file, sha256=digest, size=info.size, sniffed=sniff(head, file.rpartition("/")[2]))
        self._cache[file] = (info, stored)
        return stored

    def size_of(self, file: str) -> int | None:
        """Return the size of the file at a path; None if it is missing or inaccessible."""
        try:
            info = self.folder.stat(file)
        except ScrubjayError:
            return None
        return None if info is None else info.size

    @contextmanager
    def open_file(self, file: str) -> Generator[BufferedReader]:
        """Open a regular file of the folder; raises NotFound, and PathRefused for a path out of the folder."""
        *folders, name = split_path(file)
        missing = NotFound(f"there is no file {quote_path(file)} among the notes", path=file)
        with (
            map_os_errors(self.root, path=file, reads=True, missing=missing),
            open_folder(self.root) as root,
            open_subfolder(root, tuple(folders)) as folder,
            open_regular_file(file, name, folder=folder) as descriptor,
            os.fdopen(descriptor, "rb", closefd=False) as stream,
        ):
            yield stream

    def files(self) -> Iterator[FileInfo]:
        """List all files except notes, hidden files, templates and links."""
        return self.folder.list_other_files()

    def _copy(self, source: BinaryIO, name: str, folder: int) -> tuple[str, int, bytes]:
        digest, size, head = hashlib.sha256(), 0, b""
        with os.fdopen(os.open(name, _NEW, 0o600, dir_fd=folder), "wb") as target:
            while chunk := source.read(_CHUNK):
                size += len(chunk)
                self._require_size(size, "")
                head = head or chunk[:HEAD]
                digest.update(chunk)
                target.write(chunk)
            target.flush()
            os.fsync(target.fileno())
        return digest.hexdigest(), size, head

    @contextmanager
    def _attachments(self) -> Generator[int]:
        with open_folder(self.root) as root, open_subfolder(root, (ATTACHMENTS,), make=True) as folder:
            yield folder

    def _require_size(self, size: int, file: str) -> None:
        if size > self._largest:
            raise TooLarge(
                f"{quote_path(file) if file else 'the file'} has more than {self._largest:,} bytes",
                hint="Raise SCRUBJAY_MAX_ATTACHMENT_BYTES, or attach a smaller file",
                limit=self._largest,
            )


class FileNames:
    """The names of the files in a folder, to find the file that an embed names: by path or, like Obsidian, by name.

    The folder is listed on first use. All methods block.
    """

    def __init__(self, storage: AttachmentStorage) -> None:
        self._storage = storage
        self._listed: dict[str, list[tuple[str, int]]] | None = None
        self._fresh_until = 0.0

    def forget(self) -> None:
        """Discard the list; the next lookup lists the folder again."""
        self._listed = None

    def find(self, target: str) -> str | None:
        """Return the path of the file that an embed names; of several, the one nearest to the root."""
        if not self.names_a_file(target):
            return None
        key = _key(target).lstrip("/")
        for _ in range(2):
            matches = [
                path
                for path, _ in self._names().get(key.rpartition("/")[2], [])
                if f"/{_key(path)}".endswith(f"/{key}")
            ]
            present = [path for path in matches if self._storage.size_of(path) is not None]
            if present:
                return min(present, key=lambda path: (_key(path) != key, path.count("/"), path))
            # A listed file that is gone also makes the list stale.
            if not matches and time.monotonic() < self._fresh_until:
                break
            self.forget()
        return None

    def with_bytes(self, sha256: str, *, size: int) -> str:
        """Return the path of the file with these bytes, or an empty text."""
        for paths in self._names().values():
            for path, length in paths:
                if length == size:
                    try:
                        stored = self._storage.find(path)
                    except ScrubjayError:
                        continue
                    if stored is not None and stored.sha256 == sha256:
                        return path
        return ""

    def names_a_file(self, target: str) -> bool:
        """Return whether an embed can name a file: the target of a note has no extension, or `.md`."""
        return bool(extension_of(target.rpartition("/")[2])) and link_target(target) == target

    def _names(self) -> dict[str, list[tuple[str, int]]]:
        if self._listed is None:
            began = time.monotonic()
            listed: dict[str, list[tuple[str, int]]] = {}
            for file in self._storage.files():
                listed.setdefault(_key(file.path.rpartition("/")[2]), []).append((file.path, file.size))
            now = time.monotonic()
            self._listed = listed
            self._fresh_until = now if len(listed) < _SMALL_FOLDER else now + _LISTING_INTERVAL * (now - began)
        return self._listed


class NoteMedia:
    """Provides the pictures of attachment memories to a vision model, verified by their hash."""

    def __init__(self, root: Path) -> None:
        self._storage = AttachmentStorage(root, largest=_MAX_PICTURE_BYTES)

    async def media(self, memory: Memory) -> Media | None:
        """Return the picture of a memory, if its file is available and unchanged."""
        kind = media_type_in(memory)
        data = await asyncio.to_thread(self._read, memory) if kind else None
        return None if data is None else Media(type=kind, data=data)

    def _read(self, memory: Memory) -> bytes | None:
        try:
            with self._storage.open_file(str(memory.metadata.get("file") or "")) as stream:
                data = stream.read(_MAX_PICTURE_BYTES + 1)
        except ScrubjayError:
            return None
        is_same = hashlib.sha256(data).hexdigest() == memory.metadata.get("sha256")
        return data if len(data) <= _MAX_PICTURE_BYTES and is_same else None


def _move_to_name(received: ReceivedFile, folder: int) -> str:
    stem, digest = _stem(received.name), received.sha256
    for length in (12, len(digest)):
        name = f"{stem}-{digest[:length]}.{received.sniffed.end}"
        try:
            rename_new(received.temporary, name, folders=(folder, folder))
        except FileExistsError:
            if _digest(name, folder) == digest:
                return name
        else:
            return name
    raise PathRefused(f"another file already has the name of {quote_path(received.name)}", path=received.name)


def _require_content(size: int, name: str) -> None:
    if not size:
        raise InvalidInput(f"{quote_path(name)} is empty: there is nothing to attach", field="file")


def _unlink(name: str, folder: int) -> None:
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)


def _digest(name: str, folder: int) -> str:
    with (
        open_regular_file(name, name, folder=folder) as descriptor,
        os.fdopen(descriptor, "rb", closefd=False) as stream,
    ):
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _stem(name: str) -> str:
    """Reduce a name to letters, digits and hyphens, which are safe on every system and in a link."""
    plain = unicodedata.normalize("NFC", name.replace("\\", "/").rpartition("/")[2])
    before, dot, _ = plain.rpartition(".")
    words = slug(before if dot and before else plain).encode("utf-8", "ignore")[:_MAX_STEM]
    return words.decode("utf-8", "ignore").strip("-") or "file"


def _key(path: str) -> str:
    return unicodedata.normalize("NFC", path.strip().casefold())
