"""Statements, and the transaction that they run in."""

from collections.abc import Sequence
from typing import LiteralString, NamedTuple, cast

import psycopg
from psycopg.pq import ExecStatus
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
        # What finds a row if the transaction has happened: a server that crashed may give its number to another.
        self.proof: Ask | None = None
        # What is sent in one message with the end of the transaction.
        self.last: Ask | None = None

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

    async def end(self) -> None:
        """Commit, after the last statement if there is one."""
        if self.last is None:
            await self._connection.execute("COMMIT")
            return
        # If the statement fails the server does not go on to the commit.
        async with self._connection.pipeline():
            await self.run(self.last)
            await self._connection.execute("COMMIT")


async def ask_together(connection: psycopg.AsyncConnection, asks: Sequence[Ask], *, skipped: int = 0) -> list[Rows]:
    """Send statements as one message and return the rows of each; without BEGIN they are a transaction of their own.

    What the first few give may be skipped.
    """
    # The driver writes the values into the text: only so can one message hold several statements. What people write
    # does not belong among them, but as keys, because a server's log quotes the text of statements that fail.
    cursor = psycopg.AsyncClientCursor(connection)
    text = ";".join(ask.statement for ask in asks)
    await cursor.execute(cast("LiteralString", text), [value for ask in asks for value in ask.values])
    found: list[Rows] = []
    for _ in range(skipped):
        cursor.nextset()
    more: bool | None = True
    while more:
        # What the columns are called, which takes long to put together, is of no interest.
        has_rows = cursor.pgresult is not None and cursor.pgresult.status == ExecStatus.TUPLES_OK
        found.append(await cursor.fetchall() if has_rows else [])
        more = cursor.nextset()
    return found
