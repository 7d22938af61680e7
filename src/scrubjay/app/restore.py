"""`backup restore`: a verified backup replaces the store, which is kept under another name, or fills a database."""

import asyncio
import os
import re
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from scrubjay.app.encryption_key import encryption_key
from scrubjay.app.stores import hold_folder, postgres_address
from scrubjay.errors import Conflict, DiskFull, InvalidInput, StoreDamaged, StoreError
from scrubjay.model.results import Restored
from scrubjay.paths import database_file
from scrubjay.settings import Settings
from scrubjay.storage.sqlite import new_store_id, verify_backup

_RESTORE = re.compile(r"restore a backup( with `scrubjay backup restore FILE`)?", re.IGNORECASE)
_PARTS = ("", "-wal", "-shm")


def restore_backup(settings: Settings, backup: Path, *, force: bool = False) -> Restored:
    """Verify a backup, then put it in place; an invalid backup changes nothing."""
    if not backup.is_file():
        raise StoreDamaged(f"there is no backup at {backup}", hint="Check the path", path=str(backup))
    if settings.database_url:
        return asyncio.run(_into_database(settings, backup, force=force))
    return _into_folder(settings, backup, force=force)


async def _into_database(settings: Settings, backup: Path, *, force: bool) -> Restored:
    """Fill an empty database: a database with memories is never replaced."""
    address = postgres_address(settings)
    if force:
        raise InvalidInput(
            "a database with memories cannot be replaced", hint="Create an empty database and restore into that"
        )
    from scrubjay.storage.postgres import restore_backup  # noqa: PLC0415 - an optional dependency

    memories = await restore_backup(address, backup, partitions=settings.database_partitions)
    return Restored(memories=memories, store=address.shown, kept="")


def _into_folder(settings: Settings, backup: Path, *, force: bool) -> Restored:
    target = database_file(settings.data)
    key = encryption_key(settings)
    lock = hold_folder(settings.data, alone=True)
    partial = target.with_name(target.name + ".restoring")
    try:
        if target.exists() and not force:
            raise Conflict(
                f"{settings.data} already has a store",
                hint="Use --force to replace it (a copy is kept), or restore into another folder with --data",
                path=str(target),
            )
        _copy(backup, partial)
        # Verify the copy: the backup itself is never written to.
        with _errors_about(backup, partial):
            memories = verify_backup(partial, key=key)
            new_store_id(partial, key=key)
        previous = _move_away(target)
        partial.replace(target)
    finally:
        for part in _PARTS:
            partial.with_name(partial.name + part).unlink(missing_ok=True)
        lock.release()
    return Restored(memories=memories, store=str(target), kept=previous)


@contextmanager
def _errors_about(backup: Path, partial: Path) -> Generator[None]:
    """Name the backup in errors about its copy, which is deleted; to restore a backup is no advice here."""
    try:
        yield
    except StoreError as error:
        hint = _RESTORE.sub("choose another backup", error.hint)
        message = error.message.replace(str(partial), str(backup))
        fields = {**error.fields, **({"path": str(backup)} if "path" in error.fields else {})}
        raise type(error)(message, hint=hint[:1].upper() + hint[1:], **fields) from error


def _copy(source: Path, target: Path) -> None:
    try:
        shutil.copyfile(source, target)
        target.chmod(0o600)
        with target.open("rb+") as file:
            os.fsync(file.fileno())
    except OSError as error:
        raise DiskFull(
            f"the backup cannot be copied to {target}: {error.strerror}", hint="Free some space and try again"
        ) from error


def _move_away(target: Path) -> str:
    if not target.exists():
        return ""
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S-%f")
    moved = target.with_name(f"{target.name}.before-{stamp}")
    for part in _PARTS:
        file = target.with_name(target.name + part)
        if file.exists():
            file.rename(moved.with_name(moved.name + part))
    return str(moved)
