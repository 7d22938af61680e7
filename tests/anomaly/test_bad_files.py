"""A damaged or foreign file is named with the next step, and not modified."""

import asyncio
import os
import shutil
import sqlite3
import tempfile
from pathlib import Path

import pytest

from scrubjay.client import MemoryClient
from scrubjay.errors import CODES, ScrubjayError, StoreDamaged, StoreError, StoreTooNew, WrongKey
from scrubjay.settings import Settings
from scrubjay.storage.sqlite.schema import FIRST_SCHEMA
from tests.scenarios.wiring import open_wiring, run_command
from tests.temp_folders import quick_place
from tests.unit.storage.sqlite.damage import write_old_store

MANY = 40


@pytest.fixture(scope="module")
def finished() -> bytes:
    """A closed store with some memories, created once."""

    async def make(home: Path) -> None:
        async with open_wiring(home) as wiring:
            for number in range(MANY):
                await wiring.client().remember(f"bird number {number} " + "x" * 300, name=f"b{number}")

    with tempfile.TemporaryDirectory(dir=quick_place()) as folder:
        asyncio.run(make(Path(folder) / "data"))
        return Path(folder, "data", "memory.db").read_bytes()


@pytest.fixture
def database(home: Path, finished: bytes) -> Path:
    """A copy of the store to be damaged."""
    home.mkdir(mode=0o700)
    file = home / "memory.db"
    file.write_bytes(finished)
    return file


async def refused(home: Path) -> ScrubjayError:
    """Open the folder and return the error; require that its files do not change."""
    before = {path.name: path.read_bytes() for path in home.iterdir() if path.is_file()}
    with pytest.raises(ScrubjayError) as caught:
        async with MemoryClient(settings=Settings(home=str(home), embedder="none")) as memory:
            await memory.status()
    for name, content in before.items():
        assert (home / name).read_bytes() == content
    assert caught.value.hint
    assert str(home) in caught.value.message
    return caught.value


@pytest.mark.parametrize("keep", [1, 16, 50, 100, 511, 512, 4096, 5000, 20_000, -1, -4096])
async def test_a_truncated_database(database: Path, keep: int) -> None:
    whole = database.read_bytes()
    database.write_bytes(whole[:keep])
    error = await refused(database.parent)
    assert isinstance(error, StoreDamaged | WrongKey)
    assert "backup" in error.hint
    # Opening has lost nothing more: with its tail restored the store is intact.
    database.write_bytes(whole)
    async with open_wiring(database.parent) as wiring:
        assert (await wiring.client().status()).memories == {"live": MANY}


@pytest.mark.parametrize("keep", [16, 100, 4096, 20_000, -1])
async def test_a_truncated_database_is_never_taken_for_an_encrypted_one(database: Path, keep: int) -> None:
    database.write_bytes(database.read_bytes()[:keep])
    error = await refused(database.parent)
    assert isinstance(error, StoreDamaged)
    assert "without a key" not in error.hint


@pytest.mark.parametrize("content", [b"\x00" * 8192, b"just some text\n" * 100, os.urandom(5000), b"x"])
async def test_a_file_of_something_else(home: Path, content: bytes) -> None:
    home.mkdir()
    (home / "memory.db").write_bytes(content)
    error = await refused(home)
    assert isinstance(error, WrongKey | StoreDamaged)
    assert "backup" in error.hint


async def test_a_database_of_another_program(home: Path) -> None:
    home.mkdir()
    other = sqlite3.connect(home / "memory.db")
    other.execute("CREATE TABLE songs(title TEXT)")
    other.execute("INSERT INTO songs VALUES('Yesterday')")
    other.commit()
    other.close()
    error = await refused(home)
    assert isinstance(error, StoreDamaged)
    assert "another program" in error.message
    assert "--data" in error.hint


async def test_a_store_from_a_newer_version(database: Path) -> None:
    newer = sqlite3.connect(database)
    newer.execute("PRAGMA user_version = 99")
    newer.close()
    error = await refused(database.parent)
    assert isinstance(error, StoreTooNew)
    assert error.fields["schema"] == 99
    assert "Update" in error.hint


@pytest.mark.parametrize("schema", range(1, FIRST_SCHEMA))
async def test_a_store_from_an_earlier_version(home: Path, schema: int) -> None:
    write_old_store(home / "memory.db", schema=schema)
    error = await refused(home)
    assert type(error) is StoreError
    assert error.fields["schema"] == schema
    assert "scrubjay export" in error.hint


