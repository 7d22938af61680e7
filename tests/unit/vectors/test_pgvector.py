"""Searches of the vectors of PostgreSQL: with an index, without, and during a build."""

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
from tests.unit.vectors.pgvector_points import EAGER, add_point, profile, put_points

from scrubjay.errors import EmbeddingUnavailable, InvalidInput
from scrubjay.model.memory import Source, State
from scrubjay.model.passage import Point, Vector, passage_id
from scrubjay.model.query import Filter
from scrubjay.ports import Profile
from scrubjay.storage.postgres import PostgresStore
from scrubjay.storage.postgres.database import SqlQuery
from scrubjay.vectors.pgvector import PgvectorIndex
from scrubjay.vectors.pgvector_indexes import PgvectorLayout, PgvectorState, PgvectorTuning

# Nearly all of these tests build an index, some of them in the background.
pytestmark = builds_an_index

MANY = 2_500
FILTERS = {"1 %": Filter(project="hundredth"), "14 %": Filter(kind="seventh"), "100 %": Filter(scope="all")}
Open = Callable[..., Awaitable[PostgresStore]]
NEAREST = "SELECT id, by_index FROM scrubjay.nearest_passages(1, %s, 20, %s::jsonb, %s::jsonb)"


@pytest.fixture
async def name() -> AsyncIterator[str]:
    async with a_database() as database:
        yield database


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


def make_index(
    store: PostgresStore, *, kind: str = "hnsw", precision: str = "half", tuning: PgvectorTuning = EAGER
) -> PgvectorIndex:
    return PgvectorIndex(store.vector_tables, profile, kind=kind, precision=precision, tuning=tuning)


async def open_index(index: PgvectorIndex) -> PgvectorIndex:
    await index.open()
    await index.settle()
    return index


def random_vectors(count: int, *, seed: int = 5) -> list[Vector]:
    """Return unit vectors in clusters, like those of texts."""
    centres = np.random.default_rng(4).normal(size=(40, DIMENSION))
    source = np.random.default_rng(seed)
    vectors = centres[source.integers(40, size=count)] + source.normal(scale=0.5, size=(count, DIMENSION))
    return list((vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32))


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
        for number, vector in enumerate(random_vectors(count), start=1)
    ]


async def index_names(name: str) -> list[tuple[str, bool]]:
    async with await psycopg.AsyncConnection.connect(shared_server().url(name)) as connection:
        cursor = await connection.execute(
            """SELECT c.relname, i.indisvalid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
               JOIN pg_am a ON a.oid = c.relam WHERE a.amname IN ('hnsw', 'ivfflat') ORDER BY 1"""
        )
        return [(str(name), bool(valid)) for name, valid in await cursor.fetchall()]


def share(hits: Sequence[tuple[int, float]], truth: Sequence[tuple[int, float]]) -> float:
    return len({number for number, _ in hits} & {number for number, _ in truth}) / len(truth)


@pytest.mark.parametrize("precision", ["half", "full"])
@pytest.mark.parametrize("kind", ["hnsw", "ivfflat"])
async def test_an_index_finds_what_an_exact_search_finds(store: PostgresStore, kind: str, precision: str) -> None:
    await put_points(store, "default", many_points())
    exact = make_index(store, tuning=PgvectorTuning(index_from=10**9))
    index = await open_index(make_index(store, kind=kind, precision=precision))
    assert await index.describe() == {
        "kind": kind, "precision": precision, "points": MANY, "lag": 0, "building": False, "problem": "",
    }  # fmt: skip
    questions = random_vectors(12, seed=6)
    for filter_ in (Filter(), *FILTERS.values(), Filter(since=moment(100), until=moment(400))):
        shares: list[float] = []
        for question in questions:
            truth = await exact.search("default", question, filter_, limit=20)
            hits = await index.search("default", question, filter_, limit=20)
            assert len(hits) == len(truth) == 20
            assert hits == sorted(hits, key=lambda hit: (-hit[1], hit[0]))
            shares.append(share(hits, truth))
        assert np.mean(shares) > 0.9, filter_


@pytest.mark.parametrize("kind", ["hnsw", "ivfflat"])
async def test_a_search_uses_the_index(store: PostgresStore, kind: str) -> None:
    await put_points(store, "default", many_points(500))
    index = await open_index(make_index(store, kind=kind))
    scans = f"SELECT pg_stat_get_xact_numscans('scrubjay.vectors_{kind}_half_1'::regclass)"
    vector = str(random_vectors(1)[0].tolist())
    for filter_ in (Filter(), FILTERS["14 %"]):
        query = SqlQuery(
            NEAREST, (vector, json.dumps(store.vector_tables.filter_json("default", filter_)), index.search_plan)
        )
        rows, counted = await store.database.read(query, SqlQuery(scans), space="default")
        assert {by_index for _, by_index in rows} == {True}
        assert counted == [(1,)]


