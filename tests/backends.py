"""Every backend of a whole engine, for tests that must pass on each."""

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
    """Yield the settings of an empty backend: the embedded file, or PostgreSQL with one index or the other."""
    if name == "sqlite":
        yield {}
        return
    url = new_database()
    try:
        yield {"database_url": url, **_qdrant()} if name == "qdrant" else {"database_url": url}
    finally:
        drop_database(url)


def _qdrant() -> Choice:
    """Return a collection of its own on the server of SCRUBJAY_TEST_QDRANT_URL, or in the client's local mode."""
    return {"qdrant_url": qdrant.URL or ":memory:", "qdrant_collection": f"test-{new_id()}"}


def new_database() -> str:
    """Create an empty database with the newest schema; return its URL."""
    server = postgres.shared_server()
    name = f"test_{new_id().replace('-', '')}"
    made = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy")
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute(made.format(sql.Identifier(name), sql.Identifier(postgres.template(server))))
    return server.url(name)


def drop_database(url: str) -> None:
    """Drop a database, and close its connections."""
    name = url.split("?", maxsplit=1)[0].rpartition("/")[2]
    with psycopg.connect(postgres.shared_server().url(), autocommit=True) as connection:
        connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))
