"""The fakes pass the suites that the real ones must pass."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from tests.conformance.suites import (
    ChangeLogSuite,
    ConcurrencySuite,
    DocumentsSuite,
    EmbedderSuite,
    InventorySuite,
    LexiconSuite,
    RecordsSuite,
    SpacesSuite,
    TokensSuite,
    UpkeepSuite,
    VectorIndexSuite,
    VectorStoreSuite,
)
from tests.fakes import FakeClock, FakeEmbedder, FakeIndex, FakeStore

from scrubjay.errors import EmbeddingUnavailable
from scrubjay.ports import Clock, Embedder, RecordStore, VectorIndex


@pytest.fixture
def store() -> RecordStore:
    return FakeStore()


@pytest.fixture
def index() -> VectorIndex:
    return FakeIndex()


@pytest.fixture
def embedder() -> Embedder:
    return FakeEmbedder()


class TestRecords(RecordsSuite):
    pass


class TestLexicon(LexiconSuite):
    pass


class TestVectorStore(VectorStoreSuite):
    pass


class TestChangeLog(ChangeLogSuite):
    pass


class TestDocuments(DocumentsSuite):
    pass


class TestTokens(TokensSuite):
    pass


class TestInventory(InventorySuite):
    pass


class TestUpkeep(UpkeepSuite):
    pass


class TestSpaces(SpacesSuite):
    pass


class TestConcurrency(ConcurrencySuite):
    pass


class TestVectorIndex(VectorIndexSuite):
    pass


class TestEmbedder(EmbedderSuite):
    pass


async def test_a_failing_embedder_has_no_vectors() -> None:
    embedder = FakeEmbedder(failing=True)
    for attempt in (embedder.profile(), embedder.embed(["x"]), embedder.embed_query("x")):
        with pytest.raises(EmbeddingUnavailable):
            await attempt
    embedder.failing = False
    await embedder.embed(["x", "y"])
    assert embedder.embedded == ["x", "y"]


def test_a_clock_never_returns_the_same_time_twice() -> None:
    clock: Clock = FakeClock()
    looks = [clock.now() for _ in range(5)]
    assert looks == sorted(set(looks))
    assert {look.tzinfo for look in looks} == {UTC}


def test_a_clock_returns_the_time_that_was_set() -> None:
    noon = datetime(2030, 6, 1, 12, tzinfo=timezone(timedelta(hours=2)))
    clock = FakeClock(noon, step=timedelta(0))
    assert (clock.now(), clock.now()) == (noon, noon)
    assert clock.now().tzinfo is UTC
    clock.advance(timedelta(days=1))
    assert clock.now() == noon + timedelta(days=1)
    clock.set(noon)
    assert clock.now() == noon
