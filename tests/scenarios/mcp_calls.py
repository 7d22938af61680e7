"""Every tool of every toolset over HTTP, and whatever else agents ask for."""

from collections.abc import Callable
from functools import partial
from urllib.parse import quote

from scrubjay.model.memory import Json
from scrubjay.surfaces.mcp.prompts import PROMPTS
from scrubjay.surfaces.mcp.resources import TEMPLATE
from scrubjay.surfaces.mcp.toolsets import TOOLSETS
from tests.scenarios.tenant_data import Ask, Deed, Given

_Params = dict[str, Json]
_Arguments = Callable[[Given], _Params]
RPC_HEADERS = {"content-type": "application/json"}
_HELLO: _Params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}


def rpc(method: str, params: _Params, *, toolset: str = "core") -> Ask:
    """A request that stands alone."""
    message: Json = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
    return Ask(method="POST", path=f"/mcp/{toolset}", headers=RPC_HEADERS, body=message)


def tool_call(tool: str, arguments: _Params, *, toolset: str = "core", run: str = "") -> Ask:
    """A call of a tool."""
    params: _Params = {"name": tool, "arguments": arguments}
    meta: _Params = {"_meta": {"scrubjay/run": run}} if run else {}
    return rpc("tools/call", params | meta, toolset=toolset)


def _remember(given: Given) -> _Params:
    words = given.words
    return {
        "text": given.text, "title": f"Title of {words[4]}", "name": given.name, "kind": words[5],
        "entities": [words[6]], "observations": [f"It was {words[7]}"], "tags": [words[8]], "category": words[9],
        "project": words[10], "scope": words[11], "source": {"session": words[8], "agent": words[9]},
        "metadata": {words[10]: words[11]}, "idempotency_key": given.key, "dry_run": given.every(7),
    }  # fmt: skip


def _recall(given: Given) -> _Params:
    request: dict[int, _Params] = {
        0: {"query": "the jay hid", "around": 2, "explain": True, "filters": {"contains": "jay"}, "max_tokens": 8_000},
        1: {"query": given.label, "detail": "full"},
        2: {"filters": {"tags": [given.label], "metadata": {given.label: given.name}}},
        3: {"query": "the jay hid", "cursor": given.cursor},
        4: {"entity": given.label},
    }
    return {"limit": 2, **request[given.number % 5]}


def _read(given: Given) -> _Params:
    shown: _Params = {"version": 1} if given.every(3) else {"format": ("markdown", "plain", "json")[given.number % 3]}
    return {"ids": [given.ref], "max_tokens": 4000, **shown, **_going_on(given, every=4)}


def _going_on(given: Given, *, every: int) -> _Params:
    """From a cursor on, now and then."""
    return {"cursor": given.cursor} if given.cursor and given.every(every) else {}


def _revise(given: Given) -> _Params:
    words = given.words
    if given.every(3):
        return {"id": given.ref, "revert_to": 1, "message": words[4]}
    return {
        "id": given.ref, "title": f"Title of {words[4]}", "add_observations": [words[5]], "tags": [words[6]],
        "entity": words[7], "metadata": {words[8]: words[9]}, "message": words[10],
    }  # fmt: skip


def _forget(given: Given) -> _Params:
    which: _Params = {"filters": {"tags": [given.label]}} if given.every(3) else {"ids": [given.ref]}
    return {**which, "reason": given.words[4], "restore": given.every(2), "dry_run": given.every(5)}


def _relate(given: Given) -> _Params:
    edge: _Params = {"source": given.ref, "target": given.other}
    if given.every(3):
        return {**edge, "remove": True}
    return {**edge, "relation": given.words[4], "text": given.words[5], "metadata": {given.words[6]: given.words[7]}}


def _history(given: Given) -> _Params:
    if given.every(2):
        return {"id": given.ref, "diff": [1, 1 + given.number % 3]}
    page: _Params = {"id": given.ref, "limit": 3}
    return page | _going_on(given, every=3)


def _create_entities(given: Given) -> _Params:
    words = given.words
    item: Json = {"name": given.name, "entityType": words[4], "observations": [given.text]}
    two: Json = {"name": f"Entity {words[5]}", "entityType": words[6], "observations": [words[7]]}
    return {"entities": [item, two]}


def _relations(given: Given) -> _Params:
    target = given.name if given.every(2) else given.words[5]
    return {"relations": [{"from": given.label, "to": target, "relationType": given.words[4]}]}


def _add_observations(given: Given) -> _Params:
    return {"observations": [{"entityName": given.label, "contents": [given.words[4]]}]}


def _delete_observations(given: Given) -> _Params:
    return {"deletions": [{"entityName": given.label, "observations": [given.name]}]}


