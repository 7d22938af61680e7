"""A request for every operation of `/api/v1`."""

import json
from urllib.parse import quote
from uuid import NAMESPACE_URL, uuid5

from scrubjay.model.memory import Json
from tests.scenarios.tenant_data import ID, CallInputs, HttpRequest, MakeRequest, Operation

API = "/api/v1"
JSON = {"content-type": "application/json"}
_MAX_TOKENS = "100000"
# For programs that sort names: one may end with six digits of an id, which are random.
_IN_ORDER = "key=lambda name: '-'.join(part for part in name.split('-') if len(part) != 6)"
BEYOND = str(1 << 40)
"""Beyond the last change of every space: the error names the last one."""


def _remember(inputs: CallInputs) -> HttpRequest:
    words = inputs.words
    body: dict[str, Json] = {
        "text": inputs.text,
        "title": f"Title of {words[4]}",
        "name": inputs.name,
        "kind": words[5],
        "entities": [words[6], words[7]] if inputs.every(4) else [words[6]],
        "observations": [f"It was {words[8]}"],
        "tags": [words[9]],
        "category": words[10],
        "project": words[11],
        "scope": words[10],
        "pinned": inputs.every(6),
        "source": {"session": words[8], "agent": words[9], "tool": words[10], "conversation": words[11]},
        "metadata": {words[5]: words[6]},
        "dry_run": inputs.every(9),
    }
    return _send("POST", "/memories", inputs, body, headers=_write_headers(inputs))


def _read_many(inputs: CallInputs) -> HttpRequest:
    form = ("markdown", "plain", "json")[inputs.number % 3]
    return _send("POST", "/memories/read", inputs, {"ids": [inputs.ref, inputs.other], "format": form})


def _bulk_call(verb: str) -> MakeRequest:
    def make(inputs: CallInputs) -> HttpRequest:
        body: dict[str, Json] = {"group": inputs.every(2), "reason": inputs.words[4], "dry_run": inputs.every(3)}
        if inputs.every(4):
            body["filter"] = {"tags": [inputs.label], "metadata": {inputs.label: inputs.name}}
        else:
            body["ids"] = [inputs.ref, inputs.other]
        return _send("POST", f"/memories/{verb}", inputs, body, headers={"x-scrubjay-run": inputs.run})

    return make


def _read(inputs: CallInputs) -> HttpRequest:
    headers = {"accept": "text/markdown"} if inputs.every(2) else {"if-none-match": f'"{1 + inputs.number % 3}"'}
    query = (("version", "1"),) if inputs.every(3) else (("branch", branch_for(inputs)),) if inputs.every(4) else ()
    return _send("GET", f"/memories/{_segment(inputs.ref)}", inputs, headers=headers, query=query)


def _revise(inputs: CallInputs) -> HttpRequest:
    words = inputs.words
    body: dict[str, Json] = {
        "title": f"Title of {words[4]}",
        "tags": [words[5]],
        "add_observations": [f"It is {words[6]}"],
        "message": words[7],
        "metadata": {words[8]: words[9]},
    }
    if inputs.every(3):
        body["name"] = inputs.name
    headers = _write_headers(inputs) | ({"if-match": f'"{1 + inputs.number % 3}"'} if inputs.every(2) else {})
    return _send("PATCH", f"/memories/{_segment(inputs.ref)}", inputs, body, headers=headers)


def _forget(inputs: CallInputs) -> HttpRequest:
    query = (("reason", inputs.words[4]), ("group", "true" if inputs.every(2) else "false"))
    return _send("DELETE", f"/memories/{_segment(inputs.ref)}", inputs, query=query)


def _memory_call(method: str, suffix: str) -> MakeRequest:
    def make(inputs: CallInputs) -> HttpRequest:
        return _send(method, f"/memories/{_segment(inputs.ref)}/{suffix}", inputs)

    return make


def _search(inputs: CallInputs) -> HttpRequest:
    filters = ("entity", "kind", "category", "tags", "any_tags", "project", "scope", "session", "agent")
    request = {
        0: (("q", "the jay hid"), ("around", "2")),
        1: (("q", inputs.label), ("contains", inputs.name), ("today", "2026-05-31")),
        2: ((filters[inputs.number % len(filters)], inputs.label),),
        3: (("q", "the jay hid"), ("cursor", inputs.cursor)),
        4: (("q", inputs.name), ("state", "trashed")),
        5: (("q", "the jay hid"), ("as_of", "2027-11-01T00:00:00Z"), ("branch", "draft")),
    }[inputs.number % 6]
    fixed = (("limit", "3"), ("max_tokens", _MAX_TOKENS), ("explain", "true"), ("detail", "full"))
    return _send("GET", "/search", inputs, query=(*request, *fixed))


