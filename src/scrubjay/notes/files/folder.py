"""The folder of notes on disk: nothing outside it is ever touched, and no file in it is ever half written."""

import os
from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from scrubjay.errors import FileChanged, NotFound, PathRefused, ScrubjayError
from scrubjay.locking import FileLock
from scrubjay.notes.files import atomic_write, foreign, vault_marker
from scrubjay.notes.files.atomic_write import FolderEntry
from scrubjay.notes.files.errors import map_os_errors, vault_unavailable
from scrubjay.notes.files.paths import quote_path, split_new_path, split_path
from scrubjay.notes.files.tree import (
    FileInfo,
    SkippedEntry,
    WalkedFile,
    file_info,
    fsync_folder,
    open_folder,
    open_regular_file,
    open_subfolder,
    read_content,
    stat_regular_file,
    walk,
)
from scrubjay.notes.files.vault_marker import VaultMarker

__all__ = ["ATTACHMENTS", "MAX_NOTE_BYTES", "TEMPLATES", "Folder"]

MAX_NOTE_BYTES = 16 * 1024 * 1024
TEMPLATES = "templates"
ATTACHMENTS = "attachments"
_NOTE_SUFFIX = ".md"
# The folder in which Obsidian keeps what is deleted in it.
_TRASH = ".trash"
_LOCK = Path(vault_marker.FOLDER, "lock")


