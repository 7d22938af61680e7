"""The suites, port by port."""

from scrubjay.testing.conformance.adopting import AdoptSuite
from scrubjay.testing.conformance.changelog import ChangesSuite, RunsSuite
from scrubjay.testing.conformance.commits import AtomicitySuite, CommitSuite
from scrubjay.testing.conformance.concurrency import ConcurrencySuite
from scrubjay.testing.conformance.finding import FindingSuite
from scrubjay.testing.conformance.inventory import InventorySuite
from scrubjay.testing.conformance.lexicon import CandidatesSuite, TermStatisticsSuite
from scrubjay.testing.conformance.listing import ListingSuite
from scrubjay.testing.conformance.names import NamesSuite
from scrubjay.testing.conformance.once import OnceSuite
from scrubjay.testing.conformance.papers import PapersSuite
from scrubjay.testing.conformance.past import BranchesSuite, PastSuite
from scrubjay.testing.conformance.purging import PurgeSuite
from scrubjay.testing.conformance.relations import RelationsSuite
from scrubjay.testing.conformance.seeking import SeekingSuite
from scrubjay.testing.conformance.shelf import PointsSuite, VectorsSuite
from scrubjay.testing.conformance.spaces import SpacesSuite
from scrubjay.testing.conformance.spelling import KnownFacetsSuite, SimilarTermsSuite
from scrubjay.testing.conformance.threads import BesideSuite, NeighboursSuite
from scrubjay.testing.conformance.tokens import TokensSuite
from scrubjay.testing.conformance.upkeep import UpkeepSuite


class RecordsSuite(
    CommitSuite,
    AtomicitySuite,
    NamesSuite,
    OnceSuite,
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
    BesideSuite,
    SimilarTermsSuite,
    KnownFacetsSuite,
    SeekingSuite,
):
    """The port `Lexicon`. Needs the fixture `store`."""


class ShelfSuite(VectorsSuite, PointsSuite):
    """The port `VectorShelf`. Needs the fixture `store`."""


class ChangeLogSuite(ChangesSuite, RunsSuite):
    """The port `ChangeLog`. Needs the fixture `store`."""


class StoreSuite(
    RecordsSuite,
    LexiconSuite,
    ShelfSuite,
    ChangeLogSuite,
    PapersSuite,
    TokensSuite,
    InventorySuite,
    UpkeepSuite,
    SpacesSuite,
    ConcurrencySuite,
):
    """All that a `RecordStore` must do. Needs the fixture `store`: an empty store."""
