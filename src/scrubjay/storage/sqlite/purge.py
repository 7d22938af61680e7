"""Purge memories: afterwards no file of the store holds a word of them."""

from collections.abc import Sequence
from contextlib import suppress

import apsw

from scrubjay.errors import BodyDamaged
from scrubjay.model.change import Origin
from scrubjay.storage.plan import Counts, Dependencies, IndexEntry, plan_purge
from scrubjay.storage.rows import canonical_ids, id_bytes
from scrubjay.storage.sql_files import read_statements
from scrubjay.storage.sqlite.bodies import BODY_COLUMNS, SqliteBodies
from scrubjay.storage.sqlite.commit import make_space, read_state
from scrubjay.storage.sqlite.documents import delete_documents_about
from scrubjay.storage.sqlite.log import append_changes, assign_runs
from scrubjay.storage.sqlite.postings import unindex_passages, write_counts
from scrubjay.storage.sqlite.rows import note_purge
from scrubjay.storage.sqlite.vectors import delete_unused
from scrubjay.text.passages import passages_of

_SQL = read_statements("sqlite/commit")


def purge(connection: apsw.Connection, space: str, ids: Sequence[str], *, origin: Origin, bodies: SqliteBodies) -> int:
    """Delete memories with all their versions, and mark the dictionaries that may hold their words; return how many."""
    space_no = make_space(connection, space)
    state = read_state(connection, Dependencies(memory_ids=canonical_ids(ids)), space_no=space_no)
    if not state.memories:
        return 0
    plan, counts = plan_purge(ids, state, origin=origin), Counts()
    numbers = {memory_id: stored.number or 0 for memory_id, stored in state.memories.items()}
    for memory_id, stored in state.memories.items():
        texts = _erase(connection, numbers[memory_id], space_no=space_no, bodies=bodies)
        counts.replace(IndexEntry(stored.state, stored.facets, texts), None)
        delete_documents_about(connection, space_no, id_bytes(memory_id))
    write_counts(connection, counts, space_no=space_no)
    run_no = assign_runs(connection, space_no, origin).number
    append_changes(connection, plan.changes, numbers, space_no=space_no, run_no=run_no, at=origin.at)
    connection.execute("UPDATE dictionaries SET tainted = 1 WHERE space_no = ?", (space_no,))
    note_purge(connection)
    return len(state.memories)


def merge_postings(connection: apsw.Connection) -> None:
    """Rewrite the lexical index: deleted words stay in its segments until they are merged."""
    connection.execute("INSERT INTO postings(postings) VALUES('optimize')")


def rewrite_file(connection: apsw.Connection) -> bool:
    """Rewrite the whole file and empty its log; return False if a long reading transaction kept the log in use."""
    # `secure_delete` is not enough: a row that moved to another page before it was deleted leaves a copy behind.
    connection.execute("VACUUM")
    blocked, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0]
    return not blocked


def _erase(connection: apsw.Connection, number: int, *, space_no: int, bodies: SqliteBodies) -> list[str]:
    """Delete all rows of a memory; return the terms of its passages."""
    hashes = _hashes_of_all_versions(connection, number, bodies=bodies)
    texts = unindex_passages(connection, number)
    connection.execute(_SQL["delete_results"], (number,))
    for column in ("memory_no", "target_no"):
        connection.execute(
            f"UPDATE changes SET relation = NULL WHERE {column} = ? AND relation IS NOT NULL", (number,)
        )  # fmt: skip
    connection.execute("DELETE FROM relations WHERE source_no = ?1 OR target_no = ?1", (number,))
    connection.execute(
        "UPDATE spaces SET body_count = body_count - (SELECT count(*) FROM versions WHERE memory_no = ?) WHERE no = ?",
        (number, space_no),
    )
    connection.execute("DELETE FROM versions WHERE memory_no = ?", (number,))
    connection.execute("INSERT INTO purged_memories SELECT no, id FROM memories WHERE no = ?", (number,))
    connection.execute("DELETE FROM memories WHERE no = ?", (number,))
    delete_unused(connection, space_no, hashes)
    return texts


def _hashes_of_all_versions(connection: apsw.Connection, number: int, *, bodies: SqliteBodies) -> list[bytes]:
    """Return the hashes of all texts that a memory ever had: earlier ones have vectors too."""
    rows = connection.execute(
        f"SELECT {BODY_COLUMNS} FROM versions WHERE memory_no = ? ORDER BY number DESC", (number,)
    ).fetchall()
    hashes: dict[bytes, None] = {}
    for packed in rows:
        with suppress(BodyDamaged):
            memory = bodies.unpack(connection, packed, memory_no=number)
            hashes |= dict.fromkeys(passage.hash for passage in passages_of(memory))
    return list(hashes)
