"""Backups run while others write, are verified before they count, and never damage an existing store."""

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from scrubjay.app.restore import restore_backup
from scrubjay.client import MemoryClient
from scrubjay.errors import Conflict, StoreDamaged, StoreError, StoreInUse
from scrubjay.model.query import Filter
from scrubjay.settings import Settings
from tests.patience import PATIENCE
from tests.scenarios.wiring import Wiring, open_wiring
from tests.unit.storage.sqlite.damage import scribble, write_old_store

BIG = 60_000


async def test_a_backup_is_the_store_as_it_was(wiring: Wiring, memory: MemoryClient, home: Path) -> None:
    for number in range(20):
        await memory.remember(f"memory number {number}", name=f"m{number}", tags=["stays"])
    await memory.relate("m1", "m2", text="see also")
    await memory.revise("m3", text="changed")
    target = await memory.backup(home.parent / "backup.db")
    before = await exported(memory)
    await memory.remember("too late for the backup")
    assert not (home.parent / "backup.db.partial").exists()
    other = home.parent / "other"
    done = restore_backup(Settings(home=str(other)), target)
    assert (done.memories, done.kept) == (20, "")
    async with open_wiring(other) as restored:
        reader = restored.client()
        assert await exported(reader) == before
        assert (await reader.doctor(deep=True)).ok


async def test_writers_neither_wait_for_a_backup_nor_make_it_start_again(
    wiring: Wiring, memory: MemoryClient, home: Path
) -> None:
    for number in range(60):
        await memory.remember(os.urandom(BIG // 2).hex(), name=f"m{number}", intent="new")
    loop = asyncio.get_running_loop()
    reports: list[tuple[int, int]] = []

    def write_one_more(done: int, total: int) -> None:
        reports.append((done, total))
        if len(reports) < 100:
            call = memory.remember(f"written meanwhile {len(reports)}", intent="new")
            asyncio.run_coroutine_threadsafe(call, loop).result(PATIENCE)

    target = await memory.backup(home.parent / "backup.db", progress=write_one_more)
    assert len(reports) < 20
    assert reports == sorted(reports)
    other = home.parent / "other"
    assert restore_backup(Settings(home=str(other)), target).memories == 60
    assert sum((await memory.status()).memories.values()) == 60 + len(reports)


async def test_a_backup_of_an_earlier_version_is_refused_before_the_store_is_touched(home: Path) -> None:
    async with open_wiring(home) as wiring:
        await wiring.client().remember("the boat")
    old = home.parent / "old.db"
    write_old_store(old, schema=9)
    scribble(old, "PRAGMA journal_mode = delete")
    before = {file.name: file.read_bytes() for file in [old, *home.glob("*.db*")]}
    for folder, force in ((home, True), (home.parent / "other", False)):
        with pytest.raises(StoreError, match="schema 9 ") as caught:
            restore_backup(Settings(home=str(folder)), old, force=force)
        assert "scrubjay export" in caught.value.hint
    assert {file.name: file.read_bytes() for file in [old, *home.glob("*.db*")]} == before
    assert list((home.parent / "other").glob("*.db*")) == []
    async with open_wiring(home) as wiring:
        assert [hit.passage for hit in (await wiring.client().recall("boat")).hits] == ["the boat"]


async def test_restoring_keeps_the_previous_store(home: Path) -> None:
    async with open_wiring(home) as wiring:
        await wiring.client().remember("the old boat")
        backup = await wiring.client().backup(home.parent / "backup.db")
        await wiring.client().remember("the new boat")
        await wiring.client().recall("boat")
        generation = (await wiring.client().status()).index["generation"]
    settings = Settings(home=str(home))
    with pytest.raises(Conflict, match="already") as caught:
        restore_backup(settings, backup)
    assert "--force" in caught.value.hint
    done = restore_backup(settings, backup, force=True)
    async with open_wiring(home) as wiring:
        memory = wiring.client()
        assert [hit.passage for hit in (await memory.recall("boat")).hits] == ["the old boat"]
        index = (await memory.status()).index
        assert (index["kind"], index["points"], index["problem"]) == ("edge", 1, "")
        assert index["generation"] != generation
        assert (await memory.doctor(deep=True)).ok
    stored = home.parent / "previous"
    stored.mkdir()
    shutil.copyfile(done.kept, stored / "memory.db")
    async with open_wiring(stored) as wiring:
        assert len((await wiring.client().recall("boat")).hits) == 2


async def test_a_restored_store_does_not_trust_the_index_of_the_one_before(home: Path) -> None:
    """Both stores have the same number of changes and points: only their identity differs."""
    async with open_wiring(home) as wiring:
        backup = await wiring.client().backup(home.parent / "empty.db")
        await wiring.client().remember("the cello is in the attic")
        await wiring.client().recall("cello")
    restore_backup(Settings(home=str(home)), backup, force=True)
    async with open_wiring(home, index=False) as wiring:
        await wiring.client().remember("the boat is in the harbour")
    async with open_wiring(home) as wiring:
        request = await wiring.embedder.embed_query("boat harbour")
        neighbours = await wiring.index.search("default", request, Filter(), limit=5)
        assert len(neighbours) == 1
        assert neighbours[0][1] > 0.5


async def test_a_store_in_use_is_not_replaced(wiring: Wiring, memory: MemoryClient, home: Path) -> None:
    await memory.remember("in use")
    backup = await memory.backup(home.parent / "backup.db")
    with pytest.raises(StoreInUse):
        restore_backup(Settings(home=str(home)), backup, force=True)
    assert len((await memory.recall("in use")).hits) == 1


@pytest.mark.parametrize("keep", [0, 50, 700, 5000, -1, -4096])
async def test_a_damaged_backup_touches_nothing(home: Path, keep: int) -> None:
    async with open_wiring(home) as wiring:
        for number in range(30):
            await wiring.client().remember(f"memory number {number}", name=f"m{number}")
        backup = await wiring.client().backup(home.parent / "backup.db")
    whole = backup.read_bytes()
    backup.write_bytes(whole[:keep])
    before = {path.name: path.read_bytes() for path in home.iterdir() if path.is_file()}
    with pytest.raises(StoreDamaged) as caught:
        restore_backup(Settings(home=str(home)), backup, force=True)
    assert caught.value.hint
    assert {path.name: path.read_bytes() for path in home.iterdir() if path.is_file()} == before
    assert backup.read_bytes() == whole[:keep]


async def test_a_flipped_byte_in_a_backup_is_noticed(home: Path) -> None:
    async with open_wiring(home) as wiring:
        text = "a rather long text, so that it is compressed and takes some room " * 20
        await wiring.client().remember(text, name="long")
        backup = await wiring.client().backup(home.parent / "backup.db")
        (row,) = wiring.store._connection.execute("SELECT body FROM versions").fetchall()
    whole = bytearray(backup.read_bytes())
    at = whole.find(row[0][:40])
    whole[at + 30] ^= 0xFF
    backup.write_bytes(whole)
    with pytest.raises(StoreDamaged):
        restore_backup(Settings(home=str(home)), backup, force=True)


def test_a_missing_backup(home: Path) -> None:
    with pytest.raises(StoreDamaged, match="no backup"):
        restore_backup(Settings(home=str(home)), home / "nowhere.db")
    assert not home.exists()


async def exported(memory: MemoryClient) -> list[str]:
    lines = [line async for line in memory.export()]
    return sorted(line for line in lines if not line.startswith('{"scrubjay"'))
