"""Documents: small JSON objects that a space stores besides its memories, such as its rules and its jobs."""

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime

from scrubjay.lazy import dataclass
from scrubjay.model.memory import Json

USAGE = "usage"
"""The collection of what was asked, found and read: one document a day."""
HEALTH = "health"
"""The collection of what was written by whom: one document a day."""
LLM_USE = "llm"
"""The collection of what the language model was asked, and what that cost: one document a day, of the whole store."""
ALERTS = "alerts"
"""The collection of one document: the alerts of the store that last, and the events that no webhook has taken."""
STATISTICS = frozenset({USAGE, HEALTH, ALERTS})
"""The collections that tell how a store is used: they change with every call, and mean little elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A document, by its collection and key. `due` is the time at which a job should process it.

    A document has no history and is never recalled. `version` counts its changes: an update names the version it is
    based on.
    """

    space: str
    collection: str
    key: str
    value: Mapping[str, Json] = field(default_factory=dict[str, Json])
    version: int = 1
    at: datetime
    due: datetime | None = None
