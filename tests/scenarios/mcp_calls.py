"""Calls of every tool of every toolset over HTTP, and of the other MCP methods."""

from collections.abc import Callable
from functools import partial
from urllib.parse import quote

from scrubjay.model.memory import Json
from scrubjay.surfaces.mcp.prompts import PROMPTS
from scrubjay.surfaces.mcp.resources import TEMPLATE
from scrubjay.surfaces.mcp.toolsets import TOOLSETS
from tests.scenarios.rest_calls import program_for, skill_for
from tests.scenarios.tenant_data import CallInputs, HttpRequest, Operation

_Params = dict[str, Json]
_Arguments = Callable[[CallInputs], _Params]
RPC_HEADERS = {"content-type": "application/json"}
_INITIALIZE: _Params = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "t", "version": "0"},
}


def rpc(method: str, params: _Params, *, toolset: str = "core") -> HttpRequest:
    """Make a JSON-RPC request without a session."""
    message: Json = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
    return HttpRequest(method="POST", path=f"/mcp/{toolset}", headers=RPC_HEADERS, body=message)


def tool_call(tool: str, arguments: _Params, *, toolset: str = "core", run: str = "") -> HttpRequest:
    """Make a call of a tool."""
    params: _Params = {"name": tool, "arguments": arguments}
    meta: _Params = {"_meta": {"scrubjay/run": run}} if run else {}
    return rpc("tools/call", params | meta, toolset=toolset)


def _remember(inputs: CallInputs) -> _Params:
    words = inputs.words
    return {
        "text": inputs.text, "title": f"Title of {words[4]}", "name": inputs.name, "kind": words[5],
        "entities": [words[6]], "observations": [f"It was {words[7]}"], "tags": [words[8]], "category": words[9],
        "project": words[10], "scope": words[11], "source": {"session": words[8], "agent": words[9]},
        "metadata": {words[10]: words[11]}, "idempotency_key": inputs.key, "dry_run": inputs.every(7),
    }  # fmt: skip


def _recall(inputs: CallInputs) -> _Params:
    variants: dict[int, _Params] = {
        0: {"query": "the jay hid", "around": 2, "explain": True, "filters": {"contains": "jay"}, "max_tokens": 8_000},
        # What is cut would depend on the cost of ids, which are random.
        1: {"query": inputs.label, "detail": "full", "max_tokens": 8_000},
        2: {"filters": {"tags": [inputs.label], "metadata": {inputs.label: inputs.name}}},
        3: {"query": "the jay hid", "cursor": inputs.cursor},
        4: {"entity": inputs.label},
    }
    return {"limit": 2, **variants[inputs.number % 5]}


def _read(inputs: CallInputs) -> _Params:
    shown: _Params = {"version": 1} if inputs.every(3) else {"format": ("markdown", "plain", "json")[inputs.number % 3]}
    return {"ids": [inputs.ref], "max_tokens": 4000, **shown, **_continue(inputs, every=4)}


def _continue(inputs: CallInputs, *, every: int) -> _Params:
    """Use a cursor in some of the calls."""
    return {"cursor": inputs.cursor} if inputs.cursor and inputs.every(every) else {}


def _revise(inputs: CallInputs) -> _Params:
    words = inputs.words
    if inputs.every(3):
        return {"id": inputs.ref, "revert_to": 1, "message": words[4]}
    return {
        "id": inputs.ref, "title": f"Title of {words[4]}", "add_observations": [words[5]], "tags": [words[6]],
        "entity": words[7], "metadata": {words[8]: words[9]}, "message": words[10],
    }  # fmt: skip


def _forget(inputs: CallInputs) -> _Params:
    which: _Params = {"filters": {"tags": [inputs.label]}} if inputs.every(3) else {"ids": [inputs.ref]}
    return {**which, "reason": inputs.words[4], "restore": inputs.every(2), "dry_run": inputs.every(5)}


def _relate(inputs: CallInputs) -> _Params:
    edge: _Params = {"source": inputs.ref, "target": inputs.other}
    if inputs.every(3):
        return {**edge, "remove": True}
    return {
        **edge,
        "relation": inputs.words[4],
        "text": inputs.words[5],
        "metadata": {inputs.words[6]: inputs.words[7]},
    }


def _history(inputs: CallInputs) -> _Params:
    if inputs.every(2):
        return {"id": inputs.ref, "diff": [1, 1 + inputs.number % 3]}
    page: _Params = {"id": inputs.ref, "limit": 3}
    return page | _continue(inputs, every=3)


