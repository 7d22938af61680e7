"""Every backend that a whole memory can stand on, for the tests that must hold on each."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import TypedDict

import psycopg
from psycopg import sql

from scrubjay.model.identity import new_id
from tests import postgres, qdrant

BACKENDS = ("sqlite", "pgvector", "qdrant")


class Choice(TypedDict, total=False):
    """The settings that choose a backend."""

    database_url: str
    qdrant_url: str
    qdrant_collection: str


@contextmanager
def backend(name: str) -> Generator[Choice]:
    """The settings of a backend with nothing in it: the embedded file, or PostgreSQL with one index or the other."""
    if name == "sqlite":
        yield {}
        return
    url = new_database()
    try:
        yield {"database_url": url, **_qdrant()} if name == "qdrant" else {"database_url": url}
    finally:
        drop_database(url)


def _qdrant() -> Choice:
    """A collection of its own on the server that SCRUBJAY_TEST_QDRANT_URL names, or the client's local mode."""
    return {"qdrant_url": qdrant.URL or ":memory:", "qdrant_collection": f"test-{new_id()}"}


def new_database() -> str:
    """The address of a database with the newest schema and nothing in it."""
    server = postgres.shared_server()
    name = f"house_{new_id().replace('-', '')}"
    made = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy")
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute(made.format(sql.Identifier(name), sql.Identifier(postgres.template(server))))
    return server.url(name)


def drop_database(url: str) -> None:
    """Remove it; who is connected is thrown out."""
    name = url.split("?", maxsplit=1)[0].rpartition("/")[2]
    with psycopg.connect(postgres.shared_server().url(), autocommit=True) as connection:
        connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))
