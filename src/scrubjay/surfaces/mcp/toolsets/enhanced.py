"""`enhanced`: entities with versions, branches and conflicts, in a dialect that answers with `success` every time."""

from scrubjay.model.conflict import Strategy
from scrubjay.model.memory import Json
from scrubjay.surfaces.mcp.tool import Tool
from scrubjay.surfaces.mcp.toolsets import enhanced_conflicts, enhanced_entities, enhanced_versions
from scrubjay.surfaces.mcp.toolsets.enhanced_results import Call, refused
from scrubjay.surfaces.mcp.toolsets.schema import (
    FLAG,
    LIST,
    NUMBER,
    OBJECT,
    TEXT,
    WHOLE,
    choice,
    gives,
    least,
    says,
    takes,
)

_ENTITY = says(TEXT, "name or id")


def _gives(**properties: dict[str, Json]) -> dict[str, Json]:
    return gives(success=FLAG, error=TEXT, hint=TEXT, code=TEXT, note=TEXT, **properties)


def _tool(
    name: str,
    description: str,
    call: Call,
    *,
    input: dict[str, Json],
    output: dict[str, Json],
    reads: bool = False,
    repeatable: bool = False,
) -> Tool:
    return Tool(
        name=name, title=name.replace("_", " ").capitalize(), description=description, input=input, output=output,
        call=call, reads=reads, repeatable=repeatable, refuses=refused,
    )  # fmt: skip


