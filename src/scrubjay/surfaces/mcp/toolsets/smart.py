"""`smart`: memories with title, content, type and tags; whether one is new or continues another is decided for it."""

from collections.abc import Mapping

from scrubjay.errors import InvalidInput
from scrubjay.model.memory import Json, Memory, Method
from scrubjay.model.results import Hit
from scrubjay.surfaces.mcp.arguments import Given
from scrubjay.surfaces.mcp.tool import Answer, Tool, ToolContext
from scrubjay.surfaces.mcp.toolsets.render import fields_of, remembered, told
from scrubjay.surfaces.mcp.toolsets.schema import (
    FLAG,
    LIST,
    NUMBER,
    OBJECT,
    TEXT,
    TEXTS,
    WHOLE,
    choice,
    gives,
    least,
    says,
    takes,
)
from scrubjay.surfaces.mcp.toolsets.smart_duplicates import intelligence_detect_duplicates
from scrubjay.surfaces.mcp.toolsets.texts import PLENTY, Wording, tell_texts
from scrubjay.writing.validate import INTENTS

_RESULTS = 8
# What a memory's fields are called here, and what they are elsewhere.
_NAMES = {
    "title": "title", "content": "text", "type": "kind", "tags": "tags", "project": "project", "metadata": "metadata",
}  # fmt: skip


async def create_memory(context: ToolContext, arguments: Mapping[str, Json]) -> Answer:
    """Write a memory; what says the same as another becomes a part of that one, here too."""
    return await smart_write(context, arguments)


async def smart_write(context: ToolContext, arguments: Mapping[str, Json]) -> Answer:
    """Write a memory, as a new one or into that which it continues."""
    given = Given(arguments)
    done = await context.memory.remember(
        given.text("content"),
        title=given.text("title"),
        kind=given.text("type"),
        tags=given.texts("tags"),
        project=given.text("project", context.project),
        metadata=given.mapping("metadata"),
        session_hint=given.text("session_hint"),
        intent=given.text("intent", INTENTS[0]),
        source={"method": Method.AGENT.value},
        idempotency_key=given.text("idempotency_key"),
        dry_run=given.flag("dry_run"),
    )
    return remembered(done, tags=given.texts("tags"), dry_run=given.flag("dry_run"))


async def update_memory(context: ToolContext, arguments: Mapping[str, Json]) -> Answer:
    """Change fields of a memory."""
    given = Given(arguments)
    changes = given.only(_NAMES)
    if not changes:
        raise InvalidInput("say what to change", hint=f"Give one of {', '.join(_NAMES)}")
    done = await context.memory.revise(
        given.text("id"),
        add_observations=(),
        remove_observations=(),
        idempotency_key="",
        branch="",
        source={"method": Method.AGENT.value},
        message=given.text("message"),
        expected_version=given.whole("expected_version"),
        **{_NAMES[name]: value for name, value in changes.items()},
    )
    return told([f"{done.action}: {done.name}, now version {done.version}"], fields_of(done), done.warnings)


async def search_memories(context: ToolContext, arguments: Mapping[str, Json]) -> Answer:
    """The memories that best answer a question, of a type and with tags if those are given."""
    given = Given(arguments)
    count = given.whole("limit") or _RESULTS
    found = await context.memory.recall(
        given.text("query"),
        kind=given.text("type"),
        tags=given.texts("tags"),
        project=given.text("project"),
        since=given.text("since") or None,
        limit=count,
        max_tokens=PLENTY,
        detail="full",
    )
    # What is pinned is told with every answer; here only where there is a place left for it.
    return tell_texts(context, [*found.hits, *found.pinned][:count], _WORDING, is_more=bool(found.cursor))


def _described(_: Hit, memory: Memory) -> dict[str, Json]:
    return {
        "title": memory.label,
        "type": memory.kind,
        "tags": [*memory.tags],
        "project": memory.project,
        "flags": [*memory.flags],
    }


_WORDING = Wording(describe=_described, text="content")
_WRITTEN = gives(
    action=TEXT, id=TEXT, name=TEXT, version=WHOLE, merged_into=TEXT, similarity=NUMBER, similar=LIST, tags=LIST,
    warnings=LIST,
)  # fmt: skip
_SESSION = says(TEXT, "the same for all of one task")
_MEMORY = {
    "title": TEXT,
    "content": TEXT,
    "type": says(TEXT, "project, knowledge, reference, …"),
    "tags": TEXTS,
    "project": TEXT,
    "metadata": OBJECT,
}

TOOLS = (
    Tool(
        name="create_memory",
        title="Create a memory",
        description="Store what will matter in later sessions. Search first; what says the same is merged.",
        input=takes("title", "content", **_MEMORY, session_hint=_SESSION, idempotency_key=TEXT),
        output=_WRITTEN,
        call=create_memory,
    ),
    Tool(
        name="update_memory",
        title="Update a memory",
        description="Change a memory by id, name or title; older versions are kept.",
        input=takes("id", id=TEXT, **_MEMORY, message=TEXT, expected_version=WHOLE),
        output=gives(action=TEXT, id=TEXT, name=TEXT, version=WHOLE, warnings=LIST),
        call=update_memory,
    ),
    Tool(
        name="smart_write",
        title="Write smartly",
        description="Create a memory, or add to the one that it continues. intent new never merges; continue goes on "
        "with the memory of session_hint; auto decides.",
        input=takes(
            "title",
            "content",
            **_MEMORY,
            session_hint=_SESSION,
            intent=choice(*INTENTS),
            idempotency_key=TEXT,
            dry_run=FLAG,
        ),
        output=_WRITTEN,
        call=smart_write,
    ),
    Tool(
        name="search_memories",
        title="Search memories",
        description="The memories that best answer a query, by meaning and by words. Search before you write.",
        input=takes("query", query=TEXT, limit=least(1), type=TEXT, tags=TEXTS, project=TEXT, since=TEXT),
        output=gives(results=LIST),
        call=search_memories,
        reads=True,
    ),
    Tool(
        name="intelligence_detect_duplicates",
        title="Detect duplicates",
        description="Pairs of memories that say the same: of all, or those of one. merge makes one of each two where "
        "one of them says nothing else; it can be undone.",
        input=takes(
            id=says(TEXT, "id, name or title"),
            threshold=says({"type": "number", "minimum": 0, "maximum": 1}, "least confidence"),
            limit=least(1),
            merge=FLAG,
        ),
        output=gives(duplicates=LIST, count=WHOLE),
        call=intelligence_detect_duplicates,
    ),
)
