"""Pages over the whole content of the store, for a move to another store and for a comparison."""

import asyncio
from collections.abc import Sequence
from itertools import groupby

from scrubjay.model.change import Origin
from scrubjay.model.timestamps import from_micros, to_micros
from scrubjay.model.version import MemoryHistory, Version
from scrubjay.ports.commit import StoredAnswer
from scrubjay.storage.body_cache import history_of
from scrubjay.storage.postgres.bodies import Bodies
from scrubjay.storage.postgres.commit.ids import reserve, sizes_of
from scrubjay.storage.postgres.commit.plan import canonical_id
from scrubjay.storage.postgres.commit.read import Opening, plain_ids
from scrubjay.storage.postgres.commit.rows import RowBatch, written
from scrubjay.storage.postgres.commit.runs import names_of, runs_of
from scrubjay.storage.postgres.database import Database
from scrubjay.storage.postgres.delta_chains import Body, encoded_of
from scrubjay.storage.postgres.history import version_of
from scrubjay.storage.postgres.query import Row, Work
from scrubjay.storage.postgres.sql_files import named_statements
from scrubjay.storage.rows import first_within

_SQL = named_statements("queries/inventory")
_BEFORE_ALL = "00000000-0000-0000-0000-000000000000"


async def spaces(database: Database) -> list[str]:
    """Return the names of all spaces, in order."""
    return [str(row[0]) for row in await database.rows("SELECT name FROM scrubjay.spaces ORDER BY name", keeper=True)]


async def ids(database: Database, space: str, *, after: str, limit: int) -> list[str]:
    """Return the ids of memories in every state, in order."""
    rows = await database.rows(_SQL["ids"], canonical_id(after) or _BEFORE_ALL, limit, space=space)
    return [str(row[0]) for row in rows]


async def histories(
    database: Database, space: str, ids: Sequence[str], *, most_bytes: int, bodies: Bodies
) -> list[MemoryHistory]:
    """Return the first memories with their whole history, as many as fit into `most_bytes`."""
    plain = plain_ids(ids)
    rows = await database.rows(_SQL["sizes"], plain, space=space)
    sizes = {str(memory_id): int(size) for memory_id, size in rows if size is not None}
    chosen = first_within(most_bytes, [(memory_id, sizes[memory_id]) for memory_id in plain if memory_id in sizes])
    heads: list[Row] = []

    async def select() -> list[Body]:
        rows = await database.rows(_SQL["versions"], chosen, space=space)
        heads[:] = [row[1:12] for row in rows]
        return [Body(encoded_of(row[12:]), str(row[1]), row[5], row[0]) for row in rows]

    packed = await bodies.select(space, select)

    def unpack() -> dict[str, MemoryHistory]:
        read = ((head, version_of(head[4:], body, space=space, bodies=bodies)) for head, body in pairs)
        return {
            memory_id: _memory_history(list(group))
            for memory_id, group in groupby(read, key=lambda pair: str(pair[0][0]))
        }

    pairs = list(zip(heads, packed, strict=True))
    histories = await asyncio.to_thread(unpack)
    return [histories[memory_id] for memory_id in chosen if memory_id in histories]


async def models(database: Database) -> dict[str, int]:
    """Return the models with vectors, and their dimensions."""
    rows = await database.rows("SELECT name, dimension FROM scrubjay.models ORDER BY no", keeper=True)
    return {str(name): int(dimension) for name, dimension in rows}


async def answers(database: Database, space: str, *, after: str | bytes | None, limit: int) -> list[StoredAnswer]:
    """Return the answers under idempotency keys; only the digests of the keys are stored."""
    rows = await database.rows(_SQL["answers"], after if isinstance(after, bytes) else b"", limit, space=space)
    return [
        StoredAnswer(key=bytes(key), digest=bytes(digest), answer=answer, run=run, agent=agent, at=from_micros(at))
        for key, digest, answer, run, agent, at in rows
    ]


async def import_answers(database: Database, space: str, answers: Sequence[StoredAnswer], *, origin: Origin) -> int:
    """Store answers of another store, under the runs of the versions that they are about; returns how many are new."""
    by_key = {answer.key_digest: answer for answer in answers}
    authors = {key: (answer.run or origin.run, answer.agent) for key, answer in by_key.items()}
    opening = Opening()
    opening.ask_runs(names_of(origin, list(authors.values())))

    async def job(work: Work) -> int:
        opening.answer(work.opened)
        existing = {bytes(row[0]) for row in await work.rows(_SQL["existing_answers"], list(by_key))}
        fresh = {key: answer for key, answer in by_key.items() if key not in existing}
        if not fresh:
            return 0
        runs = runs_of(origin, opening.rows("runs"), [authors[key] for key in fresh])
        runs.take_numbers((await reserve(work, sizes_of([]), changes=0, memories=0, runs=len(runs.fresh))).runs)
        document = RowBatch()
        runs.put(document, last_seq=0)
        document.put(
            "idempotency_keys",
            [
                {
                    "key_digest": written(key),
                    "request_digest": written(answer.digest),
                    "answer": answer.answer,
                    "run_no": runs.known[authors[key]],
                    "at": to_micros(answer.at),
                }
                for key, answer in fresh.items()
            ],
        )
        await document.write(work)
        return len(fresh)

    return await database.write(job, space=space, opening=opening.asks, make=True)


def _memory_history(read: Sequence[tuple[Row, Version]]) -> MemoryHistory:
    memory_id, current, accessed, count = read[0][0][:4]
    # They come newest first: older versions may be deltas of newer ones.
    versions = [version for _, version in reversed(read)]
    return history_of(versions, memory_id=str(memory_id), current=current, accessed=accessed, count=count)
