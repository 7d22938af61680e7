"""Whose a folder of notes is: of the store in its data folder, also after a backup, and of nobody else unasked."""

import json
import shutil
from pathlib import Path

import pytest

from scrubjay.errors import VaultUnavailable
from scrubjay.model.memory import State
from scrubjay.notes.markdown.format import parse
from scrubjay.paths import database_file
from scrubjay.storage.sqlite import SqliteStore, new_store_id
from tests.scenarios.notes.vaults import AGENT, open_desk
from tests.scenarios.wiring import open_wiring


async def test_a_store_from_a_backup_gets_its_notes_back_and_none_is_lost(home: Path) -> None:
    async with open_desk(home) as context:
        edited, stored, gone = [await context.write(text, title=text) for text in ("Edited", "Kept", "Gone")]
        await context.sync()
        assert isinstance(context.engine.store, SqliteStore)
        await context.engine.store.backup(home / "backup.db")
        path = await context.file(edited)
        context.save(path, path.read_text() + "\nSince then.\n")
        (await context.file(gone)).unlink()
        context.save("new.md", "Written since then.\n")
        await context.sync()
        new = parse((context.root / "new.md").read_bytes()).note.id
    shutil.copy(home / "backup.db", database_file(home))
    new_store_id(database_file(home), key="")

    async with open_desk(home) as context:
        done = await context.sync()
        assert (done.trashed, done.problems) == (0, ())
        assert "Since then." in "".join(await context.texts(edited))
        assert "Since then." in path.read_text()
        assert (await context.get(new)).content.startswith("Written since then.")
        assert (await context.get(stored)).version == 1
        # The backup knows nothing of what was deleted.
        assert (await context.get(gone)).state is State.LIVE
        assert (await context.file(gone)).exists()
        for conflict in await context.engine.conflicts(who=AGENT):
            await context.engine.resolve_conflict(conflict.id, who=AGENT, strategy="supersede")
        await context.sync()
        assert await context.vault.drift() == ()


async def test_notes_of_another_data_folder_are_handed_over_only_on_demand(home: Path) -> None:
    async with open_desk(home) as context:
        theirs = await context.write("Theirs", title="Theirs")
        await context.sync()
        root = context.root
        mark = root / ".scrubjay" / "vault.json"
        before = mark.read_bytes()
        async with open_wiring(home / "other", index=False) as wiring:
            with pytest.raises(VaultUnavailable, match="sync --adopt"):
                async with open_desk(home / "other", wiring=wiring, root=root):
                    pass
            with pytest.raises(VaultUnavailable, match="a process keeps them in step"):
                async with open_desk(home / "other", wiring=wiring, root=root, adopt=True):
                    pass
    assert mark.read_bytes() == before

    async with open_desk(home / "other", root=root, adopt=True) as context:
        ours = await context.write("Ours", title="Ours")
        done = await context.sync()
        assert (done.created, done.problems) == (1, ())
        assert (await context.get(theirs)).content == "Theirs"
        assert {parse((root / file).read_bytes()).note.id for file in context.files()} == {ours, theirs}
        assert json.loads(mark.read_bytes())["vault"] != json.loads(before)["vault"]


async def test_files_of_another_folder_have_not_vanished(home: Path) -> None:
    async with open_wiring(home, index=False) as wiring:
        async with open_desk(home, wiring=wiring) as context:
            item = await context.write("First.", title="One")
            await context.sync()
            old = await context.file(item)
        async with open_desk(home, wiring=wiring, root=home / "elsewhere") as context:
            assert await context.path_of(item) is None
            done = await context.sync(deletions=True)
            assert (done.written, done.trashed) == (1, 0)
            assert old.exists()
            assert (await context.file(item)).is_relative_to(home / "elsewhere")
        # As where a disk is not mounted: the folder is empty, and marked as ours when it is opened.
        shutil.move(home / "notes", home / "disk")
        async with open_desk(home, wiring=wiring) as context:
            done = await context.sync()
            assert (done.written, done.trashed) == (1, 0)
            shutil.move(home / "notes", home / "unplugged")
            (gone,) = await context.vault.drift()
            assert "Bring the folder back" in gone
        shutil.move(home / "disk", home / "notes")
        async with open_desk(home, wiring=wiring) as context:
            assert (await context.sync()).trashed == 0
            assert await context.vault.drift() == ()
