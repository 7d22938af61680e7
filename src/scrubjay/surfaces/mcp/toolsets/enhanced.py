"""`enhanced`: entities with versions, branches and conflicts; every result has a `success` field."""

from collections.abc import Mapping

from scrubjay.graph.records import RECORD_FIELDS, RECORD_NAMES
from scrubjay.model.conflict import Strategy
from scrubjay.model.memory import Json
from scrubjay.surfaces.mcp.tool import Tool
from scrubjay.surfaces.mcp.toolsets import code, enhanced_entities, enhanced_versions
from scrubjay.surfaces.mcp.toolsets.enhanced_results import Call, error_result
from scrubjay.surfaces.mcp.toolsets.schema import (
    FLAG,
    INTEGER,
    LIST,
    NUMBER,
    OBJECT,
    TEXT,
    at_least,
    choice,
    described,
    input_schema,
    output_schema,
)

_ENTITY = described(TEXT, "name or id")


def _output(**properties: dict[str, Json]) -> dict[str, Json]:
    return output_schema(success=FLAG, error=TEXT, hint=TEXT, code=TEXT, field=TEXT, note=TEXT, **properties)


def _record_names(argument: str) -> dict[str, str]:
    """Return the names of a record's fields within an argument."""
    names = {name: name for name in RECORD_FIELDS} | RECORD_NAMES
    return {name: f"{argument}.{own}" for name, own in names.items()}


def _tool(
    name: str,
    description: str,
    call: Call,
    *,
    input: dict[str, Json],
    output: dict[str, Json],
    read_only: bool = False,
    idempotent: bool = False,
    names: Mapping[str, str] | None = None,
    verbs: Mapping[str, str] | None = None,
) -> Tool:
    return Tool(
        name=name, title=name.replace("_", " ").capitalize(), description=description, input=input, output=output,
        call=call, read_only=read_only, idempotent=idempotent, names=names or {}, verbs=verbs or {},
        on_error=error_result,
    )  # fmt: skip


