"""All contents of the store, page by page, for copying it to another store and for comparing two."""

import asyncio
from collections.abc import Sequence
from itertools import groupby

from scrubjay.model.change import Origin
from scrubjay.model.timestamps import from_micros, to_micros
from scrubjay.model.version import MemoryHistory
from scrubjay.ports.commit import StoredAnswer
from scrubjay.storage.body_cache import history_of
from scrubjay.storage.postgres.bodies import Body, PostgresBodies, encoded_of
from scrubjay.storage.postgres.commit.read import CommitQuery
from scrubjay.storage.postgres.commit.rows import RowBatch, reserve, run_names, runs_of, sizes_of
from scrubjay.storage.postgres.database import Database, Row, Transaction
from scrubjay.storage.postgres.history import version_of
from scrubjay.storage.postgres.rows import canonical_id, canonical_ids, to_hex
from scrubjay.storage.rows import first_within
from scrubjay.storage.sql_files import read_statements

_SQL = read_statements("postgres/queries/inventory")
_BEFORE_ALL = "00000000-0000-0000-0000-000000000000"


async def spaces(database: Database) -> list[str]:
    """Return the names of all spaces, in order."""
    return [
        str(row[0]) for row in await database.rows("SELECT name FROM scrubjay.spaces ORDER BY name", unrestricted=True)
    ]


async def ids(database: Database, space: str, *, after: str, limit: int) -> list[str]:
    """Return the ids of memories in every state, in order."""
    rows = await database.rows(_SQL["ids"], canonical_id(after) or _BEFORE_ALL, limit, space=space)
    return [str(row[0]) for row in rows]


async def histories(
    database: Database, space: str, ids: Sequence[str], *, most_bytes: int, bodies: PostgresBodies
) -> list[MemoryHistory]:
    """Return memories with their whole history: as many of the first as have `most_bytes` together, at least one."""
    in_order = canonical_ids(ids)
    rows = await database.rows(_SQL["sizes"], in_order, space=space)
    sizes = {str(memory_id): int(size) for memory_id, size in rows if size is not None}
    chosen = first_within(most_bytes, [(memory_id, sizes[memory_id]) for memory_id in in_order if memory_id in sizes])
    heads: list[Row] = []

    async def select() -> list[Body]:
        rows = await database.rows(_SQL["versions"], chosen, space=space)
        heads[:] = [row[1:12] for row in rows]
        return [Body(encoded_of(row[12:]), str(row[1]), row[5], row[0]) for row in rows]

    packed = await bodies.select(space, select)

    def unpack() -> dict[str, MemoryHistory]:
        versions = ((head, version_of(head[4:], body, space=space, bodies=bodies)) for head, body in pairs)
        histories: dict[str, MemoryHistory] = {}
        for memory_id, group in groupby(versions, key=lambda pair: str(pair[0][0])):
            # Newest first, since older ones are stored as differences from newer ones.
            newest_first = list(group)
            _, current, accessed, count = newest_first[0][0][:4]
            in_order = [version for _, version in reversed(newest_first)]
            histories[memory_id] = history_of(
                in_order, memory_id=memory_id, current=current, accessed=accessed, count=count
            )
        return histories

    pairs = list(zip(heads, packed, strict=True))
    histories = await asyncio.to_thread(unpack)
    return [histories[memory_id] for memory_id in chosen if memory_id in histories]


async def models(database: Database) -> dict[str, int]:
    """Return the models that have embedded something, and the dimension of their vectors."""
    rows = await database.rows("SELECT name, dimension FROM scrubjay.models ORDER BY no", unrestricted=True)
    return {str(name): int(dimension) for name, dimension in rows}


async def answers(database: Database, space: str, *, after: str | bytes | None, limit: int) -> list[StoredAnswer]:
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
    query = CommitQuery()
    query.request_runs(run_names(origin, list(authors.values())))

    async def job(transaction: Transaction) -> int:
        query.take_result(transaction)
        existing = {bytes(row[0]) for row in await transaction.rows(_SQL["existing_answers"], list(by_key))}
        new = {key: answer for key, answer in by_key.items() if key not in existing}
        if not new:
            return 0
        runs = runs_of(origin, query.rows("runs"), [authors[key] for key in new])
        runs.assign_numbers((await reserve(transaction, sizes_of([]), changes=0, memories=0, runs=len(runs.new))).runs)
        batch = RowBatch()
        runs.put(batch, last_seq=0)
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