def _create_entities(inputs: CallInputs) -> _Params:
    words = inputs.words
    first: Json = {"name": inputs.name, "entityType": words[4], "observations": [inputs.text]}
    second: Json = {"name": f"Entity {words[5]}", "entityType": words[6], "observations": [words[7]]}
    return {"entities": [first, second]}


def _relations(inputs: CallInputs) -> _Params:
    target = inputs.name if inputs.every(2) else inputs.words[5]
    return {"relations": [{"from": inputs.label, "to": target, "relationType": inputs.words[4]}]}


def _add_observations(inputs: CallInputs) -> _Params:
    return {"observations": [{"entityName": inputs.label, "contents": [inputs.words[4]]}]}


def _delete_observations(inputs: CallInputs) -> _Params:
    return {"deletions": [{"entityName": inputs.label, "observations": [inputs.name]}]}


def _search_nodes(inputs: CallInputs) -> _Params:
    page: _Params = {"query": inputs.label if inputs.every(2) else "the jay hid"}
    return page | _continue(inputs, every=3)


def _read_graph(inputs: CallInputs) -> _Params:
    return _continue(inputs, every=2)


def _item(inputs: CallInputs) -> _Params:
    return {"text": inputs.text, "metadata": {inputs.words[4]: inputs.words[5]}, **_user(inputs)}


def _items(inputs: CallInputs) -> _Params:
    return {"query": inputs.label if inputs.every(2) else "the jay hid", "k": 2, **_user(inputs)}


def _memory(inputs: CallInputs) -> _Params:
    words = inputs.words
    return {"title": f"Title of {words[4]}", "content": inputs.text, "type": words[5], "tags": [words[6]]}


def _smart_write(inputs: CallInputs) -> _Params:
    intent: _Params = {"session_hint": inputs.label, "intent": "continue"} if inputs.every(2) else {}
    return {**_memory(inputs), **intent, "dry_run": inputs.every(5)}


def _entity_memory(inputs: CallInputs) -> _Params:
    words = inputs.words
    return {"text": inputs.text, "memory_type": words[4], "scope": words[5], "project": words[6], "tags": [words[7]]}


def _user(inputs: CallInputs) -> _Params:
    return {"session_user_id": inputs.space} if inputs.space else {}


def _record(inputs: CallInputs) -> dict[str, Json]:
    words = inputs.words
    text: list[Json] = [inputs.text, f"It lives in {words[4]}"]
    return {
        "name": inputs.name, "entityType": words[5], "observations": text, "always_include": inputs.every(6),
        "source_session": words[6], "extraction_method": ("manual", "auto", "import")[inputs.number % 3],
        "tags": [words[7]], "metadata": {words[8]: words[9]},
    }  # fmt: skip


def _conversation(inputs: CallInputs) -> _Params:
    words = inputs.words
    text = f"user: I live in {words[4]} and I always drink {words[5]} tea.\nassistant: Noted."
    return {"conversation_text": text, "session_id": words[6], "auto_store": inputs.every(2)}


def _detect(inputs: CallInputs) -> _Params:
    return {"entity_data": {"name": inputs.label} if inputs.every(2) else _record(inputs), "threshold": 0.3}


def _conflict(inputs: CallInputs) -> _Params:
    stored: Json = {"conflict_id": inputs.ref}
    fresh: Json = {"entity_data": _record(inputs), "conflicting_entity_id": inputs.ref}
    return {
        "conflict_data": stored if inputs.every(2) else fresh,
        "strategy": "supersede" if inputs.every(3) else "auto",
    }


def _update_entity(inputs: CallInputs) -> _Params:
    changes: dict[str, Json] = {"add_observations": [inputs.words[4]], "source_session": inputs.words[5]}
    return {"entity": inputs.ref, "updates": changes | ({"name": inputs.name} if inputs.every(4) else {})}


def _branch_entity(inputs: CallInputs) -> _Params:
    name = "main" if inputs.every(3) else inputs.words[4]
    return {"entity_name": inputs.ref, "branch_name": name, "description": inputs.words[5]}


def _write_mem(inputs: CallInputs) -> _Params:
    words = inputs.words
    return {"title": f"Title of {words[4]}", "content": inputs.text, "tags": [words[5]], "category": words[6]}


def _search_mem(inputs: CallInputs) -> _Params:
    narrowed: _Params = {"tags": [inputs.label]} if inputs.every(3) else {"semantic": inputs.every(2)}
    return {"query": inputs.label if inputs.every(2) else "the jay hid", "limit": 2, **narrowed}


