"""Backups: complete or absent, and restored only into an empty database."""

import stat
from pathlib import Path

import psycopg
import pytest
import zstandard
from tests.fakes.build import MODEL, a_commit, a_memory, an_edge, vectors_for
from tests.postgres import address_of, shared_server
from tests.unit.storage.postgres.conftest import Raw
from tests.unit.storage.postgres.old_schemas import make_old_backup, make_old_database

from scrubjay.errors import InvalidInput, StoreDamaged, StoreError, StoreInUse, StoreReadOnly, StoreTooNew
from scrubjay.storage.postgres import PostgresStore, restore_backup, schema


@pytest.fixture
async def backup(store: PostgresStore, tmp_path: Path) -> Path:
    first, second = a_memory("zanzibar", space="ann"), a_memory("other", space="ann")
    await store.commit(a_commit(first, second, an_edge(first, second), embedded=vectors_for([first, second])))
    await store.commit(a_commit(a_memory("zanzibar", space="bob")))
    await store.backup(tmp_path / "copy")
    return tmp_path / "copy"


async def test_a_backup_is_private_and_complete(backup: Path) -> None:
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert [file.name for file in backup.parent.iterdir() if file.is_file()] == ["copy"]
    assert b"zanzibar" not in backup.read_bytes()


async def test_a_backup_replaces_nothing(store: PostgresStore, backup: Path) -> None:
    before = backup.read_bytes()
    with pytest.raises(InvalidInput, match="already"):
        await store.backup(backup)
    assert backup.read_bytes() == before


async def test_a_backup_that_cannot_be_written_leaves_nothing(store: PostgresStore, tmp_path: Path) -> None:
    with pytest.raises(StoreReadOnly):
        await store.backup(tmp_path / "no such folder" / "copy")
    assert list(tmp_path.iterdir()) == []


async def test_a_restored_store_goes_on_and_has_an_identity_of_its_own(
    store: PostgresStore, backup: Path, empty: str
) -> None:
    reported: list[tuple[int, int]] = []
    count = await restore_backup(address_of(empty), backup, progress=lambda done, total: reported.append((done, total)))
    assert count == 3
    assert reported[-1][0] == reported[-1][1]
    restored = await PostgresStore.open(address_of(empty))
    assert restored.store_id != store.store_id
    assert await restored.changes(after=0, limit=99) == await store.changes(after=0, limit=99)
    assert await restored.point_count(MODEL) == 2
    done = await restored.commit(a_commit(a_memory(space="ann"), a_memory(space="ann"), space="ann"))
    log = await restored.changes(after=0, limit=99)
    assert done.seq == log[-1].seq
    assert len({change.seq for change in log}) == len({(change.space, change.place) for change in log}) == len(log)
    assert await restored.check(deep=True) == []
    await restored.close()


async def test_a_backup_can_be_restored_into_partitions(backup: Path, empty: str) -> None:
    await restore_backup(address_of(empty), backup, partitions=2)
    restored = await PostgresStore.open(address_of(empty))
    assert (await restored.statistics("ann")).details["partitions"] == 2
    assert await restored.check(deep=True) == []
    await restored.close()


async def test_a_store_with_memories_is_not_restored_over(store: PostgresStore, backup: Path, name: str) -> None:
    before = await store.changes(after=0, limit=99)
    with pytest.raises(StoreInUse, match="already"):
        await restore_backup(address_of(name), backup)
    assert await store.changes(after=0, limit=99) == before


@pytest.mark.parametrize("fault", ["empty", "foreign", "truncated", "spoiled", "no header", "newer"])
async def test_a_bad_backup_changes_nothing(backup: Path, empty: str, raw: Raw, fault: str) -> None:
    good = backup.read_bytes()
    plain = zstandard.ZstdDecompressor().stream_reader(good).read()
    spoiled = bytearray(good)
    spoiled[len(good) // 2] ^= 0xFF
    packed = zstandard.ZstdCompressor()
    backup.write_bytes(
        {
            "empty": b"",
            "foreign": b"SQLite format 3\x00" * 10,
            "truncated": packed.compress(plain[: len(plain) // 2]),
            "spoiled": bytes(spoiled),
            "no header": packed.compress(b'{"a": 1}\n'),
            "newer": packed.compress(plain.replace(b'"schema": ', b'"schema": 9', 1)),
        }[fault]
    )
    with pytest.raises(StoreTooNew if fault == "newer" else StoreError) as caught:
        await restore_backup(address_of(empty), backup)
    assert fault == "newer" or isinstance(caught.value, StoreDamaged)
    store = await PostgresStore.open(address_of(empty))
    assert await store.last_seq() == 0
    assert await store.check(deep=True) == []
    await store.close()


@pytest.mark.parametrize("version", [1, 7])
async def test_a_backup_of_an_older_schema_is_refused_before_anything_is_restored(
    empty: str, tmp_path: Path, version: int
) -> None:
    make_old_backup(tmp_path / "copy", version)
    with pytest.raises(StoreError, match=f"older Scrubjay .schema {version}, this one reads 8") as caught:
        await restore_backup(address_of(empty), tmp_path / "copy")
    assert caught.value.fields["schema"] == version
    assert "scrubjay export" in caught.value.hint
    async with await psycopg.AsyncConnection.connect(shared_server().url(empty)) as connection:
        cursor = await connection.execute("SELECT to_regnamespace('scrubjay')")
        assert await cursor.fetchall() == [(None,)]


async def test_a_backup_is_not_restored_into_a_database_of_an_older_schema(backup: Path, empty: str) -> None:
    await make_old_database(empty, 3)
    with pytest.raises(StoreError, match=r"older Scrubjay .schema 3"):
        await restore_backup(address_of(empty), backup)


async def test_a_backup_of_an_earlier_version_is_migrated(
    backup: Path, empty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def add(connection: psycopg.AsyncConnection, partitions: int) -> None:
        await connection.execute("ALTER TABLE scrubjay.memories ADD COLUMN mood text NOT NULL DEFAULT 'calm'")

    monkeypatch.setattr(schema, "MIGRATIONS", [*schema.MIGRATIONS, ("moods", add)])
    assert await restore_backup(address_of(empty), backup, partitions=2) == 3
    async with await psycopg.AsyncConnection.connect(shared_server().url(empty)) as connection:
        cursor = await connection.execute("SELECT mood FROM scrubjay.memories")
        assert await cursor.fetchall() == [("calm",)] * 3
    store = await PostgresStore.open(address_of(empty))
    assert await store.check(deep=True) == []
    await store.close()


async def test_a_backup_is_refused_wherever_it_is_spoiled(backup: Path, empty: str) -> None:
    good = backup.read_bytes()
    for place in (6, *range(len(good) // 40, len(good), len(good) // 20), len(good) - 1):
        spoiled = good[:place] + bytes([good[place] ^ 0x01]) + good[place + 1 :]
        if _decompresses_to_the_same(spoiled, good):
            continue  # Some bits of a compressed file have no effect.
        backup.write_bytes(spoiled)
        with pytest.raises(StoreDamaged):
            await restore_backup(address_of(empty), backup)


def _decompresses_to_the_same(spoiled: bytes, good: bytes) -> bool:
    unpacked = [zstandard.ZstdDecompressor().stream_reader(item) for item in (spoiled, good)]
    try:
        return unpacked[0].read() == unpacked[1].read()
    except zstandard.ZstdError:
        return False