async def test_few_points_are_scanned_and_have_no_index(store: PostgresStore, name: str) -> None:
    await put_points(store, "default", many_points(50))
    index = await open_index(make_index(store, tuning=PgvectorTuning()))
    assert len(await index.search("default", random_vectors(1)[0], Filter(), limit=20)) == 20
    assert (await index.describe())["kind"] == "exact"
    assert await index_names(name) == []


async def test_a_commit_is_found_at_once_and_a_trashed_memory_is_not(store: PostgresStore) -> None:
    index = make_index(store)
    memory = a_memory("a kingfisher by the river")
    embedded = vectors_for([memory])
    (vector,) = embedded.vectors.values()
    assert await index.search("default", vector, Filter(), limit=5) == []
    await store.commit(a_commit(memory, embedded=embedded))
    ((number, cosine),) = await index.search("default", vector, Filter(), limit=5)
    (passage,) = await store.stored_passages("default", [number])
    assert passage.memory_id == memory.id
    assert cosine == pytest.approx(1.0, abs=1e-3)
    await store.commit(a_commit(a_rewrite(revised(memory, state=State.TRASHED))))
    assert await index.search("default", vector, Filter(), limit=5) == []
    assert len(await index.search("default", vector, Filter(state=State.TRASHED), limit=5)) == 1
    await index.after_commit()
    assert await index.lag() == 0
    await index.close()


async def test_partitions_have_an_index_each(open_store: Open) -> None:
    async with a_database(partitions=3) as name:
        store = await open_store(name)
        spaces = ("ann", "bob", "cyd", "dan")
        for number, space in enumerate(spaces):
            points = [
                replace(point, id=point.id + passage_id(10_000 * number, 0)) for point in many_points(300, space=space)
            ]
            await put_points(store, space, points)
        index = await open_index(make_index(store))
        assert await index_names(name) == [(f"vectors_{part}_hnsw_half_1", True) for part in range(3)]
        for number, space in enumerate(spaces):
            hits = await index.search(space, random_vectors(1)[0], Filter(), limit=20)
            assert {passage // passage_id(10_000, 0) for passage, _ in hits} == {number}
            assert len(hits) == 20
        await index.rebuild()
        assert len(await index_names(name)) == 3
        await store.close()


async def test_a_login_that_owns_nothing_reports_the_setting(store: PostgresStore, name: str, open_store: Open) -> None:
    await make_logins()
    await put_points(store, "default", many_points(200))
    serving = await open_store(name, user=APP)
    index = await open_index(make_index(serving))
    described = await index.describe()
    assert described["kind"] == "exact"
    assert "SCRUBJAY_DATABASE_OWNER_URL" in str(described["problem"])
    assert "CREATE INDEX CONCURRENTLY vectors_hnsw_half_1 ON scrubjay.vectors" in str(described["problem"])
    assert len(await index.search("default", random_vectors(1)[0], Filter(), limit=20)) == 20
    # To be described it tries again, and holds the lock meanwhile.
    await index.settle()
    helped = await open_store(name, user=APP, owner="postgres")
    assert (await (await open_index(make_index(helped))).describe())["kind"] == "hnsw"
    # The server without an owner login finds the index when it refreshes its state.
    described = await index.describe()
    assert (described["kind"], described["problem"]) == ("hnsw", "")


async def test_row_security_applies_to_the_login_of_a_server(store: PostgresStore, name: str) -> None:
    await make_logins()
    await put_points(store, "ann", many_points(50, space="ann"))
    async with await psycopg.AsyncConnection.connect(
        shared_server().url(name, user=APP), autocommit=True
    ) as connection:
        passing = "SELECT count(*) FROM scrubjay.filter_passages(0::smallint, '{}', '{}', 0, 9223372036854775807)"
        search_plan = '{"scan_cost": 1, "step_cost": 1, "min_visited": 1}'
        nearest = "SELECT count(*) FROM scrubjay.nearest_passages(1, %s, 9, '{\"state\": 0}', %s)"
        vector = str(random_vectors(1)[0].tolist())
        for space, count in (("nowhere", 0), ("ann", 50)):
            async with connection.transaction():
                await connection.execute("SELECT scrubjay.enter(%s)", (space,))
                assert await (await connection.execute(passing)).fetchone() == (count,)
                assert await (await connection.execute(nearest, (vector, search_plan))).fetchone() == (min(count, 9),)
        assert await (await connection.execute(passing)).fetchone() == (0,)


async def test_an_unfinished_index_is_built_again(store: PostgresStore, name: str) -> None:
    await put_points(store, "default", many_points(200))
    await open_index(make_index(store))
    async with await psycopg.AsyncConnection.connect(shared_server().url(name), autocommit=True) as connection:
        await connection.execute(
            "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'scrubjay.vectors_hnsw_half_1'::regclass"
        )
    assert await index_names(name) == [("vectors_hnsw_half_1", False)]
    assert await store.check() == []
    index = await open_index(make_index(store))
    assert await index_names(name) == [("vectors_hnsw_half_1", True)]
    assert (await index.describe())["building"] is False


async def test_servers_that_start_at_once_build_one_index(name: str, open_store: Open) -> None:
    stores = [await open_store(name) for _ in range(3)]
    await put_points(stores[0], "default", many_points(300))
    indexes = [make_index(store) for store in stores]
    await asyncio.gather(*map(open_index, indexes))
    assert await index_names(name) == [("vectors_hnsw_half_1", True)]
    assert [(await index.describe())["kind"] for index in indexes] == ["hnsw"] * 3


async def test_rebuilding_leaves_the_index_of_this_kind_alone(store: PostgresStore, name: str) -> None:
    index = make_index(store)
    await index.rebuild()
    await put_points(store, "default", many_points(200))
    await open_index(make_index(store, kind="ivfflat"))
    await open_index(index)
    assert len(await index_names(name)) == 2
    await index.rebuild()
    assert await index_names(name) == [("vectors_hnsw_half_1", True)]


async def test_lists_that_have_grown_too_long_are_rebuilt(store: PostgresStore) -> None:
    tuning = replace(EAGER, list_size=20, refresh_after=0.0)
    await put_points(store, "default", many_points(100))
    index = await open_index(make_index(store, kind="ivfflat", tuning=tuning))
    assert '"lists": 5' in index.search_plan
    await put_points(store, "default", many_points(400))
    await index.after_commit()
    await index.settle()
    assert '"lists": 20' in index.search_plan


async def test_it_can_be_closed_during_a_build(store: PostgresStore) -> None:
    await put_points(store, "default", many_points(300))
    index = make_index(store)
    await index.open()
    await index.close()
    assert (await (await open_index(make_index(store))).describe())["kind"] == "hnsw"


async def test_vectors_that_do_not_fit_are_refused(store: PostgresStore) -> None:
    await put_points(store, "default", many_points(10))

    async def longer() -> Profile:
        return Profile(model=MODEL, dimension=DIMENSION + 1)

    with pytest.raises(InvalidInput, match="64 dimensions in this store, the embedder gives 65"):
        await PgvectorIndex(store.vector_tables, longer).open()
    with pytest.raises(InvalidInput):
        await make_index(store).search("default", random_vectors(1)[0][:9], Filter(), limit=5)
    assert await make_index(store).search("default", random_vectors(1)[0], Filter(), limit=0) == []
    assert len(await make_index(store).search("default", np.zeros(DIMENSION, np.float32), Filter(), limit=5)) == 5


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
    ("version", "dimension", "precision", "problem"),
    [
        ("0.7.4", 384, "half", "ALTER EXTENSION vector UPDATE"),
        ("0.8.0", 3_072, "full", "set SCRUBJAY_VECTOR_PRECISION to half"),
        ("0.8.0", 5_000, "half", "takes 4000 dimensions, the model has 5000"),
        ("0.10.1", 3_072, "half", ""),
    ],
)
def test_an_impossible_index_says_why(version: str, dimension: int, precision: str, problem: str) -> None:
    state = PgvectorState(
        version=version, schema="public", model_no=1, dimension=dimension, points=10**6, tables=("vectors",), indexes=()
    )
    layout = PgvectorLayout(kind="hnsw", precision=precision, state=state, tuning=PgvectorTuning())
    assert problem in layout.problem
    assert bool(problem) == bool(layout.problem)