TOOLS = (
    _tool(
        "create_entities",
        "Create entities, or update those whose names exist: their observations are replaced, and the version before "
        "is kept. What is wrong with one does not keep the others.",
        enhanced_entities.create_entities,
        input=takes(
            "entities",
            entities=says(
                {"type": "array", "items": {"type": "object"}},
                "each with name, entityType, observations (a list of texts); may have always_include, source_session, "
                "extraction_method (manual, auto, import), relevance_score (0 to 1), tags, metadata",
            ),
        ),
        output=_gives(results=LIST, errors=LIST),
        repeatable=True,
    ),
    _tool(
        "search_nodes",
        "Entities by name or type, as written or nearly, then by meaning. What is always included comes first. "
        "An empty query lists all, the most often read first.",
        enhanced_entities.search_nodes,
        input=takes("query", query=TEXT, limit=says(least(1), "default 10")),
        output=_gives(query=TEXT, count=WHOLE, results=LIST),
        reads=True,
    ),
    _tool(
        "update_entity",
        "Change fields of one entity; the version before is kept.",
        enhanced_entities.update_entity,
        input=takes(
            "entity",
            "updates",
            entity=_ENTITY,
            updates=says(
                OBJECT,
                "observations (replaces all), add_observations, remove_observations, entityType, name, always_include, "
                "relevance_score, tags, metadata, tier, source_session, extraction_method",
            ),
        ),
        output=_gives(id=TEXT, name=TEXT, action=TEXT, version=WHOLE, compression=NUMBER, conflicts=LIST),
        repeatable=True,
    ),
    _tool(
        "get_memory_status",
        "How many entities there are by type and tier, what they take up, and how many versions and branches.",
        enhanced_entities.get_memory_status,
        input=takes(),
        output=_gives(
            total_entities=WHOLE, by_type=OBJECT, by_tier=OBJECT, compression=OBJECT, versioning=OBJECT,
            database_size_mb=NUMBER,
        ),
        reads=True,
    ),
    _tool(
        "auto_extract_facts",
        "Find the facts of a conversation. Each is an entity that detect_conflicts and create_entities take as it is; "
        "auto_store (the default) stores them.",
        enhanced_conflicts.auto_extract_facts,
        input=takes("conversation_text", conversation_text=TEXT, session_id=TEXT, auto_store=FLAG),
        output=_gives(facts=LIST, facts_extracted=WHOLE, facts_stored=WHOLE, session_id=TEXT),
    ),
    _tool(
        "detect_conflicts",
        "What is stored and says the same, more, or something else than an entity: one that is stored (by name or id), "
        "or one that is not yet.",
        enhanced_conflicts.detect_conflicts,
        input=takes(
            "entity_data",
            entity_data=says(OBJECT, "as for create_entities, or name or id alone"),
            threshold=says({"type": "number", "minimum": 0, "maximum": 1}, "least confidence; default 0.5"),
        ),
        output=_gives(conflict_count=WHOLE, threshold=NUMBER, conflicts=LIST),
        reads=True,
    ),
    _tool(
        "resolve_conflict",
        "Settle a conflict of detect_conflicts, in a way that can be undone. An entity that is not stored is stored "
        "first.",
        enhanced_conflicts.resolve_conflict,
        input=takes(
            "conflict_data",
            conflict_data=says(OBJECT, "one of the conflicts as it was told, or its conflict_id"),
            strategy=choice(*Strategy),
        ),
        output=_gives(action=TEXT, conflict_id=TEXT, strategy=TEXT, why=TEXT, kept=TEXT, run=TEXT),
    ),
    _tool(
        "memory_commit",
        "Make a version of an entity as it is, with a message.",
        enhanced_versions.memory_commit,
        input=takes("entity_name", "message", entity_name=_ENTITY, message=TEXT),
        output=_gives(entity=TEXT, version_id=WHOLE, version=WHOLE, branch=TEXT),
    ),
    _tool(
        "memory_diff",
        "What differs between two versions of an entity.",
        enhanced_versions.memory_diff,
        input=takes(
            "entity_name", "version1", "version2", entity_name=_ENTITY, version1=least(1), version2=least(1)
        ),
        output=_gives(entity=TEXT, version1=OBJECT, version2=OBJECT, differences=OBJECT),
        reads=True,
    ),
    _tool(
        "memory_revert",
        "Bring back a version of an entity, as a new one.",
        enhanced_versions.memory_revert,
        input=takes("entity_name", "version", entity_name=_ENTITY, version=least(1)),
        output=_gives(entity=TEXT, reverted_to=WHOLE, version=WHOLE, branch=TEXT, conflicts=LIST),
    ),
    _tool(
        "memory_undo",
        "Take back your last change, or a run that resolve_conflict named; a conflict that it settled waits again.",
        enhanced_versions.memory_undo,
        input=takes(run=TEXT),
        output=_gives(run=TEXT, undone=LIST, skipped=LIST),
    ),
    _tool(
        "memory_branch",
        "Begin a branch of an entity and switch to it, or switch to one that there is; main is the first. What is "
        "done on a branch does not change main.",
        enhanced_versions.memory_branch,
        input=takes("entity_name", "branch_name", entity_name=_ENTITY, branch_name=TEXT, description=TEXT),
        output=_gives(entity=TEXT, branch_id=TEXT, branch_name=TEXT, created_from_version=WHOLE, version=WHOLE),
        repeatable=True,
    ),
    _tool(
        "memory_branches",
        "The branches of an entity, and the one that it is switched to.",
        enhanced_versions.memory_branches,
        input=takes("entity_name", entity_name=_ENTITY),
        output=_gives(entity=TEXT, current_branch=TEXT, branches=LIST),
        reads=True,
    ),
    _tool(
        "memory_merge_branch",
        "Bring what a branch of an entity has changed into main, or what main has into a branch. Where both have "
        "changed the same nothing is done, and clashes tells both.",
        enhanced_versions.memory_merge_branch,
        input=takes(
            "entity_name", "branch_name", entity_name=_ENTITY, branch_name=TEXT, into=says(TEXT, "default main"),
            prefer=says(choice("ours", "theirs"), "settles clashes: what into says, or what the branch says"),
            message=TEXT,
        ),
        output=_gives(
            entity=TEXT, action=TEXT, branch_name=TEXT, into=TEXT, version=WHOLE, clashes=LIST, conflicts=LIST,
            run=TEXT,
        ),
    ),
    _tool(
        "memory_drop_branch",
        "Put a branch of an entity into the trash; memory_undo with the run brings it back.",
        enhanced_versions.memory_drop_branch,
        input=takes("entity_name", "branch_name", entity_name=_ENTITY, branch_name=TEXT),
        output=_gives(entity=TEXT, branch_name=TEXT, current_branch=TEXT, branches=LIST, run=TEXT),
    ),
)  # fmt: skip
