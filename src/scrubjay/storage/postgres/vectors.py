"""The stored vectors: half precision, one for each distinct text of a space; and what a vector index reads of them."""

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from functools import lru_cache
from typing import LiteralString, cast

import numpy as np
import psycopg

from scrubjay.errors import StoreError
from scrubjay.model.memory import Json
from scrubjay.model.passage import Point, Vector
from scrubjay.model.query import Filter, facet
from scrubjay.model.timestamps import to_micros
from scrubjay.storage.postgres.cluster import try_lock
from scrubjay.storage.postgres.connection import Address, connect, mapped_errors
from scrubjay.storage.postgres.database import Database, Row, Rows, SqlQuery, Transaction
from scrubjay.storage.postgres.rows import digest_of, labels_of, to_hex
from scrubjay.storage.rows import STATE_NUMBERS, STATES
from scrubjay.storage.sql_files import read_statements

# The binary form of a vector: two numbers of two bytes, then each component, big-endian.
_HEADER_BYTES = 4
_COMPONENT = np.dtype(">f2")
# This query reads every passage of the store, and runs in the background.
_SURVEY_SECONDS = 1800
_SQL = read_statements("postgres/queries/vectors")


async def vectors(database: Database, space: str, model: str, hashes: Sequence[bytes]) -> dict[bytes, Vector]:
    """Return the vectors of texts, by hash."""
    rows = await database.rows(
        "SELECT * FROM scrubjay.get_vectors(%s, %s::bytea[])", model, list(dict.fromkeys(hashes)), space=space,
    )  # fmt: skip
    return _by_hash(rows)


async def models(database: Database) -> dict[str, int]:
    """Return the models that have embedded something, and the dimension of their vectors."""
    rows = await database.rows("SELECT name, dimension FROM scrubjay.models ORDER BY no", unrestricted=True)
    return {str(name): int(dimension) for name, dimension in rows}


async def stored_vectors(
    database: Database, space: str, model: str, *, after: bytes, limit: int
) -> dict[bytes, Vector]:
    """Return a page of the vectors of a space, by hash."""
    return _by_hash(await database.rows(_SQL["page"], after, model, limit, space=space))


async def embedded_among(database: Database, space: str, model: str, hashes: Sequence[bytes]) -> set[bytes]:
    """Return the hashes of those texts that have a vector."""
    statement = "SELECT scrubjay.embedded_hashes(%s, %s::bytea[])"
    return {bytes(digest) for (digest,) in await database.rows(statement, model, list(hashes), space=space)}


async def drop_vectors(database: Database, space: str, model: str, hashes: Sequence[bytes]) -> None:
    """Delete vectors of texts by one model."""

    async def job(transaction: Transaction) -> None:
        await transaction.execute(
            """DELETE FROM scrubjay.vectors WHERE space_no = scrubjay.current_space() AND hash = ANY(%s::bytea[])
                 AND model_no = (SELECT no FROM scrubjay.models WHERE name = %s)""",
            list(hashes), model,
        )  # fmt: skip

    await database.write(job, space=space)


async def without_vectors(database: Database, model: str, *, limit: int, space: str) -> list[tuple[str, str]]:
    """Return (space, id) of memories with a passage that the model has not embedded."""
    query = SqlQuery(_SQL["memories_without_vectors"], (space, space, model, limit))
    (rows,) = await database.read(query, unrestricted=True, seconds=_SURVEY_SECONDS)
    return [(str(space), str(memory_id)) for space, memory_id in rows]


async def points(database: Database, model: str, *, after: int, limit: int) -> list[Point]:
    """Return a page of the embedded passages of all spaces, by number."""

    async def job(transaction: Transaction) -> Rows:
        return await transaction.rows(_SQL["points"], model, after, limit)

    return _points(await database.write(job, unrestricted=True))


async def points_of(database: Database, model: str, numbers: Sequence[int]) -> list[Point]:
    """Return the embedded passages of memories."""
    if not numbers:
        return []
    statement = "SELECT * FROM scrubjay.points_of_memories(%s, %s::bigint[])"
    return _points(await database.rows(statement, model, list(numbers), unrestricted=True))


