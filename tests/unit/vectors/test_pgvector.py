"""Searching the vectors of PostgreSQL: with an index, without, and while others build it."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace

import numpy as np
import psycopg
import pytest
from tests.fakes.build import DIMENSION, MODEL, a_commit, a_memory, a_point, a_rewrite, moment, revised, vectors_for
from tests.postgres import a_database, address_of, builds_an_index, shared_server
from tests.unit.storage.postgres.logins import APP, make_logins
from tests.unit.vectors.pgvector_shelf import EAGER, add_point, profile, put_points

from scrubjay.errors import EmbeddingUnavailable, InvalidInput
from scrubjay.model.memory import Source, State
from scrubjay.model.passage import Point, Vector, passage_id
from scrubjay.model.query import Filter
from scrubjay.ports import Profile
from scrubjay.storage.postgres import PostgresStore
from scrubjay.storage.postgres.database import SqlQuery
from scrubjay.vectors.pgvector import PgvectorIndex
from scrubjay.vectors.pgvector_indexes import Layout, Standing, Tuning

# Nearly all of these have an index built, some of them in the background.
pytestmark = builds_an_index

MANY = 2_500
FILTERS = {"1 %": Filter(project="hundredth"), "14 %": Filter(kind="seventh"), "100 %": Filter(scope="all")}
Open = Callable[..., Awaitable[PostgresStore]]
NEAREST = "SELECT id, by_index FROM scrubjay.nearest_passages(1, %s, 20, %s::jsonb, %s::jsonb)"


@pytest.fixture
async def name() -> AsyncIterator[str]:
    async with a_database() as made:
        yield made


@pytest.fixture
async def open_store() -> AsyncIterator[Open]:
    async with AsyncExitStack() as stack:

        async def opened(name: str, *, user: str = "postgres", owner: str = "") -> PostgresStore:
            owner_url = shared_server().url(name, user=owner) if owner else ""
            store = await PostgresStore.open(replace(address_of(name, user=user), owner_url=owner_url))
            stack.push_async_callback(store.close)
            return store

        yield opened


@pytest.fixture
async def store(name: str, open_store: Open) -> PostgresStore:
    return await open_store(name)


def an_index(
    store: PostgresStore, *, kind: str = "hnsw", precision: str = "half", tuning: Tuning = EAGER
) -> PgvectorIndex:
    return PgvectorIndex(store.vector_tables, profile, kind=kind, precision=precision, tuning=tuning)


async def opened(index: PgvectorIndex) -> PgvectorIndex:
    await index.open()
    await index.settle()
    return index


def scattered(count: int, *, seed: int = 5) -> list[Vector]:
    """Unit vectors in clusters, as those of texts are."""
    centres = np.random.default_rng(4).normal(size=(40, DIMENSION))
    source = np.random.default_rng(seed)
    found = centres[source.integers(40, size=count)] + source.normal(scale=0.5, size=(count, DIMENSION))
    return list((found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32))


def many_points(count: int = MANY, *, space: str = "default") -> list[Point]:
    return [
        a_point(
            passage_id(number, 0),
            a_memory(
                space=space,
                scope="all",
                kind="" if number % 7 else "seventh",
                project="" if number % 100 else "hundredth",
                source=Source(at=moment(number)),
            ),
            vector=vector,
        )
        for number, vector in enumerate(scattered(count), start=1)
    ]


async def index_names(name: str) -> list[tuple[str, bool]]:
    async with await psycopg.AsyncConnection.connect(shared_server().url(name)) as connection:
        cursor = await connection.execute(
            """SELECT c.relname, i.indisvalid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
               JOIN pg_am a ON a.oid = c.relam WHERE a.amname IN ('hnsw', 'ivfflat') ORDER BY 1"""
        )
        return [(str(name), bool(valid)) for name, valid in await cursor.fetchall()]


def share(found: Sequence[tuple[int, float]], truth: Sequence[tuple[int, float]]) -> float:
    return len({number for number, _ in found} & {number for number, _ in truth}) / len(truth)


@pytest.mark.parametrize("precision", ["half", "full"])
@pytest.mark.parametrize("kind", ["hnsw", "ivfflat"])
async def test_an_index_finds_what_an_exact_search_finds(store: PostgresStore, kind: str, precision: str) -> None:
    await put_points(store, "default", many_points())
    exact = an_index(store, tuning=Tuning(index_from=10**9))
    index = await opened(an_index(store, kind=kind, precision=precision))
    assert await index.describe() == {
        "kind": kind, "precision": precision, "points": MANY, "lag": 0, "building": False, "problem": "",
    }  # fmt: skip
    questions = scattered(12, seed=6)
    for wanted in (Filter(), *FILTERS.values(), Filter(since=moment(100), until=moment(400))):
        shares: list[float] = []
        for question in questions:
            truth = await exact.search("default", question, wanted, limit=20)
            found = await index.search("default", question, wanted, limit=20)
            assert len(found) == len(truth) == 20
            assert found == sorted(found, key=lambda hit: (-hit[1], hit[0]))
            shares.append(share(found, truth))
        assert np.mean(shares) > 0.9, wanted


@pytest.mark.parametrize("kind", ["hnsw", "ivfflat"])
async def test_the_index_is_what_is_searched(store: PostgresStore, kind: str) -> None:
    await put_points(store, "default", many_points(500))
    index = await opened(an_index(store, kind=kind))
    scans = f"SELECT pg_stat_get_xact_numscans('scrubjay.vectors_{kind}_half_1'::regclass)"
    vector = str(scattered(1)[0].tolist())
    for wanted in (Filter(), FILTERS["14 %"]):
        asked = SqlQuery(NEAREST, (vector, json.dumps(store.vector_tables.filter_json("default", wanted)), index.way))
        rows, counted = await store.database.read(asked, SqlQuery(scans), space="default")
        assert {by_index for _, by_index in rows} == {True}
        assert counted == [(1,)]


async def test_few_points_are_looked_through_and_have_no_index(store: PostgresStore, name: str) -> None:
    await put_points(store, "default", many_points(50))
    index = await opened(an_index(store, tuning=Tuning()))
    assert len(await index.search("default", scattered(1)[0], Filter(), limit=20)) == 20
    assert (await index.describe())["kind"] == "exact"
    assert await index_names(name) == []


async def test_what_is_committed_is_found_at_once_and_what_is_trashed_is_not(store: PostgresStore) -> None:
    index = an_index(store)
    one = a_memory("a kingfisher by the river")
    embedded = vectors_for([one])
    (vector,) = embedded.vectors.values()
    assert await index.search("default", vector, Filter(), limit=5) == []
    await store.commit(a_commit(one, embedded=embedded))
    ((number, cosine),) = await index.search("default", vector, Filter(), limit=5)
    (passage,) = await store.stored_passages("default", [number])
    assert passage.memory_id == one.id
    assert cosine == pytest.approx(1.0, abs=1e-3)
    await store.commit(a_commit(a_rewrite(revised(one, state=State.TRASHED))))
    assert await index.search("default", vector, Filter(), limit=5) == []
    assert len(await index.search("default", vector, Filter(state=State.TRASHED), limit=5)) == 1
    await index.after_commit()
    assert await index.lag() == 0
    await index.close()


async def test_partitions_have_an_index_each(open_store: Open) -> None:
    async with a_database(partitions=3) as name:
        store = await open_store(name)
        spaces = ("ann", "bob", "cyd", "dan")
        for place, space in enumerate(spaces):
            points = [
                replace(point, id=point.id + passage_id(10_000 * place, 0)) for point in many_points(300, space=space)
            ]
            await put_points(store, space, points)
        index = await opened(an_index(store))
        assert await index_names(name) == [(f"vectors_{part}_hnsw_half_1", True) for part in range(3)]
        for place, space in enumerate(spaces):
            found = await index.search(space, scattered(1)[0], Filter(), limit=20)
            assert {number // passage_id(10_000, 0) for number, _ in found} == {place}
            assert len(found) == 20
        await index.rebuild()
        assert len(await index_names(name)) == 3
        await store.close()


async def test_a_login_that_owns_nothing_says_what_to_set(store: PostgresStore, name: str, open_store: Open) -> None:
    await make_logins()
    await put_points(store, "default", many_points(200))
    serving = await open_store(name, user=APP)
    index = await opened(an_index(serving))
    described = await index.describe()
    assert described["kind"] == "exact"
    assert "SCRUBJAY_DATABASE_OWNER_URL" in str(described["problem"])
    assert "CREATE INDEX CONCURRENTLY vectors_hnsw_half_1 ON scrubjay.vectors" in str(described["problem"])
    assert len(await index.search("default", scattered(1)[0], Filter(), limit=20)) == 20
    helped = await open_store(name, user=APP, owner="postgres")
    assert (await (await opened(an_index(helped))).describe())["kind"] == "hnsw"
    # Whoever serves without the owner's help finds it when it looks again.
    described = await index.describe()
    assert (described["kind"], described["problem"]) == ("hnsw", "")


async def test_the_walls_hold_for_the_login_of_a_server(store: PostgresStore, name: str) -> None:
    await make_logins()
    await put_points(store, "ann", many_points(50, space="ann"))
    async with await psycopg.AsyncConnection.connect(
        shared_server().url(name, user=APP), autocommit=True
    ) as connection:
        passing = "SELECT count(*) FROM scrubjay.filter_passages(0::smallint, '{}', '{}', 0, 9223372036854775807)"
        search_plan = '{"scan_cost": 1, "step_cost": 1, "min_visited": 1}'
        nearest = "SELECT count(*) FROM scrubjay.nearest_passages(1, %s, 9, '{\"state\": 0}', %s)"
        vector = str(scattered(1)[0].tolist())
        for space, count in (("nobody", 0), ("ann", 50)):
            async with connection.transaction():
                await connection.execute("SELECT scrubjay.enter(%s)", (space,))
                assert await (await connection.execute(passing)).fetchone() == (count,)
                assert await (await connection.execute(nearest, (vector, search_plan))).fetchone() == (min(count, 9),)
        assert await (await connection.execute(passing)).fetchone() == (0,)


async def test_an_index_that_was_left_half_made_is_made_again(store: PostgresStore, name: str) -> None:
    await put_points(store, "default", many_points(200))
    await opened(an_index(store))
    async with await psycopg.AsyncConnection.connect(shared_server().url(name), autocommit=True) as connection:
        await connection.execute(
            "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'scrubjay.vectors_hnsw_half_1'::regclass"
        )
    assert await index_names(name) == [("vectors_hnsw_half_1", False)]
    assert await store.check() == []
    index = await opened(an_index(store))
    assert await index_names(name) == [("vectors_hnsw_half_1", True)]
    assert (await index.describe())["building"] is False


async def test_servers_that_start_at_once_make_one_index(name: str, open_store: Open) -> None:
    stores = [await open_store(name) for _ in range(3)]
    await put_points(stores[0], "default", many_points(300))
    indexes = [an_index(store) for store in stores]
    await asyncio.gather(*map(opened, indexes))
    assert await index_names(name) == [("vectors_hnsw_half_1", True)]
    assert [(await index.describe())["kind"] for index in indexes] == ["hnsw"] * 3


async def test_rebuilding_leaves_the_index_of_this_kind_alone(store: PostgresStore, name: str) -> None:
    index = an_index(store)
    await index.rebuild()
    await put_points(store, "default", many_points(200))
    await opened(an_index(store, kind="ivfflat"))
    await opened(index)
    assert len(await index_names(name)) == 2
    await index.rebuild()
    assert await index_names(name) == [("vectors_hnsw_half_1", True)]


async def test_lists_that_were_outgrown_are_made_anew(store: PostgresStore) -> None:
    tuning = replace(EAGER, a_list=20, look_again=0.0)
    await put_points(store, "default", many_points(100))
    index = await opened(an_index(store, kind="ivfflat", tuning=tuning))
    assert '"lists": 5' in index.way
    await put_points(store, "default", many_points(400))
    await index.after_commit()
    await index.settle()
    assert '"lists": 20' in index.way


async def test_it_can_be_closed_while_an_index_is_being_made(store: PostgresStore) -> None:
    await put_points(store, "default", many_points(300))
    index = an_index(store)
    await index.open()
    await index.close()
    assert (await (await opened(an_index(store))).describe())["kind"] == "hnsw"


async def test_vectors_that_do_not_fit_are_refused(store: PostgresStore) -> None:
    await put_points(store, "default", many_points(10))

    async def longer() -> Profile:
        return Profile(model=MODEL, dimension=DIMENSION + 1)

    with pytest.raises(InvalidInput, match="64 dimensions in this store, the embedder gives 65"):
        await PgvectorIndex(store.vector_tables, longer).open()
    with pytest.raises(InvalidInput):
        await an_index(store).search("default", scattered(1)[0][:9], Filter(), limit=5)
    assert await an_index(store).search("default", scattered(1)[0], Filter(), limit=0) == []
    assert len(await an_index(store).search("default", np.zeros(DIMENSION, np.float32), Filter(), limit=5)) == 5


async def test_without_a_model_there_is_nothing_to_search(store: PostgresStore) -> None:
    async def none() -> Profile:
        raise EmbeddingUnavailable("no model")

    index = PgvectorIndex(store.vector_tables, none)
    with pytest.raises(EmbeddingUnavailable):
        await index.open()
    await index.rebuild()
    await index.after_commit()
    assert (await index.describe())["kind"] == "none"


@pytest.mark.parametrize(
    ("version", "dimension", "precision", "said"),
    [
        ("0.7.4", 384, "half", "ALTER EXTENSION vector UPDATE"),
        ("0.8.0", 3_072, "full", "set SCRUBJAY_VECTOR_PRECISION to half"),
        ("0.8.0", 5_000, "half", "takes 4000 dimensions, the model has 5000"),
        ("0.10.1", 3_072, "half", ""),
    ],
)
def test_where_there_can_be_no_index_it_says_why(version: str, dimension: int, precision: str, said: str) -> None:
    standing = Standing(
        version=version, schema="public", model_no=1, dimension=dimension, points=10**6, tables=("vectors",), indexes=()
    )
    layout = Layout(kind="hnsw", precision=precision, standing=standing, tuning=Tuning())
    assert said in layout.problem
    assert bool(said) == bool(layout.problem)


@pytest.mark.parametrize(("kind", "precision"), [("flat", "half"), ("hnsw", "double")])
async def test_an_index_that_nobody_knows_is_refused(kind: str, precision: str) -> None:
    with pytest.raises(InvalidInput, match="no vector index"):
        PgvectorIndex(_NoTables(), profile, kind=kind, precision=precision)  # type: ignore[arg-type]


class _NoTables:
    """Tables that nobody looks at."""


async def test_what_waits_for_its_place_is_found_and_gets_it(store: PostgresStore, name: str) -> None:
    points = many_points()
    await put_points(store, "default", points)
    index = await opened(an_index(store, tuning=replace(EAGER, placed_after=3600.0)))
    assert await waiting(name) == 0
    new = a_point(passage_id(MANY + 1, 0), a_memory(scope="all"), vector=scattered(1, seed=9)[0])
    await add_point(store, new)
    assert await waiting(name) == 1
    for wanted in (Filter(), Filter(scope="all")):
        found = await index.search("default", new.vector, wanted, limit=5)
        assert found[0][0] == new.id
        assert len(found) == 5
    other = await opened(an_index(store, tuning=replace(EAGER, placed_after=0.0)))
    await other.after_commit()
    await other.settle()
    assert await waiting(name) == 0
    assert (await index.search("default", new.vector, Filter(), limit=5))[0][0] == new.id
    await index.close()


async def waiting(name: str) -> int:
    async with await psycopg.AsyncConnection.connect(shared_server().url(name)) as connection:
        cursor = await connection.execute("SELECT count(*) FROM scrubjay.vectors WHERE NOT indexed")
        return int((await cursor.fetchall())[0][0])
