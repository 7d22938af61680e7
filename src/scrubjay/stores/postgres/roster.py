"""All that the store holds, page by page: for whoever moves it elsewhere or compares it."""

import asyncio
from collections.abc import Sequence
from itertools import groupby

from scrubjay.model.answer import Answer
from scrubjay.model.change import Origin
from scrubjay.model.moment import from_micros, to_micros
from scrubjay.model.version import Dossier, Version
from scrubjay.stores.packing import dossier_of
from scrubjay.stores.postgres.asking import Row, Work
from scrubjay.stores.postgres.bodies import Bodies
from scrubjay.stores.postgres.database import Database
from scrubjay.stores.postgres.keeping import Document, written
from scrubjay.stores.postgres.lining import BODY_COLUMNS, Body, encoded_of
from scrubjay.stores.postgres.opening import Opening, plain_ids
from scrubjay.stores.postgres.past import version_of
from scrubjay.stores.postgres.planning import canonical_id
from scrubjay.stores.postgres.reserving import reserve, sizes_of
from scrubjay.stores.postgres.runs import names_of, runs_of
from scrubjay.stores.rows import first_within

_BEFORE_ALL = "00000000-0000-0000-0000-000000000000"


async def spaces(database: Database) -> list[str]:
    """The names of all spaces, in order."""
    return [str(row[0]) for row in await database.rows("SELECT name FROM scrubjay.spaces ORDER BY name", keeper=True)]


async def ids(database: Database, space: str, *, after: str, limit: int) -> list[str]:
    """Ids of memories in every state, in order."""
    rows = await database.rows(
        """SELECT id FROM scrubjay.memories WHERE space_no = scrubjay.here() AND id > %s::uuid
           ORDER BY id LIMIT %s""",
        canonical_id(after) or _BEFORE_ALL, limit, space=space,
    )  # fmt: skip
    return [str(row[0]) for row in rows]


async def dossiers(
    database: Database, space: str, ids: Sequence[str], *, most_bytes: int, bodies: Bodies
) -> list[Dossier]:
    """The first of some memories with their whole past, as many as have so many bytes together."""
    plain = plain_ids(ids)
    rows = await database.rows(_SIZES, plain, space=space)
    sizes = {str(memory_id): int(size) for memory_id, size in rows if size is not None}
    chosen = first_within(most_bytes, [(one, sizes[one]) for one in plain if one in sizes])
    heads: list[Row] = []

    async def select() -> list[Body]:
        found = await database.rows(_VERSIONS, chosen, space=space)
        heads[:] = [row[1:12] for row in found]
        return [Body(encoded_of(row[12:]), str(row[1]), row[5], row[0]) for row in found]

    packed = await bodies.select(space, select)

    def unpack() -> dict[str, Dossier]:
        read = ((head, version_of(head[4:], body, space=space, bodies=bodies)) for head, body in pairs)
        return {memory_id: _dossier(list(group)) for memory_id, group in groupby(read, key=lambda one: str(one[0][0]))}

    pairs = list(zip(heads, packed, strict=True))
    found = await asyncio.to_thread(unpack)
    return [found[one] for one in chosen if one in found]


async def models(database: Database) -> dict[str, int]:
    """The models that have embedded something, and the length of their vectors."""
    rows = await database.rows("SELECT name, dimension FROM scrubjay.models ORDER BY no", keeper=True)
    return {str(name): int(dimension) for name, dimension in rows}


async def answers(database: Database, space: str, *, after: str | bytes | None, limit: int) -> list[Answer]:
    """What was answered under idempotency keys, of which only the digests are kept."""
    rows = await database.rows(_ANSWERS, after if isinstance(after, bytes) else b"", limit, space=space)
    return [
        Answer(key=bytes(key), digest=bytes(digest), answer=answer, run=run, agent=agent, at=from_micros(at))
        for key, digest, answer, run, agent, at in rows
    ]


async def keep_answers(database: Database, space: str, answers: Sequence[Answer], *, origin: Origin) -> int:
    """Keep answers of another store, under the runs that the versions of what they tell of belong to."""
    given = {one.key_digest: one for one in answers}
    authors = {key: (one.run or origin.run, one.agent) for key, one in given.items()}
    opening = Opening()
    opening.ask_runs(names_of(origin, list(authors.values())))

    async def job(work: Work) -> int:
        opening.answer(work.opened)
        rows = await work.rows(
            "SELECT key_digest FROM scrubjay.once WHERE space_no = scrubjay.here() AND key_digest = ANY(%s::bytea[])",
            list(given),
        )
        there = {bytes(row[0]) for row in rows}
        fresh = {key: one for key, one in given.items() if key not in there}
        if not fresh:
            return 0
        runs = runs_of(origin, opening.rows("runs"), [authors[key] for key in fresh])
        runs.take_numbers((await reserve(work, sizes_of([]), changes=0, memories=0, runs=len(runs.fresh))).runs)
        document = Document()
        runs.put(document, last_seq=0)
        document.put(
            "once",
            [
                {
                    "key_digest": written(key),
                    "digest": written(one.digest),
                    "answer": one.answer,
                    "run_no": runs.known[authors[key]],
                    "at": to_micros(one.at),
                }
                for key, one in fresh.items()
            ],
        )
        await document.write(work)
        return len(fresh)

    return await database.write(job, space=space, opening=opening.asks, make=True)


def _dossier(read: Sequence[tuple[Row, Version]]) -> Dossier:
    memory_id, current, accessed, count = read[0][0][:4]
    # They were read newest first, since older ones are told by what they differ in from newer ones.
    versions = [version for _, version in reversed(read)]
    return dossier_of(versions, memory_id=str(memory_id), current=current, accessed=accessed, count=count)


# Each row looks up the next: whatever the planner believes of the tables, a page reads what is in it and no more.
_CHOSEN = "scrubjay.memories m WHERE m.space_no = scrubjay.here() AND m.id = ANY(%s::uuid[])"
_RUN = "(SELECT q.id, q.agent FROM scrubjay.runs q WHERE q.space_no = {0}.space_no AND q.no = {0}.run_no LIMIT 1) AS r"
_SIZES = f"""SELECT f.id, (SELECT sum(q.size) FROM scrubjay.versions q
      WHERE q.space_no = f.space_no AND q.memory_no = f.no) AS size
    FROM (SELECT m.space_no, m.no, m.id FROM {_CHOSEN} OFFSET 0) AS f"""
_VERSIONS = f"""SELECT f.no, f.id, f.version, f.last_accessed, f.access_count, v.number, v.parent, v.action,
      v.created_at, r.agent, r.id, v.message, {BODY_COLUMNS}
    FROM (SELECT m.* FROM {_CHOSEN} OFFSET 0) AS f
    CROSS JOIN LATERAL (SELECT * FROM scrubjay.versions q WHERE q.space_no = f.space_no AND q.memory_no = f.no
      ORDER BY q.number OFFSET 0) AS v
    CROSS JOIN LATERAL {_RUN.format("v")}
    ORDER BY f.id, v.number DESC"""
_ANSWERS = f"""SELECT o.key_digest, o.digest, o.answer, r.id, r.agent, o.at
    FROM (SELECT * FROM scrubjay.once q WHERE q.space_no = scrubjay.here() AND q.key_digest > %s
      ORDER BY q.key_digest LIMIT %s) AS o
    CROSS JOIN LATERAL {_RUN.format("o")} ORDER BY o.key_digest"""
