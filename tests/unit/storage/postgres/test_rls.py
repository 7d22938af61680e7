"""Row-level security between spaces, tested with raw SQL as the login of the server."""

from collections.abc import AsyncIterator

import psycopg
import pytest
from psycopg import errors
from tests.fakes.build import START, a_commit, a_document, a_memory, a_rewrite, an_edge, revised, vectors_for
from tests.postgres import a_database, address_of, shared_server
from tests.unit.storage.postgres.logins import APP, make_logins

from scrubjay.model.caller import Access
from scrubjay.model.token import Token
from scrubjay.ports import IdempotencyRecord
from scrubjay.storage.postgres import PostgresStore
from scrubjay.storage.postgres.schema import SPACE_TABLES

Connection = psycopg.AsyncConnection
# Only large spaces have dictionaries.
FILLED = tuple(table for table in SPACE_TABLES if table != "dictionaries")


@pytest.fixture
async def login(name: str) -> AsyncIterator[Connection]:
    """A connection of the server's login to a database with two spaces."""
    await make_logins()
    store = await PostgresStore.open(address_of(name, user=APP))
    for space in ("ann", "bob"):
        first, second = (
            a_memory(f"secret of {space}", space=space, metadata={"of": space}),
            a_memory("other", space=space),
        )
        once = IdempotencyRecord(key="k", digest=b"d", answer=space)
        await store.commit(
            a_commit(
                first,
                second,
                an_edge(first, second, text=space),
                embedded=vectors_for([first, second]),
                once=once,
                documents=[a_document(space=space, value={"of": space})],
            )
        )
        await store.commit(a_commit(a_rewrite(revised(first, title=f"Title of {space}"))))
    token = Token(id="t", name="n", spaces=("ann",), access=Access.READ, created_at=START)
    await store.add_token(token, b"digest")
    await store.close()
    async with await Connection.connect(shared_server().url(name, user=APP), autocommit=True) as connection:
        yield connection


async def count(connection: Connection, table: str) -> int:
    cursor = await connection.execute(f"SELECT count(*) FROM scrubjay.{table}".encode())
    return int((await cursor.fetchall())[0][0])


async def within(connection: Connection, space: str, statement: str) -> None:
    async with connection.transaction():
        await connection.execute("SELECT scrubjay.enter(%s)", (space,))
        await connection.execute(statement.encode())


@pytest.mark.parametrize("table", [*SPACE_TABLES, "spaces", "memory_items"])
async def test_nothing_is_seen_without_a_space(login: Connection, table: str) -> None:
    assert await count(login, table) == 0
    async with login.transaction():
        await login.execute("SELECT scrubjay.enter('nobody')")
        assert await count(login, table) == 0


@pytest.mark.parametrize("table", [*FILLED, "spaces", "memory_items"])
async def test_in_a_space_its_rows_are_seen_and_no_others(login: Connection, table: str) -> None:
    async with login.transaction():
        await login.execute("SET LOCAL ROLE scrubjay_keeper")
        both = await count(login, table) if table != "memory_items" else 0
    counts: list[int] = []
    for space in ("ann", "bob"):
        async with login.transaction():
            await login.execute("SELECT scrubjay.enter(%s)", (space,))
            counts.append(await count(login, table))
    assert counts[0] == counts[1] > 0
    assert table == "memory_items" or sum(counts) == both


@pytest.mark.parametrize("table", FILLED)
async def test_rows_of_another_space_can_be_neither_changed_nor_deleted(login: Connection, table: str) -> None:
    async with login.transaction():
        await login.execute("SELECT scrubjay.enter('ann')")
        cursor = await login.execute("SELECT scrubjay.current_space()")
        ((ann,),) = await cursor.fetchall()
        for statement in (
            f"UPDATE scrubjay.{table} SET space_no = space_no WHERE space_no <> {ann}",
            f"DELETE FROM scrubjay.{table} WHERE space_no <> {ann}",
        ):
            cursor = await login.execute(statement.encode())
            assert cursor.rowcount == 0
    async with login.transaction():
        await login.execute("SELECT scrubjay.enter('bob')")
        assert await count(login, table) > 0


@pytest.mark.parametrize("table", FILLED)
async def test_rows_can_be_put_into_no_other_space(login: Connection, table: str) -> None:
    moved = f"SELECT (jsonb_populate_record(t, '{{\"space_no\": 2}}')).* FROM scrubjay.{table} t"
    for statement in (f"UPDATE scrubjay.{table} SET space_no = 2", f"INSERT INTO scrubjay.{table} {moved}"):
        with pytest.raises(errors.InsufficientPrivilege, match="row-level security"):
            await within(login, "ann", statement)


async def test_a_space_ends_with_its_transaction(login: Connection) -> None:
    async with login.transaction():
        await login.execute("SELECT scrubjay.enter('ann')")
        assert await count(login, "memories") == 2
    assert await count(login, "memories") == 0


async def test_joins_counts_and_errors_reveal_nothing_of_others(login: Connection) -> None:
    async with login.transaction():
        await login.execute("SELECT scrubjay.enter('ann')")
        cursor = await login.execute("SELECT string_agg(text, ' ') FROM scrubjay.memory_items")
        ((texts,),) = await cursor.fetchall()
        assert "secret of ann" in texts
        assert "bob" not in texts
        # A division that fails on a row of another space would reveal that it exists.
        await login.execute("SELECT 1 / (CASE WHEN content LIKE '%bob%' THEN 0 ELSE 1 END) FROM scrubjay.contents")


