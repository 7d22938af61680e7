"""Generations of an index on disk: the folder that holds them, and the open one that serves searches."""

import os
import re
import shutil
from functools import partial
from pathlib import Path

from scrubjay.errors import IndexUnavailable
from scrubjay.indexing.follower import Follower
from scrubjay.indexing.protocol import DiskIndex, IndexKind, IndexSource
from scrubjay.lazy import dataclass
from scrubjay.locking import FileLock
from scrubjay.model.identity import new_id
from scrubjay.ports import Profile

_CURRENT = "CURRENT"
_CONDEMNED = "CONDEMNED"
_LOCK = "lock"
_GENERATION = re.compile(r"gen-(\d{4,})")
_ANY_FOLDER = re.compile(r"gen-(\d{4,})(\.building-.*)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalIndexPolicy:
    """When the index is built, and where."""

    # Up to this many points are built in this process, in about the time that a child process takes to start.
    inline_up_to: int = 2_000
    # Every search scans the points added since the last build: the next build is due when they are a quarter of
    # all, within these bounds.
    optimise_from: int = 10_000
    optimise_at: int = 50_000
    # From this many changes on, a build is faster than following the log, and delays no search.
    rebuild_when_behind: int = 10_000
    # After this many failures there are no more builds, and searches scan the stored vectors.
    attempts: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenGeneration:
    """A generation in use, and the follower that keeps it in step."""

    index: DiskIndex
    follower: Follower
    folder: Path

    @classmethod
    def load(cls, folder: Path, *, store: IndexSource, kind: IndexKind, profile: Profile) -> "OpenGeneration":
        """Open a generation; raises IndexUnavailable if it is unusable."""
        index = kind.load(folder, store_id=store.store_id, model=profile.model, dimension=profile.dimension)
        # Deleted points stay in the files of an index until it is rebuilt.
        follower = Follower(store, index, profile.model, on_purge=partial(condemn, folder))
        return cls(index=index, follower=follower, folder=folder)

    async def require_complete(self, store: IndexSource, model: str) -> None:
        """Raise IndexUnavailable if a killed process has left points missing."""
        if not self.index.was_interrupted:
            return
        expected, actual = await store.point_count(model), self.index.points
        # A write between the two counts makes them incomparable.
        if expected != actual and await self.follower.lag() == 0:
            raise IndexUnavailable("the vector index has lost points", points=actual, expected=expected)

    def is_due(self, policy: LocalIndexPolicy) -> bool:
        """Whether it is time to build the next generation."""
        # Asked at every search: the follower knows what the file says, which takes a call of the system to look at.
        if self.follower.has_purged:
            return True
        added = self.index.added
        return added >= policy.optimise_from and added >= min(policy.optimise_at, self.index.points // 4)


class Generations:
    """The folder of generations: one is current, one may be under construction, old ones are removed.

    Only the process that holds the lock of the folder changes it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = FileLock(folder / _LOCK)

    @property
    def is_held(self) -> bool:
        """Whether this process holds the lock."""
        return self._lock.held

    def claim(self) -> bool:
        """Take the lock unless another process has it, and remove unfinished builds."""
        if not self._lock.held:
            try:
                if self._lock.acquire(exclusive=True):
                    self.remove_others()
            except OSError:
                # The index needs a folder that it can write to.
                self._lock.release()
        return self._lock.held

    def release(self) -> None:
        """Release the lock."""
        self._lock.release()

    def current(self) -> Path | None:
        """Return the folder of the current generation."""
        try:
            name = (self._folder / _CURRENT).read_text(encoding="utf-8").strip()
        except (OSError, ValueError):
            return None
        generation = self._folder / name
        exists = bool(_GENERATION.fullmatch(name)) and generation.is_dir()
        return generation if exists and not is_condemned(generation) else None

    def draft(self) -> Path:
        """Return a new folder to build in, which no other process uses, not even an orphaned child of ours."""
        if not self._folder.is_dir():
            # The lock is gone with the folder: another process may claim what we would build there.
            raise IndexUnavailable("the folder of the vector index is gone", hint="The next start rebuilds the index")
        return self._folder / f"gen-{self._next_number():04d}.building-{new_id()}"

    def adopt(self, draft: Path) -> Path:
        """Turn a finished draft into a generation."""
        return draft.rename(self._folder / f"gen-{self._next_number(besides=draft.name):04d}")

    def make_current(self, generation: Path) -> None:
        """Use this generation from now on, also after a crash."""
        new = self._folder / f"{_CURRENT}.new"
        with new.open("w", encoding="utf-8") as file:
            file.write(f"{generation.name}\n")
            file.flush()
            os.fsync(file.fileno())
        new.replace(self._folder / _CURRENT)

    def discard(self, generation: Path) -> None:
        """Remove a generation or a draft."""
        # An orphaned child may still be writing there; the next start removes the rest.
        shutil.rmtree(generation, ignore_errors=True)

    def remove_all(self) -> None:
        """Remove every generation."""
        (self._folder / _CURRENT).unlink(missing_ok=True)
        self.remove_others()

    def empty(self) -> None:
        """Remove every generation, unless another process uses the folder."""
        if self._folder.is_dir() and self.claim():
            try:
                self.remove_all()
            finally:
                self.release()

    def remove_others(self) -> None:
        """Remove all generations except the current one."""
        current = self.current()
        for path in self._folders():
            if path != current:
                self.discard(path)

    def _next_number(self, *, besides: str = "") -> int:
        matches = [_ANY_FOLDER.fullmatch(path.name) for path in self._folders() if path.name != besides]
        return max((int(match[1]) for match in matches if match), default=0) + 1

    def _folders(self) -> list[Path]:
        # The folder may also contain files that are not ours.
        paths = self._folder.iterdir() if self._folder.is_dir() else ()
        return [path for path in paths if path.is_dir() and _ANY_FOLDER.fullmatch(path.name)]


def condemn(generation: Path) -> None:
    """Mark a generation for replacement as soon as possible, at the latest at the next start."""
    try:
        (generation / _CONDEMNED).touch()
    except OSError as error:
        raise IndexUnavailable("the folder of the vector index is not writable", cause=str(error)) from error


def is_condemned(generation: Path) -> bool:
    """Whether a generation contains purged data and must be replaced."""
    return (generation / _CONDEMNED).exists()
