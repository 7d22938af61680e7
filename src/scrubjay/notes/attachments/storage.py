"""The files that notes embed, on disk: kept under names that say what they are, found by name, told apart by hash."""

import hashlib
import os
import unicodedata
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

from scrubjay.errors import FileChanged, InvalidInput, NotFound, PathRefused, ScrubjayError, TooLarge
from scrubjay.notes.attachments.file_types import HEAD, Sniffed, sniff
from scrubjay.notes.files.atomic_rename import rename_new
from scrubjay.notes.files.errors import map_os_errors
from scrubjay.notes.files.folder import ATTACHMENTS, Folder
from scrubjay.notes.files.paths import quote_path, split_path
from scrubjay.notes.files.tempfiles import new_file_name
from scrubjay.notes.files.tree import FileInfo, file_info, open_folder, open_regular_file, open_subfolder
from scrubjay.text.slug import slug

__all__ = ["AttachmentStorage", "Received", "Stored"]

_CHUNK = 1 << 20
_MOST_STEM = 80
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A file as it lies in the folder: its path there, what it is, and the hash of its bytes in hexadecimal."""

    file: str
    sha256: str
    size: int
    sniffed: Sniffed


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """A file that was copied in and has no name of its own yet."""

    temporary: str
    name: str
    sha256: str
    size: int
    sniffed: Sniffed


class AttachmentStorage:
    """The files beside the notes of one folder. It blocks, and no path leads out of the folder, whoever made it."""

    def __init__(self, root: Path, *, largest: int) -> None:
        self.folder = Folder(root)
        self.root = self.folder.root
        self._largest = largest
        self._known: dict[str, tuple[FileInfo, Stored]] = {}

    def receive(self, source: BinaryIO, *, name: str) -> Received:
        """Copy a file in, readable by nobody else, under a name that nobody sees; `settle` or `discard` must follow."""
        temporary = new_file_name()
        with map_os_errors(self.root), self._attachments() as folder:
            try:
                digest, size, head = self._copied(source, temporary, folder)
                _require_some(size, name)
            except BaseException:
                _unlink(temporary, folder)
                raise
        return Received(temporary=temporary, name=name, sha256=digest, size=size, sniffed=sniff(head, name))

    def settle(self, received: Received) -> Stored:
        """Give what was received the name that it is kept under; its very bytes may lie there already."""
        with map_os_errors(self.root), self._attachments() as folder:
            try:
                kept = _named(received, folder)
                os.fsync(folder)
            finally:
                _unlink(received.temporary, folder)
        return Stored(
            file=f"{ATTACHMENTS}/{kept}", sha256=received.sha256, size=received.size, sniffed=received.sniffed
        )

    def discard(self, received: Received) -> None:
        """Remove what was received."""
        with map_os_errors(self.root), self._attachments() as folder:
            _unlink(received.temporary, folder)

    def remove(self, stored: Stored) -> None:
        """Remove a file, if it is still the same."""
        with suppress(FileChanged, NotFound):
            self.folder.remove(stored.file, over=bytes.fromhex(stored.sha256))

    def stored(self, file: str) -> Stored | None:
        """What lies under a path, or None; it is not hashed again while the disk says that it is the same."""
        try:
            with self.opened(file) as stream:
                seen = file_info(file, os.fstat(stream.fileno()))
                known = self._known.get(file)
                if known is not None and known[0] == seen:
                    return known[1]
                self._require_bearable(seen.size, file)
                head = stream.read(HEAD)
                stream.seek(0)
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
        except NotFound:
            return None
        found = Stored(file=file, sha256=digest, size=seen.size, sniffed=sniff(head, file.rpartition("/")[2]))
        self._known[file] = (seen, found)
        return found

    def size_of(self, file: str) -> int | None:
        """How large the file under a path is; None where there is none that can be had."""
        try:
            seen = self.folder.stat(file)
        except ScrubjayError:
            return None
        return None if seen is None else seen.size

    @contextmanager
    def opened(self, file: str) -> Generator[BufferedReader]:
        """A regular file of the folder, open for reading; raises NotFound, and PathRefused for what leads elsewhere."""
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
        """All files that are no notes; hidden ones, templates and links are left out."""
        return self.folder.list_other_files()

    def _copied(self, source: BinaryIO, name: str, folder: int) -> tuple[str, int, bytes]:
        digest, size, head = hashlib.sha256(), 0, b""
        with os.fdopen(os.open(name, _NEW, 0o600, dir_fd=folder), "wb") as target:
            while chunk := source.read(_CHUNK):
                size += len(chunk)
                self._require_bearable(size, "")
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

    def _require_bearable(self, size: int, file: str) -> None:
        if size > self._largest:
            raise TooLarge(
                f"{quote_path(file) if file else 'the file'} has more than {self._largest:,} bytes",
                hint="Raise SCRUBJAY_MAX_ATTACHMENT_BYTES, or attach a smaller file",
                limit=self._largest,
            )


def _named(received: Received, folder: int) -> str:
    stem, digest = _stem(received.name), received.sha256
    for length in (12, len(digest)):
        kept = f"{stem}-{digest[:length]}.{received.sniffed.end}"
        try:
            rename_new(received.temporary, kept, folders=(folder, folder))
        except FileExistsError:
            if _digest(kept, folder) == digest:
                return kept
        else:
            return kept
    raise PathRefused(f"there is something else under the name of {quote_path(received.name)}", path=received.name)


def _require_some(size: int, name: str) -> None:
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
    """What stays of a name: letters, digits and hyphens, so that it is safe on every system and in a link."""
    plain = unicodedata.normalize("NFC", name.replace("\\", "/").rpartition("/")[2])
    before, dot, _ = plain.rpartition(".")
    words = slug(before if dot and before else plain).encode("utf-8", "ignore")[:_MOST_STEM]
    return words.decode("utf-8", "ignore").strip("-") or "file"