def test_the_command_line_names_the_way_out_of_an_earlier_version(home: Path) -> None:
    write_old_store(home / "memory.db", schema=9)
    before = (home / "memory.db").read_bytes()
    for command in (("recall", "bird"), ("status",), ("doctor", "--repair"), ("export",)):
        done = run_command(home, *command, SCRUBJAY_EMBEDDER="none")
        assert done.returncode == CODES[StoreError].exit
        assert "schema 9" in done.stderr
        assert "scrubjay import" in done.stderr
        assert "Traceback" not in done.stderr
    assert (home / "memory.db").read_bytes() == before


async def test_a_store_whose_tables_have_no_schema_version(database: Path) -> None:
    half = sqlite3.connect(database)
    half.execute("PRAGMA user_version = 0")
    half.close()
    error = await refused(database.parent)
    assert isinstance(error, StoreDamaged)
    assert "incomplete" in error.message
    assert "backup" in error.hint


async def test_a_page_overwritten_in_the_middle_is_noticed_and_the_rest_can_be_saved(database: Path) -> None:
    content = bytearray(database.read_bytes())
    # The last pages may be free ones, which are never read.
    middle = len(content) // 8192 * 4096
    content[middle : middle + 4096] = os.urandom(4096)
    database.write_bytes(content)
    done = run_command(database.parent, "doctor", "--deep", SCRUBJAY_EMBEDDER="none")
    assert "Restore a backup" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


async def test_a_folder_in_place_of_the_database(home: Path) -> None:
    (home / "memory.db").mkdir(parents=True)
    with pytest.raises(StoreError) as caught:
        async with MemoryClient(settings=Settings(home=str(home), embedder="none")):
            pass
    assert caught.value.hint


@pytest.mark.parametrize("place", ["file", "file/deeper", "/proc/nowhere/scrubjay", "/dev/null/scrubjay"])
async def test_a_place_where_no_folder_can_be(home: Path, place: str) -> None:
    home.parent.joinpath("file").write_text("a file, not a folder", encoding="utf-8")
    with pytest.raises(StoreError) as caught:
        async with MemoryClient(settings=Settings(home=str(home.parent / place), embedder="none")):
            pass
    assert "--data" in caught.value.hint


async def test_a_log_left_by_a_killed_process_is_recovered(home: Path) -> None:
    async with open_wiring(home, index=False) as wiring:
        for number in range(MANY):
            await wiring.client().remember(f"bird number {number}", name=f"b{number}")
        # As after a kill: the newest writes are in the log only.
        copy = home.parent / "copy"
        copy.mkdir(mode=0o700)
        for name in ("memory.db", "memory.db-wal"):
            shutil.copyfile(home / name, copy / name)
        assert (copy / "memory.db-wal").stat().st_size
    async with open_wiring(copy) as wiring:
        assert (await wiring.client().status()).memories == {"live": MANY}
        assert (await wiring.client().doctor(deep=True)).ok


@pytest.mark.parametrize("keep", [0, 31, 1000, 20_000, -1])
async def test_a_truncated_log_loses_only_its_tail(home: Path, keep: int) -> None:
    async with open_wiring(home, index=False) as wiring:
        for number in range(MANY):
            await wiring.client().remember(f"bird number {number}", name=f"b{number}")
        copy = home.parent / "copy"
        copy.mkdir(mode=0o700)
        for name in ("memory.db", "memory.db-wal"):
            shutil.copyfile(home / name, copy / name)
    log = copy / "memory.db-wal"
    log.write_bytes(log.read_bytes()[:keep])
    async with open_wiring(copy, index=False) as wiring:
        assert await wiring.store.check(deep=True) == []
        live = (await wiring.client().status()).memories.get("live", 0)
        # The remaining memories are the first ones written, without a gap.
        names = [f"b{number}" for number in range(MANY)]
        assert not (await wiring.client().read(names[:live])).missing if live else keep < 20_000


async def test_the_command_line_prints_one_line_and_sets_the_exit_code(database: Path) -> None:
    database.write_bytes(database.read_bytes()[:5000])
    done = run_command(database.parent, "recall", "bird", SCRUBJAY_EMBEDDER="none")
    assert done.returncode == 65
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
