"""`core`: seven tools, the verbs of the memory. All that an agent needs, listed in as few tokens as can be."""

from scrubjay.surfaces.mcp.budget import LEAST_TOKENS
from scrubjay.surfaces.mcp.tool import Tool
from scrubjay.surfaces.mcp.toolsets import read, write
from scrubjay.surfaces.mcp.toolsets.filters import FILTERS, QUESTION_FILTERS
from scrubjay.surfaces.mcp.toolsets.schema import (
    FLAG,
    LIST,
    NUMBER,
    OBJECT,
    SIDES,
    TEXT,
    TEXTS,
    WHOLE,
    choice,
    gives,
    least,
    says,
    takes,
)
from scrubjay.writing.validate import INTENTS

_REMEMBER = Tool(
    name="remember",
    title="Remember",
    description="Store one durable fact, decision or preference. Recall first; revise what is there instead of "
    "repeating it.",
    input=takes(
        "text",
        text=TEXT,
        title=TEXT,
        kind=says(TEXT, "fact, preference, decision, …"),
        name=TEXT,
        entities=says(TEXTS, "whom or what it is about"),
        observations=TEXTS,
        tags=TEXTS,
        category=TEXT,
        project=TEXT,
        scope=TEXT,
        session_hint=says(TEXT, "the same for all of one task"),
        intent=choice(*INTENTS),
        pinned=FLAG,
        expires_at=TEXT,
        remind_at=TEXT,
        source=OBJECT,
        metadata=OBJECT,
        idempotency_key=TEXT,
        dry_run=FLAG,
    ),
    output=gives(action=TEXT, id=TEXT, version=WHOLE, merged_into=TEXT, conflicts=LIST),
    call=write.remember,
)

_RECALL = Tool(
    name="recall",
    title="Recall",
    description="Search the memory, before you answer and before you write. Without a query: the most recent.",
    input=takes(
        query=TEXT,
        limit=least(1),
        entity=TEXT,
        tags=TEXTS,
        since=TEXT,
        filters=QUESTION_FILTERS,
        around=says(least(0), "neighbours of each hit in its session"),
        detail=choice("concise", "full"),
        explain=FLAG,
        max_tokens=least(LEAST_TOKENS),
        cursor=TEXT,
    ),
    output=gives(hits=LIST, pinned=LIST, cursor=TEXT, degraded=LIST),
    call=read.recall,
    reads=True,
)

_READ = Tool(
    name="read",
    title="Read",
    description="Whole memories by id, name or title.",
    input=takes(
        "ids",
        ids=TEXTS,
        format=choice("markdown", "plain", "json"),
        version=WHOLE,
        branch=TEXT,
        as_of=TEXT,
        max_tokens=least(LEAST_TOKENS),
        cursor=TEXT,
    ),
    output=gives(memories=LIST, missing=LIST, cursor=TEXT),
    call=read.read,
    reads=True,
)

_REVISE = Tool(
    name="revise",
    title="Revise",
    description="Correct or extend a memory; older versions are kept. revert_to brings one back.",
    input=takes(
        "id",
        id=TEXT,
        text=TEXT,
        title=TEXT,
        name=TEXT,
        kind=TEXT,
        category=TEXT,
        project=TEXT,
        scope=TEXT,
        entity=TEXT,
        tags=TEXTS,
        add_observations=TEXTS,
        remove_observations=TEXTS,
        pinned=FLAG,
        expires_at=TEXT,
        remind_at=TEXT,
        metadata=OBJECT,
        message=TEXT,
        expected_version=WHOLE,
        revert_to=WHOLE,
        branch=TEXT,
    ),
    output=gives(action=TEXT, id=TEXT, version=WHOLE, conflicts=LIST),
    call=write.revise,
)

_FORGET = Tool(
    name="forget",
    title="Forget",
    description="Put memories into the trash, by ids or filters; restore takes them out again.",
    input=takes(ids=TEXTS, filters=FILTERS, group=FLAG, reason=TEXT, dry_run=FLAG, restore=FLAG),
    output=gives(done=LIST, count=WHOLE, missing=LIST),
    call=write.forget,
    destroys=True,
    repeatable=True,
)

_RELATE = Tool(
    name="relate",
    title="Relate",
    description="Link two memories, or remove a link.",
    input=takes(
        "source",
        "target",
        source=TEXT,
        target=TEXT,
        relation=TEXT,
        text=TEXT,
        strength=NUMBER,
        metadata=OBJECT,
        remove=FLAG,
    ),
    output=gives(action=TEXT, source=TEXT, target=TEXT),
    call=write.relate,
    repeatable=True,
)

_HISTORY = Tool(
    name="history",
    title="History",
    description="Versions of a memory, or how two differ.",
    input=takes("id", id=TEXT, limit=least(1), diff=says(SIDES, "versions or branches"), branch=TEXT, cursor=TEXT),
    output=gives(id=TEXT, versions=LIST, diff=LIST, cursor=TEXT),
    call=read.history,
    reads=True,
)

TOOLS = (_REMEMBER, _RECALL, _READ, _REVISE, _FORGET, _RELATE, _HISTORY)
