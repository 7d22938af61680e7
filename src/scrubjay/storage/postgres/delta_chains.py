"""Stored bodies, and the newer versions that the deltas among them need."""

from collections.abc import Sequence
from typing import NamedTuple

from scrubjay.storage.body_cache import Kept
from scrubjay.storage.codec import Encoded, Encoding
from scrubjay.storage.postgres.query import Row


class Body(NamedTuple):
    """A stored body, the memory it belongs to, and the newer versions that its decompression needs."""

    encoded: Encoded
    memory_id: str
    version: int
    memory_no: int = 0
    accessed: int | None = None
    readings: int = 0
    newer: tuple[Kept, ...] = ()

    @property
    def kept(self) -> Kept:
        """The version alone."""
        return Kept(self.version, self.encoded)

    @property
    def is_complete(self) -> bool:
        """Whether it is whole, or ends in a version that is."""
        last = self.newer[-1].encoded if self.newer else self.encoded
        return last.encoding is not Encoding.DELTA


def linked(bodies: Sequence[Body], others: Sequence[tuple[int, Kept]] = ()) -> list[Body]:
    """Return bodies with the newer versions that they need, taken from themselves and from others by memory number."""
    if all(body.is_complete for body in bodies):
        return list(bodies)
    versions: dict[int, dict[int, Kept]] = {}
    for memory_no, version in (*others, *((body.memory_no, body.kept) for body in bodies)):
        versions.setdefault(memory_no, {})[version.number] = version
    in_order = {memory_no: sorted(by_number.values()) for memory_no, by_number in versions.items()}
    return [
        body if body.is_complete else body._replace(newer=_newer(body, in_order[body.memory_no])) for body in bodies
    ]


def spans(bodies: Sequence[Body]) -> tuple[list[int], list[int], list[int]]:
    """Return the memories of incomplete bodies, with the lowest and highest incomplete version of each."""
    incomplete: dict[int, list[int]] = {}
    for body in bodies:
        if not body.is_complete:
            incomplete.setdefault(body.memory_no, []).append(body.version)
    lows, highs = ([choose(numbers) for numbers in incomplete.values()] for choose in (min, max))
    return list(incomplete), lows, highs


def memory_body(row: Row) -> Body:
    """Return the body of a row of `get_memories`."""
    number, memory_id, version, accessed, count, *packed = row
    return Body(encoded_of(packed), str(memory_id), version, number, accessed, count)


def encoded_of(packed: Sequence[object]) -> Encoded:
    """Return a body from its columns: encoding, dictionary, sha256, size, body."""
    encoding, dictionary, sha256, size, data = packed
    assert isinstance(sha256, bytes)
    assert isinstance(data, bytes)
    return Encoded(data, Encoding(encoding), int(str(dictionary)), sha256, int(str(size)))


def _newer(body: Body, versions: Sequence[Kept]) -> tuple[Kept, ...]:
    newer: list[Kept] = []
    for version in versions:
        if version.number > body.version:
            newer.append(version)
            if version.encoded.encoding is not Encoding.DELTA:
                break
    return tuple(newer)
