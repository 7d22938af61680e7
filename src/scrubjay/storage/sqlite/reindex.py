"""Index memories again whose passages were made in an older format."""

from contextlib import closing, suppress
from datetime import UTC, datetime

import apsw

from scrubjay.errors import BodyDamaged
from scrubjay.lazy import dataclass
from scrubjay.model.change import Action, Origin
from scrubjay.model.identity import new_id
from scrubjay.model.passage import passage_id
from scrubjay.storage.plan import CommitPlan, Dependencies
from scrubjay.storage.sqlite.bodies import MEMORY_COLUMNS, MEMORY_TABLES, Row, SqliteBodies
from scrubjay.storage.sqlite.commit import read_state, write_plan
from scrubjay.storage.sqlite.rows import note_reindexed
from scrubjay.text.passages import SHAPE, passages_of

_OUTDATED = f"passage_format < {SHAPE}"
_SIZE = 9  # the position of `v.size` in MEMORY_COLUMNS
_OutdatedRow = tuple[int, bytes, str, int, int | None, int, int, int, bytes, int, bytes, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class PageSize:
    """How much is indexed in one transaction: a fraction of a second, since other writers wait for it."""

    memories: int = 100
    bytes: int = 1024 * 1024


PAGE_SIZE = PageSize()


def is_due(connection: apsw.Connection) -> bool:
    """Return whether any memory has passages in an older format."""
    row = connection.execute(
        f"SELECT 1 FROM memories INDEXED BY memories_passage_format WHERE {_OUTDATED} LIMIT 1"
    ).fetchone()
    return row is not None


def reindex_page(
    connection: apsw.Connection, *, after: int, bodies: SqliteBodies, page: PageSize = PAGE_SIZE
) -> tuple[int, int | None]:
    """Index a page of memories again; return how many, and the number to continue after, if any."""
    done, (rows, is_last) = 0, _outdated_rows(connection, after=after, page=page)
    for row in rows:
        # A damaged memory keeps its old passages: they are all that is left of it.
        with suppress(BodyDamaged):
            _reindex(connection, row[:-1], space_no=row[-1], bodies=bodies)
            done += 1
    if done:
        note_reindexed(connection)
    return done, None if is_last else int(rows[-1][0])


def _outdated_rows(connection: apsw.Connection, *, after: int, page: PageSize) -> tuple[list[_OutdatedRow], bool]:
    """Return the next outdated memories, and whether they are the last; at least one if any is left, however large."""
    rows: list[_OutdatedRow] = []
    size = 0
    cursor = connection.execute(
        f"""SELECT {MEMORY_COLUMNS}, m.space_no
            FROM {MEMORY_TABLES.replace("memories m", "memories m INDEXED BY memories_passage_format")}
            WHERE m.{_OUTDATED} AND m.no > ? ORDER BY m.no LIMIT ?""",
        (after, page.memories),
    )
    # Row by row, so that no large body is fetched that does not fit.
    with closing(cursor):
        for row in cursor:
            rows.append(row)
            size += int(row[_SIZE])
            if size >= page.bytes:
                break
    return rows, len(rows) < page.memories and size < page.bytes


def _reindex(connection: apsw.Connection, row: Row, *, space_no: int, bodies: SqliteBodies) -> None:
    number, memory = row[0], bodies.read_memory(connection, row)
    state = read_state(connection, Dependencies(memory_ids=[memory.id]), space_no=space_no)
    plan = CommitPlan(Origin(at=datetime.now(UTC), run=new_id(), agent=""), state)
    passages = passages_of(memory)
    plan.put(memory, memory.id, passages, reindex=True)
    # A vector index holds hashes and facets but no terms: mostly nothing changes for it, and the log need not say so.
    before, after = plan.before[memory.id], plan.after[memory.id]
    if (before.facets, _hashes(connection, number)) != (after.facets, [passage.hash for passage in passages]):
        plan.log_again(memory.id, Action.EMBEDDED)
    write_plan(connection, plan, space_no=space_no, bodies=bodies)


def _hashes(connection: apsw.Connection, number: int) -> list[bytes]:
    """Return the hashes of the texts that a memory is indexed by."""
    rows = connection.execute(
        "SELECT hash FROM passages WHERE id >= ? AND id < ? ORDER BY id",
        (passage_id(number, 0), passage_id(number + 1, 0)),
    )
    return [bytes(digest) for (digest,) in rows]
