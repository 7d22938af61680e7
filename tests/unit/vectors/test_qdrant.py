"""An index on a server says how far it has come, is never taken for another, and tells why it cannot answer."""

import sys
from collections.abc import AsyncIterator

import pytest
from qdrant_client import models
from tests.fakes.build import DIMENSION, MODEL, a_memory, a_point, vector_of
from tests.qdrant import GROUNDS, Ground, a_ground, refused_url

from scrubjay.errors import IndexUnavailable, InvalidInput
from scrubjay.model.query import Filter
from scrubjay.vectors.qdrant import QdrantIndex
from scrubjay.vectors.qdrant_address import QdrantPlace, load_qdrant
from scrubjay.vectors.qdrant_codec import Series

QUERY = vector_of(b"a question")
POINTS = [a_point(number, a_memory(f"number {number}")) for number in range(1, 6)]


@pytest.fixture(params=GROUNDS)
async def ground(request: pytest.FixtureRequest) -> AsyncIterator[Ground]:
    async with a_ground(str(request.param)) as ground:
        yield ground


class TestStanding:
    async def test_without_a_collection_there_is_no_index(self, ground: Ground) -> None:
        index = ground.index()
        current = await index.look()
        assert (current.cursor, current.why) == (None, "the collection on Qdrant is not there")
        with pytest.raises(IndexUnavailable):
            await index.search("default", QUERY, Filter(), limit=3)

    async def test_others_read_how_far_it_has_come(self, ground: Ground) -> None:
        index, other = await ground.whole_index(), ground.index()
        await index.apply(POINTS, [], cursor=7)
        assert (await other.look(closely=True)).cursor == 7
        assert other.cursor == 7
        await index.apply([], [], cursor=9)
        await other.search("default", QUERY, Filter(), limit=3)
        assert other.cursor == 9, "each answer tells it again"

    async def test_half_an_index_never_looks_whole(self, ground: Ground) -> None:
        index, other = ground.index(), ground.index()
        await index.begin(keep=False)
        await index.apply(POINTS, [], cursor=7)
        current = await other.look()
        assert (current.cursor, current.why) == (None, "the vector index on Qdrant is not built yet")
        with pytest.raises(IndexUnavailable, match="not built yet"):
            await other.search("default", QUERY, Filter(), limit=3)
        await index.finish(cursor=7)
        assert (await other.look()).cursor == 7
        assert await _found(other) == {1, 2, 3, 4, 5}

    async def test_the_index_of_another_store_is_not_used(self, ground: Ground) -> None:
        await (await ground.whole_index()).apply(POINTS, [], cursor=7)
        other = ground.index(store_id="another")
        current = await other.look()
        assert (current.cursor, current.why) == (None, "the vector index on Qdrant is of another store")
        with pytest.raises(IndexUnavailable, match="another store"):
            await other.search("default", QUERY, Filter(), limit=3)

    async def test_a_wish_is_heard_until_it_is_granted(self, ground: Ground) -> None:
        index = await ground.whole_index()
        await ground.index().wish()
        assert (await index.look()).wished
        await index.begin(keep=True)
        assert (await index.look()).wished
        await index.finish(cursor=3)
        assert not (await index.look()).wished

    async def test_who_wants_nothing_asks_nobody(self, ground: Ground) -> None:
        assert await ground.index().search("default", QUERY, Filter(), limit=0) == []

    async def test_marks_are_not_counted_or_found(self, ground: Ground) -> None:
        index = await ground.whole_index()
        await index.apply(POINTS, [], cursor=1)
        await index.wish()
        assert await index.count() == 5
        assert await _found(index) == {1, 2, 3, 4, 5}


