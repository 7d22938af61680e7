"""Facts and conflicts of the `enhanced` dialect: found, looked into, resolved."""

import hashlib
from collections.abc import Mapping
from typing import cast

from scrubjay.errors import InvalidInput, NotFound
from scrubjay.graph.entity import name_of
from scrubjay.graph.node_json import conflict_json, said_at
from scrubjay.graph.records import draft_for
from scrubjay.lookup.branches import branch_id
from scrubjay.model.conflict import Resolved
from scrubjay.model.fact import StoredFact
from scrubjay.model.memory import Json, Memory, Method
from scrubjay.surfaces.mcp.arguments import Given
from scrubjay.surfaces.mcp.tool import Answer, ToolContext
from scrubjay.surfaces.mcp.toolsets.enhanced_entities import attributed
from scrubjay.surfaces.mcp.toolsets.enhanced_results import failed, within_budget
from scrubjay.surfaces.mcp.toolsets.enhanced_versions import in_one_run
from scrubjay.text.slug import slug_of_first_words

_THRESHOLD = 0.5
_MOST = 50
_DIGITS = 6
_LEFT = "left_pending"
_TYPE = "fact"


async def auto_extract_facts(context: ToolContext, arguments: Mapping[str, Json]) -> Answer:
    """The facts of a conversation, each as an entity that can be handed on."""
    given = Given(arguments)
    stores = given.flag("auto_store") if "auto_store" in given else True
    session = given.text("session_id")
    # What an agent hands in may have come from anywhere.
    found = await context.memory.extract(
        given.text("conversation_text"), session=session, store=stores, project=context.project, trusted=False
    )
    # What is stored is called as memories are: by that name it can be asked for.
    stored = await context.engine.entities([fact.id for fact in found.facts if fact.id], who=context.who)
    facts: list[Json] = [_fact(fact, session=session, kept=stored.get(fact.id)) for fact in found.facts]
    told: dict[str, Json] = {
        "success": True,
        "facts": facts,
        "facts_extracted": len(facts),
        "facts_stored": sum(1 for fact in found.facts if fact.id),
        "session_id": found.session or session,
        "method": found.method,
        "turns": found.turns,
    }
    if found.warnings:
        told["warnings"] = list[Json](found.warnings)
    return within_budget(told, lists=("facts",))


async def detect_conflicts(context: ToolContext, arguments: Mapping[str, Json]) -> Answer:
    """What is stored and does not go with an entity, whether that is stored or not."""
    given = Given(arguments)
    entity, threshold = given.mapping("entity_data"), given.number("threshold", _THRESHOLD)
    known = await _stored(context, entity)
    if known is not None:
        told = await context.memory.conflicts(id=known.id, limit=_MOST)
        found: list[Json] = [conflict_json(one) for one in told if one.confidence >= threshold]
    else:
        record = _named(entity)
        (attributed_record,) = await attributed(context, [record])
        draft = draft_for(cast("dict[str, Json]", attributed_record), agent=context.who.agent)
        (told,) = await context.memory.probe_conflicts([draft], threshold=threshold)
        # Nothing is stored yet: what there is to be stored goes along.
        beside: dict[str, Json] = {"conflict_id": "", "entity_id": "", "entity_data": record}
        found = [conflict_json(one) | beside for one in told]
    return within_budget(
        {"success": True, "conflict_count": len(found), "threshold": threshold, "conflicts": found},
        lists=("conflicts",),
    )


async def resolve_conflict(context: ToolContext, arguments: Mapping[str, Json]) -> Answer:
    """Settle a conflict; an entity that it is about and that is not stored yet is stored first."""
    given = Given(arguments)
    conflict, strategy = given.mapping("conflict_data"), given.text("strategy", "auto")
    # All of it is undone together.
    context = in_one_run(context)
    conflict_id = str(conflict.get("conflict_id") or conflict.get("id") or "")
    stored: dict[str, Json] = {}
    if not conflict_id:
        stored = await _store(context, conflict)
        conflict_id = await _filed(context, conflict, stored)
        if not conflict_id:
            remark = "it is stored, and nothing that is there contradicts it now"
            return within_budget({"success": True, "action": "stored", "entity": stored, "note": remark})
    done = await context.memory.resolve_conflict(conflict_id, strategy=strategy)
    told = await _resolved(context, done)
    return within_budget(told | ({"entity": stored} if stored else {}))


async def _store(context: ToolContext, conflict: Mapping[str, Json]) -> dict[str, Json]:
    """Store the entity of a conflict that was only looked for; one that is there gets what it says besides."""
    entity = conflict.get("entity_data")
    if not isinstance(entity, dict):
        raise InvalidInput(
            "conflict_data names no conflict", hint="Give one of the conflicts of detect_conflicts as it is",
            field="conflict_data",
        )  # fmt: skip
    (record,) = await attributed(context, [_named(entity)])
    given = cast("dict[str, Json]", record)
    name = str(given["name"])
    if await context.engine.entity_named(name, who=context.who) is not None:
        kept = ("source_session", "extraction_method")
        changes = {"add_observations": given["observations"], **{one: given[one] for one in kept if one in given}}
        return await context.memory.update_entity(name, changes)
    answer = await context.memory.create_entities([given])
    results = cast("list[dict[str, Json]]", answer["results"])
    if not results:
        raise InvalidInput("; ".join(map(str, cast("list[Json]", answer["errors"]))), field="conflict_data.entity_data")
    return results[0]


