"""Jobs: work that is queued as documents and done after the call that requested it."""

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from enum import StrEnum
from typing import cast

from scrubjay.lazy import dataclass
from scrubjay.model.document import Document
from scrubjay.model.identity import new_id
from scrubjay.model.memory import Json
from scrubjay.model.timestamps import parse_moment, to_iso

COLLECTION = "jobs"
# Scans a space for conflicts.
CONFLICTS = "conflicts"
# Embeds the memories that a write left without vectors.
EMBEDDING = "embedding"


class JobState(StrEnum):
    """The progress of a job."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A queued task: its kind, its target, the number of tries and the outcome.

    `due` is the time to run it; for a running job, the time after which its worker counts as gone.
    """

    space: str
    kind: str
    about: Mapping[str, Json] = field(default_factory=dict[str, Json])
    id: str = field(default_factory=new_id)
    state: JobState = JobState.WAITING
    tries: int = 0
    created_at: datetime
    due: datetime | None = None
    outcome: str = ""
    version: int = 1

    def document(self, *, at: datetime) -> Document:
        """Return the document that stores it."""
        value: dict[str, Json] = {
            "kind": self.kind, "about": dict(self.about), "state": self.state.value, "tries": self.tries,
            "created_at": to_iso(self.created_at), "outcome": self.outcome,
        }  # fmt: skip
        return Document(
            space=self.space, collection=COLLECTION, key=self.id, value=value, version=self.version, at=at, due=self.due
        )

    @classmethod
    def from_document(cls, document: Document) -> "Job":
        """Read a stored job."""
        value = document.value
        return cls(
            space=document.space,
            kind=str(value["kind"]),
            about=cast("dict[str, Json]", value["about"]),
            id=document.key,
            state=JobState(str(value["state"])),
            tries=cast("int", value["tries"]),
            created_at=parse_moment(str(value["created_at"]), field="created_at"),
            due=document.due,
            outcome=str(value["outcome"]),
            version=document.version,
        )