def _search_by_body(inputs: CallInputs) -> HttpRequest:
    body: dict[str, Json] = {
        "query": "under the oak",
        "limit": 2,
        "max_tokens": int(_MAX_TOKENS),
        "cursor": inputs.cursor,
    }
    if inputs.every(3):
        body |= {"query": inputs.label, "cursor": "", "metadata": {inputs.label: inputs.name}, "tags": [inputs.label]}
    return _send("POST", "/search", inputs, body)


def branch_for(inputs: CallInputs) -> str:
    """Return a branch that most memories have, or the one that all have."""
    return "main" if inputs.every(5) else "draft"


def program_for(inputs: CallInputs) -> str:
    """Return a program that asks for a memory in every way: by reference, by words, among all, and in its files.

    It returns names: where a longer result is cut depends on the cost of ids, which are random.
    """
    return (
        f"hits, read_ones = recall({inputs.words[4]!r})['hits'], read([{inputs.ref!r}])['memories']\n"
        f"result = [sorted((hit['name'] for hit in hits), {_IN_ORDER}), [memory['name'] for memory in read_ones],"
        f" list_files(), sorted((node['name'] for node in search_nodes('', limit=10000)), {_IN_ORDER})[:20]]"
    )


def skill_for(inputs: CallInputs) -> dict[str, Json]:
    """Return a skill that lists memories, or one made of a memory; without an id, whose terms are random."""
    name = f"skill_{inputs.number}"
    source = f"def {name}():\n    return sorted((node['name'] for node in search_nodes('', limit=100)), {_IN_ORDER})"
    made: dict[str, Json] = {"from_memory": inputs.ref} if inputs.every(3) else {"source": source}
    return {"name": name, "description": inputs.text, "tags": [inputs.words[4]], "draft": inputs.every(2), **made}


def _commit(inputs: CallInputs) -> HttpRequest:
    body: Json = {"message": inputs.words[4]}
    return _send("POST", f"/memories/{_segment(inputs.ref)}/commit", inputs, body, headers=_write_headers(inputs))


def _branch(inputs: CallInputs) -> HttpRequest:
    body: Json = {"name": branch_for(inputs), "description": inputs.words[4], "switch": inputs.every(3)}
    return _send("POST", f"/memories/{_segment(inputs.ref)}/branches", inputs, body, headers=_agent_headers(inputs))


def _on_branch(method: str, suffix: str) -> MakeRequest:
    def make(inputs: CallInputs) -> HttpRequest:
        path = f"/memories/{_segment(inputs.ref)}/branches/{branch_for(inputs)}{suffix}"
        body: Json = {"prefer": "theirs" if inputs.every(2) else "", "message": inputs.words[4]}
        return _send(method, path, inputs, body if suffix == "/merge" else None, headers=_agent_headers(inputs))

    return make


def _extract(inputs: CallInputs) -> HttpRequest:
    lines = f"{inputs.words[4]}: I prefer {inputs.words[5]} to {inputs.words[6]}.\n{inputs.words[7]}: {inputs.text}"
    body: Json = {"text": lines, "session": inputs.words[8], "method": "patterns", "store": not inputs.every(3)}
    body |= {"me": inputs.words[4]} if inputs.every(2) else {}
    return _send("POST", "/extract", inputs, body, headers=_agent_headers(inputs))


def _graph(inputs: CallInputs) -> HttpRequest:
    starts = (("id", inputs.ref), ("id", inputs.other)) if inputs.every(2) else (("id", inputs.ref),)
    return _send("GET", "/graph", inputs, query=(*starts, ("depth", "3"), ("limit", "50")))


def _path(inputs: CallInputs) -> HttpRequest:
    return _send("GET", "/graph/path", inputs, query=(("from", inputs.ref), ("to", inputs.other)))


