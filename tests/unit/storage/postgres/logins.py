"""Roles that people log in as, made once for a server."""

import psycopg
from psycopg import sql
from tests.postgres import Server, shared_server

OWNER = "scrubjay_test_owner"
APP = "scrubjay_test_app"
STRANGER = "scrubjay_test_stranger"
HASTY = "scrubjay_test_hasty"


async def make_logins(server: Server | None = None) -> None:
    """One who sets databases up, one who serves, one who was given too much, and one whom nobody knows."""
    async with await psycopg.AsyncConnection.connect((server or shared_server()).url(), autocommit=True) as connection:
        for role, rights in ((OWNER, "CREATEROLE"), (APP, ""), (STRANGER, ""), (HASTY, "")):
            await connection.execute(
                f"""DO $$ BEGIN CREATE ROLE {role} LOGIN {rights};
                EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$""".encode()
            )
    await _grant(server)


async def _grant(server: Server | None) -> None:
    """What the documentation says for the login of a server; the hasty one forgot half of it."""
    async with await psycopg.AsyncConnection.connect((server or shared_server()).url(), autocommit=True) as connection:
        # Two processes that grant at once would get in each other's way.
        await connection.execute("SELECT pg_advisory_lock(1)")
        await connection.execute(f"GRANT scrubjay_server TO {APP}, {HASTY}".encode())
        await connection.execute(f"GRANT scrubjay_keeper TO {APP} WITH INHERIT FALSE, SET TRUE".encode())
        await connection.execute(f"GRANT scrubjay_keeper TO {HASTY} WITH INHERIT TRUE".encode())


async def give(database: str, role: str, *, server: Server | None = None) -> None:
    """Make somebody the owner of a database."""
    async with await psycopg.AsyncConnection.connect((server or shared_server()).url(), autocommit=True) as connection:
        statement = sql.SQL("ALTER DATABASE {} OWNER TO {}").format(sql.Identifier(database), sql.Identifier(role))
        await connection.execute(statement)
