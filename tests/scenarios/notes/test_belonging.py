"""The owner of a folder of notes: the store of its data folder, also after a restore, and another only on request."""

import json
import shutil
from pathlib import Path

import pytest

from scrubjay.errors import VaultUnavailable
from scrubjay.model.caller import Caller
from scrubjay.model.memory import State
from scrubjay.model.requests import BackupRequest, ConflictsRequest, ResolveConflictRequest
from scrubjay.notes.markdown.format import parse
from scrubjay.paths import database_file
from scrubjay.storage.sqlite import new_store_id
from tests.scenarios.notes.harness import AGENT, open_harness
from tests.scenarios.wiring import open_wiring


async def test_a_restored_store_gets_its_notes_back_and_loses_none(home: Path) -> None:
    async with open_harness(home) as harness:
        edited, unchanged, gone = [await harness.write(text, title=text) for text in ("Edited", "Unchanged", "Gone")]
        await harness.sync()
        await harness.engine.backup(BackupRequest(target=home / "backup.db"), who=Caller())
        path = await harness.file(edited)
        harness.save(path, path.read_text() + "\nSince then.\n")
        (await harness.file(gone)).unlink()
        harness.save("new.md", "Written since then.\n")
        await harness.sync()
        new = parse((harness.root / "new.md").read_bytes()).note.id
    shutil.copy(home / "backup.db", database_file(home))
    new_store_id(database_file(home), key="")

    async with open_harness(home) as harness:
        done = await harness.sync()
        assert (done.trashed, done.problems) == (0, ())
        assert "Since then." in "".join(await harness.texts(edited))
        assert "Since then." in path.read_text()
        assert (await harness.get(new)).content.startswith("Written since then.")
        assert (await harness.get(unchanged)).version == 1
        # The backup does not know the deletion.
        assert (await harness.get(gone)).state is State.LIVE
        assert (await harness.file(gone)).exists()
        for conflict in await harness.engine.conflicts(ConflictsRequest(), who=AGENT):
            await harness.engine.resolve_conflict(
                ResolveConflictRequest(id=conflict.id, strategy="supersede"), who=AGENT
            )
        await harness.sync()
        assert await harness.vault.drift() == ()


async def test_notes_of_another_data_folder_are_taken_over_only_on_request(home: Path) -> None:
    async with open_harness(home) as harness:
        theirs = await harness.write("Theirs", title="Theirs")
        await harness.sync()
        root = harness.root
        marker = root / ".scrubjay" / "vault.json"
        before = marker.read_bytes()
        async with open_wiring(home / "other", index=False) as wiring:
            with pytest.raises(VaultUnavailable, match="sync --adopt"):
                async with open_harness(home / "other", wiring=wiring, root=root):
                    pass
            with pytest.raises(VaultUnavailable, match="a process synchronizes them"):
                async with open_harness(home / "other", wiring=wiring, root=root, adopt=True):
                    pass
    assert marker.read_bytes() == before

    async with open_harness(home / "other", root=root, adopt=True) as harness:
        ours = await harness.write("Ours", title="Ours")
        done = await harness.sync()
        assert (done.created, done.problems) == (1, ())
        assert (await harness.get(theirs)).content == "Theirs"
        assert {parse((root / file).read_bytes()).note.id for file in harness.files()} == {ours, theirs}
        assert json.loads(marker.read_bytes())["vault"] != json.loads(before)["vault"]


async def test_files_of_another_folder_are_not_missing(home: Path) -> None:
    async with open_wiring(home, index=False) as wiring:
        async with open_harness(home, wiring=wiring) as harness:
            note_id = await harness.write("First.", title="One")
            await harness.sync()
            old = await harness.file(note_id)
        async with open_harness(home, wiring=wiring, root=home / "elsewhere") as harness:
            assert await harness.path_of(note_id) is None
            done = await harness.sync(deletions=True)
            assert (done.written, done.trashed) == (1, 0)
            assert old.exists()
            assert (await harness.file(note_id)).is_relative_to(home / "elsewhere")
        # Like the mount point of an unmounted disk: the folder is empty, and gets our marker when it is opened.
        shutil.move(home / "notes", home / "disk")
        async with open_harness(home, wiring=wiring) as harness:
            done = await harness.sync()
            assert (done.written, done.trashed) == (1, 0)
            shutil.move(home / "notes", home / "unplugged")
            (gone,) = await harness.vault.drift()
            assert "Bring the folder back" in gone
        shutil.move(home / "disk", home / "notes")
        async with open_harness(home, wiring=wiring) as harness:
            assert (await harness.sync()).trashed == 0
            assert await harness.vault.drift() == ()
