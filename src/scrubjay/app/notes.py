"""The verbs of notes over an engine, with the folder of the settings or the one used last."""

import asyncio
import logging
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from scrubjay.app.encryption_key import encryption_key
from scrubjay.app.notes_location import notes_location, remember
from scrubjay.app.stores import is_encrypted
from scrubjay.engine import Engine
from scrubjay.errors import InvalidInput
from scrubjay.notes.service import Notes
from scrubjay.notes.vault_provider import VaultProvider
from scrubjay.paths import notes_ledger
from scrubjay.settings import Settings

if TYPE_CHECKING:
    from scrubjay.notes.vault import Vault

__all__ = ["open_notes"]

_log = logging.getLogger(__name__)
_FILE_NAMES = ("auto", "id", "title")


@asynccontextmanager
async def open_notes(settings: Settings, engine: Engine) -> AsyncGenerator[Notes]:
    """Open the notes of an engine; their folder is opened on first use and closed at the end.

    Notes of an encrypted store have no files, unless the user names a folder for them.
    """
    if settings.notes_filename not in _FILE_NAMES:
        raise InvalidInput(
            f"SCRUBJAY_NOTES_FILENAME must be one of {', '.join(_FILE_NAMES)}, not {settings.notes_filename[:60]!r}",
            setting="SCRUBJAY_NOTES_FILENAME",
        )
    if is_encrypted(settings) and not settings.notestore_path:
        yield Notes(engine=engine)
        return
    location = await asyncio.to_thread(notes_location, settings)
    folder, space, home = location.folder, location.space, _home(settings)
    if location.named and space != settings.space:
        _log.warning("the folder of notes belongs to another space", extra={"fields": {"space": space}})

    @asynccontextmanager
    async def opens(*, adopt: bool = False, folder: Path = folder) -> "AsyncGenerator[Vault]":
        # File watching and YAML are loaded on demand: few programs need them.
        from scrubjay.notes.attachments.service import Attachments  # noqa: PLC0415
        from scrubjay.notes.vault import open_vault  # noqa: PLC0415

        if folder == location.folder:
            await asyncio.to_thread(location.require, home=home, adopt=adopt)
        attachments = Attachments(engine, root=folder, space=space, largest=settings.max_attachment_bytes)
        async with open_vault(
            engine, folder=folder, ledger=notes_ledger(settings.index), space=space, home=home, adopt=adopt,
            attachments=attachments, naming=settings.notes_filename,
            key=await asyncio.to_thread(encryption_key, settings),
        ) as vault:  # fmt: skip
            before = await asyncio.to_thread(remember, settings.data, space=space, folder=folder)
            if before is not None:
                vaults.news = (_moved(before, folder),)
            if vault.copy is not None:
                vaults.news = (*vaults.news, _adopted(folder, vault.copy))
            yield vault

    vaults = VaultProvider(
        folder, space=space, opens=opens, expected=location.expected, fixed=location.named,
        naming=settings.notes_filename,        largest_attachment=settings.max_attachment_bytes,
    )  # fmt: skip
    try:
        yield Notes(engine=engine, vaults=vaults)
    finally:
        await vaults.close()


def _moved(before: Path, folder: Path) -> str:
    """Log that the notes have moved to another folder, and return a warning for the next answer."""
    _log.warning(
        "the notes have moved to another folder",
        extra={"fields": {"before": str(before), "folder": str(folder)}},
    )
    return (
        f"{before}: the notes have moved from here to {folder}; the files here stay unchanged, "
        "and you can copy attachments and templates"
    )


def _adopted(folder: Path, copy: Path) -> str:
    """Log that a folder with notes of other programs is in use now, and return a warning for the next answer."""
    _log.warning("a folder with notes is adopted", extra={"fields": {"folder": str(folder), "copy": str(copy)}})
    return (
        f"{folder}: the notes that were here are adopted, and their files stay as they are until a note changes; "
        f"a copy of them is in {copy}"
    )


def _home(settings: Settings) -> str:
    """Return a digest that identifies the data folder; empty for a database elsewhere."""
    return (
        ""
        if settings.database_url
        else sha256(os.path.realpath(settings.data).encode("utf-8", "surrogateescape")).hexdigest()
    )
