"""The conflicts of one write: which of them are new, how the caller sees them, and how they are stored."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Self

from scrubjay import telemetry
from scrubjay.detection.describe import StatementTable, describe
from scrubjay.detection.detect import count_exceeds, detect
from scrubjay.detection.neighbours import EmbeddedMemory, ReadCache
from scrubjay.model.change import Origin
from scrubjay.model.conflict import (
    PENDING_COLLECTION,
    SETTLED_COLLECTION,
    ConflictDetails,
    ConflictRecord,
    ConflictType,
    Strategy,
    parse_conflict,
)
from scrubjay.model.document import Document
from scrubjay.model.job import CONFLICTS, Job
from scrubjay.model.memory import Memory, State
from scrubjay.model.rules import Rules
from scrubjay.ports import RecordStore
from scrubjay.workers import offload

__all__ = ["ConflictReport", "describe_detected", "drop_known", "find_conflicts", "later_check"]

# Of one statement no more conflicts wait at a time, lest it flood the list.
_MAX_PENDING = 10
_MAX_READ = 2_000

# A memory and the key of one of its statements.
_End = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictReport:
    """The conflicts of one write, their details in the same order, and jobs for statements not compared yet."""

    conflicts: tuple[ConflictRecord, ...] = ()
    details: tuple[ConflictDetails, ...] = ()
    jobs: tuple[Job, ...] = ()

    def documents(self, *, at: datetime) -> tuple[Document, ...]:
        """Return the documents that belong into the commit."""
        return (*(conflict.document(at=at) for conflict in self.conflicts), *(job.document(at=at) for job in self.jobs))

    def contradicts(self, memory: Memory) -> bool:
        """Check whether the write contradicts a memory."""
        return any(
            conflict.other == memory.id and conflict.type is ConflictType.CONTRADICTION for conflict in self.conflicts
        )

    def moved_to(self, target: Memory) -> Self:
        """Return the report of a write that was merged into a memory: that one has the conflicts."""
        pairs = [
            (conflict, details)
            for conflict, details in zip(self.conflicts, self.details, strict=True)
            if conflict.other != target.id
        ]
        conflicts = [replace(conflict, memory=target.id) for conflict, _ in pairs]
        return replace(
            self,
            conflicts=tuple(conflicts),
            details=tuple(
                replace(details, id=conflict.id, memory=replace(details.memory, id=target.id, name=target.name))
                for conflict, (_, details) in zip(conflicts, pairs, strict=True)
            ),
            jobs=tuple(replace(job, about={"memory_id": target.id}) for job in self.jobs),
        )


async def find_conflicts(
    written: EmbeddedMemory, *, before: Memory | None = None, rules: Rules, origin: Origin, cache: ReadCache
) -> ConflictReport:
    """Find the conflicts of a memory that is about to be stored; with `before`, of its new statements only."""
    memory = written.memory
    if rules.conflicts == "off" or memory.state is not State.LIVE:
        return ConflictReport()
    with telemetry.stage("write.conflicts"):
        detected = await detect(written, before=before, source=cache, origin=origin)
        new = await drop_known(detected.conflicts, space=memory.space, store=cache.store)
        ids = [conflict.other for conflict in new if conflict.other != memory.id]
        others = await cache.get(memory.space, ids) if ids else {}
        size = memory.characters + (before.characters if before else 0)
        size += sum([other.characters for other in others.values()])
        described = await offload(size, describe_detected, new, memory, others, statements=detected.statements)
        has_more = await offload(
            size, count_exceeds, memory=memory, passages=written.passages, before=before, now=origin.at
        )
    telemetry.count("conflicts", len(described), event="found")
    return ConflictReport(
        conflicts=tuple(conflict for conflict, details in described if details is not None),
        details=tuple(details for _, details in described if details is not None),
        jobs=(later_check(memory, origin),) if has_more else (),
    )


def describe_detected(
    conflicts: Sequence[ConflictRecord], memory: Memory, others: Mapping[str, Memory], *, statements: StatementTable
) -> list[tuple[ConflictRecord, ConflictDetails | None]]:
    """Return the conflicts of a memory that were just detected, each in words."""
    return [
        (conflict, describe(conflict, memory, others.get(conflict.other, memory), statements=statements))
        for conflict in conflicts
    ]  # fmt: skip


def later_check(memory: Memory, origin: Origin, *, delay: timedelta = timedelta()) -> Job:
    """Return the job that compares all statements of a memory."""
    due = origin.at + delay
    return Job(space=memory.space, kind=CONFLICTS, about={"memory_id": memory.id}, created_at=origin.at, due=due)


async def drop_known(
    conflicts: Sequence[ConflictRecord], *, space: str, store: RecordStore
) -> tuple[ConflictRecord, ...]:
    """Return the conflicts that neither wait nor were settled before, a limited number for each statement.

    A superseded statement that is written again makes a new conflict: both would be in force.
    """
    if not conflicts:
        return ()
    documents = await asyncio.gather(
        *(
            store.document(space, collection, conflict.id)
            for conflict in conflicts
            for collection in (PENDING_COLLECTION, SETTLED_COLLECTION)
        )
    )
    new = [
        conflict
        for conflict, pending, settled in zip(conflicts, documents[::2], documents[1::2], strict=True)
        if pending is None and (settled is None or ConflictRecord.from_document(settled).strategy is Strategy.SUPERSEDE)
    ]
    return await _limit_pending(new, space=space, store=store)


async def _limit_pending(
    conflicts: Sequence[ConflictRecord], *, space: str, store: RecordStore
) -> tuple[ConflictRecord, ...]:
    """Return the first conflicts, as many as each statement may have waiting."""
    if not conflicts:
        return ()
    ids = list(dict.fromkeys(end for conflict in conflicts for end in (conflict.memory, conflict.other)))
    documents = await store.documents_about(space, PENDING_COLLECTION, ids, limit=_MAX_READ)
    pending = [conflict for document in documents if (conflict := parse_conflict(document)) is not None]
    totals = Counter(end for conflict in (*pending, *conflicts) for end in _ends(conflict))
    if max(totals.values()) <= _MAX_PENDING:
        return tuple(conflicts)
    # A conflict about a memory in the trash, say, does not count.
    ends = dict.fromkeys(end for conflict in pending for end in (conflict.memory, conflict.other))
    memories = await store.get(space, list(ends))
    live = {memory.id for memory in memories.values() if memory.state is State.LIVE}
    counts = Counter(
        end for conflict in pending if {conflict.memory, conflict.other} <= live for end in _ends(conflict)
    )
    accepted: list[ConflictRecord] = []
    for conflict in conflicts:
        if all(counts[end] < _MAX_PENDING for end in _ends(conflict)):
            counts.update(_ends(conflict))
            accepted.append(conflict)
    return tuple(accepted)


def _ends(conflict: ConflictRecord) -> tuple[_End, _End]:
    return (conflict.memory, conflict.statement), (conflict.other, conflict.against)
