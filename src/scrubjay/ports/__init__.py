"""What the engine needs of the outside world, as narrow protocols that show no backend's type."""

from scrubjay.model.version import Dossier
from scrubjay.ports.committing import (
    Commit,
    Committed,
    Edge,
    Embedded,
    Once,
    Write,
)
from scrubjay.ports.found import (
    Beside,
    Handle,
    Having,
    Run,
    StoreStatistics,
    TermStatistics,
)
from scrubjay.ports.models import (
    Clock,
    Embedder,
    Gallery,
    Llm,
    Profile,
    Reranker,
    VectorIndex,
)
from scrubjay.ports.store import (
    ChangeLog,
    Inventory,
    Lexicon,
    Papers,
    Progress,
    Records,
    RecordStore,
    Tokens,
    Upkeep,
    VectorShelf,
)

__all__ = [
    "Beside",
    "ChangeLog",
    "Clock",
    "Commit",
    "Committed",
    "Dossier",
    "Edge",
    "Embedded",
    "Embedder",
    "Gallery",
    "Handle",
    "Having",
    "Inventory",
    "Lexicon",
    "Llm",
    "Once",
    "Papers",
    "Profile",
    "Progress",
    "RecordStore",
    "Records",
    "Reranker",
    "Run",
    "StoreStatistics",
    "TermStatistics",
    "Tokens",
    "Upkeep",
    "VectorIndex",
    "VectorShelf",
    "Write",
]
