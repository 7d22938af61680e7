"""Purge memories: afterwards no file of the store holds a word of them."""

from collections.abc import Sequence
from contextlib import suppress

import apsw

from scrubjay.errors import BodyDamaged
from scrubjay.model.change import Action, Origin
from scrubjay.storage.rows import STATES, id_bytes
from scrubjay.storage.sql_files import read_statements
from scrubjay.storage.sqlite.bodies import BODY_COLUMNS, SqliteBodies
from scrubjay.storage.sqlite.commit import make_space, stored_facets
from scrubjay.storage.sqlite.documents import delete_documents_about
from scrubjay.storage.sqlite.log import append_change, run_number
from scrubjay.storage.sqlite.postings import IndexEntry, unindex_passages
from scrubjay.storage.sqlite.rows import lexicon_number, note_purge
from scrubjay.storage.sqlite.vectors import delete_unused
from scrubjay.text.passages import passages_of

_SQL = read_statements("sqlite/commit")


def purge(connection: apsw.Connection, space: str, ids: Sequence[str], *, origin: Origin, bodies: SqliteBodies) -> int:
    """Delete memories with all their versions, and mark the dictionaries that may hold their words; return how many."""
    space_no = make_space(connection, space)
    run_no = run_number(connection, space_no, origin)
    count = 0
    for memory_id in dict.fromkeys(ids):
        row = connection.execute(
            "SELECT no, state, passage_count, version FROM memories WHERE id = ? AND space_no = ?",
            (id_bytes(memory_id), space_no),
        ).fetchone()
        if row is None:
            continue
        number, state, passage_count, version = (int(value) for value in row)
        _erase(connection, number, space_no=space_no, state=state, bodies=bodies)
        delete_documents_about(connection, space_no, id_bytes(memory_id))
        append_change(
            connection, space_no=space_no, run_no=run_no, number=number, action=Action.PURGED,
            version=version, base=version, passages_before=passage_count, at=origin.at,
        )  # fmt: skip
        count += 1
    if count:
        connection.execute("UPDATE dictionaries SET tainted = 1 WHERE space_no = ?", (space_no,))
        note_purge(connection)
    return count


def merge_postings(connection: apsw.Connection) -> None:
    """Rewrite the lexical index: deleted words stay in its segments until they are merged."""
    connection.execute("INSERT INTO postings(postings) VALUES('optimize')")


def rewrite_file(connection: apsw.Connection) -> bool:
    """Rewrite the whole file and empty its log; return False if a long reading transaction kept the log in use."""
    # `secure_delete` is not enough: a row that moved to another page before it was deleted leaves a copy behind.
    connection.execute("VACUUM")
    blocked, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0]
    return not blocked


def _erase(connection: apsw.Connection, number: int, *, space_no: int, state: int, bodies: SqliteBodies) -> None:
    hashes = _hashes_of_all_versions(connection, number, bodies=bodies)
    facets = stored_facets(connection, number)
    unindex_passages(connection, number, former=IndexEntry(lexicon_number(space_no, STATES[state]), facets))
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
