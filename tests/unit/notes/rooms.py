"""A desk of notes with its folder, for tests of what goes out of it and comes into it."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.scenarios.wiring import open_wiring

from scrubjay.model.draft import Caller
from scrubjay.model.rules import Rules
from scrubjay.notes.service import Notes
from scrubjay.notes.vault import open_vault
from scrubjay.notes.vault_provider import VaultProvider

WHO = Caller(agent="tester")
# Nothing is added to what is written, and nothing merged.
PLAIN = Rules(gate="off", density="off", tags="off", conflicts="off")


@asynccontextmanager
async def open_room(folder: Path, *, rules: Rules = PLAIN, has_folder: bool = True) -> AsyncGenerator[Notes]:
    """The verbs of notes over a store in a folder, with the notes beside it."""
    async with open_wiring(folder / "data", index=False, rules=rules) as house:
        root = folder / "notes"
        vaults = VaultProvider(
            root, space="default", expected=True,
            opens=lambda: open_vault(house.engine, folder=root, ledger=folder / "notes.db", space="default"),
        )  # fmt: skip
        try:
            yield Notes(engine=house.engine, vaults=vaults if has_folder else None)
        finally:
            await vaults.close()
