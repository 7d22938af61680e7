"""The access that the vector index has to the tables: searches, filters, and a connection that builds indexes."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import LiteralString, cast

import psycopg

from scrubjay.errors import StoreError
from scrubjay.model.memory import Json
from scrubjay.model.query import Facet, Filter
from scrubjay.model.timestamps import to_micros
from scrubjay.storage.postgres.address import Address
from scrubjay.storage.postgres.commit.rows import written
from scrubjay.storage.postgres.database import Database
from scrubjay.storage.postgres.errors import mapped_errors
from scrubjay.storage.postgres.leader import try_lock
from scrubjay.storage.postgres.query import Rows
from scrubjay.storage.postgres.schema import connect
from scrubjay.storage.postgres.words import digest_of, labels_of
from scrubjay.storage.rows import STATE_NUMBERS


class VectorTables:
    """The queries that a vector index runs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def rows(self, statement: str, *values: object, space: str | None = None, keeper: bool = False) -> Rows:
        """Return the rows of one query, in a space, or as the keeper of all spaces."""
        return await self._database.rows(statement, *values, space=space, keeper=keeper)

    def asked(self, space: str, filter: Filter) -> dict[str, Json]:
        """Return a filter as `nearest_passages` takes it, without empty parts."""
        singles = [group[0] for group in filter.facet_groups if len(group) == 1]
        choices = [facet for group in filter.facet_groups if len(group) > 1 for facet in group]
        filters: dict[str, Json] = {"state": STATE_NUMBERS[filter.state]}
        for name, facets in (("all", singles), ("any", choices)):
            if facets:
                filters[f"{name}_words"] = list[Json](labels_of(space, filter.state, facets))
                filters[f"{name}_facets"] = _digests(facets)
        for name, moment in (("since", filter.since), ("until", filter.until)):
            if moment is not None:
                filters[name] = to_micros(moment)
        return filters

    @asynccontextmanager
    async def crafting(self, name: str) -> AsyncGenerator["Craftsman | None"]:
        """Open a connection of the owner under an exclusive lock; None while another process holds the lock."""
        address = self._database.address
        with mapped_errors(address.shown):
            async with await connect(address.url, address) as locked, locked.transaction():
                if not await try_lock(locked, name):
                    yield None
                    return
                async with await connect(address.owner, address) as connection:
                    yield Craftsman(connection, address)


class Craftsman:
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


def _digests(facets: Sequence[Facet]) -> list[Json]:
    return [written(digest_of(facet)) for facet in dict.fromkeys(facets)]
