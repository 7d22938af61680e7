"""The numbers that a commit needs, taken all at once."""

from collections.abc import Sequence
from dataclasses import dataclass

from scrubjay.stores.codec import Encoded, Encoding
from scrubjay.stores.postgres.asking import Row, Work
from scrubjay.stores.postgres.keeping import Record

Sizes = tuple[int, int, int, int, int]
"""How many bodies, their bytes, the bytes they take, and how many are raw, and flagged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserved:
    """Numbers of changes, memories and runs; the last place of the space's log, and how many bodies it has."""

    seqs: Sequence[int]
    memories: Sequence[int]
    runs: Sequence[int]
    last_place: int
    bodies: int


async def reserve(work: Work, sizes: Sizes, *, changes: int, memories: int, runs: int) -> Reserved:
    """Take numbers, and count bodies and changes in the ledger of the space."""
    rows = await work.rows(_RESERVE, changes, *sizes, changes, memories, runs)
    last_place, bodies, seqs, memory_numbers, run_numbers, work.transaction = rows[0]
    return Reserved(
        seqs=seqs, memories=memory_numbers, runs=run_numbers, last_place=int(last_place), bodies=int(bodies)
    )


def reserved_of(work: Work, row: Row, sizes: Sizes, *, changes: int, memories: int, runs: int) -> Reserved | None:
    """The numbers that were taken beforehand; None when they do not suffice. The ledger is still to be written."""
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
    """What a commit adds to the ledger of its space."""
    names = ("bodies", "body_bytes", "stored_bytes", "raw_bodies", "flagged_bodies")
    return {"changes": changes, **dict(zip(names, sizes, strict=True))}


def sizes_of(packed: Sequence[Encoded], *, sign: int = 1) -> Sizes:
    """What bodies come to, added or taken away."""
    encodings = [body.encoding for body in packed]
    return (
        sign * len(packed),
        sign * sum(body.size for body in packed),
        sign * sum(len(body.data) for body in packed),
        sign * encodings.count(Encoding.RAW),
        sign * encodings.count(Encoding.FLAGGED),
    )


def sum_of(more: Sizes, less: Sizes) -> Sizes:
    """What two come to together."""
    return (more[0] + less[0], more[1] + less[1], more[2] + less[2], more[3] + less[3], more[4] + less[4])


_RESERVE = """UPDATE scrubjay.ledgers SET changes = changes + %s, bodies = bodies + %s, body_bytes = body_bytes + %s,
      stored_bytes = stored_bytes + %s, raw_bodies = raw_bodies + %s, flagged_bodies = flagged_bodies + %s
    WHERE space_no = scrubjay.here()
    RETURNING changes, bodies, scrubjay.reserve(%s),
      ARRAY(SELECT nextval('scrubjay.memory_numbers') FROM generate_series(1, %s)),
      ARRAY(SELECT nextval('scrubjay.run_numbers') FROM generate_series(1, %s)), pg_current_xact_id()::text"""
