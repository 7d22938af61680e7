"""The suites, port by port."""

from tests.conformance.suites.adopt import AdoptSuite
from tests.conformance.suites.change_log import ChangesSuite, RunsSuite
from tests.conformance.suites.commits import AtomicitySuite, CommitSuite
from tests.conformance.suites.concurrency import ConcurrencySuite
from tests.conformance.suites.documents import DocumentsSuite
from tests.conformance.suites.finding import FindingSuite
from tests.conformance.suites.history import BranchesSuite, PastSuite
from tests.conformance.suites.idempotency import IdempotencySuite
from tests.conformance.suites.lexicon import CandidatesSuite, TermStatisticsSuite
from tests.conformance.suites.listing import ListingSuite
from tests.conformance.suites.names import NamesSuite
from tests.conformance.suites.neighbours import NeighboursSuite, SessionNeighboursSuite
from tests.conformance.suites.prefix_search import PrefixSearchSuite
from tests.conformance.suites.purge import PurgeSuite
from tests.conformance.suites.relations import RelationsSuite
from tests.conformance.suites.spaces import SpacesSuite
from tests.conformance.suites.spelling import KnownFacetsSuite, SimilarTermsSuite
from tests.conformance.suites.tokens import TokensSuite
from tests.conformance.suites.transfer import TransferSuite
from tests.conformance.suites.upkeep import UpkeepSuite
from tests.conformance.suites.vectors import PointsSuite, VectorsSuite


class RecordsSuite(
    CommitSuite,
    AtomicitySuite,
    NamesSuite,
    IdempotencySuite,
    RelationsSuite,
    FindingSuite,
    ListingSuite,
    AdoptSuite,
    PurgeSuite,
    PastSuite,
    BranchesSuite,
):
    """The port `Records`. Needs the fixture `store`: an empty store."""


class LexiconSuite(
    CandidatesSuite,
    TermStatisticsSuite,
    NeighboursSuite,
    SessionNeighboursSuite,
    SimilarTermsSuite,
    KnownFacetsSuite,
    PrefixSearchSuite,
):
    """The port `Lexicon`. Needs the fixture `store`."""


class VectorStoreSuite(VectorsSuite, PointsSuite):
    """The port `VectorStore`. Needs the fixture `store`."""


class ChangeLogSuite(ChangesSuite, RunsSuite):
    """The port `ChangeLog`. Needs the fixture `store`."""


class StoreSuite(
    RecordsSuite,
    LexiconSuite,
    VectorStoreSuite,
    ChangeLogSuite,
    DocumentsSuite,
    TokensSuite,
    TransferSuite,
    UpkeepSuite,
    SpacesSuite,
    ConcurrencySuite,
):
    """All that a `RecordStore` must do. Needs the fixture `store`: an empty store."""
