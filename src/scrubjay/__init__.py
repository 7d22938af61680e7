"""Scrubjay: a long-term memory for LLM agents. Public names are imported when first used."""

from importlib import import_module
from typing import TYPE_CHECKING

from scrubjay.version import VERSION

if TYPE_CHECKING:
    from scrubjay.client import MemoryClient
    from scrubjay.client.sync import SyncMemoryClient
    from scrubjay.errors import ScrubjayError
    from scrubjay.model.memory import Memory, Observation, Source
    from scrubjay.model.query import Filter
    from scrubjay.model.results import Hit, Recalled, Remembered
    from scrubjay.settings import Settings

__version__ = VERSION

__all__ = [
    "Filter",
    "Hit",
    "Memory",
    "MemoryClient",
    "Observation",
    "Recalled",
    "Remembered",
    "ScrubjayError",
    "Settings",
    "Source",
    "SyncMemoryClient",
    "__version__",
]

_MODULES = {
    "Filter": "scrubjay.model.query",
    "Hit": "scrubjay.model.results",
    "Memory": "scrubjay.model.memory",
    "MemoryClient": "scrubjay.client",
    "Observation": "scrubjay.model.memory",
    "Recalled": "scrubjay.model.results",
    "Remembered": "scrubjay.model.results",
    "ScrubjayError": "scrubjay.errors",
    "Settings": "scrubjay.settings",
    "Source": "scrubjay.model.memory",
    "SyncMemoryClient": "scrubjay.client.sync",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module 'scrubjay' has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
