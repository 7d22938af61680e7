"""Statements, and the transaction that they run in."""

from collections.abc import Sequence
from typing import LiteralString, NamedTuple, cast

import psycopg
from psycopg.rows import TupleRow

Row = TupleRow
Rows = list[TupleRow]


class Ask(NamedTuple):
    """A statement and the values for its places."""

    statement: str
    values: Sequence[object] = ()


class Work:
    """A transaction under way. Statements of their own carry their values beside them."""

    def __init__(self, connection: psycopg.AsyncConnection, opened: list[Rows], *, space_no: int) -> None:
        self._connection = connection
        self.opened = opened
        self.space_no = space_no
        # Set before the commit, empty when nothing was written: by it one can learn later how the transaction ended.
        self.transaction: str | None = None

    async def rows(self, statement: str, *values: object) -> Rows:
        """What a statement gives."""
        cursor = self._connection.cursor(binary=True)
        await cursor.execute(cast("LiteralString", statement), values)
        return await cursor.fetchall()

    async def do(self, statement: str, *values: object) -> int:
        """Run a statement; how many rows it touched."""
        cursor = self._connection.cursor(binary=True)
        await cursor.execute(cast("LiteralString", statement), values)
        return cursor.rowcount

    async def run(self, ask: Ask) -> int:
        """Run a statement that was made elsewhere."""
        return await self.do(ask.statement, *ask.values)

    async def ask(self, *asks: Ask) -> list[Rows]:
        """What several statements give, in one message."""
        return await ask_together(self._connection, asks)


async def ask_together(connection: psycopg.AsyncConnection, asks: Sequence[Ask]) -> list[Rows]:
    """Send statements as one message and return the rows of each; without BEGIN they are a transaction of their own."""
    # The driver writes the values into the text: only so can one message hold several statements. What people write
    # does not belong among them, but as keys, because a server's log quotes the text of statements that fail.
    cursor = psycopg.AsyncClientCursor(connection)
    text = ";".join(one.statement for one in asks)
    await cursor.execute(cast("LiteralString", text), [value for one in asks for value in one.values])
    found: list[Rows] = []
    more: bool | None = True
    while more:
        found.append(await cursor.fetchall() if cursor.description is not None else [])
        more = cursor.nextset()
    return found
