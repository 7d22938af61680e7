"""Tokens in the file: digests and nothing else, seen by every process at once, and part of a backup."""

from datetime import UTC, datetime
from pathlib import Path

import apsw

from scrubjay.auth.tokens import create, digest_of, revoke
from scrubjay.model.requests import CreateTokenRequest
from scrubjay.storage.sqlite import SqliteStore, verify_backup

NOW = datetime(2026, 5, 1, tzinfo=UTC)
REQUEST = CreateTokenRequest(name="laptop", spaces=("work",))


async def test_no_file_holds_a_secret(store: SqliteStore, path: Path, tmp_path: Path) -> None:
    new = await create(REQUEST, tokens=store, now=NOW)
    await revoke(new.secret, tokens=store, now=NOW)
    await store.backup(tmp_path / "copy.db")
    written = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    assert {"memory.db", "memory.db-wal", "copy.db"} <= set(written)
    assert digest_of(new.secret) in written["copy.db"]
    body = new.secret.removeprefix("sj_")
    for content in written.values():
        assert not any(part.encode() in content for part in (new.secret, body, body[:20], body[20:]))


async def test_another_process_knows_at_once(store: SqliteStore, path: Path) -> None:
    other = await SqliteStore.open(path, readers=1)
    try:
        new = await create(REQUEST, tokens=store, now=NOW)
        digest = digest_of(new.secret)
        assert await other.token_by_digest(digest) == new.token
        revoked = await revoke("laptop", tokens=other, now=NOW)
        assert await store.token_by_digest(digest) == revoked
        assert revoked.revoked_at == NOW
    finally:
        await other.close()


async def test_tokens_outlive_their_process_and_a_backup_has_them(
    store: SqliteStore, path: Path, tmp_path: Path
) -> None:
    new = await create(REQUEST, tokens=store, now=NOW)
    await store.backup(tmp_path / "copy.db")
    await store.close()
    verify_backup(tmp_path / "copy.db", key="")
    for file in (path, tmp_path / "copy.db"):
        again = await SqliteStore.open(file, readers=1)
        assert await again.token_by_digest(digest_of(new.secret)) == new.token
        await again.close()


async def test_a_token_is_found_without_a_walk(store: SqliteStore, path: Path) -> None:
    connection = apsw.Connection(str(path))
    for column in ("digest", "id"):
        plan = connection.execute(f"EXPLAIN QUERY PLAN SELECT * FROM tokens WHERE {column} = ?", (b"x",)).fetchall()
        assert "USING INDEX" in str(plan)
    connection.close()
