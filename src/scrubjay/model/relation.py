"""Relations: typed, directed, weighted edges between memories."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from scrubjay.model.memory import Json

LINK = "related_to"


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """An edge. The relation `related_to` is a link: it is shown from both ends."""

    source: str
    target: str
    created_at: datetime
    type: str = LINK
    text: str = ""
    strength: float = 0.5
    metadata: Mapping[str, Json] = field(default_factory=dict[str, Json])

    @property
    def key(self) -> tuple[str, str, str]:
        """What makes it the same edge."""
        return self.source, self.type, self.target
