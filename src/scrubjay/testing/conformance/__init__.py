"""The suites that every backend must pass.

A backend's test module makes a class of a suite and supplies the fixture that the suite names:

    class TestMyStore(StoreSuite):
        @pytest.fixture
        async def store(self, tmp_path): ...

The tests are coroutines: run them with pytest-asyncio and `asyncio_mode = "auto"`.
"""

import scrubjay.testing.conformance._asserts  # noqa: F401 - comes before the suites  # pyright: ignore[reportUnusedImport]
from scrubjay.testing.conformance.concurrency import ConcurrencySuite
from scrubjay.testing.conformance.durability import DurabilitySuite, OpenStore
from scrubjay.testing.conformance.embedding import EmbedderSuite
from scrubjay.testing.conformance.index import VectorIndexSuite
from scrubjay.testing.conformance.inventory import InventorySuite
from scrubjay.testing.conformance.papers import PapersSuite
from scrubjay.testing.conformance.spaces import SpacesSuite
from scrubjay.testing.conformance.suites import ChangeLogSuite, LexiconSuite, RecordsSuite, ShelfSuite, StoreSuite
from scrubjay.testing.conformance.tokens import TokensSuite
from scrubjay.testing.conformance.upkeep import UpkeepSuite

__all__ = [
    "ChangeLogSuite",
    "ConcurrencySuite",
    "DurabilitySuite",
    "EmbedderSuite",
    "InventorySuite",
    "LexiconSuite",
    "OpenStore",
    "PapersSuite",
    "RecordsSuite",
    "ShelfSuite",
    "SpacesSuite",
    "StoreSuite",
    "TokensSuite",
    "UpkeepSuite",
    "VectorIndexSuite",
]