TOOLS = (
    _tool(
        "create_entities",
        "Create entities, or update those whose names exist: their observations are replaced, and the version before "
        "is kept. An error in one does not stop the others.",
        enhanced_entities.create_entities,
        input=input_schema(
            "entities",
            entities=described(
                {"type": "array", "items": {"type": "object"}},
                "each with name, entityType, observations (a list of texts); may have always_include, source_session, "
                "extraction_method (manual, auto, import), relevance_score (0 to 1), tags, metadata",
            ),
        ),
        output=_output(results=LIST, errors=LIST),
        idempotent=True,
        verbs={"create_entities": "", "remember": ""},
    ),
    _tool(
        "search_nodes",
        "Entities by name or type, exact or similar, then by meaning. Always-included ones come first. "
        "An empty query lists all, the most often read first.",
        enhanced_entities.search_nodes,
        input=input_schema("query", query=TEXT, limit=described(at_least(1), "default 10"), cursor=TEXT),
        output=_output(query=TEXT, count=INTEGER, results=LIST, cursor=TEXT),
        read_only=True,
        verbs={"search_nodes": "", "recall": ""},
    ),
    _tool(
        "update_entity",
        "Change fields of one entity; the version before is kept.",
        enhanced_entities.update_entity,
        input=input_schema(
            "entity",
            "updates",
            entity=_ENTITY,
            updates=described(
                OBJECT,
                "observations (replaces all), add_observations, remove_observations, entityType, name, always_include, "
                "relevance_score, tags, metadata, tier, source_session, extraction_method",
            ),
        ),
        output=_output(id=TEXT, name=TEXT, action=TEXT, version=INTEGER, compression=NUMBER, conflicts=LIST),
        idempotent=True,
        names={"changes": "updates", **_record_names("updates")},
        verbs={"update_entity": "", "revise": ""},
    ),
    _tool(
        "get_memory_status",
        "Counts of entities by type and tier, their size, and counts of versions and branches.",
        enhanced_entities.get_memory_status,
        input=input_schema(),
        output=_output(
            total_entities=INTEGER, by_type=OBJECT, by_tier=OBJECT, compression=OBJECT, versioning=OBJECT,
            database_size_mb=NUMBER,
        ),
        read_only=True,
        verbs={"get_memory_status": "", "status": ""},
    ),
    _tool(
        "auto_extract_facts",
        "Find the facts of a conversation. Each is an entity that detect_conflicts and create_entities accept; "
        "auto_store (the default) stores them. If there is a cursor, the same call with it returns the further facts.",
        enhanced_entities.auto_extract_facts,
        input=input_schema("conversation_text", conversation_text=TEXT, session_id=TEXT, auto_store=FLAG, cursor=TEXT),
        output=_output(facts=LIST, facts_extracted=INTEGER, facts_stored=INTEGER, session_id=TEXT, cursor=TEXT),
        names=enhanced_entities.EXTRACT_NAMES,
        verbs={"extract": ""},
    ),
    _tool(
        "detect_conflicts",
        "Find stored memories that repeat, extend or contradict an entity: a stored one (by name or id), or a new one.",
        enhanced_entities.detect_conflicts,
        input=input_schema(
            "entity_data",
            entity_data=described(OBJECT, "as for create_entities, or name or id alone"),
            threshold=described({"type": "number", "minimum": 0, "maximum": 1}, "least confidence; default 0.5"),
            cursor=TEXT,
        ),
        output=_output(conflict_count=INTEGER, threshold=NUMBER, conflicts=LIST, cursor=TEXT),
        read_only=True,
        names=_record_names("entity_data"),
        verbs={"conflicts": ""},
    ),
    _tool(
        "resolve_conflict",
        "Resolve a conflict of detect_conflicts; this can be undone. A new entity is stored first.",
        enhanced_entities.resolve_conflict,
        input=input_schema(
            "conflict_data",
            conflict_data=described(OBJECT, "one of the conflicts unchanged, or its conflict_id"),
            strategy=choice(*Strategy),
        ),
        output=_output(action=TEXT, conflict_id=TEXT, strategy=TEXT, why=TEXT, kept=TEXT, run=TEXT),
        names={"conflict_id": "conflict_data.conflict_id", **_record_names("conflict_data.entity_data")},
        verbs={"resolve_conflict": ""},
    ),
    _tool(
        "memory_commit",
        "Give the current version of an entity a message; every change has made a version already.",
        enhanced_versions.memory_commit,
        input=input_schema("entity_name", "message", entity_name=_ENTITY, message=TEXT),
        output=_output(entity=TEXT, version_id=INTEGER, version=INTEGER, branch=TEXT),
        names=enhanced_versions.NAMES,
        verbs={"commit": ""},
    ),
    _tool(
        "memory_confirm",
        "Confirm that an entity still holds: its relevance_score, which falls with time, starts again.",
        enhanced_versions.memory_confirm,
        input=input_schema("entity_name", entity_name=_ENTITY),
        output=_output(entity=TEXT, version=INTEGER, relevance_score=NUMBER, last_confirmed=TEXT, run=TEXT),
        names=enhanced_versions.NAMES,
        verbs={"confirm": ""},
    ),
    _tool(
        "memory_diff",
        "The differences between two versions of an entity.",
        enhanced_versions.memory_diff,
        input=input_schema(
            "entity_name", "version1", "version2", entity_name=_ENTITY, version1=at_least(1), version2=at_least(1),
            cursor=TEXT,
        ),
        output=_output(entity=TEXT, version1=OBJECT, version2=OBJECT, differences=OBJECT, cursor=TEXT),
        read_only=True,
        names=enhanced_versions.NAMES,
    ),
    _tool(
        "memory_revert",
        "Restore a version of an entity, as a new one.",
        enhanced_versions.memory_revert,
        input=input_schema("entity_name", "version", entity_name=_ENTITY, version=at_least(1)),
        output=_output(entity=TEXT, reverted_to=INTEGER, version=INTEGER, branch=TEXT, conflicts=LIST),
        names=enhanced_versions.NAMES,
        verbs={"revert": ""},
    ),
    _tool(
        "memory_undo",
        "Undo your last change, or a run of resolve_conflict; its conflict is open again.",
        enhanced_versions.memory_undo,
        input=input_schema(run=TEXT),
        output=_output(run=TEXT, undone=LIST, skipped=LIST),
        verbs={"undo": ""},
    ),
    _tool(
        "memory_branch",
        "Create a branch of an entity and switch to it, or switch to an existing one; main is the first. Changes on "
        "a branch do not change main.",
        enhanced_versions.memory_branch,
        input=input_schema("entity_name", "branch_name", entity_name=_ENTITY, branch_name=TEXT, description=TEXT),
        output=_output(entity=TEXT, branch_id=TEXT, branch_name=TEXT, created_from_version=INTEGER, version=INTEGER),
        idempotent=True,
        names=enhanced_versions.NAMES,
        verbs={"branch": "", "switch": ""},
    ),
    _tool(
        "memory_branches",
        "The branches of an entity, and the current one.",
        enhanced_versions.memory_branches,
        input=input_schema("entity_name", entity_name=_ENTITY, cursor=TEXT),
        output=_output(entity=TEXT, current_branch=TEXT, branches=LIST, cursor=TEXT),
        read_only=True,
        names=enhanced_versions.NAMES,
        verbs={"branches": ""},
    ),
    _tool(
        "memory_merge_branch",
        "Merge a branch of an entity into main, or main into a branch. If both changed the same, nothing is merged "
        "and clashes lists both.",
        enhanced_versions.memory_merge_branch,
        input=input_schema(
            "entity_name", "branch_name", entity_name=_ENTITY, branch_name=TEXT, into=described(TEXT, "default main"),
            prefer=described(choice("ours", "theirs"), "settles clashes: keep into, or keep the branch"),
            message=TEXT,
        ),
        output=_output(
            entity=TEXT, action=TEXT, branch_name=TEXT, into=TEXT, version=INTEGER, clashes=LIST, conflicts=LIST,
            run=TEXT,
        ),
        names=enhanced_versions.NAMES,
        verbs={"merge_branch": ""},
    ),
    _tool(
        "memory_drop_branch",
        "Put a branch of an entity into the trash; memory_undo with the run restores it.",
        enhanced_versions.memory_drop_branch,
        input=input_schema("entity_name", "branch_name", entity_name=_ENTITY, branch_name=TEXT),
        output=_output(entity=TEXT, branch_name=TEXT, current_branch=TEXT, branches=LIST, run=TEXT),
        names=enhanced_versions.NAMES,
        verbs={"drop_branch": ""},
    ),
    _tool(
        "execute_code",
        code.ABOUT,
        code.execute_code,
        input=input_schema("code", code=TEXT, context_vars=described(OBJECT, "variables of the program")),
        output=_output(**code.OUTPUT),
        verbs={"run_code": ""},
    ),
)  # fmt: skip
