"""The verbs of notes over an engine, with the folder that the settings name."""

import asyncio
import json
import logging
import os
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from scrubjay.engine import Engine
from scrubjay.notes.cabinet import Cabinet
from scrubjay.notes.desk import Notes
from scrubjay.paths import notes_ledger
from scrubjay.settings import Settings

if TYPE_CHECKING:
    from scrubjay.notes.vault import Vault

__all__ = ["open_notes"]

_log = logging.getLogger(__name__)
_MARKER = Path(".scrubjay", "vault.json")


@asynccontextmanager
async def open_notes(settings: Settings, engine: Engine) -> AsyncGenerator[Notes]:
    """The notes of an engine; their folder is opened when it is first needed, and closed at the end.

    A folder stays that of the space it was made for, whichever the settings name now.
    """
    claimed = await asyncio.to_thread(_claimed, settings.notestore)
    space = claimed or settings.space
    if claimed and settings.notestore_path and claimed != settings.space:
        _log.warning("the folder of notes is another space's", extra={"fields": {"space": claimed}})

    def opens(*, adopt: bool = False) -> "AbstractAsyncContextManager[Vault]":
        # What watches files and reads YAML is loaded by those who keep notes.
        from scrubjay.notes.media.attachments import Attachments  # noqa: PLC0415
        from scrubjay.notes.vault import open_vault  # noqa: PLC0415

        attachments = Attachments(
            engine, root=settings.notestore, space=space, largest=settings.max_attachment_bytes
        )  # fmt: skip
        return open_vault(
            engine, folder=settings.notestore, ledger=notes_ledger(settings.index), space=space,
            home=_home(settings), adopt=adopt, attachments=attachments,
        )  # fmt: skip

    cabinet = Cabinet(
        settings.notestore, space=space, opens=opens, expected=bool(settings.notestore_path),
        largest_attachment=settings.max_attachment_bytes,
    )  # fmt: skip
    try:
        yield Notes(engine=engine, cabinet=cabinet)
    finally:
        await cabinet.close()


def _home(settings: Settings) -> str:
    """What tells a data folder from others without naming it; a database elsewhere is in none."""
    return (
        ""
        if settings.database_url
        else sha256(os.path.realpath(settings.data).encode("utf-8", "surrogateescape")).hexdigest()
    )


def _claimed(folder: Path) -> str:
    """The space that a folder was made for, if it was; whether all is well with it is seen when it is opened."""
    try:
        space = json.loads((folder / _MARKER).read_bytes())["space"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return ""
    return space if isinstance(space, str) else ""
