"""Where the tests of the surfaces remember: in a file, or in a database for each data folder.

`SCRUBJAY_TEST_BACKEND=postgres` chooses the latter, for the whole suite.
"""

import os
from functools import cache
from pathlib import Path

from tests.backends import drop_database, new_database

_CHOSEN = os.environ.get("SCRUBJAY_TEST_BACKEND", "sqlite")
assert _CHOSEN in ("sqlite", "postgres"), "SCRUBJAY_TEST_BACKEND is sqlite or postgres"
IS_EMBEDDED = _CHOSEN == "sqlite"


def database_of(home: Path) -> str:
    """The address of the database that takes the place of a folder's store; nothing when the store is a file."""
    return "" if IS_EMBEDDED else _made(home)


def drop_database_of(home: Path) -> None:
    """Be done with a folder's database; who is connected is thrown out."""
    if not IS_EMBEDDED:
        drop_database(_made(home))


@cache
def _made(home: Path) -> str:
    return new_database()
