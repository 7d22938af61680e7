"""Whose a folder of notes is: of the store in its data folder, also after a backup, and of nobody else unasked."""

import json
import shutil
from pathlib import Path

import pytest

from scrubjay.errors import VaultUnavailable
from scrubjay.model.memory import State
from scrubjay.notes.page.format import parse
from scrubjay.paths import database_file
from scrubjay.stores.sqlite import SqliteStore, new_store_id
from tests.notes.vaults import AGENT, open_desk
from tests.scenarios.house import open_house


async def test_a_store_from_a_backup_gets_its_notes_back_and_none_is_lost(home: Path) -> None:
    async with open_desk(home) as desk:
        edited, kept, gone = [await desk.write(text, title=text) for text in ("Edited", "Kept", "Gone")]
        await desk.sync()
        assert isinstance(desk.engine.store, SqliteStore)
        await desk.engine.store.backup(home / "backup.db")
        path = await desk.file(edited)
        desk.save(path, path.read_text() + "\nSince then.\n")
        (await desk.file(gone)).unlink()
        desk.save("new.md", "Written since then.\n")
        await desk.sync()
        new = parse((desk.root / "new.md").read_bytes()).note.id
    shutil.copy(home / "backup.db", database_file(home))
    new_store_id(database_file(home), key="")

    async with open_desk(home) as desk:
        done = await desk.sync()
        assert (done.trashed, done.problems) == (0, ())
        assert "Since then." in "".join(await desk.texts(edited))
        assert "Since then." in path.read_text()
        assert (await desk.get(new)).content.startswith("Written since then.")
        assert (await desk.get(kept)).version == 1
        # The backup knows nothing of what was deleted.
        assert (await desk.get(gone)).state is State.LIVE
        assert (await desk.file(gone)).exists()
        for one in await desk.engine.conflicts(who=AGENT):
            await desk.engine.resolve_conflict(one.id, who=AGENT, strategy="supersede")
        await desk.sync()
        assert await desk.vault.drift() == ()


async def test_notes_of_another_data_folder_are_handed_over_only_on_demand(home: Path) -> None:
    async with open_desk(home) as desk:
        theirs = await desk.write("Theirs", title="Theirs")
        await desk.sync()
        root = desk.root
        mark = root / ".scrubjay" / "vault.json"
        before = mark.read_bytes()
        async with open_house(home / "other", index=False) as house:
            with pytest.raises(VaultUnavailable, match="sync --adopt"):
                async with open_desk(home / "other", house=house, root=root):
                    pass
            with pytest.raises(VaultUnavailable, match="a process keeps them in step"):
                async with open_desk(home / "other", house=house, root=root, adopt=True):
                    pass
    assert mark.read_bytes() == before

    async with open_desk(home / "other", root=root, adopt=True) as desk:
        ours = await desk.write("Ours", title="Ours")
        done = await desk.sync()
        assert (done.created, done.problems) == (1, ())
        assert (await desk.get(theirs)).content == "Theirs"
        assert {parse((root / one).read_bytes()).note.id for one in desk.files()} == {ours, theirs}
        assert json.loads(mark.read_bytes())["vault"] != json.loads(before)["vault"]


async def test_files_of_another_folder_have_not_vanished(home: Path) -> None:
    async with open_house(home, index=False) as house:
        async with open_desk(home, house=house) as desk:
            one = await desk.write("First.", title="One")
            await desk.sync()
            old = await desk.file(one)
        async with open_desk(home, house=house, root=home / "elsewhere") as desk:
            assert await desk.path_of(one) is None
            done = await desk.sync(deletions=True)
            assert (done.written, done.trashed) == (1, 0)
            assert old.exists()
            assert (await desk.file(one)).is_relative_to(home / "elsewhere")
        # As where a disk is not mounted: the folder is empty, and marked as ours when it is opened.
        shutil.move(home / "notes", home / "disk")
        async with open_desk(home, house=house) as desk:
            done = await desk.sync()
            assert (done.written, done.trashed) == (1, 0)
            shutil.move(home / "notes", home / "unplugged")
            (gone,) = await desk.vault.drift()
            assert "Bring the folder back" in gone
        shutil.move(home / "disk", home / "notes")
        async with open_desk(home, house=house) as desk:
            assert (await desk.sync()).trashed == 0
            assert await desk.vault.drift() == ()
