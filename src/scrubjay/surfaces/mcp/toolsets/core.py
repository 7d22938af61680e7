"""`core`: seven tools, the verbs of the memory: all that an agent needs, in a listing of few tokens."""

from scrubjay.surfaces.mcp.budget import MIN_TOKENS
from scrubjay.surfaces.mcp.tool import Tool
from scrubjay.surfaces.mcp.toolsets import read, write
from scrubjay.surfaces.mcp.toolsets.filters import FILTERS, QUESTION_FILTERS, QUESTION_NAMES
from scrubjay.surfaces.mcp.toolsets.schema import (
    FLAG,
    INTEGER,
    LIST,
    NUMBER,
    OBJECT,
    TEXT,
    TEXTS,
    VERSIONS,
    at_least,
    choice,
    described,
    input_schema,
    output_schema,
)
from scrubjay.writing.validate import INTENTS

_REMEMBER = Tool(
    name="remember",
    title="Remember",
    description="Store one durable fact, decision or preference. Recall first; revise what is there instead of "
    "repeating it.",
    input=input_schema(
        "text",
        text=TEXT,
        title=TEXT,
        kind=described(TEXT, "fact, preference, decision, …"),
        name=TEXT,
        entities=described(TEXTS, "who or what it is about"),
        observations=TEXTS,
        tags=TEXTS,
        category=TEXT,
        project=TEXT,
        scope=TEXT,
        session_hint=described(TEXT, "the same for a whole task"),
        intent=choice(*INTENTS),
        pinned=FLAG,
        expires_at=TEXT,
        remind_at=TEXT,
        source=OBJECT,
        metadata=OBJECT,
        idempotency_key=TEXT,
        dry_run=FLAG,
    ),
    output=output_schema(action=TEXT, id=TEXT, version=INTEGER, merged_into=TEXT, conflicts=LIST),
    call=write.remember,
    verbs={"remember": ""},
)

_RECALL = Tool(
    name="recall",
    title="Recall",
    description="Search the memory, before you answer and before you write. Without a query: the most recent.",
    input=input_schema(
        query=TEXT,
        limit=at_least(1),
        entity=TEXT,
        tags=TEXTS,
        since=TEXT,
        filters=QUESTION_FILTERS,
        around=described(at_least(0), "neighbours of each hit in its session"),
        detail=choice("concise", "full"),
        explain=FLAG,
        max_tokens=at_least(MIN_TOKENS),
        cursor=TEXT,
    ),
    output=output_schema(hits=LIST, pinned=LIST, cursor=TEXT, degraded=LIST),
    call=read.recall,
    read_only=True,
    names=QUESTION_NAMES,
    verbs={"recall": ""},
)

_READ = Tool(
    name="read",
    title="Read",
    description="Whole memories by id, name or title.",
    input=input_schema(
        "ids",
        ids=TEXTS,
        format=choice("markdown", "plain", "json"),
        version=INTEGER,
        branch=TEXT,
        as_of=TEXT,
        max_tokens=at_least(MIN_TOKENS),
        cursor=TEXT,
    ),
    output=output_schema(memories=LIST, missing=LIST, cursor=TEXT),
    call=read.read,
    read_only=True,
    verbs={"read": ""},
)

_REVISE = Tool(
    name="revise",
    title="Revise",
    description="Correct or extend a memory; older versions are kept. revert_to brings one back.",
    input=input_schema(
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
        expected_version=INTEGER,
        revert_to=INTEGER,
        branch=TEXT,
    ),
    output=output_schema(action=TEXT, id=TEXT, version=INTEGER, conflicts=LIST),
    call=write.revise,
    names=write.REVISE_NAMES,
    verbs={"revise": "", "revert": "with revert_to"},
)

_FORGET = Tool(
    name="forget",
    title="Forget",
    description="Put memories into the trash, by ids or filters; restore takes them out again.",
    input=input_schema(ids=TEXTS, filters=FILTERS, group=FLAG, reason=TEXT, dry_run=FLAG, restore=FLAG),
    output=output_schema(done=LIST, count=INTEGER, missing=LIST),
    call=write.forget,
    names={"filter": "filters"},
    destructive=True,
    idempotent=True,
    verbs={"forget": "", "restore": "with restore"},
)

_RELATE = Tool(
    name="relate",
    title="Relate",
    description="Link two memories, or remove a link.",
    input=input_schema(
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
    output=output_schema(action=TEXT, source=TEXT, target=TEXT),
    call=write.relate,
    idempotent=True,
    verbs={"relate": "", "unrelate": "with remove"},
)

_HISTORY = Tool(
    name="history",
    title="History",
    description="Versions of a memory, or how two differ.",
    input=input_schema(
        "id", id=TEXT, limit=at_least(1), diff=described(VERSIONS, "versions or branches"), branch=TEXT, cursor=TEXT
    ),
    output=output_schema(id=TEXT, versions=LIST, diff=LIST, cursor=TEXT),
    call=read.history,
    read_only=True,
    verbs={"history": ""},
)

TOOLS = (_REMEMBER, _RECALL, _READ, _REVISE, _FORGET, _RELATE, _HISTORY)
