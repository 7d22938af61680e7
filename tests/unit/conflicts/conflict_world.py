"""Two contradicting memories, stored as a conflict."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from tests.fakes.build import a_commit, a_memory, moment
from tests.unit.harness import SPACE, Harness

from scrubjay.conflicts.repository import reopen
from scrubjay.conflicts.resolve import resolve_conflict
from scrubjay.model.conflict import ConflictRecord, ConflictType, Resolved, Strategy, statement_key
from scrubjay.model.memory import Memory, Observation, Source, Trust
from scrubjay.versions.merge_fields import merge_records
from scrubjay.versions.undo import undo

FIRST, LATER = moment(0), moment(3600)


def fact(text: str, *, at: datetime = FIRST, trust: Trust = Trust.USER, name: str = "") -> Memory:
    """Return a memory of one sentence, dated."""
    memory = a_memory(text, created_at=at, updated_at=at, source=Source(trust=trust))
    return replace(memory, name=name) if name else memory


def thing(*facts: str, at: Sequence[datetime] = (), name: str = "ann") -> Memory:
    """Return a memory with observations, each recorded a minute after the one before."""
    times = at or [moment(60 * place) for place in range(len(facts))]
    observations = tuple(Observation(text=text, recorded_at=when) for text, when in zip(facts, times, strict=True))
    return a_memory("", name=name, observations=observations)


async def dispute(
    harness: Harness,
    newer: Memory,
    older: Memory,
    *,
    type: ConflictType = ConflictType.CONTRADICTION,
    statement: str = "",
    against: str = "",
    confidence: float = 0.9,
    suggested: Strategy = Strategy.SUPERSEDE,
    at: datetime = LATER,
) -> ConflictRecord:
    """Store the memories that are not stored yet, and their conflict as pending."""
    stored = await harness.store.get(SPACE, [newer.id, older.id])
    fresh = {memory.id: memory for memory in (older, newer) if memory.id not in stored}
    if fresh:
        await harness.store.commit(a_commit(*fresh.values()))
    harness.clock.set(at + timedelta(hours=1))
    conflict = ConflictRecord(
        space=SPACE,
        type=type,
        memory=newer.id,
        other=older.id,
        confidence=confidence,
        suggested=suggested,
        detected_at=at,
        statement=statement_key(statement) if statement else "",
        against=statement_key(against) if against else "",
    )
    await harness.store.put_document(conflict.document(at=at), base=None)
    return conflict


async def settle(
    harness: Harness,
    conflict: ConflictRecord | str,
    strategy: str = "auto",
    *,
    notes: str = "",
    branch: str = "",
    key: str = "",
    run: str = "",
) -> Resolved:
    """Resolve a conflict."""
    return await resolve_conflict(
        conflict if isinstance(conflict, str) else conflict.id, strategy=strategy, notes=notes, branch=branch,
        space=SPACE, origin=harness.origin(run=run), context=harness.context, combine=merge_records, key=key,
    )  # fmt: skip


async def take_back(harness: Harness, run: str = "") -> tuple[str, ...]:
    """Undo a run as the engine does; return the skipped memories."""
    done = await undo(run=run, agent="tester", space=SPACE, origin=harness.origin(), store=harness.store)
    await reopen(done, space=SPACE, store=harness.store)
    return done.skipped
