"""What PostgreSQL's errors mean to a user, and which of them pass."""

from collections.abc import Generator
from contextlib import contextmanager

import psycopg
from psycopg import errors
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

_AGAIN = (errors.SerializationFailure, errors.DeadlockDetected)
_GOING_DOWN = (
    errors.AdminShutdown,
    errors.CrashShutdown,
    errors.CannotConnectNow,
    errors.IdleInTransactionSessionTimeout,
)
_TOO_SLOW = (errors.QueryCanceled, errors.LockNotAvailable, errors.TooManyConnections, PoolTimeout, TooManyRequests)
_RETRY_AFTER = 1
_DAMAGED = (errors.DataCorrupted, errors.IndexCorrupted)
_NO_TEXT = (errors.CharacterNotInRepertoire, errors.UntranslatableCharacter, errors.InvalidTextRepresentation)
_NOT_OURS = (errors.UndefinedTable, errors.UndefinedFunction, errors.UndefinedColumn, errors.InvalidSchemaName)


@contextmanager
def mapped_errors(shown: str) -> Generator[None]:
    """Every driver error leaves as one of ours, saying what to do next."""
    try:
        yield
    except ScrubjayError:
        raise
    except UnicodeEncodeError as error:
        raise InvalidInput("a text is not valid Unicode", hint="Decode it with the right encoding first") from error
    except psycopg.Error as error:
        raise _mapped(error, shown) from error


def is_conflict(error: psycopg.Error) -> bool:
    """Whether two transactions got in each other's way: trying again is the answer."""
    return isinstance(error, _AGAIN)


def is_lost(error: psycopg.Error) -> bool:
    """Whether the connection, or the server behind it, went away."""
    if isinstance(error, PoolTimeout | PoolClosed | TooManyRequests):
        return False
    # What the server itself says has a state; a connection that broke has none.
    is_broken = isinstance(error, psycopg.OperationalError | psycopg.InterfaceError) and error.sqlstate is None
    return isinstance(error, _GOING_DOWN) or is_broken


def _mapped(error: psycopg.Error, shown: str) -> ScrubjayError:
    said = _first_line(error)
    if isinstance(error, PoolClosed):
        return StoreError("the store is closed", hint="Open it again")
    if isinstance(error, _TOO_SLOW) or is_conflict(error):
        return StoreBusy(
            f"{shown} took too long: {said}",
            hint="Try again; it may have too much to do",
            server=shown,
            retry_after=_RETRY_AFTER,
        )
    if isinstance(error, errors.DiskFull):
        return DiskFull(f"no room left at {shown}; nothing was changed", hint="Free some space and try again")
    if isinstance(error, errors.ReadOnlySqlTransaction):
        return StoreReadOnly(
            f"{shown} takes no writes: {said}", hint="It may be a standby: connect to the primary", server=shown
        )
    if isinstance(error, errors.InsufficientPrivilege):
        return StoreError(
            f"the role of {shown} may not do this: {said}",
            hint="GRANT scrubjay_server TO the role, and GRANT scrubjay_keeper TO it WITH INHERIT FALSE, SET TRUE",
            server=shown,
        )
    if isinstance(error, _DAMAGED):
        return StoreDamaged(f"{shown} is damaged: {said}", hint="Restore a backup", server=shown)
    if isinstance(error, _NOT_OURS):
        return StoreDamaged(f"a part of {shown} is missing: {said}", hint="Restore a backup", server=shown)
    if isinstance(error, psycopg.DataError):
        is_text = isinstance(error, _NO_TEXT)
        hint = "Leave out NUL characters" if is_text else "Check the numbers and dates: one is out of range"
        return InvalidInput(f"PostgreSQL cannot keep this: {said}", hint=hint)
    if _was_asked_who(error):
        return StoreError(
            f"{shown} does not let us in: {said}",
            hint="Check the role, its password and the name of the database in SCRUBJAY_DATABASE_URL",
            server=shown,
        )
    if is_lost(error):
        return StoreBusy(
            f"{shown} cannot be reached: {said}",
            hint="See whether PostgreSQL is up, and knows this role and this database; then try again",
            server=shown,
            retry_after=_RETRY_AFTER,
        )
    return StoreError(f"{shown}: {said}", hint="Run `scrubjay doctor`", server=shown)


def _was_asked_who(error: psycopg.Error) -> bool:
    """Whether a connection was refused by a server that had asked for a password."""
    refused = error.pgconn
    return refused is not None and (refused.needs_password or refused.used_password)


def _first_line(error: psycopg.Error) -> str:
    # The lines after it quote the statement.
    return (error.diag.message_primary or str(error)).strip().split("\n")[0]
