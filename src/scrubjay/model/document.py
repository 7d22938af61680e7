"""Papers: small JSON documents that a space keeps beside its memories, such as its rules and its jobs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from scrubjay.model.memory import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One document by its key in a drawer. `due` is when somebody should look at it again.

    It has no past and is never recalled. `version` counts its changes: who changes it says which one it goes by.
    """

    space: str
    collection: str
    key: str
    value: Mapping[str, Json] = field(default_factory=dict[str, Json])
    version: int = 1
    at: datetime
    due: datetime | None = None
