"""What a real server is sent, word by word, and what becomes of its refusals."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest

from scrubjay.errors import IndexUnavailable
from scrubjay.model.memory import Json
from scrubjay.model.passage import Point
from scrubjay.model.query import Filter
from scrubjay.vectors.qdrant import QdrantIndex
from scrubjay.vectors.qdrant_address import QdrantPlace
from scrubjay.vectors.qdrant_codec import Series

SERIES = Series(model="tiny", dimension=2)
DONE: Json = {"operation_id": 1, "status": "completed"}
UP = np.array([1.0, 0.0], dtype=np.float32)
POINT = Point(id=65536, space="home", vector=UP, facets=("kind=note", "state=live", "tag=a"), at=1_700_000_000_000_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """One request."""

    method: str
    path: str
    query: Mapping[str, list[str]]
    headers: Mapping[str, str]
    body: Json

    @property
    def line(self) -> str:
        return f"{self.method} {self.path}"


@dataclass(kw_only=True)
class Recorder:
    """A server that notes what it is asked, and answers what it is told to, by method and path."""

    url: str = ""
    sent: list[Sent] = field(default_factory=list[Sent])
    answers: dict[str, Json] = field(default_factory=dict[str, Json])
    missing: str = ""
    status: int = 200
    extra: str = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        first, *lines = head.strip().splitlines()
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        method, target, _ = first.split()
        parts = urlsplit(target)
        request = Sent(
            method=method,
            path=parts.path,
            query=parse_qs(parts.query),
            headers=headers,
            body=json.loads(body) if body else None,
        )
        self.sent.append(request)
        result = self.answers.get(request.line, DONE)
        reported = json.dumps({"result": result, "status": "ok", "time": 0.1}).encode()
        status = 404 if request.line == self.missing else self.status
        start = f"HTTP/1.1 {status} Told\r\nContent-Type: application/json\r\n{self.extra}"
        writer.write(f"{start}Content-Length: {len(reported)}\r\nConnection: close\r\n\r\n".encode() + reported)
        await writer.drain()
        writer.close()

    def bodies(self, line: str) -> list[Json]:
        return [item.body for item in self.sent if item.line == line]


@asynccontextmanager
async def a_recorder() -> AsyncGenerator[Recorder]:
    recorder = Recorder()
    server = await asyncio.start_server(recorder.serve, "127.0.0.1", 0)
    async with server:
        recorder.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield recorder


@pytest.fixture
async def recorder() -> AsyncIterator[Recorder]:
    async with a_recorder() as recorder:
        yield recorder


@pytest.fixture
async def index(recorder: Recorder) -> AsyncIterator[QdrantIndex]:
    place = QdrantPlace(url=recorder.url, key="k3y", collection="jays", shards=6, replicas=3, on_disk=True)
    index = QdrantIndex.at(place, line=QdrantIndex.line_to(place), store_id="store-1", model="tiny", dimension=2)
    yield index
    await index.close()


def mark(cursor: int, *, store: str = "store-1", build: int = 5) -> dict[str, Json]:
    payload: dict[str, Json] = {
        "format": 1,
        "store": store,
        "model": "tiny",
        "dimension": 2,
        "cursor": cursor,
        "build": build,
    }
    return {"id": SERIES.mark_id, "payload": payload}


async def test_a_collection_is_made_with_its_indexes(recorder: Recorder, index: QdrantIndex) -> None:
    recorder.answers |= {"GET /collections/jays/exists": {"exists": False}, "PUT /collections/jays": True}
    await index.begin(keep=False)
    (made,) = recorder.bodies("PUT /collections/jays")
    assert _without_nothing(made) == {
        "vectors": {SERIES.name: {"size": 2, "distance": "Cosine", "datatype": "float16", "on_disk": True}},
        "shard_number": 6,
        "replication_factor": 3,
        "write_consistency_factor": 2,
        "on_disk_payload": True,
        "hnsw_config": {"m": 16, "ef_construct": 100, "full_scan_threshold": 78, "on_disk": True},
    }
    assert [_without_nothing(body) for body in recorder.bodies("PUT /collections/jays/index")] == [
        {"field_name": "home", "field_schema": {"type": "keyword", "is_tenant": True, "enable_hnsw": True}},
        {"field_name": "facets", "field_schema": {"type": "keyword", "enable_hnsw": False}},
        {
            "field_name": "at",
            "field_schema": {"type": "integer", "lookup": False, "range": True, "enable_hnsw": False},
        },
        {
            "field_name": "build",
            "field_schema": {"type": "integer", "lookup": True, "range": False, "enable_hnsw": False},
        },
    ]
    assert _without_nothing(recorder.bodies("POST /collections/jays/points/delete")) == [{"points": [SERIES.mark_id]}]
    assert all(item.headers["api-key"] == "k3y" for item in recorder.sent)
    assert all(item.query["wait"] == ["true"] for item in recorder.sent if item.path.endswith(("/index", "/delete")))


async def test_a_collection_that_is_there_gets_one_more_vector(recorder: Recorder, index: QdrantIndex) -> None:
    recorder.answers |= {
        "GET /collections/jays/exists": {"exists": True},
        "GET /collections/jays": _collection({"older": {"size": 3, "distance": "Cosine"}}),
    }
    await index.begin(keep=False)
    (added,) = recorder.bodies(f"PUT /collections/jays/vectors/{SERIES.name}")
    assert _without_nothing(added) == {"dense": {"size": 2, "distance": "Cosine", "datatype": "float16"}}
    assert not recorder.bodies("PUT /collections/jays")


async def test_points_are_put_then_the_mark(recorder: Recorder, index: QdrantIndex) -> None:
    recorder.answers["POST /collections/jays/points"] = [mark(3)]
    assert (await index.look()).cursor == 3
    await index.apply([POINT], [7], cursor=4)
    (request,) = recorder.bodies("POST /collections/jays/points")
    assert _without_nothing(request) == {
        "ids": [SERIES.mark_id, SERIES.wish_id],
        "with_payload": True,
        "with_vector": False,
    }
    reported = [item for item in recorder.sent if "wait" in item.query]
    assert [item.line for item in reported] == [
        "POST /collections/jays/points/delete",
        "PUT /collections/jays/points",
        "PUT /collections/jays/points",
    ]
    assert all(item.query["wait"] == ["true"] for item in reported)
    gone, put, marked = (_without_nothing(item.body) for item in reported)
    assert gone == {"points": [SERIES.id_of(7)]}
    payload = {"home": "state=live/home", "facets": ["kind=note", "tag=a"], "at": 1_700_000_000_000_000, "build": 5}
    assert put == {"points": [{"id": SERIES.id_of(65536), "vector": {SERIES.name: [1.0, 0.0]}, "payload": payload}]}
    assert marked == {"points": [{**mark(4), "vector": {}}]}


async def test_a_search_asks_for_the_mark_too(recorder: Recorder, index: QdrantIndex) -> None:
    hit: dict[str, Json] = {"id": SERIES.id_of(65536), "version": 1, "score": 1.0001}
    marked: dict[str, Json] = {**mark(9), "version": 1, "score": 0.0}
    line = "POST /collections/jays/points/query/batch"
    recorder.answers[line] = [{"points": [hit]}, {"points": [marked]}]
    since = datetime(2026, 1, 1, tzinfo=UTC)
    expected = Filter(kind="note", any_tags=("a", "b"), since=since)
    assert await index.search("home", UP, expected, limit=1) == [(65536, 1.0)]
    assert index.cursor == 9
    (request,) = recorder.bodies(line)
    must: list[Json] = [
        {"key": "home", "match": {"value": "state=live/home"}},
        {"key": "facets", "match": {"value": "kind=note"}},
        {"key": "facets", "match": {"any": ["tag=a", "tag=b"]}},
        {"key": "at", "range": {"gte": since.timestamp() * 1e6}},
    ]
    nearest: dict[str, Json] = {
        "query": {"nearest": [1.0, 0.0]},
        "using": SERIES.name,
        "filter": {"must": must},
        "params": {"hnsw_ef": 256, "exact": False, "acorn": {"enable": True}},
        "limit": 1,
        "with_payload": False,
    }
    its_mark: dict[str, Json] = {
        "filter": {"must": [{"has_id": [SERIES.mark_id]}]},
        "limit": 1,
        "with_payload": True,
    }
    assert _without_nothing(request) == {"searches": [nearest, its_mark]}
    assert recorder.sent[-1].query["timeout"] == ["2"]


async def test_too_few_hits_are_asked_for_again_without_the_graph(recorder: Recorder, index: QdrantIndex) -> None:
    line = "POST /collections/jays/points/query/batch"
    recorder.answers[line] = [{"points": []}, {"points": [{**mark(9), "version": 1, "score": 0.0}]}]
    assert await index.search("home", UP, Filter(), limit=300) == []
    request = [_at(body, "searches", 0, "params") for body in recorder.bodies(line)]
    assert [_without_nothing(item) for item in request] == [
        {"hnsw_ef": 300, "exact": False, "acorn": {"enable": False}},
        {"hnsw_ef": 300, "exact": True, "acorn": {"enable": False}},
    ]


async def test_a_build_ends_with_the_removal_of_what_is_older(recorder: Recorder, index: QdrantIndex) -> None:
    recorder.answers["POST /collections/jays/points"] = [mark(3)]
    await index.look()
    await index.finish(cursor=8)
    older, wish = (_without_nothing(body) for body in recorder.bodies("POST /collections/jays/points/delete"))
    assert older == {
        "filter": {
            "must": [{"has_vector": SERIES.name}],
            "must_not": [{"key": "build", "match": {"value": 5}}],
        }
    }
    assert wish == {"points": [SERIES.wish_id]}
    assert _without_nothing(recorder.bodies("PUT /collections/jays/points")) == [
        {"points": [{**mark(8), "vector": {}}]}
    ]


async def test_its_points_are_counted_and_no_others(recorder: Recorder, index: QdrantIndex) -> None:
    recorder.answers["POST /collections/jays/points/count"] = {"count": 12}
    assert await index.count() == 12
    (request,) = recorder.bodies("POST /collections/jays/points/count")
    assert _without_nothing(request) == {"filter": {"must": [{"has_vector": SERIES.name}]}, "exact": False}


@pytest.mark.parametrize(
    ("status", "message", "hint", "reason"),
    [
        (401, "Qdrant refuses our key", "SCRUBJAY_QDRANT_KEY", "refused"),
        (403, "Qdrant refuses our key", "SCRUBJAY_QDRANT_KEY", "refused"),
        (404, "the collection on Qdrant is not there", "", "missing"),
        (500, "Qdrant failed to search", "", "failed"),
        (429, "Qdrant failed to search", "", "failed"),
    ],
)
async def test_a_refusal_says_what_to_do(
    recorder: Recorder, index: QdrantIndex, status: int, message: str, hint: str, reason: str
) -> None:
    recorder.status, recorder.extra = status, "Retry-After: 3\r\n"
    with pytest.raises(IndexUnavailable) as caught:
        await index.search("home", UP, Filter(), limit=1)
    assert (caught.value.message, caught.value.fields["reason"]) == (message, reason)
    assert hint in caught.value.hint
    assert "k3y" not in f"{caught.value} {caught.value.fields}"


async def test_an_answer_that_makes_no_sense_is_a_failure(recorder: Recorder, index: QdrantIndex) -> None:
    recorder.answers["POST /collections/jays/points/query/batch"] = "yes"
    with pytest.raises(IndexUnavailable):
        await index.search("home", UP, Filter(), limit=1)


async def test_a_missing_collection_is_no_failure_to_look(recorder: Recorder, index: QdrantIndex) -> None:
    recorder.missing = "POST /collections/jays/points"
    recorder.answers["GET /collections/jays/exists"] = {"exists": False}
    current = await index.look()
    assert (current.cursor, current.why) == (None, "the collection on Qdrant is not there")


def _collection(vectors: dict[str, Json]) -> Json:
    optimizer: Json = {
        "deleted_threshold": 0.2,
        "vacuum_min_vector_number": 1000,
        "default_segment_number": 0,
        "flush_interval_sec": 5,
    }
    return {
        "status": "green",
        "optimizer_status": "ok",
        "segments_count": 1,
        "config": {
            "params": {"vectors": vectors},
            "hnsw_config": {"m": 16, "ef_construct": 100, "full_scan_threshold": 10000},
            "optimizer_config": optimizer,
            "wal_config": {"wal_capacity_mb": 32, "wal_segments_ahead": 0},
        },
        "payload_schema": {},
    }


def _at(told: Json, *way: str | int) -> Json:
    for step in way:
        assert isinstance(told, dict | list)
        told = told[str(step)] if isinstance(told, dict) else told[int(step)]
    return told


def _without_nothing(told: Json) -> Json:
    """What was said, without what was left open."""
    if isinstance(told, list):
        return [_without_nothing(item) for item in told]
    if isinstance(told, dict):
        return {name: _without_nothing(value) for name, value in told.items() if value is not None}
    return told
