"""Scrubjay: a long-term memory for LLM agents. Public names are imported when first used."""

from importlib import import_module
from typing import TYPE_CHECKING

from scrubjay.version import VERSION

if TYPE_CHECKING:
    from scrubjay.client import MemoryClient
    from scrubjay.client.sync import SyncMemoryClient
    from scrubjay.errors import (
        Ambiguous,
        BodyDamaged,
        Busy,
        Conflict,
        DaemonRunning,
        DaemonUnavailable,
        DiskFull,
        EmbeddingUnavailable,
        FileChanged,
        IndexUnavailable,
        InvalidInput,
        KeyReused,
        KeysUnavailable,
        LlmUnavailable,
        NameTaken,
        NotAdmitted,
        NotAllowed,
        NoteUnreadable,
        NotFound,
        PathRefused,
        Rejected,
        RerankingUnavailable,
        ScrubjayError,
        StaleVersion,
        StoreBusy,
        StoreDamaged,
        StoreError,
        StoreInUse,
        StoreReadOnly,
        StoreTooNew,
        TooLarge,
        TooManyRequests,
        TooSlow,
        VaultUnavailable,
        WrongKey,
        WrongState,
    )
    from scrubjay.model.memory import Memory, Observation, Source
    from scrubjay.model.query import Filter
    from scrubjay.model.results import Hit, Recalled, Remembered
    from scrubjay.settings import Settings

__version__ = VERSION

__all__ = [
    "Ambiguous",
    "BodyDamaged",
    "Busy",
    "Conflict",
    "DaemonRunning",
    "DaemonUnavailable",
    "DiskFull",
    "EmbeddingUnavailable",
    "FileChanged",
    "Filter",
    "Hit",
    "IndexUnavailable",
    "InvalidInput",
    "KeyReused",
    "KeysUnavailable",
    "LlmUnavailable",
    "Memory",
    "MemoryClient",
    "NameTaken",
    "NotAdmitted",
    "NotAllowed",
    "NotFound",
    "NoteUnreadable",
    "Observation",
    "PathRefused",
    "Recalled",
    "Rejected",
    "Remembered",
    "RerankingUnavailable",
    "ScrubjayError",
    "Settings",
    "Source",
    "StaleVersion",
    "StoreBusy",
    "StoreDamaged",
    "StoreError",
    "StoreInUse",
    "StoreReadOnly",
    "StoreTooNew",
    "SyncMemoryClient",
    "TooLarge",
    "TooManyRequests",
    "TooSlow",
    "VaultUnavailable",
    "WrongKey",
    "WrongState",
    "__version__",
]

# Whatever is not here is an error.
_MODULES = {
    "Filter": "scrubjay.model.query",
    "Hit": "scrubjay.model.results",
    "Memory": "scrubjay.model.memory",
    "MemoryClient": "scrubjay.client",
    "Observation": "scrubjay.model.memory",
    "Recalled": "scrubjay.model.results",
    "Remembered": "scrubjay.model.results",
    "Settings": "scrubjay.settings",
    "Source": "scrubjay.model.memory",
    "SyncMemoryClient": "scrubjay.client.sync",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'scrubjay' has no attribute {name!r}")
    return getattr(import_module(_MODULES.get(name, "scrubjay.errors")), name)
