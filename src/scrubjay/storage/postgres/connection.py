"""Connections: the address of a database, the type adapters of the driver, and PostgreSQL's errors as ours."""

from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import field

import psycopg
from psycopg import adapters, errors
from psycopg.abc import Buffer
from psycopg.adapt import AdaptersMap, Loader
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import Format
from psycopg_pool import PoolClosed, PoolTimeout, TooManyRequests

from scrubjay.errors import (
    DiskFull,
    InvalidInput,
    ScrubjayError,
    StoreBusy,
    StoreDamaged,
    StoreError,
    StoreReadOnly,
)
from scrubjay.lazy import dataclass
from scrubjay.storage.rows import id_text

SETTING = "SCRUBJAY_DATABASE_URL"
_SCHEMES = ("postgresql://", "postgres://")
_CONFLICTS = (errors.SerializationFailure, errors.DeadlockDetected)
_SHUTDOWNS = (
    errors.AdminShutdown,
    errors.CrashShutdown,
    errors.CannotConnectNow,
    errors.IdleInTransactionSessionTimeout,
)
_TIMEOUTS = (errors.QueryCanceled, errors.LockNotAvailable, errors.TooManyConnections, PoolTimeout, TooManyRequests)
_RETRY_AFTER = 1
_DAMAGED = (errors.DataCorrupted, errors.IndexCorrupted)
_BAD_TEXT = (errors.CharacterNotInRepertoire, errors.UntranslatableCharacter, errors.InvalidTextRepresentation)
_MISSING = (errors.UndefinedTable, errors.UndefinedFunction, errors.UndefinedColumn, errors.InvalidSchemaName)


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """The URLs and limits of a database. The role of `owner_url` creates the tables, by default that of `url`.

    `direct_url` bypasses a pooler such as PgBouncer, through which notifications do not arrive.
    """

    url: str = field(repr=False)
    owner_url: str = field(default="", repr=False)
    direct_url: str = field(default="", repr=False)
    connections: int = 10
    statement_seconds: int = 30
    # How many seconds to try again after a lost connection before the caller gets the error.
    patience: float = 15.0

    def __post_init__(self) -> None:
        """Raise InvalidInput for a malformed URL before any connection is made."""
        for url in (self.url, self.owner, self.direct):
            if not url.startswith(_SCHEMES):
                raise InvalidInput(
                    "a database URL begins with postgresql://",
                    hint=f"Write {SETTING} as postgresql://user:password@host:5432/database",
                    setting=SETTING,
                )
            _parse(url)

    @property
    def shown(self) -> str:
        """The address without passwords, for messages."""
        parts = _parse(self.url)
        user = f"{parts['user']}@" if parts.get("user") else ""
        port = f":{parts['port']}" if parts.get("port") else ""
        return f"postgresql://{user}{parts.get('host') or 'localhost'}{port}/{parts.get('dbname') or ''}"

    @property
    def owner(self) -> str:
        """The URL whose role owns the tables."""
        return self.owner_url or self.url

    @property
    def direct(self) -> str:
        """The URL of the server itself, without a pooler in between."""
        return self.direct_url or self.url

    def conninfo(self, url: str) -> str:
        """Return one of the URLs for the driver, with options that detect a dead connection."""
        return make_conninfo(
            url,
            application_name="scrubjay",
            connect_timeout=max(2, int(self.patience)),
            keepalives_idle=5,
            keepalives_interval=5,
            keepalives_count=3,
            tcp_user_timeout=int(1000 * self.patience),
        )


async def connect(url: str, address: Address) -> psycopg.AsyncConnection:
    """Open a connection outside of the pool, for work that takes long."""
    return await psycopg.AsyncConnection.connect(address.conninfo(url), autocommit=True, prepare_threshold=None)


@contextmanager
def mapped_errors(shown: str) -> Generator[None]:
    """Translate every error of the driver into one of ours, with a hint."""
    try:
        yield
    except ScrubjayError:
        raise
    except UnicodeEncodeError as error:
        raise InvalidInput("a text is not valid Unicode", hint="Decode it with the right encoding first") from error
    except psycopg.Error as error:
        raise _translate(error, shown) from error


def is_conflict(error: psycopg.Error) -> bool:
    """Return whether two transactions were in conflict, so that a retry helps."""
    return isinstance(error, _CONFLICTS)


