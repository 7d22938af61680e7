"""Uploads of lines, over the socket or HTTP."""

import secrets
import tempfile
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import IO, TYPE_CHECKING

from scrubjay.errors import InvalidInput

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext

_CHUNK_BYTES = 1024 * 1024
_KEY_BYTES = 32
_NONCE_BYTES = 16


class UploadBuffer:
    """Uploaded lines, in a temporary file: an import reads them more than once.

    `encrypted`: the file holds nothing in clear, and the key of its own is only in memory.
    """

    def __init__(self, *, encrypted: bool = False) -> None:
        self._file: IO[bytes] | None = None
        self._encrypted = encrypted
        self._cipher: Cipher[None] | None = None
        self._encryptor: CipherContext | None = None

    def add(self, lines: Iterable[str | bytes]) -> None:
        """Append lines."""
        if self._file is None:
            # An unnamed file: the system removes it even if the process is killed.
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`
            if self._encrypted:
                self._cipher = _new_cipher()
                self._encryptor = self._cipher.encryptor()
        for line in lines:
            raw = line.encode("utf-8", "surrogatepass") if isinstance(line, str) else line
            raw = raw.rstrip(b"\n") + b"\n"
            self._file.write(self._encryptor.update(raw) if self._encryptor else raw)

    @property
    def is_empty(self) -> bool:
        """Whether the buffer has no lines."""
        return self._file is None

    def lines(self) -> Iterator[str]:
        """Yield all lines from the first; raise InvalidInput for a line that is not UTF-8."""
        if self._file is None:
            return
        self._file.seek(0)
        stored = self._decrypted_lines(self._file) if self._cipher else self._file
        for number, line in enumerate(stored, start=1):
            try:
                text = line.decode("utf-8", "surrogatepass")
            except UnicodeDecodeError as error:
                raise InvalidInput(
                    f"line {number:,} is not UTF-8 at byte {error.start:,}", hint="Export it again, or convert it"
                ) from None
            yield text

    def _decrypted_lines(self, file: IO[bytes]) -> Iterator[bytes]:
        assert self._cipher is not None
        decryptor, rest = self._cipher.decryptor(), b""
        while chunk := file.read(_CHUNK_BYTES):
            *lines, rest = (rest + decryptor.update(chunk)).split(b"\n")
            yield from (line + b"\n" for line in lines)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    async def read_from(self, lines: AsyncIterator[bytes]) -> None:
        """Append all lines of a stream; close the buffer if the stream fails."""
        try:
            async for line in lines:
                self.add([line])
        except BaseException:
            self.close()
            raise


def _new_cipher() -> "Cipher[None]":
    """Return a stream cipher with a new key."""
    # Loaded on demand: few stores are encrypted.
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms  # noqa: PLC0415

    return Cipher(algorithms.ChaCha20(secrets.token_bytes(_KEY_BYTES), bytes(_NONCE_BYTES)), mode=None)
