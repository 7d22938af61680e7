"""Setting up a database: once, by a role with the rights, with a clear error for one without."""

import asyncio

import psycopg
import pytest
from psycopg import errors
from tests.fakes.build import a_commit, a_memory
from tests.postgres import address_of, shared_server
from tests.unit.storage.postgres.conftest import Raw
from tests.unit.storage.postgres.logins import APP, HASTY, OWNER, STRANGER, make_logins, set_owner
from tests.unit.storage.postgres.old_schemas import everything_in, make_old_database

from scrubjay.errors import StoreBusy, StoreError, StoreTooNew
from scrubjay.storage.postgres import Address, PostgresStore, schema
from scrubjay.storage.postgres.schema import FIRST_VERSION, MIGRATIONS, newest_version, prepare


async def applied(url: str) -> list[str]:
    async with await psycopg.AsyncConnection.connect(url) as connection:
        cursor = await connection.execute("SELECT name FROM scrubjay.schema_versions ORDER BY version")
        return [str(row[0]) for row in await cursor.fetchall()]


async def test_setting_up_twice_changes_nothing(empty: str) -> None:
    address = address_of(empty)
    first = await PostgresStore.open(address)
    await first.close()
    again = await PostgresStore.open(address)
    assert again.store_id == first.store_id
    assert await applied(address.url) == [name for name, _ in MIGRATIONS]
    await again.close()


async def test_many_may_set_up_at_once(empty: str) -> None:
    stores = await asyncio.gather(*(PostgresStore.open(address_of(empty)) for _ in range(4)))
    assert len({store.store_id for store in stores}) == 1
    await asyncio.gather(*(store.commit(a_commit(a_memory())) for store in stores))
    for store in stores:
        await store.close()


async def test_only_new_migrations_are_applied(name: str, raw: Raw, monkeypatch: pytest.MonkeyPatch) -> None:
    async def add(connection: psycopg.AsyncConnection, partitions: int) -> None:
        await connection.execute("ALTER TABLE scrubjay.memories ADD COLUMN mood text")

    before = await raw("SELECT value FROM scrubjay.meta WHERE key = 'store_id'")
    monkeypatch.setattr(schema, "MIGRATIONS", [*MIGRATIONS, ("moods", add)])
    await asyncio.gather(prepare(address_of(name)), prepare(address_of(name)))
    assert await applied(address_of(name).url) == [*(step for step, _ in MIGRATIONS), "moods"]
    assert await raw("SELECT mood FROM scrubjay.memories") == []
    assert await raw("SELECT value FROM scrubjay.meta WHERE key = 'store_id'") == before


