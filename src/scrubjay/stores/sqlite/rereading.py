"""Reading anew what was stored when texts were taken apart in another way."""

from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime

import apsw

from scrubjay.errors import BodyDamaged
from scrubjay.model.change import Action, Origin
from scrubjay.model.identity import new_id
from scrubjay.model.passage import passage_id
from scrubjay.stores.rows import STATES
from scrubjay.stores.sqlite.bodies import MEMORY_COLUMNS, MEMORY_TABLES, Bodies, Row
from scrubjay.stores.sqlite.entries import Entry
from scrubjay.stores.sqlite.log import append_change, run_number
from scrubjay.stores.sqlite.records import reindex, stored_facets, update_memory
from scrubjay.stores.sqlite.rows import lexicon_number
from scrubjay.text.passages import SHAPE, passages_of

_OLD = f"shape < {SHAPE}"
_SIZE = 9  # of MEMORY_COLUMNS
_OldRow = tuple[int, bytes, str, int, int | None, int, int, int, bytes, int, bytes, int, int, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """How much is read anew at once, in a fraction of a second: whoever writes meanwhile waits no longer than that."""

    memories: int = 100
    size: int = 1024 * 1024


PAGE = Page()


def is_due(connection: apsw.Connection) -> bool:
    """Whether there is anything that was stored in another way."""
    found = connection.execute(f"SELECT 1 FROM memories INDEXED BY memories_shape WHERE {_OLD} LIMIT 1").fetchone()
    return found is not None


def reread(connection: apsw.Connection, *, after: int, bodies: Bodies, page: Page = PAGE) -> tuple[int, int | None]:
    """Index a page of memories anew; returns how many, and the number to go on after, if any."""
    done, (rows, is_last) = 0, _old(connection, after=after, page=page)
    for row in rows:
        # What cannot be read is found as it was before: its old rows are all that is left of it.
        with suppress(BodyDamaged):
            _index_anew(connection, row[:-3], space_no=row[-3], state=row[-2], passages=row[-1], bodies=bodies)
            done += 1
    return done, None if is_last else int(rows[-1][0])


def _old(connection: apsw.Connection, *, after: int, page: Page) -> tuple[list[_OldRow], bool]:
    """The next that are old, and whether there are no more: at least one, if any is left, however large."""
    rows: list[_OldRow] = []
    size = 0
    found = connection.execute(
        f"""SELECT {MEMORY_COLUMNS}, m.space_no, m.state, m.passages
            FROM {MEMORY_TABLES.replace("memories m", "memories m INDEXED BY memories_shape")}
            WHERE m.{_OLD} AND m.no > ? ORDER BY m.no LIMIT ?""",
        (after, page.memories),
    )
    # Row by row: of large bodies no more are fetched than are read.
    with closing(found):
        for row in found:
            rows.append(row)
            size += int(row[_SIZE])
            if size >= page.size:
                break
    return rows, len(rows) < page.memories and size < page.size


def _index_anew(
    connection: apsw.Connection, row: Row, *, space_no: int, state: int, passages: int, bodies: Bodies
) -> None:
    number, memory = row[0], bodies.read_memory(connection, row)
    before = _told(connection, number)
    update_memory(connection, number, memory)
    former = Entry(lexicon_number(space_no, STATES[state]), before[0])
    reindex(connection, number, memory, passages_of(memory), space_no=space_no, former=former)
    # A vector index knows hashes, facets and how many there are, and nothing of terms: mostly it need not hear of this.
    if _told(connection, number) != before:
        origin = Origin(at=datetime.now(UTC), run=new_id(), agent="")
        append_change(
            connection, space_no=space_no, run_no=run_number(connection, space_no, origin), number=number,
            action=Action.EMBEDDED, version=memory.version, base=memory.version, passages_before=passages, at=origin.at,
        )  # fmt: skip


def _told(connection: apsw.Connection, number: int) -> tuple[tuple[str, ...], list[tuple[bytes]]]:
    """What the points of an index are made of."""
    hashes = connection.execute(
        "SELECT hash FROM passages WHERE id >= ? AND id < ? ORDER BY id",
        (passage_id(number, 0), passage_id(number + 1, 0)),
    ).fetchall()
    return stored_facets(connection, number), hashes
