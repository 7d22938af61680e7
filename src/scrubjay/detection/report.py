"""The conflicts of one write: which of them are new, how the caller sees them, and how they are stored."""

import asyncio
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime, timedelta
from typing import Self

from scrubjay import telemetry
from scrubjay.detection.boilerplate import StatementPlace
from scrubjay.detection.describe import StatementTable, describe
from scrubjay.detection.detect import count_exceeds, detect
from scrubjay.detection.neighbours import EmbeddedMemory, ReadCache
from scrubjay.detection.statement import find_statement, supersede_statement
from scrubjay.errors import WrongState
from scrubjay.lazy import dataclass
from scrubjay.model.change import Origin
from scrubjay.model.conflict import (
    PENDING_COLLECTION,
    SETTLED_COLLECTION,
    ConflictDetails,
    ConflictRecord,
    ConflictStatus,
    ConflictType,
    PairShares,
    Strategy,
    parse_conflict,
)
from scrubjay.model.document import Document
from scrubjay.model.job import CONFLICTS, Job
from scrubjay.model.memory import Flag, Memory, Method, State, Trust
from scrubjay.model.rules import Rules
from scrubjay.ports import RecordStore
from scrubjay.workers import offload

__all__ = [
    "ConflictReport", "describe_detected", "drop_known", "find_conflicts", "later_check", "settle_boilerplate",
]  # fmt: skip

# Of one statement no more conflicts wait at a time, lest it flood the list.
_MAX_PENDING = 10
_MAX_READ = 2_000
_SAID_SO = "the newer one says that it has changed"
_BOILERPLATE = "many notes have this line, as from one template"

# A memory and the key of one of its statements.
_End = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictReport:
    """The conflicts of one write, their details in the same order, and jobs for statements not compared yet.

    `superseded` are the memories whose statement the write replaces at once, as they are from then on; the conflicts
    with them are settled already. `boilerplate` are earlier conflicts that the write settles, since it shows that their
    statements are a template's. `readings` are what a model says of the write and others, by their ids.
    """

    conflicts: tuple[ConflictRecord, ...] = ()
    details: tuple[ConflictDetails, ...] = ()
    jobs: tuple[Job, ...] = ()
    superseded: tuple[Memory, ...] = ()
    boilerplate: tuple[ConflictRecord, ...] = ()
    readings: Mapping[str, PairShares] = field(default_factory=dict[str, PairShares])

    def documents(self, *, at: datetime) -> tuple[Document, ...]:
        """Return the documents that belong into the commit."""
        stored = (*self.conflicts, *self.boilerplate)
        settled = [conflict for conflict in stored if conflict.status is not ConflictStatus.PENDING]
        return (
            *(conflict.document(at=at) for conflict in stored),
            *(conflict.resolution_document(at=at) for conflict in settled),
            *(job.document(at=at) for job in self.jobs),
        )

    def contradicts(self, memory: Memory) -> bool:
        """Check whether the write contradicts a memory."""
        return any(
            conflict.other == memory.id and conflict.type is ConflictType.CONTRADICTION for conflict in self.conflicts
        )

    def moved_to(self, target: Memory) -> Self:
        """Return the report of a write that was merged into a memory: that one has the conflicts, all of them open."""
        pairs = [
            (
                conflict.reopened(),
                replace(details, status=ConflictStatus.PENDING, strategy=None, resolved_at=None, run=""),
            )
            for conflict, details in zip(self.conflicts, self.details, strict=True)
            if conflict.other != target.id
        ]
        conflicts = [replace(conflict, memory=target.id) for conflict, _ in pairs]
        return replace(
            self,
            superseded=(),
            conflicts=tuple(conflicts),
            details=tuple(
                replace(details, id=conflict.id, memory=replace(details.memory, id=target.id, name=target.name))
                for conflict, (_, details) in zip(conflicts, pairs, strict=True)
            ),
            jobs=tuple(replace(job, about={"memory_id": target.id}) for job in self.jobs),
        )


async def find_conflicts(
    written: EmbeddedMemory,
    *,
    before: Memory | None = None,
    rules: Rules,
    origin: Origin,
    cache: ReadCache,
    settles: bool = False,
) -> ConflictReport:
    """Find the conflicts of a memory that is about to be stored; with `before`, of its new statements only.

    With `settles`, a memory that says clearly that something has changed replaces the former statement at once.
    """
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
        new, superseded = await _supersede(
            new, memory, others, origin=origin, cache=cache, changes=detected.changes if settles else frozenset()
        )
        described = await offload(size, describe_detected, new, memory, others, statements=detected.statements)
        has_more = await offload(
            size, count_exceeds, memory=memory, passages=written.passages, before=before, now=origin.at
        )
        boilerplate = await settle_boilerplate(
            detected.boilerplate, space=memory.space, origin=origin, store=cache.store
        )
    telemetry.count("conflicts", len(described), event="found")
    return ConflictReport(
        conflicts=tuple(conflict for conflict, details in described if details is not None),
        details=tuple(details for _, details in described if details is not None),
        jobs=(later_check(memory, origin),) if has_more else (),
        superseded=superseded,
        boilerplate=boilerplate,
        readings=detected.readings,
    )