async def _filed(context: ToolContext, conflict: Mapping[str, Json], stored: Mapping[str, Json]) -> str:
    """The id of the conflict that storing has brought with what was asked about; none where there is none any more."""
    filed = [cast("Mapping[str, Json]", one) for one in cast("list[Json]", stored.get("conflicts") or [])]
    if not filed:
        told = await context.memory.conflicts(id=str(stored["id"]), limit=_MOST)
        filed = [conflict_json(one) for one in told]
    asked = {str(conflict.get(name)) for name in ("conflicting_entity_id", "entity_id")} - {"", "None"}
    alike = [one for one in filed if asked & {str(one["conflicting_entity_id"]), str(one["entity_id"])}]
    same = [one for one in alike if one["conflict_type"] == conflict.get("conflict_type")]
    return next((str(one["conflict_id"]) for one in (*same, *alike)), "")


async def _resolved(context: ToolContext, done: Resolved) -> dict[str, Json]:
    told: dict[str, Json] = {
        "action": done.action,
        "conflict_id": done.conflict,
        "strategy": done.strategy.value,
        "why": done.why,
        "kept": done.kept,
        "changed": list[Json](done.changed),
        "run": done.run,
    }
    if done.warnings:
        told["warnings"] = list[Json](done.warnings)
    if done.action == _LEFT:
        hint = "Decide yourself: give merge, update, branch, supersede or ignore as strategy"
        return failed(done.why or "it was left pending", hint=hint) | told
    others = [one for one in done.changed if one != done.kept]
    memories = await context.engine.entities([done.kept, *others], who=context.who)
    kept, other = memories.get(done.kept), next((memories[other] for other in others if other in memories), None)
    if done.action == "merged":
        told["primary_entity"] = done.kept
        told["merged_entity"] = next(iter(others), "")
        told["total_observations"] = len(said_at(kept, context.engine.clock.now())) if kept else 0
    elif done.action == "updated_scores":
        # Two statements of one entity have its score.
        told["entity1_score"] = kept.relevance if kept else 0.0
        told["entity2_score"] = other.relevance if other else told["entity1_score"]
    elif done.action == "branched":
        told["entity_id"] = done.kept
        told["branch_name"] = done.branch
        told["branch_id"] = branch_id(done.kept, done.branch)
    return {"success": True, **told}


async def _stored(context: ToolContext, entity: Mapping[str, Json]) -> Memory | None:
    """The entity, if all that is given of it is stored."""
    ref = entity.get("id") or entity.get("name")
    if not isinstance(ref, str) or not ref:
        return None
    try:
        memory = await context.engine.entity(ref, who=context.who)
    except NotFound:
        if "observations" in entity:
            return None
        raise
    said = entity.get("observations")
    known = set(said_at(memory, context.engine.clock.now()))
    is_known = not isinstance(said, list) or {str(one) for one in said} <= known
    return memory if is_known else None


def _named(entity: Mapping[str, Json]) -> dict[str, Json]:
    """A record that can be stored: one without a name is called by its first words."""
    said = entity.get("observations")
    if not isinstance(said, list) or not all(isinstance(one, str) for one in said):
        raise InvalidInput(
            "entity_data needs observations, a list of texts", hint="Or the name of an entity that is stored",
            field="entity_data.observations",
        )  # fmt: skip
    words = "\n".join(map(str, said))
    return {
        **{name: value for name, value in entity.items() if name not in ("id", "action", "conflict", "conflicts")},
        "name": entity.get("name") or _name_for(words),
        "entityType": entity.get("entityType") or entity.get("type") or _TYPE,
    }


def _fact(stored: StoredFact, *, session: str, kept: Memory | None) -> dict[str, Json]:
    """A fact as an entity, with what is known of it besides."""
    fact = stored.fact
    beside: dict[str, Json] = {
        "speaker": fact.speaker, "subject": fact.subject, "turn": fact.turn, "confidence": fact.confidence,
    }  # fmt: skip
    told: dict[str, Json] = {
        "name": name_of(kept) if kept else _name_for(fact.statement, session, fact.turn),
        "entityType": fact.type.value,
        "observations": [fact.statement],
        "source_session": session,
        "extraction_method": Method.AUTO.value,
        "metadata": {name: value for name, value in beside.items() if value not in ("", None)},
        "type": fact.type.value,
        "statement": fact.statement,
        **beside,
    }
    if stored.action:
        told |= {"action": stored.action, "id": stored.id}
    if stored.conflicts:
        told["conflicts"] = [conflict_json(conflict) for conflict in stored.conflicts]
    return told


def _name_for(words: str, *more: str) -> str:
    """A name that the same words get again."""
    digest = hashlib.sha256("\n".join((words, *more)).encode("utf-8", "replace")).hexdigest()[:_DIGITS]
    return f"{slug_of_first_words(words) or _TYPE}-{digest}"