_TOOLS: dict[str, dict[str, _Arguments]] = {
    "core": {
        "remember": _remember,
        "recall": _recall,
        "read": _read,
        "revise": _revise,
        "forget": _forget,
        "relate": _relate,
        "history": _history,
    },
    "kg": {
        "create_entities": _create_entities,
        "create_relations": _relations,
        "add_observations": _add_observations,
        "delete_entities": lambda inputs: {"entityNames": [inputs.label]},
        "delete_observations": _delete_observations,
        "delete_relations": _relations,
        "read_graph": _read_graph,
        "search_nodes": _search_nodes,
        "open_nodes": lambda inputs: {"names": [inputs.label, inputs.name]},
    },
    "enhanced": {
        "create_entities": lambda inputs: {"entities": [_record(inputs), {}] if inputs.every(5) else [_record(inputs)]},
        # By a unique name: several matches are ordered by their reads, which are counted with a delay.
        "search_nodes": lambda inputs: {"query": inputs.label if inputs.every(2) else inputs.name, "limit": 3},
        "update_entity": _update_entity,
        "execute_code": lambda inputs: {"code": program_for(inputs)},
        "get_memory_status": lambda _: {},
        "auto_extract_facts": _conversation,
        "detect_conflicts": _detect,
        "resolve_conflict": _conflict,
        "memory_commit": lambda inputs: {"entity_name": inputs.ref, "message": inputs.words[4]},
        "memory_confirm": lambda inputs: {"entity_name": inputs.ref},
        "memory_diff": lambda inputs: {"entity_name": inputs.ref, "version1": 1, "version2": 1 + inputs.number % 3},
        "memory_revert": lambda inputs: {"entity_name": inputs.ref, "version": 1},
        "memory_branch": _branch_entity,
        "memory_branches": lambda inputs: {"entity_name": inputs.ref},
        "memory_merge_branch": lambda inputs: {"entity_name": inputs.ref, "branch_name": inputs.words[4]},
        "memory_drop_branch": lambda inputs: {"entity_name": inputs.ref, "branch_name": inputs.words[4]},
        "memory_undo": lambda inputs: {} if inputs.every(3) else {"run": inputs.run},
    },
    "items": {
        "memory_store": _item,
        "memory_recall": _items,
        "memory_prune": lambda inputs: {"days": 90, "clusters": inputs.every(3), "dry_run": inputs.every(2)},
    },
    "entities": {
        "store_memory": lambda inputs: {**_entity_memory(inputs), "entity": inputs.words[8]},
        "store_multi_entity_memory": lambda inputs: {
            **_entity_memory(inputs),
            "entities": [inputs.words[8], inputs.words[9]],
        },
        "search_memory": lambda inputs: {"query": "the jay hid", "entity": inputs.label, "limit": 2},
    },
    "code": {
        "run_code": lambda inputs: {"code": program_for(inputs)},
        "save_skill": skill_for,
        "list_skills": lambda inputs: {"query": inputs.label if inputs.every(2) else "", "limit": 5},
        "run_skill": lambda inputs: {"name": inputs.ref},
    },
    "curation": {
        "confirm": lambda inputs: {"ids": [inputs.ref], "reason": inputs.words[4]},
        # So few that nothing is cut: what is depends on the cost of ids, which are random.
        "related": lambda inputs: {"id": inputs.ref, "suggest": 5},
        "due": lambda inputs: {"by": "2030-01-01T00:00:00Z"} if inputs.every(2) else {},
        "usage": lambda _: {"limit": 4},
        "health": lambda _: {"days": 4},
        # So few that nothing is cut: what is depends on the cost of names, which may end with digits of random ids.
        "summarize": lambda inputs: (
            {"tags": [inputs.label]} if inputs.every(2) else {"since": "2000-01-01T00:00:00Z", "limit": 5}
        ),
        "curate": lambda inputs: (
            {"undo": inputs.ref}
            if inputs.every(4)
            else {"last": True}
            if inputs.every(3)
            else {"jobs": ["tiers"], "dry_run": inputs.every(2), "limit": 5}
        ),
    },
    # Room for everything: what is cut depends on the cost of ids, which are random.
    "session": {
        "session_context": lambda inputs: {
            "max_tokens": 8_000,
            **({"project": inputs.label} if inputs.every(2) else {}),
        }
    },
    "smart": {
        "create_memory": _memory,
        "update_memory": lambda inputs: {"id": inputs.ref, **_memory(inputs), "message": inputs.words[7]},
        "smart_write": _smart_write,
        "search_memories": lambda inputs: {"query": "the jay hid", "tags": [inputs.label], "limit": 2},
        "intelligence_detect_duplicates": lambda inputs: {"id": inputs.ref, "merge": inputs.every(3)},
    },
    "notes": {
        "write_mem": _write_mem,
        "read_mem": lambda inputs: {
            "identifier": inputs.ref,
            "format": ("markdown", "plain", "json")[inputs.number % 3],
        },
        "edit_mem": lambda inputs: {"id": inputs.ref, "tags": [inputs.words[4]], "category": inputs.words[5]},
        "search_mem": _search_mem,
        "link_mem": lambda inputs: {"source_id": inputs.ref, "target_id": inputs.other, "link_text": inputs.words[4]},
        "unlink_mem": lambda inputs: {"source_id": inputs.ref, "target_id": inputs.other},
        "get_current_date": lambda _: {"format": "date_only"},
    },
}