async def test_migrations_are_applied_in_order_and_know_the_partitions(
    empty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    applied_steps: list[tuple[str, int]] = []

    def step(name: str) -> tuple[str, schema.Migration]:
        async def apply(connection: psycopg.AsyncConnection, partitions: int) -> None:
            applied_steps.append((name, partitions))

        return name, apply

    monkeypatch.setattr(schema, "MIGRATIONS", [*MIGRATIONS, step("second"), step("third")])
    address = address_of(empty)
    async with await schema.connect(address.url, address) as connection:
        await schema.migrate(connection, address, partitions=2, upto=newest_version() - 1)
        assert await schema.applied(connection, address) == newest_version() - 1
    await prepare(address, partitions=2)
    assert applied_steps == [("second", 2), ("third", 2)]
    async with await schema.connect(address.url, address) as connection:
        assert await schema.applied(connection, address) == newest_version() == FIRST_VERSION + len(MIGRATIONS) + 1


async def test_a_failing_migration_leaves_everything_as_it_was(
    name: str, raw: Raw, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(connection: psycopg.AsyncConnection, partitions: int) -> None:
        await connection.execute("DROP TABLE scrubjay.idempotency_keys")
        raise errors.DiskFull

    monkeypatch.setattr(schema, "MIGRATIONS", [*MIGRATIONS, ("doomed", fail)])
    with pytest.raises(StoreError):
        await prepare(address_of(name))
    assert await raw("SELECT count(*) FROM scrubjay.idempotency_keys") == [(0,)]
    assert await applied(address_of(name).url) == [step for step, _ in MIGRATIONS]


async def test_a_database_of_a_newer_scrubjay_is_refused_and_not_changed(name: str, raw: Raw) -> None:
    await raw("INSERT INTO scrubjay.schema_versions VALUES (99, 'from the future', 0)")
    with pytest.raises(StoreTooNew, match="newer") as caught:
        await PostgresStore.open(address_of(name))
    assert caught.value.fields["schema"] == 99
    assert "Update" in caught.value.hint
    assert await raw("SELECT count(*) FROM scrubjay.schema_versions") == [(len(MIGRATIONS) + 1,)]


@pytest.mark.parametrize("version", range(1, FIRST_VERSION))
async def test_a_database_of_an_older_schema_is_refused_and_not_changed(empty: str, version: int) -> None:
    await make_old_database(empty, version)
    before = await everything_in(empty)
    with pytest.raises(StoreError, match=f"older Scrubjay .schema {version}, this one reads 8") as caught:
        await PostgresStore.open(address_of(empty))
    assert caught.value.fields["schema"] == version
    assert "scrubjay export" in caught.value.hint
    assert "scrubjay import" in caught.value.hint
    assert await everything_in(empty) == before


async def test_an_older_schema_is_refused_by_the_owner_who_migrates_too(empty: str) -> None:
    await make_old_database(empty, 7)
    address = address_of(empty)
    async with await schema.connect(address.url, address) as connection:
        with pytest.raises(StoreError, match="schema 7"):
            await schema.migrate(connection, address)


async def test_a_missing_extension_is_reported_with_the_command_to_run(empty: str) -> None:
    await make_logins()
    await set_owner(empty, OWNER)
    with pytest.raises(StoreError) as caught:
        await prepare(address_of(empty, user=OWNER))
    assert f"psql -d {empty} -c 'CREATE EXTENSION vector'" in caught.value.hint
    async with await psycopg.AsyncConnection.connect(shared_server().url(empty)) as connection:
        cursor = await connection.execute("SELECT to_regnamespace('scrubjay')")
        assert await cursor.fetchall() == [(None,)]


async def test_an_owner_sets_up_and_another_serves(empty: str) -> None:
    """The owner is no superuser: it may create roles, and the extension is there."""
    await make_logins()
    await set_owner(empty, OWNER)
    async with await psycopg.AsyncConnection.connect(shared_server().url(empty), autocommit=True) as connection:
        await connection.execute("CREATE SCHEMA extensions; CREATE EXTENSION vector SCHEMA extensions")
        await connection.execute(f"GRANT USAGE ON SCHEMA extensions TO {OWNER}, {APP}".encode())
        for role in ("scrubjay_server", "scrubjay_keeper"):
            await connection.execute(f"GRANT {role} TO {OWNER} WITH ADMIN TRUE, INHERIT FALSE, SET TRUE".encode())
    address = Address(url=shared_server().url(empty, user=APP), owner_url=shared_server().url(empty, user=OWNER))
    store = await PostgresStore.open(address)
    memory = a_memory()
    await store.commit(a_commit(memory))
    assert await store.get("default", [memory.id]) == {memory.id: memory}
    assert await store.check(deep=True) == []
    await store.close()
    # The owner, too, sees nothing without entering a space.
    async with await psycopg.AsyncConnection.connect(address.owner) as connection:
        cursor = await connection.execute("SELECT count(*) FROM scrubjay.memories")
        assert await cursor.fetchall() == [(0,)]


async def test_a_role_without_the_rights_to_set_up_gets_a_hint(empty: str) -> None:
    await make_logins()
    async with await psycopg.AsyncConnection.connect(shared_server().url(empty), autocommit=True) as connection:
        await connection.execute("CREATE EXTENSION vector")
    with pytest.raises(StoreError, match="may not set up the database") as caught:
        await prepare(address_of(empty, user=STRANGER))
    assert "SCRUBJAY_DATABASE_OWNER_URL" in caught.value.hint


async def test_an_unknown_login_gets_the_missing_role(name: str) -> None:
    await make_logins()
    with pytest.raises(StoreError, match="may not") as caught:
        await PostgresStore.open(address_of(name, user=STRANGER))
    assert "GRANT scrubjay_server" in caught.value.hint


async def test_a_login_with_too_many_rights_is_reported(name: str) -> None:
    await make_logins()
    store = await PostgresStore.open(address_of(name, user=HASTY))
    problems = await store.check()
    await store.close()
    assert len(problems) == 1
    assert "INHERIT FALSE" in problems[0]


@pytest.mark.parametrize(
    "url", ["postgresql://127.0.0.1:9/x?connect_timeout=2", "postgresql://nobody@/x?host=/nowhere"]
)
async def test_an_unreachable_server_is_reported(url: str) -> None:
    with pytest.raises(StoreBusy, match="cannot be reached"):
        await PostgresStore.open(Address(url=url, patience=1))


async def test_a_missing_database_is_reported() -> None:
    with pytest.raises(StoreBusy, match="does not exist"):
        await PostgresStore.open(Address(url=shared_server().url("never_made"), patience=1))
