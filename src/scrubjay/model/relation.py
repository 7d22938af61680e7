"""Relations: typed, directed, weighted edges between memories, and the networks they form."""

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime

from scrubjay.lazy import dataclass
from scrubjay.model.memory import Json

LINK = "related_to"
BACK_TEXT = "back_text"
"""The key in a link's metadata for its text as its target wrote it; `text` is that of its source."""
SOURCE = "source"
"""The relation of a consolidated memory to an episode that it was made of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """An edge. The relation `related_to` is a link: both ends show it."""

    source: str
    target: str
    created_at: datetime
    type: str = LINK
    text: str = ""
    strength: float = 0.5
    metadata: Mapping[str, Json] = field(default_factory=dict[str, Json])

    @property
    def key(self) -> tuple[str, str, str]:
        """The identity of the edge: source, type and target."""
        return self.source, self.type, self.target

    def text_at(self, end: str) -> str:
        """The text of a link as the memory at one of its ends wrote it."""
        return self.text if end == self.source else str(self.metadata.get(BACK_TEXT) or "")


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkNode:
    """A memory in a network, and its distance in relations."""

    id: str
    name: str
    title: str
    kind: str
    distance: int = 0
    pinned: bool = False
    # Whose word it is; empty for the user's. See `labels`.
    mark: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A memory that is near another one by its meaning, and that no relation connects to it yet."""

    id: str
    name: str
    title: str
    kind: str
    similarity: float
    mark: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """Memories and the relations between them. `truncated`: the limit cut off more of them.

    The nodes of a path are in its order; without a path there are no nodes. `suggested` are not related yet.
    """

    nodes: tuple[NetworkNode, ...]
    edges: tuple[Relation, ...]
    truncated: bool = False
    suggested: tuple[Suggestion, ...] = ()