def _call_tool(toolset: str, tool: str, arguments: _Arguments, inputs: CallInputs) -> HttpRequest:
    return tool_call(tool, arguments(inputs), toolset=toolset, run=inputs.run)


# The programs and skills of the tests only read.
READERS = frozenset(
    tool.name
    for tools in TOOLSETS.values()
    for tool in tools
    if tool.read_only or {"run_code", "run_skill"}.intersection(tool.verbs)
)
TOOLS: tuple[Operation, ...] = tuple(
    Operation(name=f"{toolset}/{tool}", make=partial(_call_tool, toolset, tool, arguments), writes=tool not in READERS)
    for toolset, tools in _TOOLS.items()
    for tool, arguments in tools.items()
)


def _resources(inputs: CallInputs) -> HttpRequest:
    return rpc("resources/list", _continue(inputs, every=2), toolset="kg" if inputs.every(3) else "core")


def _resource(inputs: CallInputs) -> HttpRequest:
    if inputs.every(7) and not inputs.space:
        return rpc("resources/read", {"uri": "memory://session-context"}, toolset="session")
    if inputs.every(5) and not inputs.space:
        return rpc("resources/read", {"uri": "memory://knowledge-graph"}, toolset="kg")
    return rpc("resources/read", {"uri": uri_of(inputs.space or inputs.home, inputs.ref)})


def uri_of(space: str, ref: str) -> str:
    """Return the URI of a memory."""
    return f"memory://{quote(space, safe='')}/{quote(ref, safe='')}"


def _prompt(inputs: CallInputs) -> HttpRequest:
    name = tuple(PROMPTS)[inputs.number % len(PROMPTS)]
    arguments: _Params = dict.fromkeys(PROMPTS[name].arguments, inputs.label)
    return rpc("prompts/get", {"name": name, "arguments": arguments})


def _completion(inputs: CallInputs) -> HttpRequest:
    template: Json = {"type": "ref/resource", "uri": TEMPLATE}
    prompt: Json = {"type": "ref/prompt", "name": "what_do_you_know_about"}
    care: Json = {"type": "ref/prompt", "name": "write_with_care"}
    ref, name = (
        (template, "name"),
        (template, "space"),
        (prompt, "topic"),
        (care, "project"),
    )[inputs.number % 4]
    # A prefix of all words, a prefix of one tenant's words, or an empty text.
    value = (inputs.space or inputs.label)[: (0, 3, 8, 100)[inputs.number // 4 % 4]]
    return rpc("completion/complete", {"ref": ref, "argument": {"name": name, "value": value}})


def _always(method: str, params: _Params) -> Callable[[CallInputs], HttpRequest]:
    return lambda _: rpc(method, params)


METHODS: tuple[Operation, ...] = (
    Operation(name="resources/list", make=_resources),
    Operation(name="resources/read", make=_resource),
    Operation(name="prompts/get", make=_prompt),
    Operation(name="completion/complete", make=_completion),
)
"""Methods about memories besides tools; other tests cover the streams of changes."""

SAME_FOR_ALL: tuple[Operation, ...] = (
    Operation(name="initialize", make=_always("initialize", _INITIALIZE)),
    Operation(name="ping", make=_always("ping", {})),
    Operation(name="tools/list", make=_always("tools/list", {})),
    Operation(name="prompts/list", make=_always("prompts/list", {})),
    Operation(name="resources/templates/list", make=_always("resources/templates/list", {})),
)
"""Methods whose answers do not depend on a space."""