def _context(inputs: CallInputs) -> HttpRequest:
    headers = {"accept": "text/markdown"} if inputs.every(2) else {}
    query = (
        ("session", inputs.words[4]),
        ("project", inputs.label if inputs.every(3) else ""),
        ("max_tokens", _MAX_TOKENS),
    )
    return _send("GET", "/context", inputs, headers=headers, query=query)


def _due(inputs: CallInputs) -> HttpRequest:
    query = (("by", "2030-01-01T00:00:00Z"),) if inputs.every(2) else ()
    return _send("GET", "/due", inputs, query=query)


def _summary(inputs: CallInputs) -> HttpRequest:
    # So few that nothing is cut: what is depends on the cost of names, which may end with digits of random ids.
    body: Json = {"tags": [inputs.label]} if inputs.every(2) else {"since": "2000-01-01T00:00:00Z", "limit": 5}
    headers = {"accept": "text/markdown"} if inputs.every(3) else {}
    return _send("POST", "/summary", inputs, body, headers=headers)


def _versions(inputs: CallInputs) -> HttpRequest:
    query: tuple[tuple[str, str], ...] = ()
    if inputs.every(2):
        query = (("limit", "3"), ("before", str(1 + inputs.number % 4)), ("branch", branch_for(inputs)))
    return _send("GET", f"/memories/{_segment(inputs.ref)}/versions", inputs, query=query)


def _diff(inputs: CallInputs) -> HttpRequest:
    query = (("from", "1"), ("to", branch_for(inputs) if inputs.every(4) else str(1 + inputs.number % 3)))
    return _send("GET", f"/memories/{_segment(inputs.ref)}/diff", inputs, query=query)


def _revert(inputs: CallInputs) -> HttpRequest:
    body: Json = {"to": 1 + inputs.number % 2, "message": inputs.words[4]}
    return _send("POST", f"/memories/{_segment(inputs.ref)}/revert", inputs, body, headers=_write_headers(inputs))


def _undo(inputs: CallInputs) -> HttpRequest:
    body: Json = {} if inputs.every(4) else {"run": inputs.run}
    return _send("POST", "/undo", inputs, body, headers={"idempotency-key": inputs.key})


def _relate(inputs: CallInputs) -> HttpRequest:
    body: Json = {
        "target": inputs.other,
        "relation": inputs.words[4] if inputs.every(2) else "related_to",
        "text": inputs.words[5],
        "metadata": {inputs.words[6]: inputs.words[7]},
    }
    return _send("POST", f"/memories/{_segment(inputs.ref)}/links", inputs, body)


def _unrelate(inputs: CallInputs) -> HttpRequest:
    return _send("DELETE", f"/memories/{_segment(inputs.ref)}/links", inputs, query=(("target", inputs.other),))


def _export(inputs: CallInputs) -> HttpRequest:
    return _send("GET", "/export", inputs, query=(("format", "kg" if inputs.every(2) else "scrubjay"),))


def _import(inputs: CallInputs) -> HttpRequest:
    lines = "".join(f"{json.dumps(line)}\n" for line in import_lines(inputs))
    request = HttpRequest(
        method="POST", path=f"{API}/import", headers={"content-type": "application/x-ndjson"}, body=lines.encode()
    )
    return _in_space(request, inputs)


def import_lines(inputs: CallInputs) -> list[Json]:
    """Return an export with one memory, under an id that the sender chooses, and a relation."""
    words = inputs.words
    if inputs.every(3):
        return [
            {"type": "entity", "name": inputs.name, "entityType": words[4], "observations": [words[5]]},
            {"type": "relation", "from": inputs.name, "to": inputs.label, "relationType": words[6]},
        ]
    memory_id = inputs.ref if ID.fullmatch(inputs.ref) else str(uuid5(NAMESPACE_URL, words[4]))
    at = "2026-05-01T12:00:00Z"
    body: Json = {
        "name": inputs.name, "title": f"Title of {words[5]}", "content": inputs.text, "tags": [words[6]],
        "created_at": at, "updated_at": at,
    }  # fmt: skip
    version: Json = {
        "number": 1, "action": "created", "created_at": at, "agent": words[7], "run": inputs.run, "body": body,
    }  # fmt: skip
    edge: Json = {"source": memory_id, "target": inputs.other, "type": words[8], "text": words[9], "created_at": at}
    return [
        {"scrubjay": 1, "space": words[10], "exported_at": at},
        {"memory": {"id": memory_id, "version": 1}, "versions": [version]},
        {"relation": edge},
    ]


