"""An index on a server: its progress, its owner, and its errors."""

import sys
from collections.abc import AsyncIterator

import pytest
from qdrant_client import models
from tests.fakes.build import DIMENSION, MODEL, a_memory, a_point, vector_of
from tests.qdrant import QDRANT_BACKENDS, QdrantBackend, qdrant_backend, refused_url

from scrubjay.errors import IndexUnavailable, InvalidInput
from scrubjay.model.query import Filter
from scrubjay.vectors.qdrant import QdrantIndex
from scrubjay.vectors.qdrant_address import QdrantAddress, load_qdrant
from scrubjay.vectors.qdrant_codec import ModelNamespace

QUERY = vector_of(b"a question")
POINTS = [a_point(number, a_memory(f"number {number}")) for number in range(1, 6)]


@pytest.fixture(params=QDRANT_BACKENDS)
async def qdrant(request: pytest.FixtureRequest) -> AsyncIterator[QdrantBackend]:
    async with qdrant_backend(str(request.param)) as qdrant:
        yield qdrant


class TestState:
    async def test_without_a_collection_there_is_no_index(self, qdrant: QdrantBackend) -> None:
        index = qdrant.index()
        current = await index.read_state()
        assert (current.cursor, current.problem) == (None, "the collection on Qdrant does not exist")
        with pytest.raises(IndexUnavailable):
            await index.search("default", QUERY, Filter(), limit=3)

    async def test_others_read_its_progress(self, qdrant: QdrantBackend) -> None:
        index, other = await qdrant.complete_index(), qdrant.index()
        await index.apply(POINTS, [], cursor=7)
        assert (await other.read_state(check_layout=True)).cursor == 7
        assert other.cursor == 7
        await index.apply([], [], cursor=9)
        await other.search("default", QUERY, Filter(), limit=3)
        assert other.cursor == 9, "each answer includes it"

    async def test_half_an_index_never_looks_complete(self, qdrant: QdrantBackend) -> None:
        index, other = qdrant.index(), qdrant.index()
        await index.begin_build(keep=False)
        await index.apply(POINTS, [], cursor=7)
        current = await other.read_state()
        assert (current.cursor, current.problem) == (None, "the vector index on Qdrant is not built yet")
        with pytest.raises(IndexUnavailable, match="not built yet"):
            await other.search("default", QUERY, Filter(), limit=3)
        await index.finish_build(cursor=7)
        assert (await other.read_state()).cursor == 7
        assert await _numbers(other) == {1, 2, 3, 4, 5}

    async def test_the_index_of_another_store_is_not_used(self, qdrant: QdrantBackend) -> None:
        await (await qdrant.complete_index()).apply(POINTS, [], cursor=7)
        other = qdrant.index(store_id="another")
        current = await other.read_state()
        assert (current.cursor, current.problem) == (None, "the vector index on Qdrant belongs to another store")
        with pytest.raises(IndexUnavailable, match="another store"):
            await other.search("default", QUERY, Filter(), limit=3)

    async def test_a_rebuild_request_stays_until_the_rebuild(self, qdrant: QdrantBackend) -> None:
        index = await qdrant.complete_index()
        await qdrant.index().request_rebuild()
        assert (await index.read_state()).rebuild_requested
        await index.begin_build(keep=True)
        assert (await index.read_state()).rebuild_requested
        await index.finish_build(cursor=3)
        assert not (await index.read_state()).rebuild_requested

    async def test_a_limit_of_zero_sends_no_request(self, qdrant: QdrantBackend) -> None:
        assert await qdrant.index().search("default", QUERY, Filter(), limit=0) == []

    async def test_checkpoints_and_requests_are_not_counted_or_found(self, qdrant: QdrantBackend) -> None:
        index = await qdrant.complete_index()
        await index.apply(POINTS, [], cursor=1)
        await index.request_rebuild()
        assert await index.count() == 5
        assert await _numbers(index) == {1, 2, 3, 4, 5}


