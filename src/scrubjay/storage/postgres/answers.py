"""Answers of requests with idempotency keys, read and written for another store."""

from collections.abc import Sequence

from scrubjay.model.change import Origin
from scrubjay.model.timestamps import from_micros, to_micros
from scrubjay.ports.commit import StoredAnswer
from scrubjay.storage.plan import Dependencies, run_names
from scrubjay.storage.postgres.commit import CommitQuery
from scrubjay.storage.postgres.database import Database, Transaction
from scrubjay.storage.postgres.rows import to_hex
from scrubjay.storage.postgres.tables import RowBatch, reserve, sizes_of
from scrubjay.storage.sql_files import read_statements

_SQL = read_statements("postgres/queries/answers")


async def stored_answers(
    database: Database, space: str, *, after: str | bytes | None, limit: int
) -> list[StoredAnswer]:
    """Return the results of requests with idempotency keys; only the digests of the keys are stored."""
    rows = await database.rows(_SQL["answers"], after if isinstance(after, bytes) else b"", limit, space=space)
    return [
        StoredAnswer(key=bytes(key), digest=bytes(digest), answer=answer, run=run, agent=agent, at=from_micros(at))
        for key, digest, answer, run, agent, at in rows
    ]


async def import_answers(database: Database, space: str, answers: Sequence[StoredAnswer], *, origin: Origin) -> int:
    """Copy results of another store, under the runs that wrote the versions they are about; return how many."""
    by_key = {answer.key_digest: answer for answer in answers}
    authors = {key: (answer.run or origin.run, answer.agent) for key, answer in by_key.items()}
    query = CommitQuery(Dependencies(), runs=run_names(origin, list(authors.values())))

    async def job(transaction: Transaction) -> int:
        query.take_result(transaction)
        existing = {bytes(row[0]) for row in await transaction.rows(_SQL["existing_answers"], list(by_key))}
        new = {key: answer for key, answer in by_key.items() if key not in existing}
        if not new:
            return 0
        runs = query.runs(origin, [authors[key] for key in new])
        reserved = await reserve(transaction, sizes_of([]), changes=0, memories=0, runs=len(runs.new))
        runs.numbers |= dict(zip(runs.new, reserved.runs, strict=True))
        batch = RowBatch()
        batch.put_runs(runs, last_seq=0)
        batch.put(
            "idempotency_keys",
            [
                {
                    "key_digest": to_hex(key),
                    "request_digest": to_hex(answer.digest),
                    "answer": answer.answer,
                    "run_no": runs.numbers[authors[key]],
                    "at": to_micros(answer.at),
                }
                for key, answer in new.items()
            ],
        )
        await batch.write(transaction)
        return len(new)

    return await database.write(job, space=space, prefetch=query.queries, create_space=True)
