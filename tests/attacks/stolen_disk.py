"""What a thief of a disk can do: read every file, and every file that is open but has no name, and search them."""

import base64
import gzip
import random
import threading
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

import zstandard

_SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]
_STARTS = {
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x1f\x8b\x08": "gzip",
    b"\x78\x01": "zlib",
    b"\x78\x9c": "zlib",
    b"\x78\xda": "zlib",
}
_MOST_BYTES = 50_000_000


def new_word() -> str:
    """Return a word that no other text contains, and that does not look like a password."""
    return "".join(random.SystemRandom().choices(_SYLLABLES, k=7))


def find_words(words: Iterable[str], *folders: Path, skip: Sequence[Path] = ()) -> dict[str, list[str]]:
    """Return the files below folders that contain a word in any form, by word."""
    paths: dict[str, list[str]] = {}
    for path in _files(folders, skip):
        with suppress(OSError):
            for word in words_in(path.read_bytes(), words) | words_in(str(path).encode(), words):
                paths.setdefault(word, []).append(str(path))
    return paths


def open_files(pid: int) -> dict[str, bytes]:
    """Return the contents of the files that a process has open, also of those without a name."""
    contents: dict[str, bytes] = {}
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):
            if link.is_file():
                contents[str(link.readlink())] = link.read_bytes()
    return contents


def words_in(data: bytes, words: Iterable[str]) -> set[str]:
    """Return the words that bytes contain: as text in UTF-8 or UTF-16, in base64, or compressed."""
    texts = [data.lower(), *(text.lower() for text in _decompressed(data))]
    return {word for word in words if any(form in text for form in _forms(word) for text in texts)}


class Witness:
    """Reads what changes below folders again and again, so that it also sees files that are soon removed.

    It leaves out the store, which stays, and is searched at the end.
    """

    def __init__(self, words: Iterable[str], *folders: Path, skip: Sequence[Path] = ()) -> None:
        self.places: dict[str, list[str]] = {}
        self._words, self._folders, self._skip = list(words), folders, skip
        self._seen: dict[Path, tuple[int, int]] = {}
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._is_over.wait(0.02):
            for path in _files(self._folders, self._skip):
                with suppress(OSError):
                    status = path.stat()
                    mark = status.st_mtime_ns, status.st_size
                    if path.name.startswith("memory.db") or self._seen.get(path) == mark:
                        continue
                    self._seen[path] = mark
                    for word in words_in(path.read_bytes(), self._words):
                        self.places.setdefault(word, []).append(str(path))


def _files(folders: Iterable[Path], skip: Sequence[Path]) -> Iterator[Path]:
    for folder in folders:
        with suppress(OSError):
            for path in folder.rglob("*"):
                if not any(path.is_relative_to(other) for other in skip) and path.is_file():
                    yield path


def _forms(word: str) -> Iterator[bytes]:
    yield word.encode()
    yield word.encode("utf-16-le")
    yield word.encode("utf-16-be")
    for shift in range(3):
        # The first and the last letters depend on what stands beside the word.
        yield base64.b64encode(b"." * shift + word.encode())[4:-4].lower()


def _decompressed(data: bytes) -> Iterator[bytes]:
    for start, kind in _STARTS.items():
        place = data.find(start)
        while place >= 0:
            with suppress(OSError, EOFError, zlib.error, zstandard.ZstdError):
                yield _decompress(data[place : place + _MOST_BYTES], kind)
            place = data.find(start, place + 1)


def _decompress(data: bytes, kind: str) -> bytes:
    if kind == "zstd":
        return zstandard.ZstdDecompressor().decompressobj().decompress(data)
    if kind == "gzip":
        return gzip.decompress(data)
    return zlib.decompressobj().decompress(data)
