"""Entities and conflicts as JSON of the knowledge-graph dialect."""

from datetime import UTC, datetime

from scrubjay.graph.entity import kind_label, name_of
from scrubjay.model.conflict import ConflictDetails, ConflictSide, ConflictStatus
from scrubjay.model.decay import relevance_at
from scrubjay.model.labels import mark_of_all
from scrubjay.model.memory import Json, Memory


def node_json(memory: Memory, *, compression: float, branch: str, now: datetime) -> dict[str, Json]:
    """Return an entity as `search_nodes` shows it, with its current observations only."""
    fields: dict[str, Json] = {
        "id": memory.id,
        "name": name_of(memory),
        "type": kind_label(memory),
        "observations": list[Json](statements_at(memory, now)),
        "compression": compression,
        "version": memory.version,
        "branch": branch,
        "created": naive_iso(memory.created_at),
        "accessed": naive_iso(memory.last_accessed or memory.created_at),
        "access_count": memory.access_count,
        "relevance_score": relevance_at(memory, now),
        # As it was set, before it fell with time.
        "stored_score": memory.relevance,
        "always_include": memory.pinned,
        "tier": memory.tier.value,
        "last_confirmed": naive_iso(memory.last_confirmed or memory.created_at),
    }
    mark = mark_of_all(memory)
    return fields | {"mark": mark} if mark else fields


def statements_at(memory: Memory, at: datetime) -> list[str]:
    """Return the content, if any, and the observations that are valid at a moment."""
    content = [memory.content] if memory.content.strip() else []
    return [*content, *(observation.text for observation in memory.current_observations(at))]


def conflict_json(conflict: ConflictDetails) -> dict[str, Json]:
    """Return a conflict with the fields of the dialect's table, and the statements of both sides."""
    fields: dict[str, Json] = {
        "conflict_id": conflict.id,
        "entity_id": conflict.memory.id,
        "conflicting_entity_id": conflict.other.id,
        "conflict_type": conflict.type.value,
        "confidence": conflict.confidence,
        "suggested_action": conflict.suggested_action.value,
        "resolution_status": conflict.status.value,
        "detected_at": naive_iso(conflict.detected_at),
        "entity": _side(conflict.memory),
        "conflicting_entity": _side(conflict.other),
        "differs": list[Json](conflict.differs),
    }
    if conflict.status is not ConflictStatus.PENDING:
        fields |= {
            "resolved_at": naive_iso(conflict.resolved_at) if conflict.resolved_at else "",
            "resolution_notes": conflict.notes,
            "strategy": conflict.strategy.value if conflict.strategy else "",
        }
    return fields


def naive_iso(moment: datetime) -> str:
    """Return a moment in UTC without its zone, since clients of the dialect compare it with times without one."""
    in_utc = moment if moment.tzinfo is UTC else moment.astimezone(UTC)
    return in_utc.replace(tzinfo=None).isoformat()


def _side(side: ConflictSide) -> dict[str, Json]:
    fields: dict[str, Json] = {
        "id": side.id, "name": side.name, "statement": side.statement, "date": naive_iso(side.date),
    }  # fmt: skip
    return fields | {"mark": side.mark} if side.mark else fields