def _changes(inputs: CallInputs) -> HttpRequest:
    return _send("GET", "/changes", inputs, query=(("after", BEYOND),))


def _status(inputs: CallInputs) -> HttpRequest:
    return _send("GET", "/status", inputs)


def _smart_write(inputs: CallInputs) -> HttpRequest:
    words = inputs.words
    body: dict[str, Json] = {
        "title": f"Title of {words[4]}", "content": inputs.text, "type": words[5], "tags": [words[6]],
        "session_hint": inputs.label, "intent": "continue" if inputs.every(2) else "auto",
    }  # fmt: skip
    return _send("POST", "/memories/smart-write", inputs, body, headers=_write_headers(inputs))


def _remember_many(inputs: CallInputs) -> HttpRequest:
    items: list[Json] = [{"text": inputs.text, "title": inputs.label}, {"text": inputs.words[4]}, {"bogus": 1}]
    body: dict[str, Json] = {"items": items, "atomic": inputs.every(3)}
    return _send("POST", "/memories/batch", inputs, body, headers=_write_headers(inputs))


def _list_memories(inputs: CallInputs) -> HttpRequest:
    query = {
        0: (("kind", inputs.label),),
        1: (("cursor", inputs.ref),),
        2: (("tags", inputs.label), ("state", "trashed")),
    }[inputs.number % 3]
    return _send("GET", "/memories", inputs, query=(*query, ("limit", "3")))


def _rules(inputs: CallInputs) -> HttpRequest:
    return _send("PATCH", "/rules", inputs, {"never": [inputs.words[4]], "window_days": 3})


def _review(verb: str) -> MakeRequest:
    return lambda inputs: _send("POST", f"/inbox/{verb}", inputs, {"ids": [inputs.ref], "reason": inputs.words[4]})


def _add_synonyms(inputs: CallInputs) -> HttpRequest:
    return _send("POST", "/tags/synonyms", inputs, {"tag": inputs.words[4], "variants": [inputs.words[5]]})


def _remove_synonyms(inputs: CallInputs) -> HttpRequest:
    return _send("DELETE", "/tags/synonyms", inputs, query=(("variant", inputs.label),))


def _preview_tags(inputs: CallInputs) -> HttpRequest:
    return _send("POST", "/tags/preview", inputs, {"tags": [inputs.words[4], inputs.label], "text": inputs.text})


def _conflicts(inputs: CallInputs) -> HttpRequest:
    query = (("status", "all"), *((("memory", inputs.ref),) if inputs.every(2) else ()))
    return _send("GET", "/conflicts", inputs, query=query)


def _resolve(inputs: CallInputs) -> HttpRequest:
    strategy = ("auto", "merge", "update", "branch", "supersede", "ignore")[inputs.number % 6]
    body: Json = {"strategy": strategy, "notes": inputs.words[4], "branch": inputs.words[5]}
    return _send("POST", f"/conflicts/{_segment(inputs.ref)}/resolve", inputs, body, headers=_write_headers(inputs))


def _write_note(inputs: CallInputs) -> HttpRequest:
    words = inputs.words
    body: Json = {"title": f"Title of {words[4]}", "content": inputs.text, "tags": [words[5]], "category": words[6]}
    return _send("POST", "/notes", inputs, body, headers=_write_headers(inputs))


def _edit_note(inputs: CallInputs) -> HttpRequest:
    body: Json = {"title": f"Title of {inputs.words[4]}", "tags": [inputs.words[5]], "category": inputs.words[6]}
    return _send("PATCH", f"/notes/{_segment(inputs.ref)}", inputs, body, headers=_write_headers(inputs))


def _search_notes(inputs: CallInputs) -> HttpRequest:
    query = (("q", inputs.label if inputs.every(2) else "the jay hid"), ("limit", "3"))
    return _send("GET", "/notes/search", inputs, query=query)


def _link_notes(inputs: CallInputs) -> HttpRequest:
    body: Json = {"target": inputs.other, "text": inputs.words[4]}
    return _send("POST", f"/notes/{_segment(inputs.ref)}/links", inputs, body)


def _attach(inputs: CallInputs) -> HttpRequest:
    path = f"{API}/notes/{_segment(inputs.ref)}/attachments"
    query = (("name", f"{inputs.words[4]}.txt"), ("caption", inputs.words[5]))
    kind = {"content-type": "application/octet-stream"}
    return _in_space(
        HttpRequest(method="POST", path=path, query=query, headers=kind, body=inputs.text.encode()), inputs
    )