async def test_the_view_has_the_documented_columns(login: Connection) -> None:
    async with login.transaction():
        await login.execute("SELECT scrubjay.enter('bob')")
        cursor = await login.execute("SELECT * FROM scrubjay.memory_items WHERE text LIKE 'secret%'")
        assert [item.name for item in cursor.description or ()] == [
            "id", "created_at", "user_id", "embedding", "text", "metadata",
        ]  # fmt: skip
        ((_, created_at, user, _, text, metadata),) = await cursor.fetchall()
        assert (user, text, metadata) == ("bob", "secret of bob", {"of": "bob"})
        assert created_at.year == START.year
        cursor = await login.execute("SELECT vector_dims(embedding) FROM scrubjay.memory_items WHERE text = 'other'")
        assert await cursor.fetchall() == [(64,)]


@pytest.mark.parametrize("statement", ["SELECT * FROM scrubjay.tokens", "UPDATE scrubjay.meta SET value = ''"])
async def test_tables_of_no_space_are_closed_to_the_server(login: Connection, statement: str) -> None:
    with pytest.raises(errors.InsufficientPrivilege):
        await login.execute(statement.encode())


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE scrubjay.memories DISABLE ROW LEVEL SECURITY",
        "DROP POLICY one_space ON scrubjay.memories",
        "CREATE POLICY mine ON scrubjay.memories USING (true)",
        "TRUNCATE scrubjay.memories",
        "ALTER FUNCTION scrubjay.current_space() OWNER TO CURRENT_USER",
        "CREATE TABLE scrubjay.mine(x integer)",
        "DROP TABLE scrubjay.memories",
    ],
)
async def test_the_policies_cannot_be_removed(login: Connection, statement: str) -> None:
    with pytest.raises(errors.InsufficientPrivilege):
        await login.execute(statement.encode())


async def test_the_policies_are_checked(store: PostgresStore, name: str) -> None:
    assert await store.check() == []
    async with await Connection.connect(shared_server().url(name), autocommit=True) as connection:
        await connection.execute("ALTER TABLE scrubjay.contents NO FORCE ROW LEVEL SECURITY")
    (problem,) = await store.check()
    assert "contents" in problem


async def test_the_same_text_has_other_words_in_another_space(login: Connection) -> None:
    async with login.transaction():
        await login.execute("SET LOCAL ROLE scrubjay_keeper")
        cursor = await login.execute("SELECT space_no, unnest(words) FROM scrubjay.passages")
        words: dict[int, set[int]] = {}
        for space_no, word in await cursor.fetchall():
            words.setdefault(space_no, set()).add(word)
    ann, bob = words.values()
    assert ann
    assert not ann & bob


async def test_stored_passages_returns_those_of_the_current_space(login: Connection) -> None:
    async with login.transaction():
        await login.execute("SET LOCAL ROLE scrubjay_keeper")
        cursor = await login.execute("SELECT array_agg(id) FROM scrubjay.passages")
        ((everyone,),) = await cursor.fetchall()
    seen: list[set[int]] = []
    for space in ("ann", "bob", "nobody"):
        async with login.transaction():
            await login.execute("SELECT scrubjay.enter(%s)", (space,))
            cursor = await login.execute("SELECT id FROM scrubjay.stored_passages(%s::bigint[], 9)", (everyone,))
            ((ids,),) = await cursor.fetchall()
            seen.append(set(ids or ()))
            cursor = await login.execute("SELECT * FROM scrubjay.stored_passages(%s::bigint[], 9)", (everyone,))
            others = {"ann": "bob", "bob": "ann"}.get(space, "secret")
            assert others not in str(await cursor.fetchall())
    assert seen[0] | seen[1] == set(everyone)
    assert not seen[0] & seen[1]
    assert not seen[2]
    # Without a space it shows nothing.
    cursor = await login.execute("SELECT id FROM scrubjay.stored_passages(%s::bigint[], 9)", (everyone,))
    assert await cursor.fetchall() == [(None,)]


async def test_a_word_has_other_trigrams_in_another_space_and_is_spelled_in_its_own(login: Connection) -> None:
    async with login.transaction():
        await login.execute("SET LOCAL ROLE scrubjay_keeper")
        cursor = await login.execute("SELECT space_no, grams FROM scrubjay.vocabulary WHERE term = 'secret'")
        (_, ann), (_, bob) = await cursor.fetchall()
    assert ann
    assert not set(ann) & set(bob)
    async with login.transaction():
        await login.execute("SELECT scrubjay.enter('ann')")
        cursor = await login.execute("SELECT term FROM scrubjay.vocabulary")
        terms = {str(term) for (term,) in await cursor.fetchall()}
        assert "ann" in terms
        assert "bob" not in terms
        # A search in this space by trigrams of another.
        cursor = await login.execute("SELECT * FROM scrubjay.similar_terms(%s::bigint[], 9, 9, 9)", (bob,))
        assert await cursor.fetchall() == []


async def test_a_partition_has_policies_of_its_own() -> None:
    """The policies also apply to the owner of a partition, who can query it directly."""
    await make_logins()
    parts = ("contents_0", "contents_1")
    async with a_database(partitions=2) as name:
        store = await PostgresStore.open(address_of(name))
        try:
            for space in ("ann", "bob"):
                await store.commit(a_commit(a_memory(f"secret of {space}", space=space)))
            assert await store.check() == []
            async with await Connection.connect(shared_server().url(name), autocommit=True) as connection:
                assert sum([await count(connection, part) for part in parts]) == 2
                for part in parts:
                    await connection.execute(f"ALTER TABLE scrubjay.{part} OWNER TO {APP}".encode())
            async with await Connection.connect(shared_server().url(name, user=APP), autocommit=True) as owner:
                assert [await count(owner, part) for part in parts] == [0, 0]
                await owner.execute("ALTER TABLE scrubjay.contents_1 DISABLE ROW LEVEL SECURITY")
            (problem,) = await store.check()
            assert "contents_1" in problem
        finally:
            await store.close()
