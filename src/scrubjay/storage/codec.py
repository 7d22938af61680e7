"""Bodies to bytes and back: JSON, zstd with a dictionary or with a newer body, and a checksum of the plain text."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from importlib.resources import files

import zstandard

from scrubjay.errors import BodyDamaged
from scrubjay.model.memory import Json

# Below this a zstd frame saves nothing worth a decompression.
SMALLEST_COMPRESSED = 100
# Level 12 on one sentence costs some 50 microseconds; higher levels gain next to nothing on texts this short.
_LEVEL = 12
# Where a body is much like another, a lower level finds that as well, or better; a still lower one if both are large.
_ALIKE_LEVEL = 7
_LARGE, _QUICK_LEVEL = 64 * 1024, 3
_GENERIC = 0
# Enough to tell damage, which is all that it is for; bodies from before have all 32 bytes.
_CHECKSUM_BYTES = 8
_DICTIONARY_BYTES = 112_640
_LARGEST_BODY = 256 * 1024 * 1024


class Encoding(IntEnum):
    """How the bytes of a body are to be read."""

    RAW = 0
    ZSTD = 1
    FLAGGED = 2  # raw because compression failed: worth a look
    DELTA = 3  # how it differs from the next newer version


@dataclass(frozen=True, slots=True)
class Encoded:
    """A body as it is stored."""

    data: bytes
    encoding: Encoding
    dictionary: int
    sha256: bytes
    size: int


class Dictionary:
    """A trained dictionary with its number, ready for use from any thread."""

    def __init__(self, number: int, data: bytes) -> None:
        self.number = number
        self.data = data
        # Without the content size and dictionary id in the frame each body is 6 bytes shorter; both are kept beside it.
        self._parameters = zstandard.ZstdCompressionParameters.from_level(
            _LEVEL, write_content_size=True, write_checksum=False, write_dict_id=False
        )
        self._compression = zstandard.ZstdCompressionDict(data)
        self._compression.precompute_compress(compression_params=self._parameters)
        self._decompression = zstandard.ZstdCompressionDict(data)

    def compress(self, plain: bytes) -> bytes:
        """Compress with this dictionary."""
        # Compressors must not be shared between threads; with a precomputed dictionary making one costs little.
        compressor = zstandard.ZstdCompressor(dict_data=self._compression, compression_params=self._parameters)
        return compressor.compress(plain)

    def decompress(self, data: bytes) -> bytes:
        """Decompress what this dictionary compressed; raises BodyDamaged for anything else."""
        decompressor = zstandard.ZstdDecompressor(dict_data=self._decompression)
        try:
            return decompressor.decompress(data, max_output_size=_LARGEST_BODY)
        except zstandard.ZstdError as error:
            raise BodyDamaged("the stored body cannot be decompressed") from error


@cache
def generic_dictionary() -> Dictionary:
    """The dictionary that ships with Scrubjay, for spaces too young to have their own."""
    return Dictionary(_GENERIC, files("scrubjay.storage").joinpath("generic.dict").read_bytes())


def encode(body: Mapping[str, Json], *, dictionary: Dictionary) -> Encoded:
    """A body as bytes: compressed when that makes it smaller, raw otherwise, never lost."""
    plain = json.dumps(body, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return pack(plain.encode("utf-8", "surrogatepass"), dictionary=dictionary)


def pack(plain: bytes, *, dictionary: Dictionary) -> Encoded:
    """The same for a body that is plain bytes already."""
    digest = hashlib.sha256(plain).digest()[:_CHECKSUM_BYTES]
    raw = Encoded(plain, Encoding.RAW, _GENERIC, digest, len(plain))
    if len(plain) < SMALLEST_COMPRESSED:
        return raw
    try:
        packed = dictionary.compress(plain)
    except (zstandard.ZstdError, MemoryError):
        return Encoded(plain, Encoding.FLAGGED, _GENERIC, digest, len(plain))
    if len(packed) >= len(plain):
        return raw
    return Encoded(packed, Encoding.ZSTD, dictionary.number, digest, len(plain))


def difference(encoded: Encoded, plain: bytes, *, newer: bytes) -> Encoded:
    """A body as what it differs in from a newer one, if that is smaller than what it is now."""
    parameters = zstandard.ZstdCompressionParameters.from_level(
        _ALIKE_LEVEL if len(plain) <= _LARGE else _QUICK_LEVEL, source_size=len(plain), dict_size=len(newer),
        write_content_size=False, write_checksum=False, write_dict_id=False, format=zstandard.FORMAT_ZSTD1_MAGICLESS,
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
    """The plain bytes of a body, given the newer one that it may differ from; raises BodyDamaged."""
    plain = encoded.data
    if encoded.encoding is Encoding.ZSTD:
        plain = dictionary.decompress(encoded.data)
    elif encoded.encoding is Encoding.DELTA:
        plain = _applied(encoded, newer)
    told = encoded.sha256
    if len(told) < _CHECKSUM_BYTES or hashlib.sha256(plain).digest()[: len(told)] != told:
        raise BodyDamaged("the stored body does not match its checksum")
    return plain


def decode(encoded: Encoded, *, dictionary: Dictionary) -> dict[str, Json]:
    """The body that the bytes hold; raises BodyDamaged when they are not what was written."""
    return parse(unpack(encoded, dictionary=dictionary))


def parse(plain: bytes) -> dict[str, Json]:
    """The body that plain bytes tell."""
    found: dict[str, Json] = json.loads(plain.decode("utf-8", "surrogatepass"))
    return found


def train(samples: Sequence[bytes], *, number: int) -> Dictionary | None:
    """A dictionary made from bodies of a space, or None when they are too few or too alike to learn from."""
    size = min(_DICTIONARY_BYTES, sum(map(len, samples)) // 10)
    try:
        return Dictionary(number, zstandard.train_dictionary(size, list(samples), level=_LEVEL).as_bytes())
    except (zstandard.ZstdError, ValueError):
        return None


def _applied(encoded: Encoded, newer: bytes) -> bytes:
    decompressor = zstandard.ZstdDecompressor(dict_data=_raw(newer), format=zstandard.FORMAT_ZSTD1_MAGICLESS)
    try:
        return decompressor.decompress(encoded.data, max_output_size=max(encoded.size, 1))
    except zstandard.ZstdError as error:
        raise BodyDamaged("the stored difference cannot be applied") from error


def _raw(content: bytes) -> zstandard.ZstdCompressionDict:
    return zstandard.ZstdCompressionDict(content, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
