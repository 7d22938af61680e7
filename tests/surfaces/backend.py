"""The store of the surface tests: a file, or with `SCRUBJAY_TEST_BACKEND=postgres` a database for each data folder.

The choice applies to the whole suite.
"""

import os
from functools import cache
from pathlib import Path

from tests.backends import drop_database, new_database

_BACKEND = os.environ.get("SCRUBJAY_TEST_BACKEND", "sqlite")
assert _BACKEND in ("sqlite", "postgres"), "SCRUBJAY_TEST_BACKEND is sqlite or postgres"
IS_EMBEDDED = _BACKEND == "sqlite"


def database_of(home: Path) -> str:
    """Return the address of the database that replaces the store of a folder; empty if the store is a file."""
    return "" if IS_EMBEDDED else _create_database(home)


def drop_database_of(home: Path) -> None:
    """Drop the database of a folder, and close all connections to it."""
    if not IS_EMBEDDED:
        drop_database(_create_database(home))


@cache
def _create_database(home: Path) -> str:
    return new_database()
