"""Migrations: in order, once, whole or not at all; a newer file is left alone."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import apsw
import pytest
from tests.unit.stores.sqlite.scribbling import lengthen_past, make_old

from scrubjay.errors import StoreDamaged, StoreTooNew
from scrubjay.model.identity import new_id
from scrubjay.stores.sqlite import SqliteStore, schema
from scrubjay.stores.sqlite.connection import connect
from scrubjay.stores.sqlite.rows import run_key, run_name
from scrubjay.stores.sqlite.schema import MIGRATIONS, migrate
from scrubjay.testing.build import a_commit, a_memory, a_rewrite, an_edge, an_origin, revised
from scrubjay.text.grams import grams_of


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
    assert opened.pragma("user_version") == len(MIGRATIONS)


def test_many_processes_may_migrate_at_once(path: Path) -> None:
    ready = Barrier(4, timeout=30)

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


def test_only_what_is_new_is_applied(opened: apsw.Connection, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    migrate(opened, path=path)
    before = identity(opened)

    def add(connection: apsw.Connection) -> None:
        connection.execute("ALTER TABLE memories ADD COLUMN mood TEXT")

    monkeypatch.setattr(schema, "MIGRATIONS", [*MIGRATIONS, ("moods", add)])
    migrate(opened, path=path)
    assert applied(opened) == [*(name for name, _ in MIGRATIONS), "moods"]
    assert identity(opened) == before
    assert opened.execute("SELECT mood FROM memories").fetchall() == []


def test_a_failing_migration_leaves_the_file_as_it_was(
    opened: apsw.Connection, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    migrate(opened, path=path)

    def fail(connection: apsw.Connection) -> None:
        connection.execute("DROP TABLE once")
        raise apsw.FullError("database or disk is full")

    def give_up(connection: apsw.Connection) -> None:
        connection.execute("ROLLBACK")
        raise apsw.FullError("database or disk is full")

    for step in (fail, give_up):
        monkeypatch.setattr(schema, "MIGRATIONS", [*MIGRATIONS, ("doomed", step)])
        with pytest.raises(apsw.FullError):
            migrate(opened, path=path)
        assert applied(opened) == [name for name, _ in MIGRATIONS]
        assert opened.execute("SELECT count(*) FROM once").fetchall() == [(0,)]
        assert not opened.in_transaction


def test_a_file_of_a_newer_scrubjay_is_refused_and_not_touched(opened: apsw.Connection, path: Path) -> None:
    migrate(opened, path=path)
    opened.pragma("user_version", len(MIGRATIONS) + 3)
    with pytest.raises(StoreTooNew, match="newer") as caught:
        migrate(opened, path=path)
    assert caught.value.fields["schema"] == len(MIGRATIONS) + 3
    assert "Update" in caught.value.hint
    assert opened.pragma("user_version") == len(MIGRATIONS) + 3


def test_a_database_of_another_program_is_refused(opened: apsw.Connection, path: Path) -> None:
    opened.execute("CREATE TABLE recipes(name)")
    with pytest.raises(StoreDamaged, match="another program"):
        migrate(opened, path=path)
    opened.execute("DROP TABLE recipes")
    opened.pragma("application_id", 12345)
    with pytest.raises(StoreDamaged, match="another program"):
        migrate(opened, path=path)


def test_all_terms_of_a_large_vocabulary_are_spelled(path: Path) -> None:
    connection = connect(path)
    migrate(connection, path=path)
    connection.close()
    make_old(path)
    connection = connect(path)
    connection.execute(
        """WITH RECURSIVE counted(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < 12000)
           INSERT INTO terms SELECT n % 3, format('w%d', n), 1 FROM counted"""
    )
    migrate(connection, path=path)
    spelled = "SELECT count(DISTINCT term), count(*) FROM grams"
    ((terms, grams),) = connection.execute(spelled).fetchall()
    assert (terms, grams) == (12_000, sum(len(grams_of(f"w{n}")) for n in range(1, 12_001)))
    connection.close()


def test_changes_from_before_are_counted_by_space(path: Path) -> None:
    """A file of the first version gets the places of its changes."""
    connection = apsw.Connection(str(path))
    MIGRATIONS[0][1](connection)
    connection.execute("INSERT INTO spaces(no, name) VALUES(1, 'here'), (2, 'there'), (3, 'empty')")
    for space_no in (1, 2, 2, 1, 2):
        connection.execute(
            """INSERT INTO changes(space_no, run_no, memory_no, memory_id, action, version, passages_before, at)
               VALUES(?, 1, 1, x'00', 'created', 1, 0, 0)""",
            (space_no,),
        )
    dict(MIGRATIONS)["places"](connection)
    rows = connection.execute("SELECT space_no, place FROM changes ORDER BY seq").fetchall()
    assert rows == [(1, 1), (2, 1), (2, 2), (1, 2), (2, 3)]
    assert connection.execute("SELECT changes FROM spaces ORDER BY no").fetchall() == [(2,), (3,), (0,)]
    connection.close()


def test_ids_of_runs_from_before_become_bytes_and_names_stay(opened: apsw.Connection, path: Path) -> None:
    migrate(opened, path=path)
    ids = [new_id(), "spring cleaning", new_id().upper(), "x" * 36, ""]
    for run in ids:
        opened.execute("INSERT INTO runs(space_no, id) VALUES(1, ?)", (run,))
    dict(MIGRATIONS)["lines of versions"](opened)
    kept = [row[0] for row in opened.execute("SELECT id FROM runs ORDER BY no")]
    assert [isinstance(one, bytes) for one in kept] == [True, False, False, False, False]
    assert [run_name(one) for one in kept] == ids
    assert kept == [run_key(one) for one in ids]


async def test_a_log_from_before_tells_the_same_when_it_is_short(path: Path) -> None:
    store = await SqliteStore.open(path, readers=1)
    first, other, gone = a_memory("tea"), a_memory("milk"), a_memory("salt")
    ann, bob = an_origin(run="spring", agent="ann"), an_origin(agent="bob")
    await store.commit(a_commit(first, other, gone, an_edge(first, gone), origin=ann))
    await store.commit(a_commit(a_rewrite(revised(first, content="green tea")), origin=bob))
    await store.purge("default", [gone.id], origin=ann)

    async def told(store: SqliteStore) -> list[object]:
        return [
            await store.changes(after=0, limit=99),
            await store.versions("default", first.id, limit=9),
            [await store.last_run("default", agent=agent) for agent in ("ann", "bob", "nobody")],
            await store.run("default", "spring"),
        ]

    before = await told(store)
    await store.close()
    lengthen_past(path)
    again = await SqliteStore.open(path, readers=1)
    assert await told(again) == before
    await again.commit(a_commit(a_rewrite(revised(other, content="oat milk")), origin=ann))
    assert {change.agent for change in await again.changes(after=0, limit=99)} == {"ann", "bob"}
    await again.close()
