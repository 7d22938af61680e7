"""Entities of the `enhanced` toolset: create, search and change them, extract facts, find and resolve conflicts."""

from collections.abc import Mapping
from typing import cast

from scrubjay.errors import InvalidInput, NotFound, WrongState
from scrubjay.graph.entity import name_of
from scrubjay.graph.node_json import conflict_json, statements_at
from scrubjay.graph.records import draft_for
from scrubjay.graph.status import restrict_to_space
from scrubjay.lookup.branches import branch_id
from scrubjay.model.conflict import Resolved
from scrubjay.model.fact import StoredFact
from scrubjay.model.labels import NOTICE
from scrubjay.model.memory import Json, Memory, Method
from scrubjay.model.requests import ResolveConflictRequest
from scrubjay.surfaces.mcp.arguments import Arguments
from scrubjay.surfaces.mcp.budget import compact_json
from scrubjay.surfaces.mcp.cursors import pack, unpack
from scrubjay.surfaces.mcp.tool import ToolContext, ToolResult
from scrubjay.surfaces.mcp.toolsets.enhanced_results import failure_fields, fits, page_of, within_budget
from scrubjay.surfaces.mcp.toolsets.enhanced_versions import in_one_run
from scrubjay.text.slug import name_of_statement

EXTRACT_NAMES = {"text": "conversation_text", "session": "session_id", "store": "auto_store"}
_RESULTS = 10
_PINNED = "always included"
_SHORTENED = "shortened; detect_conflicts lists the conflicts of one entity"
_BRIEF = ("id", "name", "action", "version", "warnings")
_MINIMAL = ("id", "name", "action")
_THRESHOLD = 0.5
_MAX_CONFLICTS = 1_000
_LEFT_PENDING = "left_pending"
_FACT = "fact"


