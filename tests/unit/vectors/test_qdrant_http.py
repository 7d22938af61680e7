"""The exact requests to a real server, and the handling of its errors."""

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
from scrubjay.vectors.qdrant_address import QdrantAddress
from scrubjay.vectors.qdrant_codec import ModelNamespace

NAMESPACE = ModelNamespace(model="tiny", dimension=2)
DONE: Json = {"operation_id": 1, "status": "completed"}
UP = np.array([1.0, 0.0], dtype=np.float32)
POINT = Point(id=65536, space="home", vector=UP, facets=("kind=note", "state=live", "tag=a"), at=1_700_000_000_000_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class SentRequest:
    """A request to the server."""

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
    """A server that records requests and gives prepared answers, by method and path."""

    url: str = ""
    sent: list[SentRequest] = field(default_factory=list[SentRequest])
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
        request = SentRequest(
            method=method,
            path=parts.path,
            query=parse_qs(parts.query),
            headers=headers,
            body=json.loads(body) if body else None,
        )
        self.sent.append(request)
        result = self.answers.get(request.line, DONE)
        response = json.dumps({"result": result, "status": "ok", "time": 0.1}).encode()
        status = 404 if request.line == self.missing else self.status
        start = f"HTTP/1.1 {status} Recorded\r\nContent-Type: application/json\r\n{self.extra}"
        writer.write(f"{start}Content-Length: {len(response)}\r\nConnection: close\r\n\r\n".encode() + response)
        await writer.drain()
        writer.close()

    def bodies(self, line: str) -> list[Json]:
        return [request.body for request in self.sent if request.line == line]


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
    address = QdrantAddress(url=recorder.url, key="k3y", collection="jays", shards=6, replicas=3, on_disk=True)
    index = QdrantIndex.at(
        address, connection=QdrantIndex.connect(address), store_id="store-1", model="tiny", dimension=2
    )
    yield index
    await index.close()


def checkpoint(cursor: int, *, store: str = "store-1", build: int = 5) -> dict[str, Json]:
    payload: dict[str, Json] = {
        "format": 1,
        "store": store,
        "model": "tiny",
        "dimension": 2,
        "cursor": cursor,
        "build": build,
    }
    return {"id": NAMESPACE.checkpoint_id, "payload": payload}


async def test_a_collection_is_created_with_its_indexes(recorder: Recorder, index: QdrantIndex) -> None:
    recorder.answers |= {"GET /collections/jays/exists": {"exists": False}, "PUT /collections/jays": True}
    await index.begin_build(keep=False)
    (made,) = recorder.bodies("PUT /collections/jays")
    assert _without_nulls(made) == {
        "vectors": {NAMESPACE.name: {"size": 2, "distance": "Cosine", "datatype": "float16", "on_disk": True}},
        "shard_number": 6,
        "replication_factor": 3,
        "write_consistency_factor": 2,
        "on_disk_payload": True,
        "hnsw_config": {"m": 16, "ef_construct": 100, "full_scan_threshold": 78, "on_disk": True},
    }
    assert [_without_nulls(body) for body in recorder.bodies("PUT /collections/jays/index")] == [
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
    assert _without_nulls(recorder.bodies("POST /collections/jays/points/delete")) == [
        {"points": [NAMESPACE.checkpoint_id]}
    ]
    assert all(request.headers["api-key"] == "k3y" for request in recorder.sent)
    assert all(
        request.query["wait"] == ["true"] for request in recorder.sent if request.path.endswith(("/index", "/delete"))
    )


async def test_an_existing_collection_gets_another_vector(recorder: Recorder, index: QdrantIndex) -> None:
    recorder.answers |= {
        "GET /collections/jays/exists": {"exists": True},
        "GET /collections/jays": _collection({"older": {"size": 3, "distance": "Cosine"}}),
    }
    await index.begin_build(keep=False)
    (added,) = recorder.bodies(f"PUT /collections/jays/vectors/{NAMESPACE.name}")
    assert _without_nulls(added) == {"dense": {"size": 2, "distance": "Cosine", "datatype": "float16"}}
    assert not recorder.bodies("PUT /collections/jays")


async def test_points_are_stored_before_the_checkpoint(recorder: Recorder, index: QdrantIndex) -> None:
    recorder.answers["POST /collections/jays/points"] = [checkpoint(3)]
    assert (await index.read_state()).cursor == 3
    await index.apply([POINT], [7], cursor=4)
    (request,) = recorder.bodies("POST /collections/jays/points")
    assert _without_nulls(request) == {
        "ids": [NAMESPACE.checkpoint_id, NAMESPACE.rebuild_request_id],
        "with_payload": True,
        "with_vector": False,
    }
    writes = [sent for sent in recorder.sent if "wait" in sent.query]
    assert [sent.line for sent in writes] == [
        "POST /collections/jays/points/delete",
        "PUT /collections/jays/points",
        "PUT /collections/jays/points",
    ]
    assert all(sent.query["wait"] == ["true"] for sent in writes)
    gone, put, stored_checkpoint = (_without_nulls(sent.body) for sent in writes)
    assert gone == {"points": [NAMESPACE.id_of(7)]}
    payload = {"home": "state=live/home", "facets": ["kind=note", "tag=a"], "at": 1_700_000_000_000_000, "build": 5}
    assert put == {
        "points": [{"id": NAMESPACE.id_of(65536), "vector": {NAMESPACE.name: [1.0, 0.0]}, "payload": payload}]
    }
    assert stored_checkpoint == {"points": [{**checkpoint(4), "vector": {}}]}


async def test_a_search_also_requests_the_checkpoint(recorder: Recorder, index: QdrantIndex) -> None:
    hit: dict[str, Json] = {"id": NAMESPACE.id_of(65536), "version": 1, "score": 1.0001}
    stored_checkpoint: dict[str, Json] = {**checkpoint(9), "version": 1, "score": 0.0}
    line = "POST /collections/jays/points/query/batch"
    recorder.answers[line] = [{"points": [hit]}, {"points": [stored_checkpoint]}]
    since = datetime(2026, 1, 1, tzinfo=UTC)
    filter_ = Filter(kind="note", any_tags=("a", "b"), since=since)
    assert await index.search("home", UP, filter_, limit=1) == [(65536, 1.0)]
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
        "using": NAMESPACE.name,
        "filter": {"must": must},
        "params": {"hnsw_ef": 256, "exact": False, "acorn": {"enable": True}},
        "limit": 1,
        "with_payload": False,
    }
    checkpoint_query: dict[str, Json] = {
        "filter": {"must": [{"has_id": [NAMESPACE.checkpoint_id]}]},
        "limit": 1,
        "with_payload": True,
    }
    assert _without_nulls(request) == {"searches": [nearest, checkpoint_query]}
    assert recorder.sent[-1].query["timeout"] == ["2"]


async def test_too_few_hits_are_requested_again_without_the_graph(recorder: Recorder, index: QdrantIndex) -> None:
    line = "POST /collections/jays/points/query/batch"
    recorder.answers[line] = [{"points": []}, {"points": [{**checkpoint(9), "version": 1, "score": 0.0}]}]
    assert await index.search("home", UP, Filter(), limit=300) == []
    params = [_at(body, "searches", 0, "params") for body in recorder.bodies(line)]
    assert [_without_nulls(item) for item in params] == [
        {"hnsw_ef": 300, "exact": False, "acorn": {"enable": False}},
        {"hnsw_ef": 300, "exact": True, "acorn": {"enable": False}},
    ]


async def test_a_build_ends_with_the_removal_of_older_points(recorder: Recorder, index: QdrantIndex) -> None:
    recorder.answers["POST /collections/jays/points"] = [checkpoint(3)]
    await index.read_state()
    await index.finish_build(cursor=8)
    older, rebuild_request = (_without_nulls(body) for body in recorder.bodies("POST /collections/jays/points/delete"))
    assert older == {
        "filter": {
            "must": [{"has_vector": NAMESPACE.name}],
            "must_not": [{"key": "build", "match": {"value": 5}}],
        }
    }
    assert rebuild_request == {"points": [NAMESPACE.rebuild_request_id]}
    assert _without_nulls(recorder.bodies("PUT /collections/jays/points")) == [
        {"points": [{**checkpoint(8), "vector": {}}]}
    ]


async def test_its_points_are_counted_and_no_others(recorder: Recorder, index: QdrantIndex) -> None:
    recorder.answers["POST /collections/jays/points/count"] = {"count": 12}
    assert await index.count() == 12
    (request,) = recorder.bodies("POST /collections/jays/points/count")
    assert _without_nulls(request) == {"filter": {"must": [{"has_vector": NAMESPACE.name}]}, "exact": False}


@pytest.mark.parametrize(
    ("status", "message", "hint", "reason"),
    [
        (401, "Qdrant rejects the API key", "SCRUBJAY_QDRANT_KEY", "refused"),
        (403, "Qdrant rejects the API key", "SCRUBJAY_QDRANT_KEY", "refused"),
        (404, "the collection on Qdrant does not exist", "", "missing"),
        (500, "Qdrant failed to search", "", "failed"),
        (429, "Qdrant failed to search", "", "failed"),
    ],
)
async def test_an_error_says_what_to_do(
    recorder: Recorder, index: QdrantIndex, status: int, message: str, hint: str, reason: str
) -> None:
    recorder.status, recorder.extra = status, "Retry-After: 3\r\n"
    with pytest.raises(IndexUnavailable) as caught:
        await index.search("home", UP, Filter(), limit=1)
    assert (caught.value.message, caught.value.fields["reason"]) == (message, reason)
    assert hint in caught.value.hint
    assert "k3y" not in f"{caught.value} {caught.value.fields}"


async def test_an_invalid_answer_is_a_failure(recorder: Recorder, index: QdrantIndex) -> None:
    recorder.answers["POST /collections/jays/points/query/batch"] = "yes"
    with pytest.raises(IndexUnavailable):
        await index.search("home", UP, Filter(), limit=1)


async def test_reading_the_state_of_a_missing_collection_succeeds(recorder: Recorder, index: QdrantIndex) -> None:
    recorder.missing = "POST /collections/jays/points"
    recorder.answers["GET /collections/jays/exists"] = {"exists": False}
    current = await index.read_state()
    assert (current.cursor, current.problem) == (None, "the collection on Qdrant does not exist")


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


def _at(value: Json, *path: str | int) -> Json:
    for key in path:
        assert isinstance(value, dict | list)
        value = value[str(key)] if isinstance(value, dict) else value[int(key)]
    return value


def _without_nulls(value: Json) -> Json:
    """Return a value without empty fields."""
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    if isinstance(value, dict):
        return {name: _without_nulls(item) for name, item in value.items() if item is not None}
    return value
