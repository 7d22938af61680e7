"""The change log: every change, in commit order."""

from dataclasses import replace
from datetime import datetime
from enum import StrEnum

from scrubjay.lazy import dataclass
from scrubjay.model.memory import Method, Source, Trust
from scrubjay.model.relation import Relation


class Action(StrEnum):
    """The effect of a change on a memory."""

    CREATED = "created"
    REVISED = "revised"
    TRASHED = "trashed"
    RESTORED = "restored"
    MERGED = "merged"
    APPROVED = "approved"
    CONFIRMED = "confirmed"
    REVERTED = "reverted"
    COMMITTED = "committed"
    BRANCHED = "branched"
    JOINED = "joined"
    RESOLVED = "resolved"
    UNDONE = "undone"
    PURGED = "purged"
    IMPORTED = "imported"
    RELATED = "related"
    UNRELATED = "unrelated"
    EMBEDDED = "embedded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The agent that makes a change, and the run it belongs to: one call, or a named series of calls.

    `is_agent`: the change is made with an agent's token, so that nothing it writes counts as the user's. `is_partial`:
    more of the undo follows, and only its last commit marks the run that it `undoes`.
    """

    at: datetime
    run: str
    agent: str = ""
    undoes: str = ""
    is_partial: bool = False
    is_agent: bool = False

    def limit(self, source: Source) -> Source:
        """Return a source as far as the caller may claim it."""
        if not self.is_agent:
            return source
        trust = source.trust if source.trust is Trust.DOCUMENT else Trust.AGENT
        method = source.method if source.method is Method.AUTO else Method.AGENT
        return replace(source, trust=trust, method=method, agent=self.agent)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One entry of the log. `number` and `passages_before` identify the points of an index that may be stale.

    `seq` counts the changes of all spaces, so it reveals activity elsewhere; `place` counts those of its own space.
    """

    seq: int
    place: int
    space: str
    memory_id: str
    number: int
    action: Action
    version: int
    base: int | None
    passages_before: int
    at: datetime
    agent: str = ""
    run: str = ""
    relation: Relation | None = None