def _note(method: str, suffix: str, *query: tuple[str, str]) -> MakeRequest:
    return lambda inputs: _send(method, f"/notes/{_segment(inputs.ref)}{suffix}", inputs, query=query)


def _notes(path: str, *query: tuple[str, str]) -> MakeRequest:
    return lambda inputs: _send("GET", f"/notes/{path}", inputs, query=query)


def _get(path: str) -> MakeRequest:
    return lambda _: HttpRequest(method="GET", path=path)


def _send(
    method: str,
    path: str,
    inputs: CallInputs,
    body: Json = None,
    *,
    headers: dict[str, str] | None = None,
    query: tuple[tuple[str, str], ...] = (),
) -> HttpRequest:
    kind = {} if body is None else JSON
    http_request = HttpRequest(method=method, path=API + path, query=query, headers=kind | (headers or {}), body=body)
    return _in_space(http_request, inputs)


def _in_space(http_request: HttpRequest, inputs: CallInputs) -> HttpRequest:
    return http_request.with_query(("space", inputs.space)) if inputs.space else http_request


def _write_headers(inputs: CallInputs) -> dict[str, str]:
    return {"idempotency-key": inputs.key, "x-scrubjay-run": inputs.run, "x-scrubjay-agent": inputs.words[3]}


def _agent_headers(inputs: CallInputs) -> dict[str, str]:
    return {"x-scrubjay-run": inputs.run, "x-scrubjay-agent": inputs.words[3]}


def _segment(ref: str) -> str:
    return quote(ref, safe="")


