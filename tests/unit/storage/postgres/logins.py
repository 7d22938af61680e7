"""Login roles, created once for a server."""

import psycopg
from psycopg import sql
from tests.postgres import Server, shared_server

OWNER = "scrubjay_test_owner"
APP = "scrubjay_test_app"
STRANGER = "scrubjay_test_stranger"
HASTY = "scrubjay_test_hasty"


async def make_logins(server: Server | None = None) -> None:
    """Create an owner of databases, the login of a server, one with too many rights, and one with none."""
    async with await psycopg.AsyncConnection.connect((server or shared_server()).url(), autocommit=True) as connection:
        for role, rights in ((OWNER, "CREATEROLE"), (APP, ""), (STRANGER, ""), (HASTY, "")):
            await connection.execute(
                f"""DO $$ BEGIN CREATE ROLE {role} LOGIN {rights};
                EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$""".encode()
            )
    await _grant(server)


async def _grant(server: Server | None) -> None:
    """Grant the rights of a server's login as documented; HASTY gets them without INHERIT FALSE."""
    async with await psycopg.AsyncConnection.connect((server or shared_server()).url(), autocommit=True) as connection:
        # Two processes that grant at once would conflict.
        await connection.execute("SELECT pg_advisory_lock(1)")
        await connection.execute(f"GRANT scrubjay_server TO {APP}, {HASTY}".encode())
        await connection.execute(f"GRANT scrubjay_keeper TO {APP} WITH INHERIT FALSE, SET TRUE".encode())
        await connection.execute(f"GRANT scrubjay_keeper TO {HASTY} WITH INHERIT TRUE".encode())


async def set_owner(database: str, role: str, *, server: Server | None = None) -> None:
    """Make a role the owner of a database."""
    async with await psycopg.AsyncConnection.connect((server or shared_server()).url(), autocommit=True) as connection:
        statement = sql.SQL("ALTER DATABASE {} OWNER TO {}").format(sql.Identifier(database), sql.Identifier(role))
        await connection.execute(statement)
