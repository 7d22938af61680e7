"""The folder of notes on the disk: nothing outside of it is ever touched, and no file in it is ever half written."""

import os
from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from scrubjay.errors import NotFound, PathRefused, ScrubjayError
from scrubjay.locking import FileLock
from scrubjay.notes.files import atomic_write, tempfiles, vault_marker
from scrubjay.notes.files.atomic_write import Spot
from scrubjay.notes.files.entries import Odd, Seen, digest, seen_as
from scrubjay.notes.files.errors import told, unavailable
from scrubjay.notes.files.paths import new_parts, parts_of, shown
from scrubjay.notes.files.tree import Entry, below, content_of, opened, readable, status_of, sync_folder, walk
from scrubjay.notes.files.vault_marker import Mark

__all__ = ["ATTACHMENTS", "LARGEST", "TEMPLATES", "Folder", "Odd", "Seen", "digest"]

LARGEST = 16 * 1024 * 1024
TEMPLATES = "templates"
ATTACHMENTS = "attachments"
_NOTE = ".md"
_LOCK = Path(vault_marker.FOLDER, "lock")


class Folder:
    """One folder of notes. Everything blocks, and may be called from any thread."""

    def __init__(self, root: Path) -> None:
        # The folder itself may be reached through links, for its owner chose it; below it none is followed.
        self.root = Path(os.path.realpath(root.expanduser()))

    @property
    def lock(self) -> FileLock:
        """What the one process holds that may write here."""
        return FileLock(self.root / _LOCK)

    def open(self, *, store_id: str, space: str, home: str = "", adopt: bool = False) -> str:
        """Make the folder if it is missing, and mark it as this store's and space's; tells its own id.

        Another store's is taken over if that was at the same `home`, or if somebody says so by `adopt`; it has a new
        id then.
        """
        ours = Mark(store=store_id, space=space, home=home)
        with told(self.root):
            try:
                self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            except (FileExistsError, NotADirectoryError):
                raise unavailable(
                    f"there is a file where the folder of notes is to be: {self.root}",
                    root=self.root,
                    reason="in_the_way",
                ) from None
            try:
                with opened(self.root) as root:
                    found = vault_marker.claim(root, ours, folder=self.root)
                    vault_marker.require_fit(found, ours, folder=self.root, adopt=adopt)
                    return self._kept(root, found, ours).vault
            except (PathRefused, NotADirectoryError):
                raise unavailable(
                    f"{vault_marker.FOLDER} in {self.root} is no plain folder", root=self.root, reason="in_the_way"
                ) from None

    def sweep(self) -> int:
        """Remove what crashes left, as only the one who alone writes here may; tells how many there were."""
        with self._opened() as root, told(self.root):
            return tempfiles.sweep(root)

    def is_there(self) -> bool:
        """Whether the folder and its mark are there."""
        try:
            with opened(self.root) as root:
                return vault_marker.is_marked(root)
        except OSError:
            return False

    def listing(self) -> Iterator[Seen]:
        """The files that can be notes, folder by folder."""
        for one in self._walked(skip=frozenset({TEMPLATES, ATTACHMENTS})):
            if isinstance(one, Entry) and _is_note(one.path):
                yield seen_as(one.path, one.status)

    def others(self) -> Iterator[Seen]:
        """The files that can be attachments: all others, and whatever lies in their folder."""
        for one in self._walked(skip=frozenset({TEMPLATES})):
            if isinstance(one, Entry) and (not _is_note(one.path) or _is_attached(one.path)):
                yield seen_as(one.path, one.status)

    def odd(self) -> Iterator[Odd]:
        """What is neither: links, pipes, names that are no text, folders that may not be read."""
        return (one for one in self._walked() if isinstance(one, Odd))

    def look(self, path: str) -> Seen | None:
        """A file, or None when nothing is there; raises PathRefused for what is no file, or cannot be told."""
        try:
            with self._spot(path, parts_of(path), reads=True, missing=_absent(path)) as spot:
                return seen_as(path, status_of(path, spot.name, folder=spot.folder))
        except NotFound:
            return None

    def is_spelled(self, path: str) -> bool:
        """Whether there is a file of that very name, where others may lead to it as well."""
        with self._spot(path, parts_of(path), reads=True, missing=_absent(path)) as spot:
            return spot.name in os.listdir(spot.folder)  # noqa: PTH208 - it is open already

    def read(self, path: str, *, most: int = LARGEST) -> tuple[Seen, bytes]:
        """A file and all its bytes; raises NotFound, TooLarge, or PathRefused for what is no file."""
        with (
            self._spot(path, parts_of(path), reads=True, missing=_absent(path)) as spot,
            readable(path, spot.name, folder=spot.folder) as descriptor,
        ):
            status, data = content_of(path, descriptor, most=most)
        return seen_as(path, status), data

    def write(self, path: str, data: bytes, *, over: bytes | None, sync: bool = True) -> Seen:
        """Write a file at once, over the one with that digest or (None) where none is; else raises FileChanged.

        Its text is on the disk when this returns; without `sync`, its name is only after a call of that name.
        """
        if over is None:
            with self._spot(path, new_parts(path), make=True, sync=sync) as spot:
                return seen_as(path, atomic_write.create(spot, data))
        with self._spot(path, parts_of(path), missing=atomic_write.gone(path), sync=sync) as spot:
            return seen_as(path, atomic_write.replace(spot, data, over=over))

    def move(self, old: str, new: str, *, over: bytes, sync: bool = True) -> Seen:
        """Move the file with that digest to a name that none has; raises FileChanged if it is not so."""
        before, after = parts_of(old), new_parts(new)
        if before == after:
            raise PathRefused(f"{shown(new)} is where the file is", hint="Name another path", path=new)
        with (
            self._spot(old, before, missing=atomic_write.gone(old), sync=sync) as source,
            self._spot(new, after, make=True, sync=sync) as target,
        ):
            return seen_as(new, atomic_write.move(source, target, over=over))

    def remove(self, path: str, *, over: bytes, sync: bool = True) -> None:
        """Remove the file with that digest; raises FileChanged when it is another."""
        with self._spot(path, parts_of(path), missing=atomic_write.gone(path), sync=sync) as spot:
            atomic_write.remove(spot, over=over)

    def sync(self, paths: Iterable[str]) -> None:
        """Let the disk have the names of files that were written, moved or removed without waiting for it."""
        for parent in sorted({parts_of(path)[:-1] for path in paths}):
            # A folder that went meanwhile has no names to keep.
            with self._opened() as root, told(self.root), suppress(FileNotFoundError), below(root, parent) as folder:
                sync_folder(folder)

    def _kept(self, root: int, found: Mark, ours: Mark) -> Mark:
        """The mark of a folder that is ours from now on."""
        is_ours = found.store == ours.store
        if is_ours and found.vault and found.home == ours.home:
            return found
        lock = self.lock
        if not lock.acquire(exclusive=True):
            if is_ours:
                return found
            raise unavailable(
                f"the notes in {self.root} belong to another store, and a process keeps them in step with it",
                root=self.root,
                reason="in_use",
            )
        try:
            return vault_marker.rewrite(root, replace(ours, vault=found.vault if is_ours else ""))
        finally:
            lock.release()

    @contextmanager
    def _spot(
        self,
        path: str,
        parts: tuple[str, ...],
        *,
        make: bool = False,
        reads: bool = False,
        missing: ScrubjayError | None = None,
        sync: bool = True,
    ) -> Generator[Spot]:
        """The place of a file in its open folder."""
        with (
            self._opened() as root,
            told(self.root, path=path, reads=reads, missing=missing),
            below(root, parts[:-1], make=make) as folder,
        ):
            yield Spot(path, parts[-1], folder, sync)

    def _walked(self, *, skip: frozenset[str] = frozenset()) -> Iterator[Entry | Odd]:
        with self._opened() as root, told(self.root):
            yield from walk(root, skip=skip)
        # What is missing from a list because the whole folder went in the middle of it must not count as removed.
        with self._opened():
            pass

    @contextmanager
    def _opened(self) -> Generator[int]:
        """The open folder, as long as it has its mark: an empty place where a disk is not mounted has none."""
        with ExitStack() as held:
            with told(self.root):
                root = held.enter_context(opened(self.root))
                is_marked = vault_marker.is_marked(root)
            if not is_marked:
                raise unavailable(
                    f"{self.root} is there, but not the notes: the mark {vault_marker.PATH} is missing",
                    root=self.root,
                    reason="gone",
                )
            yield root


def _is_note(path: str) -> bool:
    return path.casefold().endswith(_NOTE)


def _is_attached(path: str) -> bool:
    return path.split("/", 1)[0].casefold() == ATTACHMENTS


def _absent(path: str) -> NotFound:
    return NotFound(
        f"there is no file {shown(path)} among the notes", hint="It may have been moved: list the folder", path=path
    )
