"""Points written straight into the tables of a PostgreSQL store, with all that a vector search reads."""

from collections import Counter
from collections.abc import Sequence

from tests.fakes.build import DIMENSION, MODEL

from scrubjay.model.memory import State
from scrubjay.model.passage import Point, require_valid_vector
from scrubjay.model.query import facet
from scrubjay.ports import Profile
from scrubjay.storage.postgres import PostgresStore
from scrubjay.storage.postgres.database import Transaction
from scrubjay.storage.postgres.rows import digest_of, labels_of
from scrubjay.storage.rows import STATE_NUMBERS
from scrubjay.vectors.pgvector import PgvectorIndex
from scrubjay.vectors.pgvector_indexes import PgvectorTuning

# An index from the first point on, and every search scans it: other scans have a prohibitive cost.
EAGER = PgvectorTuning(index_from=0, scan_cost=1e9, filtered_cost=1e9, step_cost=1.0)
_STATES = {facet("state", state): state for state in State}


async def profile() -> Profile:
    """Return the model of all points."""
    return Profile(model=MODEL, dimension=DIMENSION)


class WritablePgvectorIndex(PgvectorIndex):
    """An index over a store that receives the applied points."""

    def __init__(self, store: PostgresStore, *, tuning: PgvectorTuning | None = None) -> None:
        super().__init__(store.vector_tables, profile, tuning=tuning)
        self._store = store
        self._points: dict[int, Point] = {}
        self.cursor = 0

    async def apply(self, points: Sequence[Point], stale: Sequence[int], *, cursor: int) -> None:
        """Write points and delete stale ones, as a follower of the log does."""
        for point in points:
            require_valid_vector(point.vector, dimension=DIMENSION)
        changed = [self._points.pop(number) for number in stale if number in self._points]
        changed += [self._points[point.id] for point in points if point.id in self._points]
        self._points |= {point.id: point for point in points}
        for space in dict.fromkeys(point.space for point in (*changed, *points)):
            await put_points(self._store, space, [point for point in self._points.values() if point.space == space])
        self.cursor = cursor


async def put_points(store: PostgresStore, space: str, points: Sequence[Point]) -> None:
    """Replace the points of a space."""

    async def job(transaction: Transaction) -> None:
        await transaction.execute(
            "INSERT INTO scrubjay.models(name, dimension) VALUES (%s, %s) ON CONFLICT DO NOTHING", MODEL, DIMENSION
        )
        for table in ("passages", "vectors", "corpus_totals", "facets"):
            await transaction.execute(f"DELETE FROM scrubjay.{table} WHERE space_no = scrubjay.current_space()")
        await _put_rows(transaction, space, points)
        await _put_counts(transaction, points)

    await store.database.write(job, space=space, create_space=True)


async def add_point(store: PostgresStore, point: Point) -> None:
    """Add one point to its space, as a commit does."""

    async def job(transaction: Transaction) -> None:
        await _put_rows(transaction, point.space, [point])

    await store.database.write(job, space=point.space)


async def _put_rows(transaction: Transaction, space: str, points: Sequence[Point]) -> None:
    states = [_state(point) for point in points]
    words = [
        "{" + ",".join(map(str, labels_of(space, state, _labels(point)))) + "}"
        for point, state in zip(points, states, strict=True)
    ]
    hashes = [point.id.to_bytes(16, "big") for point in points]
    await transaction.execute(
        """INSERT INTO scrubjay.passages(space_no, state, id, date, memory_id, start, stop, hash, terms, words, thread,
             who, asks)
           SELECT scrubjay.current_space(), state, id, date, gen_random_uuid(), 0, 0, hash, '', words::bigint[], id,
             '', 0
           FROM unnest(%s::smallint[], %s::bigint[], %s::bigint[], %s::bytea[], %s::text[])
             AS v(state, id, date, hash, words)""",
        [STATE_NUMBERS[state] for state in states], [point.id for point in points], [point.at for point in points],
        hashes, words,
    )  # fmt: skip
    await transaction.execute(
        """INSERT INTO scrubjay.vectors(space_no, model_no, hash, vector)
             SELECT scrubjay.current_space(), m.no, hash, scrubjay.parse_vector(vector)
           FROM unnest(%s::bytea[], %s::text[]) AS v(hash, vector), scrubjay.models m WHERE m.name = %s""",
        hashes, [str(point.vector.tolist()) for point in points], MODEL,
    )  # fmt: skip


async def _put_counts(transaction: Transaction, points: Sequence[Point]) -> None:
    for state, count in Counter(map(_state, points)).items():
        await transaction.execute(
            "INSERT INTO scrubjay.corpus_totals VALUES (scrubjay.current_space(), %s, %s, %s, 0)",
            STATE_NUMBERS[state], count, count,
        )  # fmt: skip
    counts = Counter((_state(point), label) for point in points for label in _labels(point))
    await transaction.execute(
        """INSERT INTO scrubjay.facets SELECT scrubjay.current_space(), v.* FROM unnest(%s::smallint[], %s::bytea[],
             %s::bigint[], %s::text[]) AS v""",
        [STATE_NUMBERS[state] for state, _ in counts], [digest_of(label) for _, label in counts], list(counts.values()),
        [label.encode("utf-8", "replace").decode().replace("\x00", "?") for _, label in counts],
    )  # fmt: skip


def _state(point: Point) -> State:
    return next(_STATES[label] for label in point.facets if label in _STATES)


def _labels(point: Point) -> list[str]:
    return [label for label in point.facets if label not in _STATES]
