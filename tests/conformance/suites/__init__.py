"""The suites that every backend must pass.

A backend's test module makes a class of a suite and supplies the fixture that the suite names:

    class TestMyStore(StoreSuite):
        @pytest.fixture
        async def store(self, tmp_path): ...

The tests are coroutines: run them with pytest-asyncio and `asyncio_mode = "auto"`.
"""

import tests.conformance.suites._asserts  # noqa: F401 - comes before the suites  # pyright: ignore[reportUnusedImport]
from tests.conformance.suites.by_port import ChangeLogSuite, LexiconSuite, RecordsSuite, StoreSuite, VectorStoreSuite
from tests.conformance.suites.concurrency import ConcurrencySuite
from tests.conformance.suites.documents import DocumentsSuite
from tests.conformance.suites.durability import DurabilitySuite, OpenStore
from tests.conformance.suites.embedding import EmbedderSuite
from tests.conformance.suites.index import VectorIndexSuite
from tests.conformance.suites.spaces import SpacesSuite
from tests.conformance.suites.tokens import TokensSuite
from tests.conformance.suites.transfer import TransferSuite
from tests.conformance.suites.upkeep import UpkeepSuite

__all__ = [
    "ChangeLogSuite",
    "ConcurrencySuite",
    "DocumentsSuite",
    "DurabilitySuite",
    "EmbedderSuite",
    "LexiconSuite",
    "OpenStore",
    "RecordsSuite",
    "SpacesSuite",
    "StoreSuite",
    "TokensSuite",
    "TransferSuite",
    "UpkeepSuite",
    "VectorIndexSuite",
    "VectorStoreSuite",
]
