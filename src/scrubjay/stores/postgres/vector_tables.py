"""The tables of vectors as an index over them needs them: filters in its words, and a craftsman who makes indexes."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import LiteralString, cast

import psycopg

from scrubjay.errors import StoreError
from scrubjay.model.memory import Json
from scrubjay.model.moment import to_micros
from scrubjay.model.query import Facet, Filter
from scrubjay.stores.postgres.address import Address
from scrubjay.stores.postgres.asking import Rows
from scrubjay.stores.postgres.database import Database
from scrubjay.stores.postgres.keeping import written
from scrubjay.stores.postgres.leading import try_lock
from scrubjay.stores.postgres.mapping import mapped_errors
from scrubjay.stores.postgres.schema import connect
from scrubjay.stores.postgres.words import digest_of, labels_of
from scrubjay.stores.rows import STATE_NUMBERS


class VectorTables:
    """What a store lets an index over its vectors do."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def rows(self, statement: str, *values: object, space: str | None = None, keeper: bool = False) -> Rows:
        """The rows of one question, in a space, or as the keeper of all."""
        return await self._database.rows(statement, *values, space=space, keeper=keeper)

    def asked(self, space: str, wanted: Filter) -> dict[str, Json]:
        """A filter as `scrubjay.nearest_1` understands it; what is not asked for is left out."""
        singles = [group[0] for group in wanted.facet_groups if len(group) == 1]
        choices = [one for group in wanted.facet_groups if len(group) > 1 for one in group]
        asked: dict[str, Json] = {"state": STATE_NUMBERS[wanted.state]}
        for name, labels in (("all", singles), ("any", choices)):
            if labels:
                asked[f"{name}_of"] = list[Json](labels_of(space, wanted.state, labels))
                asked[f"{name}_labels"] = _digests(labels)
        for name, moment in (("since", wanted.since), ("until", wanted.until)):
            if moment is not None:
                asked[name] = to_micros(moment)
        return asked

    @asynccontextmanager
    async def crafting(self, name: str) -> AsyncGenerator["Craftsman | None"]:
        """The owner of the tables, who works alone; nobody while another process is at work under this name."""
        address = self._database.address
        with mapped_errors(address.shown):
            async with await connect(address.url, address) as door, door.transaction():
                if not await try_lock(door, name):
                    yield None
                    return
                async with await connect(address.owner, address) as connection:
                    yield Craftsman(connection, address)


class Craftsman:
    """Runs statements as the owner, each by itself, outside of any transaction and for as long as it takes."""

    def __init__(self, connection: psycopg.AsyncConnection, address: Address) -> None:
        self._connection = connection
        self._address = address

    async def run(self, statement: str) -> Rows:
        """Run a statement; raises StoreError."""
        with mapped_errors(self._address.shown):
            cursor = await self._connection.execute(cast("LiteralString", statement))
            return await cursor.fetchall() if cursor.description is not None else []

    async def require_owner(self) -> None:
        """Raise, naming the setting, unless this login may make indexes on the vectors."""
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


def _digests(labels: Sequence[Facet]) -> list[Json]:
    return [written(digest_of(label)) for label in dict.fromkeys(labels)]
