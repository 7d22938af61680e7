"""The provider of the vault: it opens the vault once, when it is first needed, and tries again after a failure."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from scrubjay.app import open_engine
from scrubjay.app.notes import open_notes
from scrubjay.errors import VaultUnavailable
from scrubjay.model.caller import Caller
from scrubjay.model.requests import WriteNoteRequest
from scrubjay.notes.vault import Vault, open_vault
from scrubjay.notes.vault_provider import VaultProvider
from scrubjay.settings import Settings


@asynccontextmanager
async def provider_in(tmp_path: Path, *, expected: bool = False) -> AsyncGenerator[tuple[VaultProvider, list[str]]]:
    settings = Settings(home=str(tmp_path / "data"), embedder="none", vector_index="scan", readers=1)
    opened: list[str] = []
    async with open_engine(settings) as engine:

        @asynccontextmanager
        async def opens() -> AsyncGenerator[Vault]:
            async with open_vault(
                engine, folder=tmp_path / "notes", ledger=tmp_path / "notes.db", space="default"
            ) as vault:
                opened.append("in")
                yield vault
            opened.append("out")

        vaults = VaultProvider(tmp_path / "notes", space="default", opens=opens, expected=expected)
        try:
            yield vaults, opened
        finally:
            await vaults.close()
    assert opened in (["in", "out"], [])


async def test_it_is_opened_once_on_the_first_need(tmp_path: Path) -> None:
    async with provider_in(tmp_path) as (vaults, opened):
        assert await vaults.vault() is None
        waiting = asyncio.create_task(vaults.wait_until_open())
        results = await asyncio.gather(*(vaults.vault(make=True) for _ in range(5)))
        assert len({id(vault) for vault in results}) == 1
        assert await waiting is results[0]
        assert opened == ["in"]
    assert opened == ["in", "out"]


async def test_an_existing_or_named_folder_is_opened_by_a_read(tmp_path: Path) -> None:
    async with provider_in(tmp_path, expected=True) as (vaults, _):
        assert await vaults.vault() is not None
    async with provider_in(tmp_path) as (vaults, _):
        assert await vaults.vault() is not None


async def test_an_obstacle_is_reported_and_the_next_request_tries_again(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("a file")
    async with provider_in(tmp_path, expected=True) as (vaults, _):
        assert await vaults.vault(make=True) is None
        assert str(tmp_path / "notes") in vaults.problem
        with pytest.raises(VaultUnavailable):
            await vaults.require()
        (tmp_path / "notes").unlink()
        assert await vaults.vault(make=True) is not None
        assert vaults.problem == ""


async def test_a_folder_keeps_its_space(tmp_path: Path) -> None:
    settings = Settings(
        home=str(tmp_path / "data"),
        notestore_path=str(tmp_path / "notes"),
        embedder="none",
        vector_index="scan",
        readers=1,
    )
    tea, coffee = (
        WriteNoteRequest(title="Tea", content="Green tea."),
        WriteNoteRequest(title="Coffee", content="Black coffee."),
    )
    async with open_engine(settings) as engine:
        async with open_notes(settings, engine) as notes:
            assert (await notes.write_note(tea, who=Caller())).file_path
        async with open_notes(settings.with_overrides(space="work"), engine) as notes:
            assert (await notes.write_note(tea, who=Caller(space="work"))).file_path == ""
            assert (await notes.write_note(coffee, who=Caller())).file_path
        (tmp_path / "notes" / ".scrubjay" / "vault.json").write_text("{nonsense")
        async with open_notes(settings, engine) as notes:
            made = await notes.write_note(WriteNoteRequest(title="Milk", content="Oat milk."), who=Caller())
            assert (made.file_path, "cannot be read" in made.warnings[-1]) == ("", True)