async def create_entities(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Create or update entities by name."""
    records = await _mark_agent(context, cast("list[Json]", arguments["entities"]))
    done = await context.memory.create_entities([cast("dict[str, Json]", record) for record in records])
    return render_created(done)


def render_created(done: Mapping[str, Json]) -> ToolResult:
    """Return the outcome for all entities: the ids of all matter more than the details of some."""
    results = cast("list[dict[str, Json]]", done["results"])
    for shorten in (_with_conflict_ids, _with_conflict_count, _minimal):
        if fits(done):
            break
        results = [shorten(result) for result in results]
        done = {**done, "results": list[Json](results), "note": _SHORTENED}
    return within_budget(done, lists=("errors", "results"))


async def search_nodes(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Return entities by name and type, and by meaning."""
    args = Arguments(arguments)
    fields = await context.memory.search_nodes(args.text("query"), limit=args.integer("limit") or _RESULTS)
    results = cast("list[Json]", fields["results"])
    pinned = cast("int", fields.pop("always_included", 0))
    start = max(0, int(unpack(args.text("cursor"), int)[0])) if args.text("cursor") else 0
    first, matches = [] if start else results[:pinned], results[pinned:]
    # Always-included entities take at most half of the room: they never displace the matches.
    parts = {**fields, _PINNED: first, "results": matches[start:]}
    shown = dict(within_budget(parts, lists=(_PINNED, "results"), half=_PINNED if matches else "").structured)
    end = start + len(cast("list[Json]", shown["results"]))
    if end < len(matches):
        shown["cursor"] = pack(end)
    if results:
        # Before the note about cuts, if there is one.
        shown["note"] = "; ".join(filter(None, (f"observations are {NOTICE}", str(shown.get("note") or ""))))
    shown["results"] = [*cast("list[Json]", shown.pop(_PINNED)), *cast("list[Json]", shown["results"])]
    return ToolResult(structured=shown)


async def update_entity(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Change fields of an entity."""
    (changes,) = await _mark_agent(context, [Arguments(arguments).mapping("updates")])
    done = await context.memory.update_entity(str(arguments["entity"]), cast("dict[str, Json]", changes))
    return within_budget(done, lists=("conflicts", "warnings"))


async def get_memory_status(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Return counts and sizes."""
    del arguments
    status = await context.memory.get_memory_status()
    return within_budget(status if context.grant.allows_all_spaces else restrict_to_space(status))


async def auto_extract_facts(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Return the facts of a conversation, each as an entity that other tools accept."""
    args = Arguments(arguments, EXTRACT_NAMES)
    stores = args.flag("store") if "store" in args else True
    session = args.text("session")
    # The text of an agent may come from anywhere, so it is not trusted.
    extracted = await context.memory.extract(
        args.text("text"), session=session, store=stores, project=context.project, trusted=False
    )
    # A stored fact has the name of its memory, so that the caller can ask for it by that name.
    stored = await context.engine.entities([fact.id for fact in extracted.facts if fact.id], who=context.who)
    facts: list[Json] = [_fact_fields(fact, session=session, memory=stored.get(fact.id)) for fact in extracted.facts]
    fields: dict[str, Json] = {
        "success": True,
        "facts": facts,
        "facts_extracted": len(facts),
        "facts_stored": sum(1 for fact in extracted.facts if fact.id),
        "session_id": extracted.session or session,
        "method": extracted.method,
        "turns": extracted.turns,
    }
    if extracted.warnings:
        fields["warnings"] = list[Json](extracted.warnings)
    return page_of(fields, lists=("facts",), cursor=args.text("cursor"), of=args.text("text"))


async def detect_conflicts(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Return the conflicts of an entity, whether it is stored or not."""
    args = Arguments(arguments)
    entity, threshold = args.mapping("entity_data"), args.number("threshold", _THRESHOLD)
    memory = await _stored_entity(context, entity)
    if memory is not None:
        details = await context.memory.conflicts(id=memory.id, limit=_MAX_CONFLICTS)
        conflicts: list[Json] = [conflict_json(detail) for detail in details if detail.confidence >= threshold]
    else:
        record = _complete_record(entity)
        (marked,) = await _mark_agent(context, [record])
        draft = draft_for(cast("dict[str, Json]", marked), agent=context.who.agent)
        (details,) = await context.memory.probe_conflicts([draft], threshold=threshold)
        # The entity is not stored: its record goes along, so that resolve_conflict can store it.
        unstored: dict[str, Json] = {"conflict_id": "", "entity_id": "", "entity_data": record}
        conflicts = [conflict_json(detail) | unstored for detail in details]
    fields: dict[str, Json] = {"success": True, "conflict_count": len(conflicts), "threshold": threshold}
    return page_of(
        {**fields, "conflicts": conflicts},
        lists=("conflicts",),
        cursor=args.text("cursor"),
        of=compact_json(dict(entity)),
    )


async def resolve_conflict(context: ToolContext, arguments: Mapping[str, Json]) -> ToolResult:
    """Resolve a conflict; store its entity first if that is new."""
    args = Arguments(arguments)
    conflict, strategy = args.mapping("conflict_data"), args.text("strategy", "auto")
    # One run, so that one undo reverts all of it.
    context = in_one_run(context)
    conflict_id = str(conflict.get("conflict_id") or conflict.get("id") or "")
    stored: dict[str, Json] = {}
    if not conflict_id:
        stored = await _store_entity(context, conflict)
        conflict_id = await _find_conflict_id(context, conflict, stored)
        if not conflict_id:
            remark = "the entity is stored, and no memory contradicts it now"
            return within_budget({"success": True, "action": "stored", "entity": stored, "note": remark})
    try:
        done = await context.memory.call(ResolveConflictRequest.of(id=conflict_id, strategy=strategy))
    except WrongState as error:
        if not stored:
            raise
        # It says that the fact has changed, and took effect when it was stored.
        return within_budget({"success": True, "action": "stored", "entity": stored, "note": str(error)})
    fields = await _resolved_fields(context, done)
    return within_budget(fields | ({"entity": stored} if stored else {}))


def _with_conflict_ids(result: dict[str, Json]) -> dict[str, Json]:
    """Return the outcome for an entity with its conflicts by id."""
    fields = {name: value for name, value in result.items() if name != "conflicts"}
    if conflicts := cast("list[dict[str, Json]]", result.get("conflicts") or []):
        fields["conflict_ids"] = [conflict["conflict_id"] for conflict in conflicts]
    return fields


def _with_conflict_count(result: dict[str, Json]) -> dict[str, Json]:
    """Return the outcome for an entity in a few fields, with the number of its conflicts."""
    fields = {name: value for name, value in result.items() if name in _BRIEF}
    if conflicts := cast("list[Json]", result.get("conflict_ids") or []):
        fields["conflict_count"] = len(conflicts)
    return fields


def _minimal(result: dict[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in result.items() if name in _MINIMAL}


async def _mark_agent(context: ToolContext, records: list[Json]) -> list[Json]:
    """Mark records as an agent's: it may not claim `manual`, nor use `import` to avoid a review."""
    is_reviewed = (await context.memory.rules()).review != "none"
    replaced = (None, Method.MANUAL.value, *((Method.IMPORT.value,) if is_reviewed else ()))
    return [
        {**record, "extraction_method": Method.AGENT.value}
        if isinstance(record, dict) and record.get("extraction_method") in replaced
        else record
        for record in records
    ]


async def _store_entity(context: ToolContext, conflict: Mapping[str, Json]) -> dict[str, Json]:
    """Store the entity of a probed conflict; add its observations if an entity of that name exists."""
    entity = conflict.get("entity_data")
    if not isinstance(entity, dict):
        raise InvalidInput(
            "conflict_data names no conflict",
            hint="Give one of the conflicts of detect_conflicts unchanged",
            field="conflict_data",
        )
    (marked,) = await _mark_agent(context, [_complete_record(entity)])
    record = cast("dict[str, Json]", marked)
    name = str(record["name"])
    if await context.engine.entity_named(name, who=context.who) is not None:
        source = {field: record[field] for field in ("source_session", "extraction_method") if field in record}
        return await context.memory.update_entity(name, {"add_observations": record["observations"], **source})
    done = await context.memory.create_entities([record])
    results = cast("list[dict[str, Json]]", done["results"])
    if not results:
        raise InvalidInput("; ".join(map(str, cast("list[Json]", done["errors"]))), field="conflict_data.entity_data")
    return results[0]


async def _find_conflict_id(context: ToolContext, conflict: Mapping[str, Json], stored: Mapping[str, Json]) -> str:
    """Return the id that a probed conflict got when its entity was stored; empty if the conflict is gone."""
    conflicts = [cast("Mapping[str, Json]", item) for item in cast("list[Json]", stored.get("conflicts") or [])]
    if not conflicts:
        details = await context.memory.conflicts(id=str(stored["id"]), limit=_MAX_CONFLICTS)
        conflicts = [conflict_json(detail) for detail in details]
    ids = {str(conflict.get(name)) for name in ("conflicting_entity_id", "entity_id")} - {"", "None"}
    matches = [match for match in conflicts if ids & {str(match["conflicting_entity_id"]), str(match["entity_id"])}]
    same_type = [match for match in matches if match["conflict_type"] == conflict.get("conflict_type")]
    return next((str(match["conflict_id"]) for match in (*same_type, *matches)), "")


async def _resolved_fields(context: ToolContext, done: Resolved) -> dict[str, Json]:
    fields: dict[str, Json] = {
        "action": done.action,
        "conflict_id": done.conflict,
        "strategy": done.strategy.value,
        "why": done.why,
        "kept": done.kept,
        "changed": list[Json](done.changed),
        "run": done.run,
    }
    if done.warnings:
        fields["warnings"] = list[Json](done.warnings)
    if done.action == _LEFT_PENDING:
        hint = "Decide yourself: give merge, update, branch, supersede or ignore as strategy"
        return failure_fields(done.why or "it was left pending", hint=hint) | fields
    others = [id_ for id_ in done.changed if id_ != done.kept]
    memories = await context.engine.entities([done.kept, *others], who=context.who)
    primary, other = memories.get(done.kept), next((memories[id_] for id_ in others if id_ in memories), None)
    if done.action == "merged":
        fields["primary_entity"] = done.kept
        fields["merged_entity"] = next(iter(others), "")
        fields["total_observations"] = len(statements_at(primary, context.engine.clock.now())) if primary else 0
    elif done.action == "updated_scores":
        # Two statements of one entity share its score.
        fields["entity1_score"] = primary.relevance if primary else 0.0
        fields["entity2_score"] = other.relevance if other else fields["entity1_score"]
    elif done.action == "branched":
        fields["entity_id"] = done.kept
        fields["branch_name"] = done.branch
        fields["branch_id"] = branch_id(done.kept, done.branch)
    return {"success": True, **fields}


async def _stored_entity(context: ToolContext, entity: Mapping[str, Json]) -> Memory | None:
    """Return the stored entity if it has all observations of the record."""
    ref = entity.get("id") or entity.get("name")
    if not isinstance(ref, str) or not ref:
        return None
    try:
        memory = await context.engine.entity(ref, who=context.who)
    except NotFound:
        if "observations" in entity:
            return None
        raise
    observations = entity.get("observations")
    stored = set(statements_at(memory, context.engine.clock.now()))
    is_stored = not isinstance(observations, list) or {str(text) for text in observations} <= stored
    return memory if is_stored else None


def _complete_record(entity: Mapping[str, Json]) -> dict[str, Json]:
    """Return a record that can be stored; its first words name it if it has no name."""
    observations = entity.get("observations")
    if not isinstance(observations, list) or not all(isinstance(text, str) for text in observations):
        raise InvalidInput(
            "entity_data needs observations, a list of texts",
            hint="Or give the name of a stored entity",
            field="entity_data.observations",
        )
    text = "\n".join(map(str, observations))
    return {
        **{name: value for name, value in entity.items() if name not in ("id", "action", "conflict", "conflicts")},
        "name": entity.get("name") or name_of_statement(text),
        "entityType": entity.get("entityType") or entity.get("type") or _FACT,
    }


def _fact_fields(stored: StoredFact, *, session: str, memory: Memory | None) -> dict[str, Json]:
    """Return a fact as an entity, with the details of its extraction."""
    fact = stored.fact
    details: dict[str, Json] = {
        "speaker": fact.speaker, "subject": fact.subject, "turn": fact.turn, "confidence": fact.confidence,
    }  # fmt: skip
    fields: dict[str, Json] = {
        "name": name_of(memory) if memory else name_of_statement(fact.statement),
        "entityType": fact.type.value,
        "observations": [fact.statement],
        "source_session": session,
        "extraction_method": Method.AUTO.value,
        "metadata": {name: value for name, value in details.items() if value not in ("", None)},
        "type": fact.type.value,
        "statement": fact.statement,
        **details,
    }
    if stored.action:
        fields |= {"action": stored.action, "id": stored.id}
    if stored.conflicts:
        fields["conflicts"] = [conflict_json(conflict) for conflict in stored.conflicts]
    return fields