_ROUTES: dict[str, MakeRequest] = {
    "POST /memories": _remember,
    "POST /memories/read": _read_many,
    "POST /memories/forget": _bulk_call("forget"),
    "POST /memories/restore": _bulk_call("restore"),
    "POST /memories/confirm": _bulk_call("confirm"),
    "POST /memories/purge": _bulk_call("purge"),
    "GET /memories/{id}": _read,
    "PATCH /memories/{id}": _revise,
    "DELETE /memories/{id}": _forget,
    "POST /memories/{id}/restore": _memory_call("POST", "restore"),
    "POST /memories/{id}/confirm": _memory_call("POST", "confirm"),
    "POST /memories/{id}/purge": _memory_call("POST", "purge"),
    "GET /search": _search,
    "POST /search": _search_by_body,
    "GET /memories/{id}/versions": _versions,
    "GET /memories/{id}/diff": _diff,
    "POST /memories/{id}/revert": _revert,
    "POST /memories/{id}/commit": _commit,
    "GET /memories/{id}/branches": _memory_call("GET", "branches"),
    "POST /memories/{id}/branches": _branch,
    "POST /memories/{id}/branches/{name}/switch": _on_branch("POST", "/switch"),
    "POST /memories/{id}/branches/{name}/merge": _on_branch("POST", "/merge"),
    "DELETE /memories/{id}/branches/{name}": _on_branch("DELETE", ""),
    "GET /context": _context,
    "GET /due": _due,
    "POST /summary": _summary,
    "GET /memories/{id}/related": _memory_call("GET", "related"),
    "GET /graph": _graph,
    "GET /graph/path": _path,
    "POST /extract": _extract,
    "POST /undo": _undo,
    "GET /memories/{id}/links": _memory_call("GET", "links"),
    "POST /memories/{id}/links": _relate,
    "DELETE /memories/{id}/links": _unrelate,
    "GET /changes": _changes,
    "GET /status": _status,
    "POST /memories/smart-write": _smart_write,
    "POST /memories/batch": _remember_many,
    "GET /memories": _list_memories,
    "GET /rules": lambda inputs: _send("GET", "/rules", inputs),
    "PATCH /rules": _rules,
    "GET /inbox": lambda inputs: _send("GET", "/inbox", inputs),
    "POST /inbox/approve": _review("approve"),
    "POST /inbox/decline": _review("decline"),
    "POST /curations": lambda inputs: _send(
        "POST", "/curations", inputs, {"jobs": ["tiers"], "dry_run": inputs.every(3), "limit": 5}
    ),
    "POST /prune": lambda inputs: _send(
        "POST", "/prune", inputs, {"days": 90, "clusters": inputs.every(3), "dry_run": inputs.every(2), "limit": 5}
    ),
    "POST /code": lambda inputs: _send("POST", "/code", inputs, {"code": program_for(inputs)}),
    "POST /skills": lambda inputs: _send("POST", "/skills", inputs, skill_for(inputs)),
    "GET /skills": lambda inputs: _send("GET", "/skills", inputs, query=(("limit", "5"),)),
    "GET /skills/{name}": lambda inputs: _send("GET", f"/skills/{_segment(inputs.ref)}", inputs),
    "POST /skills/{name}/run": lambda inputs: _send("POST", f"/skills/{_segment(inputs.ref)}/run", inputs, {}),
    "GET /curations": lambda inputs: _send("GET", "/curations", inputs, query=(("limit", "2"), ("changes", "5"))),
    "GET /health": lambda inputs: _send("GET", "/health", inputs, query=(("days", "7"),)),
    "GET /usage": lambda inputs: _send("GET", "/usage", inputs, query=(("days", "7"), ("limit", "50"))),
    "GET /conflicts": _conflicts,
    "GET /conflicts/{id}": lambda inputs: _send("GET", f"/conflicts/{_segment(inputs.ref)}", inputs),
    "POST /scan": lambda inputs: _send("POST", "/scan", inputs, {"limit": 3}),
    "POST /scan/later": lambda inputs: _send("POST", "/scan/later", inputs, {"after": 86_400}),
    "POST /conflicts/{id}/resolve": _resolve,
    "GET /tags": lambda inputs: _send("GET", "/tags", inputs),
    "POST /tags/synonyms": _add_synonyms,
    "DELETE /tags/synonyms": _remove_synonyms,
    "POST /tags/preview": _preview_tags,
    "GET /jobs": lambda inputs: _send("GET", "/jobs", inputs),
    "POST /jobs/{id}/retry": lambda inputs: _send("POST", f"/jobs/{_segment(inputs.ref)}/retry", inputs),
    "DELETE /jobs/{id}": lambda inputs: _send("DELETE", f"/jobs/{_segment(inputs.ref)}", inputs),
    "POST /notes": _write_note,
    "GET /notes/{id}": _note("GET", ""),
    "PATCH /notes/{id}": _edit_note,
    "GET /notes/search": _search_notes,
    "POST /notes/{id}/links": _link_notes,
    "DELETE /notes/{id}/links": lambda inputs: _note("DELETE", "/links", ("target", inputs.other))(inputs),
    "GET /notes/{id}/backlinks": _note("GET", "/backlinks"),
    "POST /notes/{id}/review": _note("POST", "/review"),
    "GET /notes/due": _notes("due", ("days", "0"), ("limit", "5")),
    "GET /notes/broken-links": _notes("broken-links"),
    "GET /notes/categories": _notes("categories"),
    "GET /notes/templates": _notes("templates"),
    # Only the date: the time would differ between two servers.
    "GET /notes/date": _notes("date", ("format", "date_only")),
    "POST /notes/sync": lambda inputs: _send("POST", "/notes/sync", inputs),
    "POST /notes/{id}/attachments": _attach,
    "GET /notes/{id}/attachments": _note("GET", "/attachments"),
    "GET /notes/{id}/export": _note("GET", "/export", ("format", "json")),
    "GET /attachments/orphans": lambda inputs: _send("GET", "/attachments/orphans", inputs),
    "GET /attachments/{id}": lambda inputs: _send("GET", f"/attachments/{_segment(inputs.ref)}", inputs),
    "GET /export": _export,
    "POST /import": _import,
}
# The program of the tests only reads.
_READS = (
    "POST /code",
    "POST /skills/{name}/run",
    "POST /memories/read",
    "POST /search",
    "POST /summary",
    "POST /tags/preview",
)
PUBLIC = tuple(Operation(name=f"GET {path}", make=_get(path)) for path in ("/healthz", "/readyz"))
METRICS = Operation(name="GET /metrics", make=_get("/metrics"), closed=True)
ROUTES: tuple[Operation, ...] = (
    *(
        Operation(
            name=f"{name.split()[0]} {API}{name.split()[1]}",
            make=make,
            writes=not name.startswith("GET") and name not in _READS,
        )
        for name, make in _ROUTES.items()
    ),
    METRICS,
)
"""All operations except the public ones."""
