"""Numbers, keys and counters that several modules of this store use."""

import asyncio
from collections.abc import Callable, Hashable, Iterable, Mapping, Sized
from typing import Any, TypeVar

import apsw

from scrubjay.model.memory import State
from scrubjay.storage.rows import STATE_NUMBERS, id_bytes, id_text

T = TypeVar("T")
Key = tuple[Hashable, ...]
# Every text that begins with a prefix sorts before the prefix followed by this character.
LAST_CHARACTER = "\U0010ffff"
# More than there are states, so that later ones need no new numbers.
_LEXICONS_PER_SPACE = 16
# The counters of `meta`: all purges, those that were cleaned up after, how often passages were indexed again, and how
# often accesses were counted.
_PURGES, _CLEANED, _REINDEXED, _TOUCHES = "purges", "cleaned", "reindexed", "touches"

# So many results of reads are kept; then all are dropped.
_MAX_REPEATED = 4_096

_LOG_STATE = """SELECT (SELECT coalesce(max(seq), 0) FROM changes),
    (SELECT group_concat(key || value) FROM (SELECT key, value FROM meta WHERE key IN (?, ?) ORDER BY key))"""


class StoreConnection(apsw.Connection):
    """A connection that remembers the numbers of names, such as those of spaces: a number that is stored never changes.

    A transaction that is rolled back may take a new name with it, and its number goes to another one: then all are
    forgotten. SQLite does not report a rollback to a savepoint; `roll_back_job` does that.
    """

    def __init__(self, filename: str, *, statementcachesize: int = 100) -> None:
        super().__init__(filename, statementcachesize=statementcachesize)
        # By table and name, each with the dimension of a model.
        self.numbers: dict[tuple[str, str], tuple[int, int]] = {}
        self.set_rollback_hook(self.numbers.clear)


def roll_back_job(connection: apsw.Connection) -> None:
    """Roll back to the savepoint of a job."""
    connection.execute("ROLLBACK TO job")
    if isinstance(connection, StoreConnection):
        connection.numbers.clear()


def marks(values: Sized) -> str:
    """Return as many question marks as there are values."""
    return ",".join("?" * len(values))


def space_number(connection: apsw.Connection, space: str) -> int | None:
    """Return the number of a space, if anything was ever stored in it."""
    return _numbers(connection, "spaces", space)[0] or None


def agent_number(connection: apsw.Connection, agent: str) -> int | None:
    """Return the number of an agent, if it ever wrote anything."""
    return _numbers(connection, "agents", agent)[0] or None


def read_model(connection: apsw.Connection, model: str) -> tuple[int, int]:
    """Return the number and the dimension of a model; zeros for one without vectors in this store."""
    return _numbers(connection, "models", model, dimension="dimension")


def _numbers(connection: apsw.Connection, table: str, name: str, *, dimension: str = "0") -> tuple[int, int]:
    remembered = connection.numbers if isinstance(connection, StoreConnection) else {}
    if (numbers := remembered.get((table, name))) is not None:
        return numbers
    row = connection.execute(f"SELECT no, {dimension} FROM {table} WHERE name = ?", (name,)).fetchone()
    if row is None:
        return 0, 0
    remembered[table, name] = numbers = int(row[0]), int(row[1])
    return numbers


def run_key(run: str) -> str | bytes:
    """Return the stored form of a run: its name, or the bytes of its id, which almost every run has."""
    raw = id_bytes(run)
    return raw if raw and id_text(raw) == run else run


def run_name(key: str | bytes) -> str:
    """Return the name or id of a run from its stored form."""
    return key if isinstance(key, str) else id_text(key)


def lexicon_number(space_no: int, state: State) -> int:
    """Return the number of the lexicon, which counts the terms of one state of one space."""
    return space_no * _LEXICONS_PER_SPACE + STATE_NUMBERS[state]


def space_of_lexicon(lexicon_no: int) -> int:
    """Return the number of the space that a lexicon belongs to."""
    return lexicon_no // _LEXICONS_PER_SPACE


