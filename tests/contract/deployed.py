"""Databases as `deploy/` creates them, on a real server, and commands on them."""

import os
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg import sql

from tests.command_line import invoke
from tests.contract.deployment import DEPLOY
from tests.patience import PATIENCE
from tests.postgres import Server


@contextmanager
def a_database(server: Server, name: str) -> Generator[str]:
    """Create an empty database with the roles of `deploy/`, and drop it afterwards."""
    database = f"{name}_{os.getpid()}"
    _execute(server, sql.SQL("CREATE DATABASE {} TEMPLATE template1").format(sql.Identifier(database)))
    try:
        make_roles(server, database)
        yield database
    finally:
        _execute(server, sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(database)))


def make_roles(server: Server, database: str) -> None:
    """Run the setup of a superuser."""
    file = DEPLOY / "postgres" / "roles.sql"
    postgres_program(server, "psql", "--no-psqlrc", "--quiet", "--dbname", server.url(database), "--file", str(file))


def postgres_program(server: Server, program: str, *arguments: str, user: str | None = None) -> str:
    """Run a program of the server's distribution."""
    environment = {**os.environ, "OWNER_PASSWORD": "o'wner", "SERVER_PASSWORD": "server"}
    done = subprocess.run(
        [server._server.bin_path / program, *arguments],
        env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False, user=user, cwd="/",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def scrubjay(*arguments: str, url: str, home: Path) -> str:
    """Run a command on a database."""
    environment = {"SCRUBJAY_DATABASE_URL": url, "SCRUBJAY_HOME": str(home), "SCRUBJAY_EMBEDDER": "none"}
    text = invoke(arguments, env=environment)
    assert text.code == 0, text.output
    return text.out


def _execute(server: Server, statement: sql.Composed) -> None:
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute(statement)