def is_lost(error: psycopg.Error) -> bool:
    """Return whether the connection broke or the server is shutting down."""
    if isinstance(error, PoolTimeout | PoolClosed | TooManyRequests):
        return False
    # An error that the server reports has a state; a broken connection has none.
    is_broken = isinstance(error, psycopg.OperationalError | psycopg.InterfaceError) and error.sqlstate is None
    return isinstance(error, _SHUTDOWNS) or is_broken


class ConnectionAdapters:
    """The adapters of new connections: ids are texts, as everywhere in Scrubjay."""

    def __init__(self) -> None:
        self._adapters = AdaptersMap(adapters)
        for loader in (_TextId, _BinaryId):
            self._adapters.register_loader("uuid", loader)

    @property
    def adapters(self) -> AdaptersMap:
        """The adapters that connections copy."""
        return self._adapters

    @property
    def connection(self) -> None:
        """None: they belong to no single connection."""
        return


class _TextId(Loader):
    """Loads an id that the server sends as text."""

    format = Format.TEXT

    def load(self, data: Buffer) -> str:
        return bytes(data).decode()


class _BinaryId(Loader):
    """Loads an id that the server sends as 16 bytes."""

    format = Format.BINARY

    def load(self, data: Buffer) -> str:
        return id_text(bytes(data))


def _translate(error: psycopg.Error, shown: str) -> ScrubjayError:
    # Only the first line: the lines after it quote the statement.
    message = (error.diag.message_primary or str(error)).strip().split("\n")[0]
    if isinstance(error, PoolClosed):
        return StoreError("the store is closed", hint="Open it again")
    if isinstance(error, _TIMEOUTS) or is_conflict(error):
        return StoreBusy(
            f"{shown} took too long: {message}",
            hint="Try again; the server may be overloaded",
            server=shown,
            retry_after=_RETRY_AFTER,
        )
    if isinstance(error, errors.DiskFull):
        return DiskFull(f"no room left at {shown}; nothing was changed", hint="Free some space and try again")
    if isinstance(error, errors.ReadOnlySqlTransaction):
        return StoreReadOnly(
            f"{shown} accepts no writes: {message}", hint="It may be a standby: connect to the primary", server=shown
        )
    if isinstance(error, errors.InsufficientPrivilege):
        return StoreError(
            f"the role of {shown} may not do this: {message}",
            hint="GRANT scrubjay_server TO the role, and GRANT scrubjay_keeper TO it WITH INHERIT FALSE, SET TRUE",
            server=shown,
        )
    if isinstance(error, _DAMAGED):
        return StoreDamaged(f"{shown} is damaged: {message}", hint="Restore a backup", server=shown)
    if isinstance(error, _MISSING):
        return StoreDamaged(f"a part of {shown} is missing: {message}", hint="Restore a backup", server=shown)
    if isinstance(error, psycopg.DataError):
        hint = "Leave out NUL characters"
        if not isinstance(error, _BAD_TEXT):
            hint = "Check the numbers and dates: one is out of range"
        return InvalidInput(f"PostgreSQL cannot store this: {message}", hint=hint)
    return _translate_connection_error(error, shown, message)


def _translate_connection_error(error: psycopg.Error, shown: str, message: str) -> ScrubjayError:
    refused = error.pgconn
    if refused is not None and (refused.needs_password or refused.used_password):
        return StoreError(
            f"{shown} refuses the login: {message}",
            hint="Check the role, its password and the name of the database in SCRUBJAY_DATABASE_URL",
            server=shown,
        )
    if is_lost(error):
        return StoreBusy(
            f"{shown} cannot be reached: {message}",
            hint="Check that PostgreSQL is running and has this role and database; then try again",
            server=shown,
            retry_after=_RETRY_AFTER,
        )
    return StoreError(f"{shown}: {message}", hint="Run `scrubjay doctor`", server=shown)


def _parse(url: str) -> dict[str, str]:
    # The driver's own message for a malformed URL may repeat the password.
    with suppress(psycopg.ProgrammingError):
        parts = {name: str(value) for name, value in conninfo_to_dict(url).items() if value}
        if all(port.isdecimal() for port in parts.get("port", "0").split(",")):
            return parts
    raise InvalidInput(
        "the database URL is malformed",
        hint=f"Write {SETTING} as postgresql://user:password@host:5432/database; encode special characters as %40",
        setting=SETTING,
    )