async def point_count(database: Database, model: str) -> int:
    """Return the number of points in an index of the model."""
    rows = await database.rows(_SQL["count_points"], model, unrestricted=True)
    return int(rows[0][0])


class VectorTables:
    """The queries that a vector index runs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def rows(self, statement: str, *values: object, space: str | None = None, unrestricted: bool = False) -> Rows:
        """Return the rows of one query, in one space or, unrestricted, in all."""
        return await self._database.rows(statement, *values, space=space, unrestricted=unrestricted)

    def filter_json(self, space: str, filter: Filter) -> dict[str, Json]:
        """Return a filter as `nearest_passages` takes it, without empty parts."""
        singles = [group[0] for group in filter.facet_groups if len(group) == 1]
        choices = [facet for group in filter.facet_groups if len(group) > 1 for facet in group]
        filters: dict[str, Json] = {"state": STATE_NUMBERS[filter.state]}
        for name, facets in (("all", singles), ("any", choices)):
            if facets:
                filters[f"{name}_words"] = list[Json](labels_of(space, filter.state, facets))
                filters[f"{name}_facets"] = [to_hex(digest_of(facet)) for facet in dict.fromkeys(facets)]
        for name, moment in (("since", filter.since), ("until", filter.until)):
            if moment is not None:
                filters[name] = to_micros(moment)
        return filters

    @asynccontextmanager
    async def owner_connection(self, name: str) -> AsyncGenerator["OwnerConnection | None"]:
        """Open a connection of the owner under an exclusive lock; yields None while another process holds the lock."""
        address = self._database.address
        with mapped_errors(address.shown):
            async with await connect(address.url, address) as locked, locked.transaction():
                if not await try_lock(locked, name):
                    yield None
                    return
                async with await connect(address.owner, address) as connection:
                    yield OwnerConnection(connection, address)


class OwnerConnection:
    """Runs statements as the owner, each outside of a transaction and without a time limit."""

    def __init__(self, connection: psycopg.AsyncConnection, address: Address) -> None:
        self._connection = connection
        self._address = address

    async def run(self, statement: str) -> Rows:
        """Run a statement; raises StoreError."""
        with mapped_errors(self._address.shown):
            cursor = await self._connection.execute(cast("LiteralString", statement))
            return await cursor.fetchall() if cursor.description is not None else []

    async def require_owner(self) -> None:
        """Raise StoreError with the setting to change, unless this login may create indexes on the vectors."""
        rows = await self.run(
            """SELECT pg_has_role(relowner, 'USAGE'), current_user, relowner::regrole FROM pg_class
               WHERE oid = 'scrubjay.vectors'::regclass"""
        )
        is_owner, login, owner = rows[0]
        if not is_owner:
            raise StoreError(
                f"{login} does not own the tables, {owner} does",
                hint="Set SCRUBJAY_DATABASE_OWNER_URL to a login that does",
                server=self._address.shown,
            )


def _by_hash(rows: Sequence[Row]) -> dict[bytes, Vector]:
    if len({len(data) for _, data in rows}) > 1:
        # One of them is damaged, and the caller sees which.
        return {bytes(digest): _matrix([bytes(data)])[0] for digest, data in rows}
    matrix = _matrix([bytes(data) for _, data in rows]) if rows else ()
    return {bytes(digest): vector for (digest, _), vector in zip(rows, matrix, strict=True)}


def _points(rows: Sequence[Row]) -> list[Point]:
    return [
        Point(id=number, space=space, vector=_matrix([bytes(data)])[0], facets=_labels(facets, state), at=date)
        for number, date, space, facets, state, data in rows
    ]


def _matrix(vectors: Sequence[bytes]) -> Vector:
    joined = b"".join(data[_HEADER_BYTES:] for data in vectors)
    return np.frombuffer(joined, dtype=_COMPONENT).astype(np.float32).reshape(len(vectors), -1)


@lru_cache(maxsize=1000)
def _labels(facets: str, state: int) -> tuple[str, ...]:
    return (*json.loads(facets), facet("state", STATES[state]))