class TestBuilding:
    async def test_a_build_removes_points_of_earlier_builds_at_the_end(self, qdrant: QdrantBackend) -> None:
        index = await qdrant.complete_index()
        await index.apply(POINTS, [], cursor=1)
        await index.begin_build(keep=True)
        await index.apply(POINTS[:2], [], cursor=2)
        assert await _numbers(index) == {1, 2, 3, 4, 5}, "the old index still answers"
        await index.finish_build(cursor=2)
        assert await _numbers(index) == {1, 2}

    async def test_two_models_live_side_by_side(self, qdrant: QdrantBackend) -> None:
        first, second = await qdrant.complete_index(), await qdrant.complete_index(model="another", dimension=8)
        await first.apply(POINTS, [], cursor=1)
        small = [a_point(3, a_memory(), vector=vector_of(b"3", dimension=8))]
        await second.apply(small, [], cursor=2)
        results = await second.search("default", vector_of(b"q", dimension=8), Filter(), limit=9)
        assert [number for number, _ in results] == [3]
        await second.begin_build(keep=False)
        await second.finish_build(cursor=5)
        assert (await second.count(), await first.count()) == (0, 5)
        assert ((await first.read_state()).cursor, (await second.read_state()).cursor) == (1, 5)

    async def test_a_vector_of_another_size_is_replaced(self, qdrant: QdrantBackend) -> None:
        namespace = ModelNamespace(model=MODEL, dimension=DIMENSION)
        wrong = models.VectorParams(size=3, distance=models.Distance.COSINE)
        await qdrant.server.create_collection(qdrant.address.collection, vectors_config={namespace.name: wrong})
        index = qdrant.index()
        current = await index.read_state(check_layout=True)
        assert (current.cursor, current.problem) == (None, "the vectors on Qdrant have another dimension")
        index = await qdrant.complete_index()
        await index.apply(POINTS, [], cursor=1)
        assert (await index.read_state(check_layout=True)).cursor == 1
        assert await _numbers(index) == {1, 2, 3, 4, 5}

    async def test_a_collection_of_another_program_is_left_alone(self, qdrant: QdrantBackend) -> None:
        plain = models.VectorParams(size=3, distance=models.Distance.COSINE)
        await qdrant.server.create_collection(qdrant.address.collection, vectors_config=plain)
        with pytest.raises(IndexUnavailable, match="another program") as caught:
            await qdrant.index().begin_build(keep=False)
        assert "SCRUBJAY_QDRANT_COLLECTION" in caught.value.hint

    async def test_more_points_than_fit_in_one_request(self, qdrant: QdrantBackend) -> None:
        index = await qdrant.complete_index()
        many = [a_point(number, a_memory()) for number in range(1, 601)]
        await index.apply(many, [], cursor=1)
        assert await index.count() == 600
        await index.apply([], [point.id for point in many[1:]], cursor=2)
        assert await _numbers(index) == {1}


class TestOutage:
    async def test_an_unreachable_server_is_reported(self, qdrant: QdrantBackend) -> None:
        index = await qdrant.complete_index()
        qdrant.disconnect()
        for request in (index.search("default", QUERY, Filter(), limit=3), index.apply(POINTS, [], cursor=3)):
            with pytest.raises(IndexUnavailable, match="Qdrant cannot be reached") as caught:
                await request
            assert caught.value.fields["reason"] == "unreachable"
        with pytest.raises(IndexUnavailable):
            await index.read_state()
        qdrant.reconnect()
        assert (await index.read_state()).cursor == 0
        await index.apply(POINTS, [], cursor=3)
        assert await _numbers(index) == {1, 2, 3, 4, 5}

    async def test_an_error_reveals_no_secrets(self) -> None:
        url = refused_url().replace("127.0.0.1", "me:secret@127.0.0.1")
        address = QdrantAddress(url=f"{url}/?token=secret", key="secret", collection="c")
        index = QdrantIndex.at(address, connection=QdrantIndex.connect(address), store_id="s", model="m", dimension=3)
        assert index.labels["url"] == shown_url(url)
        assert "secret" not in repr(address).replace(address.url, "")
        with pytest.raises(IndexUnavailable) as caught:
            await index.read_state()
        assert "secret" not in f"{caught.value} {caught.value.fields}"
        await index.close()

    @pytest.mark.parametrize("url", ["localhost:6333", "ftp://localhost", "http://", ""])
    async def test_the_address_must_be_a_url(self, url: str) -> None:
        with pytest.raises(InvalidInput, match="address"):
            load_qdrant(QdrantAddress(url=url))

    async def test_without_its_client_it_says_what_to_install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delitem(sys.modules, "scrubjay.vectors.qdrant")
        monkeypatch.setitem(sys.modules, "qdrant_client", None)
        with pytest.raises(InvalidInput, match="not installed") as caught:
            load_qdrant(QdrantAddress(url="http://localhost"))
        assert "scrubjay[qdrant]" in caught.value.hint

    async def test_shards_and_replicas_must_be_positive(self) -> None:
        with pytest.raises(InvalidInput, match="one shard"):
            load_qdrant(QdrantAddress(url="http://localhost", shards=0))


@pytest.mark.parametrize(("replicas", "needed"), [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3)])
def test_a_write_needs_those_that_are_left_when_a_minority_fails(replicas: int, needed: int) -> None:
    assert QdrantAddress(url="http://localhost", replicas=replicas).write_consistency == needed


@pytest.mark.parametrize("model", ["a/b:c\\d*?<>|", "", "x" * 300, "Modèle-é", "..", "openai/text@512+ab12"])
def test_every_model_has_a_name_that_a_server_accepts(model: str) -> None:
    namespace = ModelNamespace(model=model, dimension=384)
    assert len(namespace.name) < 200
    assert set(namespace.name) <= set("abcdefghijklmnopqrstuvwxyz0123456789.-")
    assert namespace.name != ModelNamespace(model=model, dimension=768).name
    assert namespace.id_of(7) != ModelNamespace(model=f"{model}!", dimension=384).id_of(7)


def shown_url(url: str) -> str:
    return url.replace("me:secret@", "") + "/"


async def _numbers(index: QdrantIndex) -> set[int]:
    return {number for number, _ in await index.search("default", QUERY, Filter(), limit=999)}
