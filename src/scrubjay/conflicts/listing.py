"""`conflicts`: list pending and settled conflicts."""

import re
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import islice

from scrubjay.conflicts.repository import counterpart, is_decided
from scrubjay.conflicts.strategies import suggest_strategy
from scrubjay.detection.describe import MemoryStatement, describe
from scrubjay.detection.statement import (
    DisputedStatement,
    are_branches,
    find_statements,
    load_current,
    needs_decision,
)
from scrubjay.errors import InvalidInput
from scrubjay.lookup.branches import trunk_of
from scrubjay.lookup.references import resolve
from scrubjay.model.checks import require_integer, require_text
from scrubjay.model.conflict import (
    PENDING_COLLECTION,
    SETTLED_COLLECTION,
    ConflictDetails,
    ConflictRecord,
    ConflictStatus,
    ConflictType,
    parse_conflict,
)
from scrubjay.model.document import Document
from scrubjay.model.memory import Memory, State
from scrubjay.ports import RecordStore
from scrubjay.workers import offload

__all__ = ["conflicts", "describe_conflicts", "require_status"]

_ALL = "all"
_ID = re.compile(r"c-[0-9a-f]+")
# Some pending conflicts turn out to be obsolete once the memories are read: then further, larger pages follow.
_FIRST_PAGE, _LARGEST_PAGE, _GROWTH = 20, 500, 2
_MIN_DESCRIBED = 8
_MAX_LIMIT = 1_000
_MAX_OF_MEMORY = 2_000
# So many versions are searched for the words before a resolution.
_MAX_VERSIONS = 50
# A merged memory may have been merged further; a longer chain is an error.
_MAX_MERGES = 8
_LONG_AGO = datetime.min.replace(tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


async def conflicts(
    *, status: str, ref: str, limit: int, now: datetime, space: str, store: RecordStore
) -> tuple[ConflictDetails, ...]:
    """List the conflicts of a space or of one memory, the newest first, or the one of an id."""
    statuses = require_status(status)
    require_integer(limit, field="limit", most=_MAX_LIMIT)
    if by_id := await _find_by_id(require_text(ref, field="id"), space=space, store=store):
        # While it is being settled it is in both collections.
        matching = [conflict for conflict in by_id if conflict.status in statuses]
        return (await describe_conflicts(matching, now=now, space=space, store=store, ended=status == _ALL))[:1]
    collections = [PENDING_COLLECTION] if ConflictStatus.PENDING in statuses else []
    collections += [SETTLED_COLLECTION] if statuses - {ConflictStatus.PENDING} else []
    if ref:
        memory = await trunk_of(store, await resolve(store, ref, space=space))
        pages = _of_memory(memory, collections=collections, store=store)
    else:
        pages = _latest(collections, first=limit, space=space, store=store)
    details: list[ConflictDetails] = []
    async for page in pages:
        rest = iter([conflict for conflict in page if conflict.status in statuses])
        while len(details) < limit and (batch := list(islice(rest, max(limit - len(details), _MIN_DESCRIBED)))):
            details += await describe_conflicts(batch, now=now, space=space, store=store, ended=status == _ALL)
        if len(details) >= limit:
            break
    return tuple(details[:limit])


async def describe_conflicts(
    conflicts: Sequence[ConflictRecord], *, now: datetime, space: str, store: RecordStore, ended: bool = False
) -> tuple[ConflictDetails, ...]:
    """Describe conflicts in the words of both sides; leave out those that are obsolete or have lost their words.

    `ended`: also pending duplicates of which a side was superseded. Reading changes nothing: `delete_obsolete` deletes
    them.
    """
    ids = dict.fromkeys(memory_id for conflict in conflicts for memory_id in (conflict.memory, conflict.other))
    current = await load_current(ids, space=space, store=store)
    # A settled conflict keeps its memories, merged or not.
    settled = [conflict for conflict in conflicts if _is_settled(conflict)]
    former = await store.get(
        space, [memory_id for conflict in settled for memory_id in (conflict.memory, conflict.other)]
    )
    details = [
        await _describe_settled(conflict, former, store=store)
        if _is_settled(conflict)
        else await _describe_pending(conflict, current, now=now, store=store, ended=ended)
        for conflict in conflicts
    ]
    return tuple(described for described in details if described is not None)


def require_status(status: str) -> frozenset[ConflictStatus]:
    """Return the statuses of a name, or raise InvalidInput."""
    if status == _ALL:
        return frozenset(ConflictStatus)
    try:
        return frozenset({ConflictStatus(status)})
    except ValueError:
        allowed = (*(choice.value for choice in ConflictStatus), _ALL)
        raise InvalidInput(
            f"status must be one of {', '.join(allowed)}, not {str(status)[:40]!r}", field="status", allowed=allowed
        ) from None


async def _find_by_id(ref: str, *, space: str, store: RecordStore) -> list[ConflictRecord]:
    if not _ID.fullmatch(ref):
        return []
    documents = [
        await store.document(space, collection, ref) for collection in (PENDING_COLLECTION, SETTLED_COLLECTION)
    ]
    return [conflict for document in documents if (conflict := parse_conflict(document)) is not None]


async def _of_memory(
    memory: Memory, *, collections: Sequence[str], store: RecordStore
) -> AsyncIterator[list[ConflictRecord]]:
    """Return the conflicts of a memory, and of those that were merged into it."""
    ids = dict.fromkeys([memory.id])
    parts = [memory]
    for _ in range(_MAX_MERGES):
        merged = dict.fromkeys(part.id for whole in parts for part in whole.merged if part.id not in ids)
        parts = list((await store.get(memory.space, list(merged))).values())
        ids |= dict.fromkeys(part.id for part in parts)
        if not parts:
            break
    documents = [
        document
        for collection in collections
        for document in await store.documents_about(memory.space, collection, list(ids), limit=_MAX_OF_MEMORY)
    ]
    yield _in_order(documents)


async def _latest(
    collections: Sequence[str], *, first: int, space: str, store: RecordStore
) -> AsyncIterator[list[ConflictRecord]]:
    """Return all conflicts of collections page by page, the newest first; of one write the surest first."""
    size = min(max(first, _FIRST_PAGE), _LARGEST_PAGE)
    buffered: list[Document] = []
    read_to: dict[str, tuple[datetime, str] | None] = dict.fromkeys(collections)
    while read_to:
        newest = max((cursor[0] for cursor in read_to.values() if cursor), default=_LONG_AGO)
        # Read on where the newest unread documents are.
        for collection in [name for name, cursor in read_to.items() if cursor is None or cursor[0] == newest]:
            page = await store.latest_documents(space, collection, before=read_to[collection], limit=size)
            buffered += page
            if len(page) == size:
                read_to[collection] = page[-1].at, page[-1].key
            else:
                del read_to[collection]
        # There may be more of the oldest moment read; a crowd of one moment is returned in parts.
        horizon = max((cursor[0] for cursor in read_to.values() if cursor), default=_LONG_AGO)
        least = horizon if all(document.at <= horizon for document in buffered) else horizon + _MICROSECOND
        yield _in_order(document for document in buffered if document.at >= least)
        buffered = [document for document in buffered if document.at < least]
        size = min(size * _GROWTH, _LARGEST_PAGE)


def _in_order(documents: Iterable[Document]) -> list[ConflictRecord]:
    """Sort conflicts, the newest first; of one write the surest, then those of the latest memories."""

    def order(conflict: ConflictRecord) -> tuple[datetime, float, str, str, str, str]:
        moment = (conflict.resolved_at if _is_settled(conflict) else None) or conflict.detected_at
        return moment, conflict.confidence, conflict.memory, conflict.other, conflict.statement, conflict.against

    parsed = [conflict for document in documents if (conflict := parse_conflict(document)) is not None]
    return sorted(parsed, key=order, reverse=True)


async def _describe_pending(
    conflict: ConflictRecord, memories: Mapping[str, Memory], *, now: datetime, store: RecordStore, ended: bool
) -> ConflictDetails | None:
    """Describe a pending conflict; None if there is nothing to decide."""
    statements = await offload(_size(conflict, memories), find_statements, conflict, memories)
    # A memory that is in the trash, superseded or merged may return, and the conflict with it.
    if statements is None:
        return None
    if not needs_decision(*statements, now=now):
        # What repeats a superseded statement may be out of date too.
        is_shown = ended and conflict.type is ConflictType.DUPLICATE and _is_superseded(statements, now)
        if not is_shown:
            return None
    settled = await counterpart(conflict, documents=store)
    if settled is not None and is_decided(conflict, settled):
        return None
    pending = replace(conflict, resolved_at=None, suggested=suggest_strategy(conflict, *statements))
    memory, other = statements[0].memory, statements[1].memory
    # They need not be searched for again.
    table = {
        (statement.memory.id, key): MemoryStatement(text=statement.sentence)
        for statement, key in zip(statements, (conflict.statement, conflict.against), strict=True)
        if statement.sentence
    }
    size = memory.characters + other.characters
    details = await offload(size, describe, pending, memory, other, statements=table)
    if details is None:
        return None
    first, second = [
        replace(side, valid_until=statement.valid_until)
        for side, statement in zip((details.memory, details.other), statements, strict=True)
    ]
    return replace(details, memory=first, other=second)


async def _describe_settled(
    conflict: ConflictRecord, memories: Mapping[str, Memory], *, store: RecordStore
) -> ConflictDetails | None:
    """Describe a settled conflict in the words of that time; None while one of its memories is in the trash."""
    memory, other = memories.get(conflict.memory), memories.get(conflict.other)
    if memory is None or other is None:
        return None
    # A branch may have been dropped by the resolution itself.
    if State.TRASHED in (memory.state, memory.state if other.trunk == memory.id else other.state):
        return None
    pending = await counterpart(conflict, documents=store)
    if pending is not None and not is_decided(pending, conflict):
        return None
    size = memory.characters + other.characters
    details = await offload(size, describe, conflict, memory, other)
    if details is not None:
        return details
    memory, other = [await _before(side, conflict.run, store=store) for side in (memory, other)]
    return await offload(memory.characters + other.characters, describe, conflict, memory, other)


async def _before(memory: Memory, run: str, *, store: RecordStore) -> Memory:
    """Return a memory as it was before a run changed it."""
    versions = await store.versions(memory.space, memory.id, limit=_MAX_VERSIONS)
    changed = [place for place, version in enumerate(versions) if version.run == run]
    if not changed or changed[-1] + 1 >= len(versions):
        return memory
    return versions[changed[-1] + 1].memory


def _is_superseded(statements: Sequence[DisputedStatement], now: datetime) -> bool:
    """Check that both memories are live and different, so that only a superseded side leaves nothing to decide."""
    first, second = statements
    is_pair = first.memory.id != second.memory.id and not are_branches(first, second)
    return (
        is_pair
        and all(statement.memory.state is State.LIVE for statement in statements)
        and any(statement.valid_until is not None and statement.valid_until <= now for statement in statements)
    )


def _size(conflict: ConflictRecord, memories: Mapping[str, Memory]) -> int:
    sides = (memories.get(memory_id) for memory_id in (conflict.memory, conflict.other))
    return sum([side.characters for side in sides if side is not None])


def _is_settled(conflict: ConflictRecord) -> bool:
    return conflict.status is not ConflictStatus.PENDING