class TestBuilding:
    async def test_what_an_earlier_build_left_goes_at_the_end(self, ground: Ground) -> None:
        index = await ground.whole_index()
        await index.apply(POINTS, [], cursor=1)
        await index.begin(keep=True)
        await index.apply(POINTS[:2], [], cursor=2)
        assert await _found(index) == {1, 2, 3, 4, 5}, "the old one answers meanwhile"
        await index.finish(cursor=2)
        assert await _found(index) == {1, 2}

    async def test_two_models_live_side_by_side(self, ground: Ground) -> None:
        item, two = await ground.whole_index(), await ground.whole_index(model="another", dimension=8)
        await item.apply(POINTS, [], cursor=1)
        small = [a_point(3, a_memory(), vector=vector_of(b"3", dimension=8))]
        await two.apply(small, [], cursor=2)
        results = await two.search("default", vector_of(b"q", dimension=8), Filter(), limit=9)
        assert [number for number, _ in results] == [3]
        await two.begin(keep=False)
        await two.finish(cursor=5)
        assert (await two.count(), await item.count()) == (0, 5)
        assert ((await item.look()).cursor, (await two.look()).cursor) == (1, 5)

    async def test_a_vector_of_another_size_is_replaced(self, ground: Ground) -> None:
        series = Series(model=MODEL, dimension=DIMENSION)
        wrong = models.VectorParams(size=3, distance=models.Distance.COSINE)
        await ground.server.create_collection(ground.place.collection, vectors_config={series.name: wrong})
        index = ground.index()
        current = await index.look(closely=True)
        assert (current.cursor, current.why) == (None, "the vectors on Qdrant are of another size")
        index = await ground.whole_index()
        await index.apply(POINTS, [], cursor=1)
        assert (await index.look(closely=True)).cursor == 1
        assert await _found(index) == {1, 2, 3, 4, 5}

    async def test_a_collection_of_somebody_else_is_left_alone(self, ground: Ground) -> None:
        plain = models.VectorParams(size=3, distance=models.Distance.COSINE)
        await ground.server.create_collection(ground.place.collection, vectors_config=plain)
        with pytest.raises(IndexUnavailable, match="somebody else") as caught:
            await ground.index().begin(keep=False)
        assert "SCRUBJAY_QDRANT_COLLECTION" in caught.value.hint

    async def test_more_than_one_request_takes(self, ground: Ground) -> None:
        index = await ground.whole_index()
        many = [a_point(number, a_memory()) for number in range(1, 601)]
        await index.apply(many, [], cursor=1)
        assert await index.count() == 600
        await index.apply([], [point.id for point in many[1:]], cursor=2)
        assert await _found(index) == {1}


class TestOutage:
    async def test_nobody_answers(self, ground: Ground) -> None:
        index = await ground.whole_index()
        ground.cut()
        for request in (index.search("default", QUERY, Filter(), limit=3), index.apply(POINTS, [], cursor=3)):
            with pytest.raises(IndexUnavailable, match="Qdrant cannot be reached") as caught:
                await request
            assert caught.value.fields["reason"] == "unreachable"
        with pytest.raises(IndexUnavailable):
            await index.look()
        ground.mend()
        assert (await index.look()).cursor == 0
        await index.apply(POINTS, [], cursor=3)
        assert await _found(index) == {1, 2, 3, 4, 5}

    async def test_a_server_that_is_not_there_is_told_without_its_secrets(self) -> None:
        url = refused_url().replace("127.0.0.1", "me:secret@127.0.0.1")
        place = QdrantPlace(url=f"{url}/?token=secret", key="secret", collection="c")
        index = QdrantIndex.at(place, line=QdrantIndex.line_to(place), store_id="s", model="m", dimension=3)
        assert index.labels["url"] == refused_shape(url)
        assert "secret" not in repr(place).replace(place.url, "")
        with pytest.raises(IndexUnavailable) as caught:
            await index.look()
        assert "secret" not in f"{caught.value} {caught.value.fields}"
        await index.close()

    @pytest.mark.parametrize("url", ["localhost:6333", "ftp://localhost", "http://", ""])
    async def test_an_address_must_be_one(self, url: str) -> None:
        with pytest.raises(InvalidInput, match="address"):
            load_qdrant(QdrantPlace(url=url))

    async def test_without_its_client_it_says_what_to_install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delitem(sys.modules, "scrubjay.vectors.qdrant")
        monkeypatch.setitem(sys.modules, "qdrant_client", None)
        with pytest.raises(InvalidInput, match="not installed") as caught:
            load_qdrant(QdrantPlace(url="http://localhost"))
        assert "scrubjay[qdrant]" in caught.value.hint

    async def test_there_is_at_least_one_of_each(self) -> None:
        with pytest.raises(InvalidInput, match="one shard"):
            load_qdrant(QdrantPlace(url="http://localhost", shards=0))


@pytest.mark.parametrize(("replicas", "needed"), [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3)])
def test_a_write_needs_those_that_are_left_when_a_minority_fails(replicas: int, needed: int) -> None:
    assert QdrantPlace(url="http://localhost", replicas=replicas).write_consistency == needed


@pytest.mark.parametrize("model", ["a/b:c\\d*?<>|", "", "x" * 300, "Modèle-é", "..", "openai/text@512+ab12"])
def test_any_model_has_a_name_that_a_server_takes(model: str) -> None:
    series = Series(model=model, dimension=384)
    assert len(series.name) < 200
    assert set(series.name) <= set("abcdefghijklmnopqrstuvwxyz0123456789.-")
    assert series.name != Series(model=model, dimension=768).name
    assert series.id_of(7) != Series(model=f"{model}!", dimension=384).id_of(7)


def refused_shape(url: str) -> str:
    return url.replace("me:secret@", "") + "/"


async def _found(index: QdrantIndex) -> set[int]:
    return {number for number, _ in await index.search("default", QUERY, Filter(), limit=999)}