def _search_nodes(given: Given) -> _Params:
    page: _Params = {"query": given.label if given.every(2) else "the jay hid"}
    return page | _going_on(given, every=3)


def _read_graph(given: Given) -> _Params:
    return _going_on(given, every=2)


def _item(given: Given) -> _Params:
    return {"text": given.text, "metadata": {given.words[4]: given.words[5]}, **_user(given)}


def _items(given: Given) -> _Params:
    return {"query": given.label if given.every(2) else "the jay hid", "k": 2, **_user(given)}


def _written(given: Given) -> _Params:
    words = given.words
    return {"title": f"Title of {words[4]}", "content": given.text, "type": words[5], "tags": [words[6]]}


def _smart_write(given: Given) -> _Params:
    intent: _Params = {"session_hint": given.label, "intent": "continue"} if given.every(2) else {}
    return {**_written(given), **intent, "dry_run": given.every(5)}


def _stored(given: Given) -> _Params:
    words = given.words
    return {"text": given.text, "memory_type": words[4], "scope": words[5], "project": words[6], "tags": [words[7]]}


def _user(given: Given) -> _Params:
    return {"session_user_id": given.space} if given.space else {}


def _record(given: Given) -> dict[str, Json]:
    words = given.words
    text: list[Json] = [given.text, f"It lives in {words[4]}"]
    return {
        "name": given.name, "entityType": words[5], "observations": text, "always_include": given.every(6),
        "source_session": words[6], "extraction_method": ("manual", "auto", "import")[given.number % 3],
        "tags": [words[7]], "metadata": {words[8]: words[9]},
    }  # fmt: skip


def _conversation(given: Given) -> _Params:
    words = given.words
    text = f"user: I live in {words[4]} and I always drink {words[5]} tea.\nassistant: Noted."
    return {"conversation_text": text, "session_id": words[6], "auto_store": given.every(2)}


def _suspect(given: Given) -> _Params:
    return {"entity_data": {"name": given.label} if given.every(2) else _record(given), "threshold": 0.3}


def _conflict(given: Given) -> _Params:
    existing: Json = {"conflict_id": given.ref}
    fresh: Json = {"entity_data": _record(given), "conflicting_entity_id": given.ref}
    return {
        "conflict_data": existing if given.every(2) else fresh,
        "strategy": "supersede" if given.every(3) else "auto",
    }


def _update_entity(given: Given) -> _Params:
    changes: dict[str, Json] = {"add_observations": [given.words[4]], "source_session": given.words[5]}
    return {"entity": given.ref, "updates": changes | ({"name": given.name} if given.every(4) else {})}


def _branch_entity(given: Given) -> _Params:
    name = "main" if given.every(3) else given.words[4]
    return {"entity_name": given.ref, "branch_name": name, "description": given.words[5]}


def _write_mem(given: Given) -> _Params:
    words = given.words
    return {"title": f"Title of {words[4]}", "content": given.text, "tags": [words[5]], "category": words[6]}


def _search_mem(given: Given) -> _Params:
    narrowed: _Params = {"tags": [given.label]} if given.every(3) else {"semantic": given.every(2)}
    return {"query": given.label if given.every(2) else "the jay hid", "limit": 2, **narrowed}


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
        "delete_entities": lambda given: {"entityNames": [given.label]},
        "delete_observations": _delete_observations,
        "delete_relations": _relations,
        "read_graph": _read_graph,
        "search_nodes": _search_nodes,
        "open_nodes": lambda given: {"names": [given.label, given.name]},
    },
    "enhanced": {
        "create_entities": lambda given: {"entities": [_record(given), {}] if given.every(5) else [_record(given)]},
        # By what only one is called: of several the most often read comes first, and that is counted a while later.
        "search_nodes": lambda given: {"query": given.label if given.every(2) else given.name, "limit": 3},
        "update_entity": _update_entity,
        "get_memory_status": lambda _: {},
        "auto_extract_facts": _conversation,
        "detect_conflicts": _suspect,
        "resolve_conflict": _conflict,
        "memory_commit": lambda given: {"entity_name": given.ref, "message": given.words[4]},
        "memory_diff": lambda given: {"entity_name": given.ref, "version1": 1, "version2": 1 + given.number % 3},
        "memory_revert": lambda given: {"entity_name": given.ref, "version": 1},
        "memory_branch": _branch_entity,
        "memory_branches": lambda given: {"entity_name": given.ref},
        "memory_merge_branch": lambda given: {"entity_name": given.ref, "branch_name": given.words[4]},
        "memory_drop_branch": lambda given: {"entity_name": given.ref, "branch_name": given.words[4]},
        "memory_undo": lambda given: {} if given.every(3) else {"run": given.run},
    },
    "items": {"memory_store": _item, "memory_recall": _items},
    "entities": {
        "store_memory": lambda given: {**_stored(given), "entity": given.words[8]},
        "store_multi_entity_memory": lambda given: {**_stored(given), "entities": [given.words[8], given.words[9]]},
        "search_memory": lambda given: {"query": "the jay hid", "entity": given.label, "limit": 2},
    },
    "session": {"session_context": lambda given: {"project": given.label} if given.every(2) else {}},
    "smart": {
        "create_memory": _written,
        "update_memory": lambda given: {"id": given.ref, **_written(given), "message": given.words[7]},
        "smart_write": _smart_write,
        "search_memories": lambda given: {"query": "the jay hid", "tags": [given.label], "limit": 2},
        "intelligence_detect_duplicates": lambda given: {"id": given.ref, "merge": given.every(3)},
    },
    "notes": {
        "write_mem": _write_mem,
        "read_mem": lambda given: {"identifier": given.ref, "format": ("markdown", "plain", "json")[given.number % 3]},
        "edit_mem": lambda given: {"id": given.ref, "tags": [given.words[4]], "category": given.words[5]},
        "search_mem": _search_mem,
        "link_mem": lambda given: {"source_id": given.ref, "target_id": given.other, "link_text": given.words[4]},
        "unlink_mem": lambda given: {"source_id": given.ref, "target_id": given.other},
        "get_current_date": lambda _: {"format": "date_only"},
    },
}


