"""The embedder of the tests passes the suite that the real ones must pass."""

import pytest
from tests.conformance.suites import EmbedderSuite
from tests.fakes import FakeEmbedder

from scrubjay.errors import EmbeddingUnavailable
from scrubjay.ports import Embedder


class TestEmbedder(EmbedderSuite):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return FakeEmbedder()


async def test_a_failing_embedder_has_no_vectors() -> None:
    embedder = FakeEmbedder(failing=True)
    for attempt in (embedder.profile(), embedder.embed(["x"]), embedder.embed_query("x")):
        with pytest.raises(EmbeddingUnavailable):
            await attempt
    embedder.failing = False
    await embedder.embed(["x", "y"])
    assert embedder.embedded == ["x", "y"]
