"""What is written may not go with what is stored: the caller is told, and it is filed for whoever decides."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Self

from scrubjay import telemetry
from scrubjay.detection.candidates import Grounds
from scrubjay.detection.describe import tell
from scrubjay.detection.detect import detect, says_more, unsettled
from scrubjay.detection.neighbours import Searcher
from scrubjay.model.change import Origin
from scrubjay.model.conflict import Conflict, ConflictDetails
from scrubjay.model.document import Document
from scrubjay.model.job import CONFLICTS, Job
from scrubjay.model.memory import Memory, State
from scrubjay.model.passage import Passage, Vector
from scrubjay.model.rules import Rules
from scrubjay.ports import Profile, RecordStore


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictReport:
    """The conflicts of one write, as they are kept and as they are told; what was not looked at is left to `jobs`."""

    conflicts: tuple[Conflict, ...] = ()
    told: tuple[ConflictDetails, ...] = ()
    jobs: tuple[Job, ...] = ()

    def documents(self, *, at: datetime) -> tuple[Document, ...]:
        """What goes into the commit."""
        return (*(conflict.document(at=at) for conflict in self.conflicts), *(job.document(at=at) for job in self.jobs))

    def within(self, owner: Memory) -> Self:
        """The same for the memory of which what was written became a part."""
        pairs = [pair for pair in zip(self.conflicts, self.told, strict=True) if pair[0].other != owner.id]
        moved = [replace(conflict, memory=owner.id) for conflict, _ in pairs]
        return replace(
            self,
            conflicts=tuple(moved),
            told=tuple(
                replace(one, id=conflict.id, memory=replace(one.memory, id=owner.id, name=owner.name))
                for conflict, (_, one) in zip(moved, pairs, strict=True)
            ),
            jobs=tuple(replace(job, about={"memory_id": owner.id}) for job in self.jobs),
        )


async def look_for(
    memory: Memory,
    passages: Sequence[Passage],
    vectors: Mapping[bytes, Vector],
    *,
    before: Memory | None = None,
    rules: Rules,
    origin: Origin,
    profile: Profile | None,
    store: RecordStore,
    index: Searcher,
    grounds: Grounds | None = None,
) -> ConflictReport:
    """What a memory that is about to be stored does not go with; of one that was there `before`, what is new in it.

    `grounds`: what is stored, as other stages of the same write have read it.
    """
    if rules.conflicts == "off" or memory.state is not State.LIVE:
        return ConflictReport()
    with telemetry.stage("write.conflicts"):
        found = await detect(
            memory, passages, vectors, before=before, store=grounds or store, index=index, profile=profile,
            now=origin.at, agent=origin.agent,
        )  # fmt: skip
        fresh = await unsettled(found, documents=store, space=memory.space)
        ids = [one.other for one in fresh if one.other != memory.id]
        others = await (grounds or store).get(memory.space, ids) if ids else {}
    told = [(one, tell(one, memory, others.get(one.other, memory))) for one in fresh]
    telemetry.count("conflicts", len(told), event="found")
    return ConflictReport(
        conflicts=tuple(one for one, words in told if words is not None),
        told=tuple(words for _, words in told if words is not None),
        jobs=left_for_later(memory, origin) if says_more(memory, passages, before=before, now=origin.at) else (),
    )


def left_for_later(memory: Memory, origin: Origin, *, after: timedelta = timedelta()) -> tuple[Job, ...]:
    """All that a memory says is looked at when there is time."""
    due = origin.at + after
    return (Job(space=memory.space, kind=CONFLICTS, about={"memory_id": memory.id}, created_at=origin.at, due=due),)