async def settle_boilerplate(
    places: Collection[StatementPlace], *, space: str, origin: Origin, store: RecordStore
) -> tuple[ConflictRecord, ...]:
    """Return the pending conflicts of two statements that have turned out to be boilerplate, as settled."""
    if not places:
        return ()
    ids = list(dict.fromkeys(memory_id for memory_id, _ in places))
    documents = await store.documents_about(space, PENDING_COLLECTION, ids, limit=_MAX_READ)
    pending = [conflict for document in documents if (conflict := parse_conflict(document)) is not None]
    return tuple(
        conflict.settled(Strategy.IGNORE, notes=_BOILERPLATE, origin=origin)
        for conflict in pending
        if all(end in places for end in _ends(conflict))
    )


async def _supersede(
    conflicts: Sequence[ConflictRecord],
    memory: Memory,
    others: Mapping[str, Memory],
    *,
    changes: Collection[str],
    origin: Origin,
    cache: ReadCache,
) -> tuple[tuple[ConflictRecord, ...], tuple[Memory, ...]]:
    """Settle the conflicts where the memory may replace the other's statement; return all, and the memories ended."""
    settled: list[ConflictRecord] = []
    ended: dict[str, Memory] = {}
    for conflict in conflicts:
        other = others.get(conflict.other)
        may_replace = conflict.id in changes and other is not None and _may_replace(memory, other, origin=origin)
        if not may_replace or other is None or other.id in ended:
            settled.append(conflict)
            continue
        try:
            replaced = await _end_all(other, conflict.against, memory=memory, origin=origin, cache=cache)
        except WrongState:
            settled.append(conflict)
            continue
        ended |= {record.id: record for record in replaced if record.id != memory.id}
        settled.append(conflict.settled(Strategy.SUPERSEDE, notes=_SAID_SO, origin=origin))
    return tuple(settled), tuple(ended.values())


async def _end_all(
    other: Memory, key: str, *, memory: Memory, origin: Origin, cache: ReadCache
) -> list[Memory]:  # fmt: skip
    """End a statement in a memory, in the other records of its text, and in what is filed as saying the same."""
    keys = {other.id: key}
    if other.group:
        keys |= dict.fromkeys(await cache.store.members(other.space, other.group), key)
    documents = await cache.store.documents_about(other.space, PENDING_COLLECTION, [other.id], limit=_MAX_PENDING)
    for filed in map(parse_conflict, documents):
        if filed is not None and filed.type is ConflictType.DUPLICATE:
            keys |= {filed.memory: filed.statement} if filed.other == other.id else {filed.other: filed.against}
    records = await cache.get(other.space, list(keys))
    replaced = [
        _end(record, keys[record.id], until=memory.date, at=origin.at)
        for record in records.values()
        if record.state is State.LIVE and record.holds(origin.at) and _may_replace(memory, record, origin=origin)
    ]
    return [record for record in replaced if record is not None]


def _may_replace(memory: Memory, other: Memory, *, origin: Origin) -> bool:
    """Check by trust and time whether a memory that says so replaces another at once; else a person decides.

    What was read somewhere replaces nothing. A pinned memory or a note's file was chosen by a person. A date in the
    future is that of a wrong clock: such a memory counts as written before this one.
    """
    is_later = memory.date > other.date or other.date > origin.at
    return (
        is_later
        and memory.source.trust is not Trust.DOCUMENT
        and not other.source.trust.outranks(memory.source.trust)
        and not other.pinned
        and other.source.method is not Method.FILE
        and Flag.SUSPICIOUS not in (*memory.flags, *other.flags)
    )


def _end(record: Memory, key: str, *, until: datetime, at: datetime) -> Memory | None:
    """Return a memory without a statement from a moment on; None if it has no such statement."""
    statement = find_statement(record, key)
    if statement is None:
        return None
    # A statement with a date in the future takes effect now.
    ended = supersede_statement(statement, until=min(until, at))
    return replace(
        ended, version=record.version + 1, updated_at=max(at, record.updated_at), resolution="superseded"
    )  # fmt: skip


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
