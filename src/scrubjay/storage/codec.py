"""Bodies to bytes and back: compact or JSON, compressed by zstd with a dictionary or a newer body, and a checksum."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from enum import IntEnum
from functools import cache, cached_property
from importlib.resources import files
from typing import TypeVar

import zstandard

from scrubjay.errors import BodyDamaged
from scrubjay.lazy import dataclass
from scrubjay.model.memory import Json
from scrubjay.storage.compact import from_compact, head_bytes, is_compact, to_compact, to_json, values_of_compact

# Below this a zstd frame saves nothing worth a decompression.
SMALLEST_COMPRESSED = 100
_SMALLEST_TEXT = 40
# Level 12 takes some 50 microseconds for one sentence; higher levels gain next to nothing on texts this short.
_LEVEL = 12
# A lower level finds the similarity to a newer body as well, or better; for large bodies a still lower one is enough.
_DELTA_LEVEL = 7
_LARGE_BYTES, _LARGE_DELTA_LEVEL = 64 * 1024, 3
_GENERIC = 0
# Enough to detect damage.
_CHECKSUM_BYTES = 8
_DICTIONARY_BYTES = 112_640
_MAX_BODY_BYTES = 256 * 1024 * 1024
_SHORT_BODY = 64 * 1024

T = TypeVar("T")


class Encoding(IntEnum):
    """How the bytes of a body are encoded."""

    RAW = 0
    ZSTD = 1
    FLAGGED = 2  # raw because the compression failed
    DELTA = 3  # the difference from the next newer version


@dataclass(frozen=True, slots=True)
class Encoded:
    """A body as it is stored."""

    data: bytes
    encoding: Encoding
    dictionary: int
    sha256: bytes
    # The bytes of the body as JSON, so that compression is measured in the same way whatever the form.
    size: int


class Dictionary:
    """A trained dictionary with its number; safe for several threads."""

    def __init__(self, number: int, data: bytes, *, json_data: bytes = b"") -> None:
        """`json_data`: another dictionary for bodies that are JSON."""
        self.number = number
        self.data = data
        self._text = _Packing(data, zstandard.FORMAT_ZSTD1_MAGICLESS)
        self._json_data = json_data or data

    def compress(self, plain: bytes) -> bytes:
        """Compress with this dictionary, except the times at the head of a compact body, which are like noise."""
        if not is_compact(plain):
            return self._json.compress(plain)
        head = head_bytes(plain)
        return plain[:head] + self._text.compress(plain[head:])

    def decompress(self, data: bytes) -> bytes:
        """Decompress data that this dictionary compressed; raises BodyDamaged for other data."""
        try:
            if not is_compact(data):
                return self._json.decompress(data)
            head = head_bytes(data)
            return data[:head] + self._text.decompress(data[head:])
        except (zstandard.ZstdError, MemoryError) as error:
            # The head of a damaged frame may name a size beyond all memory.
            raise BodyDamaged("the stored body cannot be decompressed") from error

    @cached_property
    def _json(self) -> "_Packing":
        # Few bodies are JSON, except those of earlier versions.
        return _Packing(self._json_data, zstandard.FORMAT_ZSTD1)


class _Packing:
    """A dictionary that is ready to compress and to decompress frames of one format."""

    def __init__(self, data: bytes, frame: int) -> None:
        # Without the checksum and the dictionary id in the frame each body is shorter; both are stored in its row.
        self._parameters = zstandard.ZstdCompressionParameters.from_level(
            _LEVEL, write_content_size=True, write_checksum=False, write_dict_id=False, format=frame
        )
        self._compression = zstandard.ZstdCompressionDict(data)
        self._compression.precompute_compress(compression_params=self._parameters)
        self._decompression = zstandard.ZstdCompressionDict(data)
        self._frame = frame
        # Those that no thread uses at the moment: a new one takes as long as six bodies, or thirty to decompress.
        self._compressors: list[zstandard.ZstdCompressor] = []
        self._decompressors: list[zstandard.ZstdDecompressor] = []

    def compress(self, plain: bytes) -> bytes:
        compressor = _take(self._compressors) or zstandard.ZstdCompressor(
            dict_data=self._compression, compression_params=self._parameters
        )
        packed = compressor.compress(plain)
        # After a long body it would keep much memory.
        if len(plain) <= _SHORT_BODY:
            self._compressors.append(compressor)
        return packed

    def decompress(self, data: bytes) -> bytes:
        decompressor = _take(self._decompressors) or zstandard.ZstdDecompressor(
            dict_data=self._decompression, format=self._frame
        )
        plain = decompressor.decompress(data, max_output_size=_MAX_BODY_BYTES)
        if len(plain) <= _SHORT_BODY:
            self._decompressors.append(decompressor)
        return plain


def _take(idle: list[T]) -> T | None:
    try:
        return idle.pop()
    except IndexError:
        # All are in use: threads must not share one.
        return None


@cache
def generic_dictionary() -> Dictionary:
    """Return the dictionary that ships with Scrubjay, for spaces too small to have their own."""
    # Neither file may ever change: bodies were compressed with them.
    text, of_json = (files("scrubjay.storage").joinpath(name).read_bytes() for name in ("prose.dict", "generic.dict"))
    return Dictionary(_GENERIC, text, json_data=of_json)


def encode(body: Mapping[str, Json], *, dictionary: Dictionary) -> Encoded:
    """Return a body as bytes: compact if it has that form, compressed if that makes it smaller."""
    as_json = to_json(body)
    return _pack(to_compact(body) or as_json, dictionary=dictionary, size=len(as_json))


def pack(plain: bytes, *, dictionary: Dictionary) -> Encoded:
    """Return the plain bytes of a body in their stored form; they stay the same, whichever form they have."""
    return _pack(plain, dictionary=dictionary, size=len(to_json(parse(plain))) if is_compact(plain) else len(plain))


def encode_delta(encoded: Encoded, plain: bytes, *, newer: bytes) -> Encoded:
    """Return a body as its difference from a newer one, if that is smaller than its present form."""
    parameters = zstandard.ZstdCompressionParameters.from_level(
        _DELTA_LEVEL if len(plain) <= _LARGE_BYTES else _LARGE_DELTA_LEVEL,
        source_size=len(plain), dict_size=len(newer), write_content_size=False,
        write_checksum=False, write_dict_id=False, format=zstandard.FORMAT_ZSTD1_MAGICLESS,
    )  # fmt: skip
    try:
        compressor = zstandard.ZstdCompressor(dict_data=_raw(newer), compression_params=parameters)
        packed = compressor.compress(plain)
    except (zstandard.ZstdError, MemoryError):
        return encoded
    if len(packed) >= len(encoded.data):
        return encoded
    return Encoded(packed, Encoding.DELTA, _GENERIC, encoded.sha256, encoded.size)


def unpack(encoded: Encoded, *, dictionary: Dictionary, newer: bytes = b"") -> bytes:
    """Return the plain bytes of a body, given the newer one for a delta; raises BodyDamaged."""
    plain = encoded.data
    if encoded.encoding is Encoding.ZSTD:
        plain = dictionary.decompress(encoded.data)
    elif encoded.encoding is Encoding.DELTA:
        plain = _apply_delta(encoded, newer)
    checksum = encoded.sha256
    if len(checksum) < _CHECKSUM_BYTES or hashlib.sha256(plain).digest()[: len(checksum)] != checksum:
        raise BodyDamaged("the stored body does not match its checksum")
    return plain


def decode(encoded: Encoded, *, dictionary: Dictionary) -> dict[str, Json]:
    """Return the body of stored bytes; raises BodyDamaged if they are not those that were written."""
    return parse(unpack(encoded, dictionary=dictionary))


def parse(plain: bytes) -> dict[str, Json]:
    """Return the body of plain bytes."""
    if is_compact(plain):
        return from_compact(plain)
    body: dict[str, Json] = json.loads(plain.decode("utf-8", "surrogatepass"))
    return body


def parse_values(plain: bytes) -> Mapping[str, Json | datetime]:
    """Return the same for reading a memory: the times that the compact form has as numbers never become texts."""
    return values_of_compact(plain) if is_compact(plain) else parse(plain)


def train(samples: Sequence[bytes], *, number: int) -> Dictionary | None:
    """Return a dictionary trained on plain bodies of a space, or None if they are too few or too similar."""
    texts = [_text(plain) for plain in samples]
    size = min(_DICTIONARY_BYTES, sum(map(len, texts)) // 10)
    try:
        return Dictionary(number, zstandard.train_dictionary(size, list(texts), level=_LEVEL).as_bytes())
    except (zstandard.ZstdError, ValueError):
        return None


def _text(plain: bytes) -> bytes:
    """Return what is compressed of a body that is written today: what a dictionary is trained on."""
    compact = plain if is_compact(plain) else None
    if compact is None:
        with suppress(ValueError):
            compact = to_compact(parse(plain))
    return plain if compact is None else compact[head_bytes(compact) :]


def _pack(plain: bytes, *, dictionary: Dictionary, size: int) -> Encoded:
    digest = hashlib.sha256(plain).digest()[:_CHECKSUM_BYTES]
    raw = Encoded(plain, Encoding.RAW, _GENERIC, digest, size)
    if len(plain) < (_SMALLEST_TEXT if is_compact(plain) else SMALLEST_COMPRESSED):
        return raw
    try:
        packed = dictionary.compress(plain)
    except (zstandard.ZstdError, MemoryError):
        return Encoded(plain, Encoding.FLAGGED, _GENERIC, digest, size)
    if len(packed) >= len(plain):
        return raw
    return Encoded(packed, Encoding.ZSTD, dictionary.number, digest, size)


def _apply_delta(encoded: Encoded, newer: bytes) -> bytes:
    decompressor = zstandard.ZstdDecompressor(dict_data=_raw(newer), format=zstandard.FORMAT_ZSTD1_MAGICLESS)
    try:
        return decompressor.decompress(encoded.data, max_output_size=max(encoded.size, 1))
    except (zstandard.ZstdError, MemoryError) as error:
        raise BodyDamaged("the stored difference cannot be applied") from error


def _raw(content: bytes) -> zstandard.ZstdCompressionDict:
    return zstandard.ZstdCompressionDict(content, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
