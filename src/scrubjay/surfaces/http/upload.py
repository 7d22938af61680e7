"""Lines that a caller sends."""

import tempfile
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import IO

from scrubjay.errors import InvalidInput, TooLarge

_LONGEST_LINE = 16 * 1024 * 1024


class UploadBuffer:
    """Lines that a caller sends, kept in a file until all are there: they are read more than once."""

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None

    def add(self, lines: Iterable[str | bytes]) -> None:
        """Keep some more."""
        if self._file is None:
            # It vanishes with the process, however that ends.
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`
        for line in lines:
            raw = line.encode("utf-8", "surrogatepass") if isinstance(line, str) else line
            self._file.write(raw.rstrip(b"\n") + b"\n")

    @property
    def is_empty(self) -> bool:
        """Whether there is not even one."""
        return self._file is None

    def lines(self) -> Iterator[str]:
        """All of them, from the first on."""
        if self._file is None:
            return
        self._file.seek(0)
        for number, line in enumerate(self._file, start=1):
            yield _text(line, number)

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()

    async def take(self, lines: AsyncIterator[bytes]) -> None:
        """Keep all that come; nothing, when they break off."""
        try:
            async for line in lines:
                self.add([line])
        except BaseException:
            self.close()
            raise


async def lines_of(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The lines of a stream of bytes, the last one also without an end."""
    rest = b""
    async for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) > _LONGEST_LINE:
            raise TooLarge(f"a line of the body is longer than {_LONGEST_LINE:,} bytes", limit=_LONGEST_LINE)
        for line in lines:
            yield line
    if rest:
        yield rest


def _text(line: bytes, number: int) -> str:
    try:
        return line.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"line {number:,} is not UTF-8 at byte {error.start:,}", hint="Export it again, or convert it"
        ) from None
