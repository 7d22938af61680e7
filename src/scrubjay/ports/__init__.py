"""What the engine needs of the outside world, as narrow protocols that show no backend's type."""

from scrubjay.model.version import MemoryHistory
from scrubjay.ports.commit import Commit, Committed, Edge, Embedded, IdempotencyRecord, Write
from scrubjay.ports.matches import Handle, LexicalMatch, Neighbours, Run, StoreStatistics, TermStatistics
from scrubjay.ports.models import Clock, Embedder, Gallery, Llm, Profile, Reranker, VectorIndex
from scrubjay.ports.store import (
    ChangeLog,
    DocumentStore,
    Inventory,
    Lexicon,
    Progress,
    Records,
    RecordStore,
    Tokens,
    Upkeep,
    VectorStore,
)

__all__ = [
    "ChangeLog",
    "Clock",
    "Commit",
    "Committed",
    "DocumentStore",
    "Edge",
    "Embedded",
    "Embedder",
    "Gallery",
    "Handle",
    "IdempotencyRecord",
    "Inventory",
    "LexicalMatch",
    "Lexicon",
    "Llm",
    "MemoryHistory",
    "Neighbours",
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
    "VectorStore",
    "Write",
]
