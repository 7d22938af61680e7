"""The first schema and its migrations: in order, once, whole or not at all; other files are left alone."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import apsw
import pytest
from tests.fakes.build import a_commit, a_memory
from tests.patience import PATIENCE
from tests.unit.storage.sqlite.damage import scribble, write_old_store

from scrubjay.errors import StoreDamaged, StoreError, StoreTooNew
from scrubjay.model.caller import Access
from scrubjay.storage.sql_files import read_sql, read_statements
from scrubjay.storage.sqlite import SqliteStore, schema, verify_backup
from scrubjay.storage.sqlite.connection import connect
from scrubjay.storage.sqlite.schema import FIRST_SCHEMA, MIGRATIONS, migrate, newest_schema
from scrubjay.storage.sqlite.tokens import token_by_digest
from scrubjay.text.passages import SHAPE

OLD_SCHEMAS = range(1, FIRST_SCHEMA)


@pytest.fixture
def opened(path: Path) -> Iterator[apsw.Connection]:
    connection = connect(path)
    yield connection
    connection.close()


def applied(connection: apsw.Connection) -> list[str]:
    return [str(row[0]) for row in connection.execute("SELECT name FROM migrations ORDER BY applied_at, rowid")]


def identity(connection: apsw.Connection) -> str:
    return str(connection.execute("SELECT value FROM meta WHERE key = 'store_id'").fetchall()[0][0])


def test_migrating_twice_changes_nothing(opened: apsw.Connection, path: Path) -> None:
    migrate(opened, path=path)
    before = identity(opened)
    migrate(opened, path=path)
    assert applied(opened) == [name for name, _ in MIGRATIONS]
    assert identity(opened) == before
    assert opened.pragma("user_version") == newest_schema() == FIRST_SCHEMA - 1 + len(MIGRATIONS)


def test_many_processes_may_migrate_at_once(path: Path) -> None:
    ready = Barrier(4, timeout=PATIENCE)

    def open_and_migrate(_: int) -> str:
        connection = connect(path)
        try:
            ready.wait()
            migrate(connection, path=path)
            return identity(connection)
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        identities = set(pool.map(open_and_migrate, range(4)))
    assert len(identities) == 1


def test_only_new_migrations_are_applied(opened: apsw.Connection, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    migrate(opened, path=path)
    before = identity(opened)

    def add(connection: apsw.Connection) -> None:
        connection.execute("ALTER TABLE memories ADD COLUMN mood TEXT")

    monkeypatch.setattr(schema, "MIGRATIONS", [*MIGRATIONS, ("moods", add)])
    migrate(opened, path=path)
    assert applied(opened) == [*(name for name, _ in MIGRATIONS), "moods"]
    assert opened.pragma("user_version") == FIRST_SCHEMA + len(MIGRATIONS)
    assert identity(opened) == before
    assert opened.execute("SELECT mood FROM memories").fetchall() == []


def test_tokens_of_the_first_schema_keep_their_rights(
    opened: apsw.Connection, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as earlier:
        earlier.setattr(schema, "MIGRATIONS", MIGRATIONS[:1])
        migrate(opened, path=path)
    opened.execute(
        """INSERT INTO tokens(id, digest, name, spaces, access, created_at, requests_per_minute, body_bytes)
           VALUES('t', x'01', 'laptop', '["work"]', 'write', 1, 60, 0)"""
    )
    migrate(opened, path=path)
    token = token_by_digest(opened, b"\x01")
    assert token is not None
    assert (token.name, token.spaces, token.requests_per_minute) == ("laptop", ("work",), 60)
    assert (token.access, token.mcp_only, token.trusted_imports) == (Access.WRITE, False, False)


def test_a_failing_migration_leaves_the_file_as_it_was(
    opened: apsw.Connection, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    migrate(opened, path=path)

    def fail(connection: apsw.Connection) -> None:
        connection.execute("DROP TABLE idempotency_keys")
        raise apsw.FullError("database or disk is full")

    def give_up(connection: apsw.Connection) -> None:
        connection.execute("ROLLBACK")
        raise apsw.FullError("database or disk is full")

    for step in (fail, give_up):
        monkeypatch.setattr(schema, "MIGRATIONS", [*MIGRATIONS, ("doomed", step)])
        with pytest.raises(apsw.FullError):
            migrate(opened, path=path)
        assert applied(opened) == [name for name, _ in MIGRATIONS]
        assert opened.execute("SELECT count(*) FROM idempotency_keys").fetchall() == [(0,)]
        assert not opened.in_transaction


def test_a_file_of_a_newer_scrubjay_is_refused_and_not_touched(opened: apsw.Connection, path: Path) -> None:
    migrate(opened, path=path)
    opened.pragma("user_version", newest_schema() + 3)
    with pytest.raises(StoreTooNew, match="newer") as caught:
        migrate(opened, path=path)
    assert caught.value.fields["schema"] == newest_schema() + 3
    assert "Update" in caught.value.hint
    assert opened.pragma("user_version") == newest_schema() + 3


def test_a_database_of_another_program_is_refused(opened: apsw.Connection, path: Path) -> None:
    opened.execute("CREATE TABLE recipes(name)")
    with pytest.raises(StoreDamaged, match="another program"):
        migrate(opened, path=path)
    opened.execute("DROP TABLE recipes")
    opened.pragma("application_id", 12345)
    with pytest.raises(StoreDamaged, match="another program"):
        migrate(opened, path=path)


@pytest.mark.parametrize("key", ["", "open sesame"])
@pytest.mark.parametrize("old", OLD_SCHEMAS)
async def test_a_file_of_an_earlier_version_is_refused_and_not_touched(path: Path, old: int, key: str) -> None:
    write_old_store(path, schema=old, key=key)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=f"schema {old} ") as caught:
        await SqliteStore.open(path, key=key)
    assert caught.value.fields["schema"] == old
    assert "scrubjay export" in caught.value.hint
    assert "scrubjay import" in caught.value.hint
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("key", ["", "open sesame"])
def test_the_log_of_a_file_that_is_refused_stays_beside_it(path: Path, tmp_path: Path, key: str) -> None:
    write_old_store(path, schema=7, key=key)
    writer = apsw.Connection(str(path))
    if key:
        writer.pragma("key", key)
    writer.execute("UPDATE memories SET name = 'milk'")
    # As a process that was killed leaves it: the newest write is in the log only.
    left = tmp_path / "left"
    left.mkdir()
    for name in (path.name, f"{path.name}-wal"):
        (left / name).write_bytes((path.parent / name).read_bytes())
    writer.close()
    before = {file.name: file.read_bytes() for file in left.iterdir()}
    assert before[f"{path.name}-wal"]
    with pytest.raises(StoreError, match="schema 7 "):
        connect(left / path.name, key=key)
    assert {name: (left / name).read_bytes() for name in before} == before


@pytest.mark.parametrize("old", OLD_SCHEMAS)
def test_a_backup_of_an_earlier_version_is_refused(path: Path, old: int) -> None:
    write_old_store(path, schema=old)
    scribble(path, "PRAGMA journal_mode = delete")
    before = path.read_bytes()
    with pytest.raises(StoreError, match=f"schema {old} "):
        verify_backup(path, key="")
    assert path.read_bytes() == before


@pytest.mark.parametrize("statement", ["PRAGMA user_version = 0", "PRAGMA user_version = 0; DROP TABLE terms"])
async def test_a_file_without_a_schema_version_is_incomplete(store: SqliteStore, path: Path, statement: str) -> None:
    await store.commit(a_commit(a_memory("tea")))
    await store.close()
    scribble(path, statement)
    before = path.read_bytes()
    with pytest.raises(StoreDamaged, match="incomplete") as caught:
        await SqliteStore.open(path)
    assert "backup" in caught.value.hint
    assert path.read_bytes() == before


def test_a_first_schema_that_was_cut_off_leaves_an_empty_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    half = read_sql("sqlite/schema")
    half = half[: half.index("CREATE TABLE runs")]

    def create_half(connection: apsw.Connection) -> None:
        connection.execute(half)
        raise KeyboardInterrupt

    connection = connect(path)
    with monkeypatch.context() as patched:
        patched.setattr(schema, "MIGRATIONS", [("first schema", create_half)])
        with pytest.raises(KeyboardInterrupt):
            migrate(connection, path=path)
    assert connection.execute("SELECT count(*) FROM sqlite_schema").fetchall() == [(0,)]
    migrate(connection, path=path)
    assert applied(connection) == [name for name, _ in MIGRATIONS]
    connection.close()


def test_the_index_of_outdated_passages_is_of_the_current_format(opened: apsw.Connection, path: Path) -> None:
    migrate(opened, path=path)
    ((statement,),) = opened.execute("SELECT sql FROM sqlite_schema WHERE name = 'memories_passage_format'").fetchall()
    assert statement.endswith(f"passage_format < {SHAPE}")


def test_every_statement_in_a_file_can_be_prepared(opened: apsw.Connection, path: Path) -> None:
    migrate(opened, path=path)
    names = [file.stem for file in (Path(schema.__file__).parent / "sql").glob("*.sql") if file.stem != "schema"]
    assert names
    for name in names:
        statements = read_statements(f"sqlite/{name}")
        assert statements
        for statement in statements.values():
            assert "--" not in statement
            opened.execute(f"EXPLAIN {statement}", (None,) * _parameters(statement))


def _parameters(statement: str) -> int:
    """The number of values that a statement takes; numbered ones may occur several times."""
    numbered = [int(part[0]) for part in statement.split("?")[1:] if part[:1].isdigit()]
    return max(numbered, default=statement.count("?"))