class Folder:
    """One folder of notes. Every method blocks, and may be called from any thread.

    `adopted`: it had notes of other programs before it was ours; `copy` is the archive of them that was just made.
    """

    def __init__(self, root: Path) -> None:
        # The folder's owner may reach it through links; below it, no link is followed.
        self.root = Path(os.path.realpath(root.expanduser()))
        self.adopted = False
        self.copy = ""
        self._excluded: tuple[str, ...] = ()

    @property
    def lock(self) -> FileLock:
        """The lock of the process that may write here."""
        return FileLock(self.root / _LOCK)

    def open(self, *, store_id: str, space: str, home: str = "", adopt: bool = False) -> str:
        """Create the folder if it is missing, mark it as this store's and space's, and return its own id.

        Take over the folder of another store if that store had the same `home`, or on `adopt`; the folder then gets a
        new id. A folder with notes of other programs is adopted: an archive of them is made first.
        """
        ours = VaultMarker(store=store_id, space=space, home=home)
        with map_os_errors(self.root):
            try:
                self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            except (FileExistsError, NotADirectoryError):
                raise vault_unavailable(
                    f"a file is in the place of the folder of notes: {self.root}", root=self.root, reason="in_the_way"
                ) from None
            try:
                with open_folder(self.root) as root:
                    if not vault_marker.has_marker(root) and foreign.has_foreign_notes(root):
                        self.copy = foreign.keep_copy(root, within=vault_marker.FOLDER, now=datetime.now(UTC))
                        ours = replace(ours, adopted=True)
                    marker = vault_marker.claim(root, ours, folder=self.root)
                    vault_marker.require_match(marker, ours, folder=self.root, adopt=adopt)
                    self.adopted = marker.adopted
                    self._excluded = foreign.template_folders(root) if marker.adopted else ()
                    return self._update_marker(root, marker, replace(ours, adopted=marker.adopted)).vault
            except (PathRefused, NotADirectoryError):
                raise vault_unavailable(
                    f"{vault_marker.FOLDER} in {self.root} is not a plain folder", root=self.root, reason="in_the_way"
                ) from None

    def sweep(self) -> int:
        """Remove the leftovers of crashes and return the number of files; only the holder of the lock may do this."""
        with self._open_root() as root, map_os_errors(self.root):
            return atomic_write.sweep(root)

    def exists(self) -> bool:
        """Whether the folder and its marker exist."""
        try:
            with open_folder(self.root) as root:
                return vault_marker.has_marker(root)
        except OSError:
            return False

    def list_notes(self) -> Iterator[FileInfo]:
        """Yield the files that can be notes, folder by folder."""
        for file in self._walk(skip=frozenset({TEMPLATES, ATTACHMENTS})):
            if isinstance(file, WalkedFile) and _is_note(file.path) and not self.is_template(file.path):
                yield file_info(file.path, file.status)

    def list_other_files(self) -> Iterator[FileInfo]:
        """Yield the files that can be attachments: all except notes, and everything in the attachments folder."""
        for file in self._walk(skip=frozenset({TEMPLATES})):
            if isinstance(file, WalkedFile) and (
                not _is_note(file.path) or file.path.split("/", 1)[0].casefold() == ATTACHMENTS
            ):
                yield file_info(file.path, file.status)

    def list_skipped(self) -> Iterator[SkippedEntry]:
        """Yield the entries that are neither: links, pipes, names that are not text, unreadable folders."""
        return (entry for entry in self._walk() if isinstance(entry, SkippedEntry))

    def is_template(self, path: str) -> bool:
        """Whether a path is in a folder that the settings of Obsidian name as that of templates."""
        return any(path.casefold().startswith(f"{folder.casefold()}/") for folder in self._excluded)

    def stat(self, path: str) -> FileInfo | None:
        """Return a file's metadata, or None if nothing exists there; raise PathRefused if it is not a regular file."""
        try:
            with self._entry(path, split_path(path), reads=True, missing=_not_found(path)) as entry:
                return file_info(path, stat_regular_file(path, entry.name, folder=entry.folder))
        except NotFound:
            return None

    def has_exact_name(self, path: str) -> bool:
        """Whether a file has exactly this name, on a file system where other spellings lead to it as well."""
        with self._entry(path, split_path(path), reads=True, missing=_not_found(path)) as entry:
            return entry.name in os.listdir(entry.folder)  # noqa: PTH208 - it is open already

    def read(self, path: str, *, max_bytes: int = MAX_NOTE_BYTES) -> tuple[FileInfo, bytes]:
        """Return a file's metadata and bytes; raise NotFound, TooLarge, or PathRefused if it is not a regular file."""
        with (
            self._entry(path, split_path(path), reads=True, missing=_not_found(path)) as entry,
            open_regular_file(path, entry.name, folder=entry.folder) as descriptor,
        ):
            status, data = read_content(path, descriptor, max_bytes=max_bytes)
        return file_info(path, status), data

    def write(self, path: str, data: bytes, *, over: bytes | None, sync: bool = True) -> FileInfo:
        """Write a file atomically, over the one with the digest `over` or, for None, a new one; else raise FileChanged.

        The content is on disk when this returns; without `sync`, the name is on disk only after a call of `sync`.
        """
        if over is None:
            with self._entry(path, split_new_path(path), make=True, sync=sync) as entry:
                return file_info(path, atomic_write.create(entry, data))
        with self._entry(path, split_path(path), missing=atomic_write.file_gone_error(path), sync=sync) as entry:
            return file_info(path, atomic_write.replace(entry, data, over=over))

    def move(self, old: str, new: str, *, over: bytes, sync: bool = True) -> FileInfo:
        """Move the file with the digest `over` to an unused name; raise FileChanged if that is not possible."""
        before, after = split_path(old), split_new_path(new)
        if before == after:
            raise PathRefused(f"{quote_path(new)} is the file's present path", hint="Name another path", path=new)
        with (
            self._entry(old, before, missing=atomic_write.file_gone_error(old), sync=sync) as source,
            self._entry(new, after, make=True, sync=sync) as target,
        ):
            return file_info(new, atomic_write.move(source, target, over=over))

    def remove(self, path: str, *, over: bytes, sync: bool = True) -> None:
        """Remove the file with the digest `over`; raise FileChanged if its digest differs."""
        with self._entry(path, split_path(path), missing=atomic_write.file_gone_error(path), sync=sync) as entry:
            atomic_write.remove(entry, over=over)

    def move_to_trash(self, path: str, *, over: bytes) -> None:
        """Move the file with the digest `over` to the trash of Obsidian; raise FileChanged if its digest differs."""
        parts = split_path(path)
        with (
            self._entry(path, parts, missing=atomic_write.file_gone_error(path)) as source,
            self._open_trash(make=True) as trash,
        ):
            taken = set(os.listdir(trash))  # noqa: PTH208 - it is open already
            name = next(name for name in _trash_names(parts[-1]) if name not in taken)
            atomic_write.move(source, FolderEntry(f"{_TRASH}/{name}", name, trash), over=over)

    def take_from_trash(self, path: str, *, over: bytes) -> bool:
        """Move the file with the digest `over` back from the trash of Obsidian; return False if it is not there."""
        parts = split_path(path)
        with suppress(FileNotFoundError, NotADirectoryError), self._open_trash() as trash:
            present = set(os.listdir(trash))  # noqa: PTH208 - it is open already
            for name in _trash_names(parts[-1]):
                if name not in present:
                    return False
                entry = FolderEntry(f"{_TRASH}/{name}", name, trash)
                with suppress(FileChanged, PathRefused), self._entry(path, parts, make=True) as target:
                    atomic_write.move(entry, target, over=over)
                    return True
        return False

    def sync(self, paths: Iterable[str]) -> None:
        """Write the names of files to disk that were written, moved or removed without `sync`."""
        for parent in sorted({split_path(path)[:-1] for path in paths}):
            # A folder that has been removed has no names to write.
            with (
                self._open_root() as root,
                map_os_errors(self.root),
                suppress(FileNotFoundError),
                open_subfolder(root, parent) as folder,
            ):
                fsync_folder(folder)

    def _update_marker(self, root: int, marker: VaultMarker, ours: VaultMarker) -> VaultMarker:
        """Return the marker of a folder that belongs to us from now on."""
        is_ours = marker.store == ours.store
        if is_ours and marker.vault and marker.home == ours.home:
            return marker
        lock = self.lock
        if not lock.acquire(exclusive=True):
            if is_ours:
                return marker
            raise vault_unavailable(
                f"the notes in {self.root} belong to another store, and a process synchronizes them with it",
                root=self.root,
                reason="in_use",
            )
        try:
            return vault_marker.rewrite(root, replace(ours, vault=marker.vault if is_ours else ""))
        finally:
            lock.release()

    @contextmanager
    def _entry(
        self,
        path: str,
        parts: tuple[str, ...],
        *,
        make: bool = False,
        reads: bool = False,
        missing: ScrubjayError | None = None,
        sync: bool = True,
    ) -> Generator[FolderEntry]:
        """Open the folder of a file and yield the file's entry in it."""
        with (
            self._open_root() as root,
            map_os_errors(self.root, path=path, reads=reads, missing=missing),
            open_subfolder(root, parts[:-1], make=make) as folder,
        ):
            yield FolderEntry(path, parts[-1], folder, sync)

    def _walk(self, *, skip: frozenset[str] = frozenset()) -> Iterator[WalkedFile | SkippedEntry]:
        with self._open_root() as root, map_os_errors(self.root):
            yield from walk(root, skip=skip)
        # If the whole folder disappeared during the walk, raise: its files must not count as deleted.
        with self._open_root():
            pass

    @contextmanager
    def _open_trash(self, *, make: bool = False) -> Generator[int]:
        with self._open_root() as root, open_subfolder(root, (_TRASH,), make=make) as trash:
            yield trash

    @contextmanager
    def _open_root(self) -> Generator[int]:
        """Open the folder if it has its marker: the empty mount point of an unmounted disk has none."""
        with ExitStack() as stack:
            with map_os_errors(self.root):
                root = stack.enter_context(open_folder(self.root))
                has_marker = vault_marker.has_marker(root)
            if not has_marker:
                raise vault_unavailable(
                    f"{self.root} exists, but its notes do not: the marker {vault_marker.PATH} is missing",
                    root=self.root,
                    reason="gone",
                )
            yield root


def _trash_names(name: str) -> Iterator[str]:
    """Yield the names that a file may have in the trash, as Obsidian numbers them."""
    stem, dot, suffix = name.rpartition(".")
    yield name
    yield from (f"{stem} {number}{dot}{suffix}" for number in count(1))


def _is_note(path: str) -> bool:
    return path.casefold().endswith(_NOTE_SUFFIX)


def _not_found(path: str) -> NotFound:
    return NotFound(
        f"the notes have no file {quote_path(path)}", hint="It may have been moved: list the folder", path=path
    )
