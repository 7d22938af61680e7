"""Entities and conflicts as this dialect spells them."""

from datetime import UTC, datetime

from scrubjay.graph.entity import entity_of
from scrubjay.model.conflict import ConflictDetails, ConflictSide, ConflictStatus
from scrubjay.model.memory import Json, Memory


def node_json(memory: Memory, *, compression: float, branch: str, now: datetime) -> dict[str, Json]:
    """An entity as `search_nodes` tells it: what it says now, without what was superseded."""
    entity = entity_of(memory)
    return {
        "id": memory.id,
        "name": entity.name,
        "type": entity.type,
        "observations": list[Json](said_at(memory, now)),
        "compression": compression,
        "version": memory.version,
        "branch": branch,
        "created": naive(memory.created_at),
        "accessed": naive(memory.last_accessed or memory.created_at),
        "access_count": memory.access_count,
        "relevance_score": memory.relevance,
        "always_include": memory.pinned,
        "tier": memory.tier.value,
        "last_confirmed": naive(memory.last_confirmed or memory.created_at),
    }


def said_at(memory: Memory, at: datetime) -> list[str]:
    """The content, if there is any, and the observations that hold at a moment."""
    content = [memory.content] if memory.content.strip() else []
    return [*content, *(one.text for one in memory.current_observations(at))]


def conflict_json(told: ConflictDetails) -> dict[str, Json]:
    """A conflict with the fields that the dialect's table has, and what both ends say."""
    found: dict[str, Json] = {
        "conflict_id": told.id,
        "entity_id": told.memory.id,
        "conflicting_entity_id": told.other.id,
        "conflict_type": told.type.value,
        "confidence": told.confidence,
        "suggested_action": told.suggested_action.value,
        "resolution_status": told.status.value,
        "detected_at": naive(told.detected_at),
        "entity": _side(told.memory),
        "conflicting_entity": _side(told.other),
        "differs": list[Json](told.differs),
    }
    if told.status is not ConflictStatus.PENDING:
        found |= {
            "resolved_at": naive(told.resolved_at) if told.resolved_at else "",
            "resolution_notes": told.notes,
            "strategy": told.strategy.value if told.strategy else "",
        }
    return found


def naive(moment: datetime) -> str:
    """A moment in UTC without its zone: the dialect compares it with times that have none."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat()


def _side(side: ConflictSide) -> dict[str, Json]:
    return {"id": side.id, "name": side.name, "statement": side.statement, "date": naive(side.date)}
