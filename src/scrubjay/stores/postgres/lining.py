"""Stored bodies, and the newer ones that some of them are told by."""

from collections.abc import Sequence
from typing import NamedTuple

from scrubjay.stores.codec import Encoded, Encoding
from scrubjay.stores.packing import Kept
from scrubjay.stores.postgres.asking import Row

# What `Body` needs of a version, in order.
BODY_COLUMNS = "v.encoding, v.dictionary, v.sha256, v.size, v.body"
# The versions from after one up to the first that is whole after another.
NEWER = f"""SELECT k.no, v.number, {BODY_COLUMNS}
    FROM unnest(%s::bigint[], %s::integer[], %s::integer[]) AS k(no, low, high)
    CROSS JOIN LATERAL (SELECT * FROM scrubjay.versions q
      WHERE q.space_no = scrubjay.here() AND q.memory_no = k.no AND q.number > k.low AND q.number <= (
        SELECT min(w.number) FROM scrubjay.versions w WHERE w.space_no = scrubjay.here() AND w.memory_no = k.no
          AND w.number > k.high AND w.encoding <> {int(Encoding.DELTA)})) AS v"""


class Body(NamedTuple):
    """A stored body, whose it is, and the versions after it as far as it takes to read it."""

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
        """Whether all is there that it takes to read it."""
        last = self.newer[-1].encoded if self.newer else self.encoded
        return last.encoding is not Encoding.DELTA


def linked(bodies: Sequence[Body], others: Sequence[tuple[int, Kept]] = ()) -> list[Body]:
    """Bodies with the newer ones that they are told by, which are found among themselves and some others."""
    if all(body.is_complete for body in bodies):
        return list(bodies)
    lines: dict[int, dict[int, Kept]] = {}
    for number, kept in (*others, *((body.memory_no, body.kept) for body in bodies)):
        lines.setdefault(number, {})[kept.number] = kept
    in_order = {number: sorted(line.values()) for number, line in lines.items()}
    return [body if body.is_complete else body._replace(newer=_after(body, in_order)) for body in bodies]


def spans(bodies: Sequence[Body]) -> tuple[list[int], list[int], list[int]]:
    """The values that NEWER asks for: memories, and between which of their versions some are missing."""
    found: dict[int, list[int]] = {}
    for body in bodies:
        if not body.is_complete:
            found.setdefault(body.memory_no, []).append(body.version)
    return list(found), [min(numbers) for numbers in found.values()], [max(numbers) for numbers in found.values()]


def memory_body(row: Row) -> Body:
    """The body of a row of `get_1`."""
    number, memory_id, version, accessed, count, *packed = row
    return Body(encoded_of(packed), str(memory_id), version, number, accessed, count)


def encoded_of(packed: Sequence[object]) -> Encoded:
    """A body from the values of BODY_COLUMNS."""
    encoding, dictionary, sha256, size, data = packed
    assert isinstance(sha256, bytes)
    assert isinstance(data, bytes)
    return Encoded(data, Encoding(encoding), int(str(dictionary)), sha256, int(str(size)))


def _after(body: Body, lines: dict[int, list[Kept]]) -> tuple[Kept, ...]:
    newer: list[Kept] = []
    for kept in lines[body.memory_no]:
        if kept.number > body.version:
            newer.append(kept)
            if kept.encoded.encoding is not Encoding.DELTA:
                break
    return tuple(newer)
