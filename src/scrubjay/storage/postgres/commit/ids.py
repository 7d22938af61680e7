"""The numbers that a commit needs, reserved all at once."""

from collections.abc import Sequence
from dataclasses import dataclass

from scrubjay.storage.codec import Encoded, Encoding
from scrubjay.storage.postgres.commit.rows import Record
from scrubjay.storage.postgres.query import Row, Work
from scrubjay.storage.postgres.sql_files import named_statements

_SQL = named_statements("queries/commit")

Sizes = tuple[int, int, int, int, int]
"""The number of bodies, their plain bytes, their stored bytes, and how many are raw and flagged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserved:
    """Numbers of changes, memories and runs; the last place in the log of the space, and its number of bodies."""

    seqs: Sequence[int]
    memories: Sequence[int]
    runs: Sequence[int]
    last_place: int
    bodies: int


async def reserve(work: Work, sizes: Sizes, *, changes: int, memories: int, runs: int) -> Reserved:
    """Reserve numbers, and add bodies and changes to the totals of the space."""
    rows = await work.rows(_SQL["reserve"], changes, *sizes, changes, memories, runs)
    last_place, bodies, seqs, memory_numbers, run_numbers, work.transaction = rows[0]
    return Reserved(
        seqs=seqs, memories=memory_numbers, runs=run_numbers, last_place=int(last_place), bodies=int(bodies)
    )


def reserved_of(work: Work, row: Row, sizes: Sizes, *, changes: int, memories: int, runs: int) -> Reserved | None:
    """Return the numbers that `prepare_commit` reserved, None when they are too few; it does not update the totals."""
    place, bodies, seqs, memory_numbers, run_numbers, work.transaction = row
    if changes > len(seqs) or memories > len(memory_numbers) or runs > len(run_numbers):
        return None
    return Reserved(
        seqs=seqs[:changes],
        memories=memory_numbers[:memories],
        runs=run_numbers[:runs],
        last_place=int(place) + changes,
        bodies=int(bodies) + sizes[0],
    )


def ledger_row(sizes: Sizes, *, changes: int) -> Record:
    """Return the row that a commit adds to the totals of its space."""
    names = ("bodies", "body_bytes", "stored_bytes", "raw_bodies", "flagged_bodies")
    return {"changes": changes, **dict(zip(names, sizes, strict=True))}


def sizes_of(packed: Sequence[Encoded], *, sign: int = 1) -> Sizes:
    """Return the sizes of bodies that are added, or with sign -1 removed."""
    encodings = [body.encoding for body in packed]
    return (
        sign * len(packed),
        sign * sum(body.size for body in packed),
        sign * sum(len(body.data) for body in packed),
        sign * encodings.count(Encoding.RAW),
        sign * encodings.count(Encoding.FLAGGED),
    )


def sum_of(more: Sizes, less: Sizes) -> Sizes:
    """Return the sum of two sizes."""
    return (more[0] + less[0], more[1] + less[1], more[2] + less[2], more[3] + less[3], more[4] + less[4])
