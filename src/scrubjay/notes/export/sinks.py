"""Export targets: a file, a folder or a .zip, written atomically. All functions block."""

import os
import secrets
import shutil
import zipfile
from collections.abc import Generator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, Protocol

from scrubjay.errors import InvalidInput
from scrubjay.notes.files.paths import split_path

__all__ = ["FileSink", "open_file_sink", "open_target"]

_CHUNK = 1 << 20
# The earliest time that a .zip can hold.
_FIRST_YEAR = 1980


class FileSink(Protocol):
    """A target that holds several files."""

    def write(self, path: str, data: bytes, *, at: datetime | None = None) -> None:
        """Add a file."""
        ...

    def copy(self, path: str, source: BinaryIO) -> None:
        """Add a file from a stream, without loading it into memory."""
        ...


@contextmanager
def open_target(target: Path) -> Generator[BinaryIO]:
    """Open a private file for writing; it replaces the target once it is complete. A pipe is written as it is."""
    if target.is_fifo():
        with _map_os_errors(target), target.open("wb") as stream:
            yield stream
        return
    partial = _partial(target)
    with _map_os_errors(target):
        try:
            descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            partial.replace(target)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise


@contextmanager
def open_file_sink(target: Path) -> Generator[FileSink]:
    """Open a .zip if the target has that extension, else a folder, which must be empty or new."""
    if target.suffix.lower() == ".zip":
        with open_target(target) as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            yield _Zip(archive)
        return
    partial = _partial(target)
    with _map_os_errors(target):
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise InvalidInput(
                f"{target} already exists", hint="Choose another name, or a .zip", path=str(target), field="target"
            )
        try:
            partial.mkdir(mode=0o700)
            yield _Folder(partial)
            if target.exists():
                target.rmdir()
            partial.rename(target)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise


class _Folder:
    def __init__(self, root: Path) -> None:
        self._root = root

    def write(self, path: str, data: bytes, *, at: datetime | None = None) -> None:
        with self._create(path) as stream:
            stream.write(data)
        if at is not None:
            os.utime(self._root / path, (at.timestamp(), at.timestamp()))

    def copy(self, path: str, source: BinaryIO) -> None:
        with self._create(path) as stream:
            shutil.copyfileobj(source, stream, _CHUNK)

    def _create(self, path: str) -> BinaryIO:
        place = self._root.joinpath(*split_path(path))
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


class _Zip:
    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive

    def write(self, path: str, data: bytes, *, at: datetime | None = None) -> None:
        self._archive.writestr(_member(path, at), data)

    def copy(self, path: str, source: BinaryIO) -> None:
        with self._archive.open(_member(path, None), "w", force_zip64=True) as stream:
            shutil.copyfileobj(source, stream, _CHUNK)


def _member(path: str, at: datetime | None) -> zipfile.ZipInfo:
    split_path(path)
    moment = at if at is not None and at.year >= _FIRST_YEAR else None
    date = moment.timetuple()[:6] if moment else (_FIRST_YEAR, 1, 1, 0, 0, 0)
    member = zipfile.ZipInfo(path, date_time=date)
    member.external_attr = 0o600 << 16
    member.compress_type = zipfile.ZIP_DEFLATED
    return member


def _partial(target: Path) -> Path:
    return target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial")


@contextmanager
def _map_os_errors(target: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise InvalidInput(
            f"{target} cannot be written: {error.strerror or error}",
            hint="Check the folder and its permissions",
            path=str(target),
            field="target",
        ) from error
