"""Answers of requests with idempotency keys, read and written for another store."""

from collections.abc import Sequence

import apsw

from scrubjay.model.change import Origin
from scrubjay.model.timestamps import from_micros, to_micros
from scrubjay.ports.commit import StoredAnswer
from scrubjay.storage.sql_files import read_statements
from scrubjay.storage.sqlite.commit import make_space
from scrubjay.storage.sqlite.log import assign_runs
from scrubjay.storage.sqlite.rows import run_name, space_number

_SQL = read_statements("sqlite/commit")


def stored_answers(
    connection: apsw.Connection, space: str, *, after: str | bytes | None, limit: int
) -> list[StoredAnswer]:
    """Return the results of requests with idempotency keys; text keys sort before digests."""
    following = "" if after is None else "AND i.key > ?"
    rows = connection.execute(
        f"""SELECT i.key, i.request_digest, i.result, r.id, a.name, i.created_at
            FROM idempotency_keys i JOIN runs r ON r.no = i.run_no JOIN agents a ON a.no = r.agent_no
            WHERE i.space_no = ? {following} ORDER BY i.key LIMIT ?""",
        (space_number(connection, space), *(() if after is None else (after,)), limit),
    )
    return [
        StoredAnswer(key=key, digest=digest, answer=result, run=run_name(run), agent=agent, at=from_micros(created_at))
        for key, digest, result, run, agent, created_at in rows
    ]


def import_answers(connection: apsw.Connection, *, space: str, answers: Sequence[StoredAnswer], origin: Origin) -> int:
    """Copy results of another store, under the runs that wrote the versions they are about; return how many."""
    space_no = make_space(connection, space)
    copied = 0
    for answer in answers:
        author = Origin(at=origin.at, run=answer.run or origin.run, agent=answer.agent)
        run_no = assign_runs(connection, space_no, author).number
        key_digest = answer.key_digest if isinstance(answer.key, str) else None
        # A key that came as a digest is stored as bytes, which equal no text.
        connection.execute(
            _SQL["copy_result"],
            (space_no, answer.key, answer.digest, answer.answer, run_no, to_micros(answer.at), key_digest),
        )
        copied += connection.changes()
    return copied
