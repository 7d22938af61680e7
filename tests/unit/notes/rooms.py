"""The note service with its folder, for tests of export and import."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.scenarios.wiring import open_wiring

from scrubjay.model.caller import Caller
from scrubjay.model.rules import Rules
from scrubjay.notes.service import Notes
from scrubjay.notes.vault import open_vault
from scrubjay.notes.vault_provider import VaultProvider

WHO = Caller(agent="tester")
# Drafts are stored as they are, and never merged.
PLAIN = Rules(gate="off", density="off", tags="off", conflicts="off")


@asynccontextmanager
async def open_room(folder: Path, *, rules: Rules = PLAIN, has_folder: bool = True) -> AsyncGenerator[Notes]:
    """Open the note service over a store in a folder, with a folder of notes next to it."""
    async with open_wiring(folder / "data", index=False, rules=rules) as wiring:
        root = folder / "notes"
        vaults = VaultProvider(
            root, space="default", expected=True,
            opens=lambda: open_vault(wiring.engine, folder=root, ledger=folder / "notes.db", space="default"),
        )  # fmt: skip
        try:
            yield Notes(engine=wiring.engine, vaults=vaults if has_folder else None)
        finally:
            await vaults.close()