def _calling(toolset: str, tool: str, arguments: _Arguments, given: Given) -> Ask:
    return tool_call(tool, arguments(given), toolset=toolset, run=given.run)


READERS = frozenset(tool.name for tools in TOOLSETS.values() for tool in tools if tool.read_only)
TOOLS: tuple[Deed, ...] = tuple(
    Deed(name=f"{toolset}/{tool}", make=partial(_calling, toolset, tool, arguments), writes=tool not in READERS)
    for toolset, tools in _TOOLS.items()
    for tool, arguments in tools.items()
)


def _resources(given: Given) -> Ask:
    return rpc("resources/list", _going_on(given, every=2), toolset="kg" if given.every(3) else "core")


def _resource(given: Given) -> Ask:
    if given.every(7) and not given.space:
        return rpc("resources/read", {"uri": "memory://session-context"}, toolset="session")
    if given.every(5) and not given.space:
        return rpc("resources/read", {"uri": "memory://knowledge-graph"}, toolset="kg")
    return rpc("resources/read", {"uri": uri_of(given.space or given.home, given.ref)})


def uri_of(space: str, ref: str) -> str:
    """The address of a memory."""
    return f"memory://{quote(space, safe='')}/{quote(ref, safe='')}"


def _prompt(given: Given) -> Ask:
    name = tuple(PROMPTS)[given.number % len(PROMPTS)]
    arguments: _Params = dict.fromkeys(PROMPTS[name].arguments, given.label)
    return rpc("prompts/get", {"name": name, "arguments": arguments})


def _completion(given: Given) -> Ask:
    template: Json = {"type": "ref/resource", "uri": TEMPLATE}
    prompt: Json = {"type": "ref/prompt", "name": "what_do_you_know_about"}
    care: Json = {"type": "ref/prompt", "name": "write_with_care"}
    ref, name = (
        (template, "name"),
        (template, "space"),
        (prompt, "topic"),
        (care, "project"),
    )[given.number % 4]
    # The beginning of everybody's words, of somebody's, or nothing at all.
    value = (given.space or given.label)[: (0, 3, 8, 100)[given.number // 4 % 4]]
    return rpc("completion/complete", {"ref": ref, "argument": {"name": name, "value": value}})


def _always(method: str, params: _Params) -> Callable[[Given], Ask]:
    return lambda _: rpc(method, params)


METHODS: tuple[Deed, ...] = (
    Deed(name="resources/list", make=_resources),
    Deed(name="resources/read", make=_resource),
    Deed(name="prompts/get", make=_prompt),
    Deed(name="completion/complete", make=_completion),
)
"""What is about memories, besides tools; streams of changes are listened to elsewhere."""

SAME_FOR_ALL: tuple[Deed, ...] = (
    Deed(name="initialize", make=_always("initialize", _HELLO)),
    Deed(name="ping", make=_always("ping", {})),
    Deed(name="tools/list", make=_always("tools/list", {})),
    Deed(name="prompts/list", make=_always("prompts/list", {})),
    Deed(name="resources/templates/list", make=_always("resources/templates/list", {})),
)
"""What says nothing of any space."""
