"""`core`: seven tools, the verbs of the memory: all that an agent needs, in a listing of few tokens."""

from scrubjay.model.requests import (
    ForgetRequest,
    HistoryRequest,
    ReadRequest,
    RecallRequest,
    RelateRequest,
    RememberManyRequest,
    RememberRequest,
    RestoreRequest,
    RevertRequest,
    ReviseRequest,
    UnrelateRequest,
)
from scrubjay.surfaces.mcp.budget import MIN_TOKENS
from scrubjay.surfaces.mcp.tool import Tool
from scrubjay.surfaces.mcp.toolsets import read, write
from scrubjay.surfaces.mcp.toolsets.filters import FILTERS, QUESTION_FILTERS, QUESTION_NAMES
from scrubjay.surfaces.mcp.toolsets.schema import (
    FLAG,
    INTEGER,
    LIST,
    TEXT,
    at_least,
    output_schema,
    verb_schema,
)

_REMEMBER = Tool(
    name="remember",
    title="Remember",
    description="Store a durable fact, decision or preference. Recall first; revise instead of repeating.",
    input=verb_schema(RememberRequest, RememberManyRequest, but=write.REMEMBER_UNLISTED),
    output=output_schema(action=TEXT, id=TEXT, version=INTEGER, merged_into=TEXT, conflicts=LIST),
    call=write.remember,
    verbs={"remember": "", "remember_many": "with items"},
    remark=(
        "Of many `items` those that can be stored are stored, and the answer names the others with what to correct. "
        "The other surfaces have `atomic` to store all or none: it is left out here, since an agent sends the "
        "corrected items again."
    ),
)

_RECALL = Tool(
    name="recall",
    title="Recall",
    description="Search before you answer or write. Without a query: the most recent.",
    input=verb_schema(RecallRequest, but=QUESTION_NAMES, filters=QUESTION_FILTERS, max_tokens=at_least(MIN_TOKENS)),
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
    input=verb_schema(ReadRequest, max_tokens=at_least(MIN_TOKENS), cursor=TEXT),
    output=output_schema(memories=LIST, missing=LIST, cursor=TEXT),
    call=read.read,
    read_only=True,
    verbs={"read": ""},
)

_REVISE = Tool(
    name="revise",
    title="Revise",
    description="Correct or extend a memory. settles: a conflict.",
    input=verb_schema(
        ReviseRequest, RevertRequest, but=(*write.REVISE_UNLISTED, "to"), revert_to=INTEGER, settles=TEXT
    ),
    output=output_schema(action=TEXT, id=TEXT, version=INTEGER, conflicts=LIST),
    call=write.revise,
    names=write.REVISE_NAMES,
    verbs={"revise": "", "revert": "with revert_to"},
)

_FORGET = Tool(
    name="forget",
    title="Forget",
    description="Put memories into the trash, by ids or filters; restore takes them out.",
    input=verb_schema(ForgetRequest, RestoreRequest, but=("filter", "branch"), filters=FILTERS, restore=FLAG),
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
    input=verb_schema(RelateRequest, UnrelateRequest, remove=FLAG),
    output=output_schema(action=TEXT, source=TEXT, target=TEXT),
    call=write.relate,
    idempotent=True,
    verbs={"relate": "", "unrelate": "with remove"},
)

_HISTORY = Tool(
    name="history",
    title="History",
    description="Versions of a memory, or how two differ.",
    input=verb_schema(HistoryRequest, but=("before",), cursor=TEXT),
    output=output_schema(id=TEXT, versions=LIST, diff=LIST, cursor=TEXT),
    call=read.history,
    read_only=True,
    verbs={"history": ""},
)

TOOLS = (_REMEMBER, _RECALL, _READ, _REVISE, _FORGET, _RELATE, _HISTORY)
