"""The folder of index generations: one is current, one may be in the making, old ones go."""

import os
import re
import shutil
from pathlib import Path

from scrubjay.errors import IndexUnavailable
from scrubjay.locking import FileLock
from scrubjay.model.identity import new_id

_CURRENT = "CURRENT"
_CONDEMNED = "CONDEMNED"
_LOCK = "lock"
_GENERATION = re.compile(r"gen-(\d{4,})")
_ANY_FOLDER = re.compile(r"gen-(\d{4,})(\.building-.*)?")


class Generations:
    """What is in the folder is touched only by the process that holds its lock."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = FileLock(folder / _LOCK)

    @property
    def is_held(self) -> bool:
        """Whether this process holds the folder."""
        return self._lock.held

    def claim(self) -> bool:
        """Take hold of the folder, unless another process has; what is half-built in it goes."""
        if not self._lock.held:
            try:
                if self._lock.acquire(exclusive=True):
                    self.remove_others()
            except OSError:
                # A folder that cannot be written to cannot be held either.
                self._lock.release()
        return self._lock.held

    def release(self) -> None:
        """Let go of the folder."""
        self._lock.release()

    def current(self) -> Path | None:
        """The generation to be used, if there is one."""
        try:
            name = (self._folder / _CURRENT).read_text(encoding="utf-8").strip()
        except (OSError, ValueError):
            return None
        generation = self._folder / name
        whole = bool(_GENERATION.fullmatch(name)) and generation.is_dir()
        return generation if whole and not is_condemned(generation) else None

    def draft(self) -> Path:
        """A place to build the next generation in. Nobody else builds there, not even an orphan of ours."""
        if not self._folder.is_dir():
            # Our lock went with it: what we would build there, others might take for theirs.
            raise IndexUnavailable("the folder of the vector index is gone", hint="The next start builds it anew")
        return self._folder / f"gen-{self._next_number():04d}.building-{new_id()}"

    def adopt(self, draft: Path) -> Path:
        """Make a whole generation of what was built."""
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
        """Remove a generation or what was built of one."""
        # An orphaned builder may still be writing there; what is left goes at the next start.
        shutil.rmtree(generation, ignore_errors=True)

    def remove_all(self) -> None:
        """Remove every generation."""
        (self._folder / _CURRENT).unlink(missing_ok=True)
        self.remove_others()

    def remove_others(self) -> None:
        """Remove all generations but the current one."""
        current = self.current()
        for path in self._folders():
            if path != current:
                self.discard(path)

    def _next_number(self, *, besides: str = "") -> int:
        matches = [_ANY_FOLDER.fullmatch(path.name) for path in self._folders() if path.name != besides]
        return max((int(match[1]) for match in matches if match), default=0) + 1

    def _folders(self) -> list[Path]:
        # Other people's folders are none of ours, wherever the index was put.
        results = self._folder.iterdir() if self._folder.is_dir() else ()
        return [path for path in results if path.is_dir() and _ANY_FOLDER.fullmatch(path.name)]


def condemn(generation: Path) -> None:
    """Have a generation replaced as soon as can be, and at the latest at the next start."""
    try:
        (generation / _CONDEMNED).touch()
    except OSError as error:
        raise IndexUnavailable("the folder of the vector index cannot be written", cause=str(error)) from error


def is_condemned(generation: Path) -> bool:
    """Whether a generation holds what must not stay on disk."""
    return (generation / _CONDEMNED).exists()
