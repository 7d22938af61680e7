"""With a key no file holds a word in clear, and without the right one nothing opens."""

import json
from pathlib import Path

import pytest

from scrubjay.app.restore import restore_backup
from scrubjay.client import MemoryClient
from scrubjay.errors import InvalidInput, StoreError, WrongKey
from scrubjay.settings import Settings
from tests.scenarios.wiring import files_with, open_wiring, run_command
from tests.unit.storage.sqlite.damage import write_old_store

WORD = "qzvorplax"
KEY = "correct horse battery staple"


async def fill(home: Path, **key: str) -> None:
    async with MemoryClient(settings=Settings(home=str(home), embedder="none", **key)) as memory:  # type: ignore[arg-type]
        for number in range(10):
            await memory.remember(f"{WORD} number {number}", name=f"{WORD}-{number}", tags=[WORD], entities=[WORD])


async def test_no_file_of_the_folder_holds_a_word_in_clear(home: Path) -> None:
    async with open_wiring(home, key=KEY) as wiring:
        memory = wiring.client()
        for number in range(40):
            await memory.remember(f"{WORD} number {number}", title=f"On {WORD}", tags=[WORD], entities=[WORD])
        assert (await memory.recall(WORD)).hits
        assert files_with(home, [WORD.encode(), b"SQLite format", KEY.encode()]) == []
        status = await memory.status()
        assert status.store["encrypted"] is True
        assert (status.index["kind"], status.index["holder"]) == ("scan", False)
        await memory.backup(home / "backup.db")
    assert files_with(home, [WORD.encode(), b"SQLite format", KEY.encode()]) == []
    assert not (home / "index").exists()


async def test_the_right_key_opens_it_again_and_backups_keep_it(home: Path) -> None:
    await fill(home, key=KEY)
    settings = Settings(home=str(home), key=KEY)
    async with MemoryClient(settings=settings) as memory:
        assert (await memory.read(f"{WORD}-7")).memories[0].content == f"{WORD} number 7"
        backup = await memory.backup(home.parent / "backup.db")
        assert (await memory.doctor(deep=True)).checks[0].ok
    with pytest.raises(WrongKey):
        restore_backup(Settings(home=str(home.parent / "other")), backup)
    other = Settings(home=str(home.parent / "other"), key=KEY)
    assert restore_backup(other, backup).memories == 10
    async with MemoryClient(settings=other) as memory:
        assert (await memory.read(f"{WORD}-7")).memories


@pytest.mark.parametrize("key", ["", KEY.upper(), KEY + " "])
async def test_another_key_or_none_opens_nothing_and_harms_nothing(home: Path, key: str) -> None:
    await fill(home, key=KEY)
    before = (home / "memory.db").read_bytes()
    with pytest.raises(WrongKey) as caught:
        async with MemoryClient(settings=Settings(home=str(home), embedder="none", key=key)):
            pass
    assert "SCRUBJAY_KEY" in caught.value.hint
    assert KEY not in str(caught.value)
    assert (home / "memory.db").read_bytes() == before


async def test_an_encrypted_store_or_backup_of_an_earlier_version_is_refused(home: Path) -> None:
    write_old_store(home / "memory.db", schema=8, key=KEY)
    backup = home.parent / "backup.db"
    backup.write_bytes((home / "memory.db").read_bytes())
    before = backup.read_bytes()
    settings = Settings(home=str(home), embedder="none", key=KEY)
    with pytest.raises(StoreError, match="schema 8 ") as caught:
        async with MemoryClient(settings=settings):
            pass
    assert "scrubjay export" in caught.value.hint
    with pytest.raises(StoreError, match="schema 8 "):
        restore_backup(settings, backup, force=True)
    with pytest.raises(WrongKey):
        async with MemoryClient(settings=Settings(home=str(home), embedder="none", key=KEY.upper())):
            pass
    assert (home / "memory.db").read_bytes() == backup.read_bytes() == before


async def test_a_key_for_a_store_without_one(home: Path) -> None:
    await fill(home)
    with pytest.raises(WrongKey, match="not encrypted"):
        async with MemoryClient(settings=Settings(home=str(home), embedder="none", key=KEY)):
            pass
    async with MemoryClient(settings=Settings(home=str(home), embedder="none")) as memory:
        assert (await memory.read(f"{WORD}-7")).memories


async def test_the_key_may_come_from_a_file(home: Path) -> None:
    file = home.parent / "key"
    file.write_text(f"{KEY}\nnot part of it\n", encoding="utf-8")
    await fill(home, key_file=str(file))
    async with MemoryClient(settings=Settings(home=str(home), embedder="none", key=KEY)) as memory:
        assert (await memory.read(f"{WORD}-7")).memories
    done = run_command(home, "recall", WORD, "--json", SCRUBJAY_EMBEDDER="none", SCRUBJAY_KEY_FILE=str(file))
    assert json.loads(done.stdout)["hits"], done.stderr
    refused = run_command(home, "status", SCRUBJAY_EMBEDDER="none")
    assert refused.returncode == 77
    assert "SCRUBJAY_KEY_FILE" in refused.stderr


@pytest.mark.parametrize("content", [None, b"", b"\n", b"\xff\xfe"])
async def test_a_key_file_that_holds_no_key(home: Path, content: bytes | None) -> None:
    file = home.parent / "key"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(WrongKey) as caught:
        async with MemoryClient(settings=Settings(home=str(home), embedder="none", key_file=str(file))):
            pass
    assert str(file) in caught.value.message
    assert not (home / "memory.db").exists()


async def test_a_key_given_twice_is_refused(home: Path) -> None:
    with pytest.raises(InvalidInput, match="twice"):
        async with MemoryClient(settings=Settings(home=str(home), embedder="none", key=KEY, key_file="elsewhere")):
            pass


async def test_an_encrypted_store_purges_and_trains_as_any_other(home: Path) -> None:
    async with open_wiring(home, key=KEY) as wiring:
        memory = wiring.client()
        for number in range(230):
            await memory.remember(f"{WORD} number {number} " + "and so on " * 10, name=f"n{number}")
        names = [f"n{number}" for number in range(0, 230, 2)]
        await memory.forget(names)
        assert len((await memory.purge(names)).done) == len(names)
        assert (await memory.read("n1")).memories[0].content.startswith(f"{WORD} number 1 ")
        assert (await memory.doctor(deep=True)).checks[0].ok
    assert files_with(home, [WORD.encode(), b"and so on"]) == []


@pytest.mark.parametrize("key", ['it\'s "quoted"; --', "schlüssel 🔑", "'; DROP TABLE meta; --", "x'00'"])
async def test_any_text_is_a_key(home: Path, key: str) -> None:
    await fill(home, key=key)
    assert files_with(home, [WORD.encode()]) == []
    async with MemoryClient(settings=Settings(home=str(home), embedder="none", key=key)) as memory:
        assert (await memory.read(f"{WORD}-7")).memories
