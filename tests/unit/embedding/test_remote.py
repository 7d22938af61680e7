"""Embedding services over real HTTP on this machine: good responses, bad responses and none."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import numpy as np
import pytest
from tests.unit.embedding.embedding_server import DIMENSION, EmbeddingServer, Reply, unit_vector_of, vector_of

from scrubjay.embedding.batching import BatchingEmbedder
from scrubjay.embedding.remote import Encoding, openai_embedder, voyage_embedder
from scrubjay.embedding.service import EmbeddingService
from scrubjay.errors import EmbeddingUnavailable, InvalidInput
from scrubjay.ports import Profile

KEY = "sk-very-secret-0123456789"
Connect = Callable[..., BatchingEmbedder]


class RecordedWaits(list[float]):
    """Records the waits, and does not wait."""

    async def __call__(self, seconds: float) -> None:
        self.append(seconds)
        await asyncio.sleep(0)


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as server:
        yield server


@pytest.fixture
def waits() -> RecordedWaits:
    return RecordedWaits()


@pytest.fixture
async def connect(server: EmbeddingServer, waits: RecordedWaits) -> AsyncIterator[Connect]:
    """Make embedders over the server, and close them at the end."""
    opened: list[BatchingEmbedder] = []

    def connect(*, encoding: Encoding = "float", **options: object) -> BatchingEmbedder:
        defaults: dict[str, object] = {"url": server.url, "model": "toy", "api_key": KEY, "cooldown": 0.0}
        service = EmbeddingService(**(defaults | options))  # pyright: ignore[reportArgumentType]
        opened.append(openai_embedder(service, encoding=encoding, sleep=waits))
        return opened[-1]

    yield connect
    for embedder in opened:
        await embedder.close()


async def failure(embedder: BatchingEmbedder) -> EmbeddingUnavailable:
    """Return the error of a call; it must not contain the key."""
    with pytest.raises(EmbeddingUnavailable) as caught:
        await embedder.embed(["a text"])
    shown: BaseException | None = caught.value
    while shown is not None:
        assert KEY not in f"{shown}{shown!r}{vars(shown)}"
        shown = shown.__cause__
    return caught.value


@pytest.mark.parametrize("encoding", ["float", "base64"])
async def test_texts_become_unit_vectors_in_their_order(
    server: EmbeddingServer, connect: Connect, encoding: Encoding
) -> None:
    embedder = connect(encoding=encoding)
    vectors = await embedder.embed(["one", "two", "three"])
    for text, vector in zip(("one", "two", "three"), vectors, strict=True):
        assert vector.dtype == np.float32
        assert vector.tolist() == pytest.approx(unit_vector_of(text), abs=1e-6)
    (request,) = server.requests
    assert request.path == "/v1/embeddings"
    assert request.headers["Authorization"] == f"Bearer {KEY}"
    assert request.body == {"model": "toy", "input": ["one", "two", "three"], "encoding_format": encoding}


async def test_the_dimension_is_probed_once(server: EmbeddingServer, connect: Connect) -> None:
    embedder = connect(model_profile=Profile(model="", dimension=0, weight=9.0))
    profiles = await asyncio.gather(embedder.profile(), embedder.profile())
    assert profiles[0] == profiles[1]
    assert (profiles[0].model, profiles[0].dimension, profiles[0].weight) == ("toy", DIMENSION, 9.0)
    assert len(server.requests) == 1


async def test_the_first_text_also_gives_the_dimension(server: EmbeddingServer, connect: Connect) -> None:
    embedder = connect()
    await embedder.embed(["a text"])
    assert (await embedder.profile()).dimension == DIMENSION
    assert len(server.requests) == 1


async def test_dimensions_are_requested_and_part_of_the_model_id(server: EmbeddingServer, connect: Connect) -> None:
    embedder = connect(dimensions=4)
    profile = await embedder.profile()
    assert (profile.model, profile.dimension) == ("toy@4", 4)
    assert server.requests == []
    (vector,) = await embedder.embed(["a text"])
    assert vector.shape == (4,)
    assert server.requests[0].body["dimensions"] == 4


async def test_prefixes_go_before_texts_and_questions(server: EmbeddingServer, connect: Connect) -> None:
    embedder = connect(model_profile=Profile(model="", dimension=0, query_prefix="query: ", text_prefix="passage: "))
    await embedder.embed(["a text"])
    await embedder.embed_query("a question")
    assert [request.body["input"] for request in server.requests] == [["passage: a text"], ["query: a question"]]
    assert (await embedder.profile()).query_prefix == "query: "


async def test_many_texts_go_in_batches(server: EmbeddingServer, connect: Connect) -> None:
    embedder = connect(batch_size=10)
    texts = [f"text {number}" for number in range(35)]
    vectors = await embedder.embed(texts)
    assert sorted(len(request.body["input"]) for request in server.requests) == [5, 10, 10, 10]
    assert all(np.allclose(vector, unit_vector_of(text)) for text, vector in zip(texts, vectors, strict=True))


async def test_texts_are_made_acceptable(server: EmbeddingServer, connect: Connect) -> None:
    await connect(max_characters=5).embed(["", "  \n", "much too long", "\ud800"])
    assert server.requests[0].body["input"] == [".", ".", "much ", "?"]


async def test_no_key_no_header(server: EmbeddingServer, connect: Connect) -> None:
    await connect(api_key="").embed(["a text"])
    assert "Authorization" not in server.requests[0].headers


async def test_requests_to_voyage_mark_questions(server: EmbeddingServer) -> None:
    service = EmbeddingService(url=server.url, model="voyage-toy", api_key=KEY, dimensions=4)
    embedder = voyage_embedder(service)
    await embedder.embed(["a text"])
    await embedder.embed_query("a question")
    await embedder.close()
    text, question = (request.body for request in server.requests)
    assert text == {
        "model": "voyage-toy",
        "input": ["a text"],
        "input_type": "document",
        "truncation": True,
        "output_dimension": 4,
    }
    assert (question["input"], question["input_type"]) == (["a question"], "query")


@pytest.mark.parametrize("status", [401, 403])
async def test_a_wrong_key_is_reported_and_never_shown(
    server: EmbeddingServer, connect: Connect, waits: RecordedWaits, status: int
) -> None:
    server.script.append(Reply(status=status, body={"error": {"message": f"Incorrect API key: {KEY[:8]}***"}}))
    error = await failure(connect())
    assert "does not accept the API key" in str(error)
    assert KEY[:8] not in str(error)
    assert error.fields["status"] == status
    assert waits == []


async def test_an_echoed_key_is_removed(server: EmbeddingServer, connect: Connect) -> None:
    server.script.append(Reply(status=404, body={"detail": f"no model for\n{KEY}"}))
    error = await failure(connect())
    assert "no model for [key]" in str(error)
    assert "'toy'" in error.hint


async def test_retries_wait_as_long_as_a_busy_service_asks(
    server: EmbeddingServer, connect: Connect, waits: RecordedWaits
) -> None:
    soon = format_datetime(datetime.now(UTC) - timedelta(hours=1), usegmt=True)
    for header in ({"Retry-After": "7"}, {"Retry-After": soon}, {"Retry-After": "soon"}, {}):
        server.script.append(Reply(status=429, body={"error": "slow down"}, headers=header))
    (vector,) = await connect().embed(["a text"])
    assert vector.tolist() == pytest.approx(unit_vector_of("a text"), abs=1e-6)
    assert waits == [7, 0, 2, 4]


async def test_a_wait_beyond_the_timeout_fails_at_once(
    server: EmbeddingServer, connect: Connect, waits: RecordedWaits
) -> None:
    server.script.append(Reply(status=429, body=b"later", headers={"Retry-After": "3600"}))
    assert "busy or broken (429: later)" in str(await failure(connect()))
    assert waits == []


async def test_a_server_error_is_retried(server: EmbeddingServer, connect: Connect, waits: RecordedWaits) -> None:
    server.script += [Reply(status=500, body={}), Reply(status=503, body=b"<html>sorry</html>")]
    assert len(await connect().embed(["a text"])) == 1
    assert waits == [0.5, 1.0]


async def test_a_lasting_server_error_is_reported(
    server: EmbeddingServer, connect: Connect, waits: RecordedWaits
) -> None:
    server.script += [Reply(status=500, body={"error": {"message": "out of memory"}})] * 3
    error = await failure(connect(retries=2))
    assert "busy or broken (500: out of memory)" in str(error)
    assert len(waits) == 2


async def test_no_request_is_sent_during_the_cooldown(server: EmbeddingServer, connect: Connect) -> None:
    server.script += [Reply(status=500, body={})]
    embedder = connect(retries=0, cooldown=3600)
    first, second = await failure(embedder), await failure(embedder)
    assert str(first) == str(second)
    assert len(server.requests) == 1


async def test_a_slow_service_times_out(server: EmbeddingServer, connect: Connect) -> None:
    server.script += [Reply(hang=True)] * 2
    embedder = connect(timeout=0.05, query_timeout=0.05)
    assert "did not answer within 0.05 s" in str(await failure(embedder))
    with pytest.raises(EmbeddingUnavailable, match="did not answer"):
        await embedder.embed_query("a question")


async def test_a_service_that_cannot_be_reached_is_reported(connect: Connect, waits: RecordedWaits) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        error = await failure(connect(url=f"http://127.0.0.1:{unused.getsockname()[1]}/v1", retries=1))
    assert "cannot be reached" in str(error)
    assert "check that the service runs" in error.hint
    assert waits == [0.5]


async def test_a_truncated_response_is_retried(server: EmbeddingServer, connect: Connect, waits: RecordedWaits) -> None:
    server.script.append(Reply(body={"data": []}, missing=10))
    assert len(await connect().embed(["a text"])) == 1
    assert waits == [0.5]


def entry(vector: object, **more: object) -> dict[str, object]:
    return {"embedding": vector, **more}


GOOD = vector_of("a text")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"data": [{"embedding": [0.1, 0.2', "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[" * 200_000, "not JSON"),
        ([], "has no list of vectors"),
        ({"data": None}, "has no list of vectors"),
        ({"data": ["text"]}, "is not an object"),
        ({"data": []}, "has 0 vectors for 1 texts"),
        ({"data": [entry(GOOD), entry(GOOD)]}, "has 2 vectors for 1 texts"),
        ({"data": [entry(GOOD, index=1)]}, "which vector belongs to which text"),
        ({"data": [entry(GOOD, index="0")]}, "which vector belongs to which text"),
        ({"data": [entry(GOOD, index=True)]}, "which vector belongs to which text"),
        ({"data": [entry([float("nan"), 1.0])]}, "not finite"),
        ({"data": [entry([float("inf"), 1.0])]}, "not finite"),
        ({"data": [entry([0.0] * DIMENSION)]}, "without a direction"),
        ({"data": [entry([])]}, "not return a list of vectors"),
        ({"data": [entry(["1", "2"])]}, "not a list of numbers"),
        ({"data": [entry([10**400])]}, "too large"),
        ({"data": [entry(None)]}, "not a list of numbers"),
        ({"data": [entry("no base64!")]}, "not base64"),
        ({"data": [entry("AAA=")]}, "not base64"),
    ],
)
async def test_a_bad_response_is_refused(
    server: EmbeddingServer, connect: Connect, waits: RecordedWaits, body: object, message: str
) -> None:
    server.script.append(Reply(body=body))
    assert message in str(await failure(connect()))
    assert waits == []


async def test_another_dimension_than_before_is_refused(server: EmbeddingServer, connect: Connect) -> None:
    embedder = connect()
    await embedder.embed(["a text"])
    server.script.append(Reply(body={"data": [entry([1.0, 2.0])]}))
    assert f"2 dimensions instead of {DIMENSION}" in str(await failure(embedder))
    assert len(await embedder.embed(["a text"])) == 1


async def test_a_refused_text_fails_alone(server: EmbeddingServer, connect: Connect) -> None:
    embedder = connect()
    await embedder.profile()
    server.refused_text = "odd"
    answers = await asyncio.gather(*(embedder.embed([text]) for text in ("a", "odd", "c")), return_exceptions=True)
    assert [isinstance(answer, EmbeddingUnavailable) for answer in answers] == [False, True, False]
    assert "a text is too long" in str(answers[1])


async def test_a_service_that_accepts_nothing_gets_no_halves(server: EmbeddingServer, connect: Connect) -> None:
    server.script.append(Reply(status=422, body={"detail": "unknown option"}))
    with pytest.raises(EmbeddingUnavailable, match="unknown option"):
        await connect().embed(["a", "b", "c", "d"])
    assert len(server.requests) == 1


async def test_redirects_are_not_followed(server: EmbeddingServer, connect: Connect) -> None:
    server.script.append(Reply(status=307, body={}, headers={"Location": "http://127.0.0.1:1/"}))
    assert "status 307" in str(await failure(connect()))
    assert len(server.requests) == 1


async def test_no_proxy_is_used_for_this_machine(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.delenv("NO_PROXY", raising=False)
    assert len(await connect().embed(["a text"])) == 1


@pytest.mark.parametrize(
    ("url", "endpoint"),
    [
        ("http://localhost:11434", "http://localhost:11434/v1/embeddings"),
        ("http://localhost:11434/", "http://localhost:11434/v1/embeddings"),
        ("https://example.org/v1", "https://example.org/v1/embeddings"),
        ("https://example.org/api/v3/embeddings", "https://example.org/api/v3/embeddings"),
        ("https://example.org/x/?version=2", "https://example.org/x/embeddings?version=2"),
    ],
)
def test_the_endpoint_is_derived_from_common_urls(url: str, endpoint: str) -> None:
    service = EmbeddingService(url=url, model="m")
    assert service.endpoint == endpoint
    assert service.display_url == endpoint.partition("?")[0]
    assert service.is_local == ("localhost" in url)


@pytest.mark.parametrize(
    "options",
    [
        {"url": "example.org/v1"},
        {"url": "file:///etc/passwd"},
        {"url": "https://me:secret@example.org"},
        {"api_key": f"{KEY}\n"},
        {"api_key": f"{KEY} x"},
        {"api_key": f"{KEY}é"},
        {"model": ""},
        {"batch_size": 0},
        {"timeout": 0.0},
        {"retries": -1},
    ],
)
def test_settings_that_cannot_work_are_refused(options: dict[str, str]) -> None:
    defaults = {"url": "https://example.org", "model": "m"}
    with pytest.raises(InvalidInput) as caught:
        EmbeddingService(**(defaults | options))  # pyright: ignore[reportArgumentType]
    assert KEY not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_the_key_is_not_shown() -> None:
    service = EmbeddingService(url="https://example.org", model="m", api_key=KEY)
    assert KEY not in repr(service)
    assert json.dumps(str(service)).find(KEY) < 0