def purges(connection: apsw.Connection) -> int:
    """Return the number of purges. Data that was read before the last one may hold purged words."""
    return _counter(connection, _PURGES)


def note_purge(connection: apsw.Connection) -> None:
    """Count a purge, in its own transaction: until `note_cleaned`, there is something to clean up."""
    _set_counter(connection, _PURGES, purges(connection) + 1)


def is_unclean(connection: apsw.Connection) -> bool:
    """Return whether a purge is running, or was interrupted, before its words were out of every file."""
    return purges(connection) != _counter(connection, _CLEANED)


def note_cleaned(connection: apsw.Connection, *, purges: int) -> None:
    """Record that nothing is left of the first `purges` purges."""
    _set_counter(connection, _CLEANED, purges)


def note_reindexed(connection: apsw.Connection) -> None:
    """Count a transaction that has indexed passages again: the change log need not say so."""
    _set_counter(connection, _REINDEXED, _counter(connection, _REINDEXED) + 1)


def note_touches(connection: apsw.Connection) -> int:
    """Count that accesses were counted; return how often that was."""
    touches = _counter(connection, _TOUCHES) + 1
    _set_counter(connection, _TOUCHES, touches)
    return touches


def read_touches(connection: apsw.Connection) -> int:
    """Return how often accesses were counted."""
    return _counter(connection, _TOUCHES)


class Freshness:
    """Tells whether another connection has committed, of this process or another one; SQLite is asked once in a turn.

    A turn is one iteration of the event loop. A caller that learns of a commit, and then asks, does so in a later one.
    """

    def __init__(self) -> None:
        self._version: int | None = None

    def version(self, connection: apsw.Connection) -> int:
        """Return a number that changes with every commit."""
        if self._version is not None:
            return self._version
        self._version = data_version(connection)
        asyncio.get_running_loop().call_soon(self._forget)
        return self._version

    def _forget(self) -> None:
        self._version = None


class RepeatedReads:
    """Keeps what reads have returned until anything is committed. It is used by one thread, with one connection."""

    def __init__(self, freshness: Freshness) -> None:
        self._freshness = freshness
        self._version = -1
        self._results: dict[Key, Any] = {}

    def read(self, connection: apsw.Connection, job: Callable[..., T], *arguments: Hashable) -> T:
        """Return the result of a job, which the caller must not change."""
        key = job, *arguments
        present = self.find(connection, [key])
        if not present:
            self.keep({key: job(connection, *arguments)})
        return present[key] if present else self._results[key]

    def find(self, connection: apsw.Connection, keys: Iterable[Key]) -> dict[Key, Any]:
        """Return the results that are present and still hold; SQLite is asked only if there are any."""
        present = {key: self._results[key] for key in keys if key in self._results}
        if not present or self._freshness.version(connection) == self._version:
            return present
        self._version, self._results = self._freshness.version(connection), {}
        return {}

    def keep(self, results: Mapping[Key, object]) -> None:
        """Keep what was read. If it is newer than the rest, the next to find some of it drops all."""
        if len(self._results) > _MAX_REPEATED:
            self.clear()
        self._results.update(results)

    def clear(self) -> None:
        """Drop everything."""
        self._results = {}


def data_version(connection: apsw.Connection) -> int:
    """Return a number that changes with every commit of another connection."""
    return int(connection.execute("PRAGMA data_version").fetchall()[0][0])


def log_state(connection: apsw.Connection) -> tuple[int, str]:
    """Return the newest change, and how often texts were purged or indexed again, which the log need not say."""
    ((seq, upkeep),) = connection.execute(_LOG_STATE, (_PURGES, _REINDEXED)).fetchall()
    return int(seq), str(upkeep)


def _counter(connection: apsw.Connection, key: str) -> int:
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return 0 if row is None else int(row[0])


def _set_counter(connection: apsw.Connection, key: str, number: int) -> None:
    connection.execute("INSERT OR REPLACE INTO meta VALUES(?, ?)", (key, number))
