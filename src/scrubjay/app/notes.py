"""The verbs of notes over an engine, with the folder that the settings name or that was used last."""

import asyncio
import logging
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from scrubjay.app.notes_location import notes_location, remember
from scrubjay.engine import Engine
from scrubjay.notes.service import Notes
from scrubjay.notes.vault_provider import VaultProvider
from scrubjay.paths import notes_ledger
from scrubjay.settings import Settings

if TYPE_CHECKING:
    from scrubjay.notes.vault import Vault

__all__ = ["open_notes"]

_log = logging.getLogger(__name__)


@asynccontextmanager
async def open_notes(settings: Settings, engine: Engine) -> AsyncGenerator[Notes]:
    """The notes of an engine; their folder is opened when it is first needed, and closed at the end."""
    place = await asyncio.to_thread(notes_location, settings)
    folder, space, home = place.folder, place.space, _home(settings)
    if place.named and space != settings.space:
        _log.warning("the folder of notes is another space's", extra={"fields": {"space": space}})

    @asynccontextmanager
    async def opens(*, adopt: bool = False) -> "AsyncGenerator[Vault]":
        # What watches files and reads YAML is loaded by those who keep notes.
        from scrubjay.notes.attachments.service import Attachments  # noqa: PLC0415
        from scrubjay.notes.vault import open_vault  # noqa: PLC0415

        await asyncio.to_thread(place.require, home=home, adopt=adopt)
        attachments = Attachments(engine, root=folder, space=space, largest=settings.max_attachment_bytes)
        async with open_vault(
            engine, folder=folder, ledger=notes_ledger(settings.index), space=space, home=home, adopt=adopt,
            attachments=attachments,
        ) as vault:  # fmt: skip
            before = await asyncio.to_thread(remember, settings.data, space=space, folder=folder)
            if before is not None:
                vaults.news = (_moved(before, folder),)
            yield vault

    vaults = VaultProvider(
        folder, space=space, opens=opens, expected=place.expected, largest_attachment=settings.max_attachment_bytes
    )  # fmt: skip
    try:
        yield Notes(engine=engine, vaults=vaults)
    finally:
        await vaults.close()


def _moved(before: Path, folder: Path) -> str:
    """Say in the log, and for whoever asks next, that the notes go on in another folder."""
    _log.warning(
        "the notes are kept in another folder from now on",
        extra={"fields": {"before": str(before), "folder": str(folder)}},
    )
    return (
        f"{before}: the notes were kept here until now, and are in {folder} from now on; what is here stays as it is, "
        "and attachments and templates go along when you copy them"
    )


def _home(settings: Settings) -> str:
    """What tells a data folder from others without naming it; a database elsewhere is in none."""
    return (
        ""
        if settings.database_url
        else sha256(os.path.realpath(settings.data).encode("utf-8", "surrogateescape")).hexdigest()
    )