@pytest.mark.parametrize(("kind", "precision"), [("flat", "half"), ("hnsw", "double")])
async def test_an_unknown_kind_of_index_is_refused(kind: str, precision: str) -> None:
    with pytest.raises(InvalidInput, match="no vector index"):
        PgvectorIndex(_NoTables(), profile, kind=kind, precision=precision)  # type: ignore[arg-type]


class _NoTables:
    """Tables that are not used."""


async def test_new_vectors_are_found_before_and_after_they_are_indexed(store: PostgresStore, name: str) -> None:
    points = many_points()
    await put_points(store, "default", points)
    index = await open_index(make_index(store, tuning=replace(EAGER, index_after=3600.0)))
    assert await count_unindexed(name) == 0
    new = a_point(passage_id(MANY + 1, 0), a_memory(scope="all"), vector=random_vectors(1, seed=9)[0])
    await add_point(store, new)
    assert await count_unindexed(name) == 1
    for filter_ in (Filter(), Filter(scope="all")):
        hits = await index.search("default", new.vector, filter_, limit=5)
        assert hits[0][0] == new.id
        assert len(hits) == 5
    other = await open_index(make_index(store, tuning=replace(EAGER, index_after=0.0)))
    await other.after_commit()
    await other.settle()
    assert await count_unindexed(name) == 0
    assert (await index.search("default", new.vector, Filter(), limit=5))[0][0] == new.id
    await index.close()


async def count_unindexed(name: str) -> int:
    async with await psycopg.AsyncConnection.connect(shared_server().url(name)) as connection:
        cursor = await connection.execute("SELECT count(*) FROM scrubjay.vectors WHERE NOT indexed")
        return int((await cursor.fetchall())[0][0])
