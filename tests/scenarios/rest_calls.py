"""Every operation of `/api/v1`, as somebody asks it."""

import json
from urllib.parse import quote
from uuid import NAMESPACE_URL, uuid5

from scrubjay.model.memory import Json
from tests.scenarios.tenant_data import ID, Ask, Deed, Given, Make

API = "/api/v1"
JSON = {"content-type": "application/json"}
_PLENTY = "100000"
BEYOND = str(1 << 40)
"""Behind the last change of anybody: the refusal tells how many there are."""


def _remember(given: Given) -> Ask:
    words = given.words
    body: dict[str, Json] = {
        "text": given.text,
        "title": f"Title of {words[4]}",
        "name": given.name,
        "kind": words[5],
        "entities": [words[6], words[7]] if given.every(4) else [words[6]],
        "observations": [f"It was {words[8]}"],
        "tags": [words[9]],
        "category": words[10],
        "project": words[11],
        "scope": words[10],
        "pinned": given.every(6),
        "source": {"session": words[8], "agent": words[9], "tool": words[10], "conversation": words[11]},
        "metadata": {words[5]: words[6]},
        "dry_run": given.every(9),
    }
    return _send("POST", "/memories", given, body, headers=_origin(given))


def _read_many(given: Given) -> Ask:
    form = ("markdown", "plain", "json")[given.number % 3]
    return _send("POST", "/memories/read", given, {"ids": [given.ref, given.other], "format": form})


def _selection(verb: str) -> Make:
    def make(given: Given) -> Ask:
        body: dict[str, Json] = {"group": given.every(2), "reason": given.words[4], "dry_run": given.every(3)}
        if given.every(4):
            body["filter"] = {"tags": [given.label], "metadata": {given.label: given.name}}
        else:
            body["ids"] = [given.ref, given.other]
        return _send("POST", f"/memories/{verb}", given, body, headers={"x-scrubjay-run": given.run})

    return make


def _read(given: Given) -> Ask:
    headers = {"accept": "text/markdown"} if given.every(2) else {"if-none-match": f'"{1 + given.number % 3}"'}
    query = (("version", "1"),) if given.every(3) else (("branch", branch_for(given)),) if given.every(4) else ()
    return _send("GET", f"/memories/{_segment(given.ref)}", given, headers=headers, query=query)


def _revise(given: Given) -> Ask:
    words = given.words
    body: dict[str, Json] = {
        "title": f"Title of {words[4]}",
        "tags": [words[5]],
        "add_observations": [f"It is {words[6]}"],
        "message": words[7],
        "metadata": {words[8]: words[9]},
    }
    if given.every(3):
        body["name"] = given.name
    headers = _origin(given) | ({"if-match": f'"{1 + given.number % 3}"'} if given.every(2) else {})
    return _send("PATCH", f"/memories/{_segment(given.ref)}", given, body, headers=headers)


def _forget(given: Given) -> Ask:
    query = (("reason", given.words[4]), ("group", "true" if given.every(2) else "false"))
    return _send("DELETE", f"/memories/{_segment(given.ref)}", given, query=query)


def _one(method: str, tail: str) -> Make:
    def make(given: Given) -> Ask:
        return _send(method, f"/memories/{_segment(given.ref)}/{tail}", given)

    return make


def _search(given: Given) -> Ask:
    filters = ("entity", "kind", "category", "tags", "any_tags", "project", "scope", "session", "agent")
    request = {
        0: (("q", "the jay hid"), ("around", "2")),
        1: (("q", given.label), ("contains", given.name), ("today", "2026-05-31")),
        2: ((filters[given.number % len(filters)], given.label),),
        3: (("q", "the jay hid"), ("cursor", given.cursor)),
        4: (("q", given.name), ("state", "trashed")),
        5: (("q", "the jay hid"), ("as_of", "2027-11-01T00:00:00Z"), ("branch", "draft")),
    }[given.number % 6]
    fixed = (("limit", "3"), ("max_tokens", _PLENTY), ("explain", "true"), ("detail", "full"))
    return _send("GET", "/search", given, query=(*request, *fixed))


def _search_by_body(given: Given) -> Ask:
    body: dict[str, Json] = {"query": "under the oak", "limit": 2, "max_tokens": int(_PLENTY), "cursor": given.cursor}
    if given.every(3):
        body |= {"query": given.label, "cursor": "", "metadata": {given.label: given.name}, "tags": [given.label]}
    return _send("POST", "/search", given, body)


def branch_for(given: Given) -> str:
    """A branch that most have, or the one that everybody has."""
    return "main" if given.every(5) else "draft"


def _commit(given: Given) -> Ask:
    body: Json = {"message": given.words[4]}
    return _send("POST", f"/memories/{_segment(given.ref)}/commit", given, body, headers=_origin(given))


def _branch(given: Given) -> Ask:
    body: Json = {"name": branch_for(given), "description": given.words[4], "switch": given.every(3)}
    return _send("POST", f"/memories/{_segment(given.ref)}/branches", given, body, headers=_named(given))


def _on_branch(method: str, tail: str) -> Make:
    def make(given: Given) -> Ask:
        path = f"/memories/{_segment(given.ref)}/branches/{branch_for(given)}{tail}"
        body: Json = {"prefer": "theirs" if given.every(2) else "", "message": given.words[4]}
        return _send(method, path, given, body if tail == "/merge" else None, headers=_named(given))

    return make


def _extract(given: Given) -> Ask:
    lines = f"{given.words[4]}: I prefer {given.words[5]} to {given.words[6]}.\n{given.words[7]}: {given.text}"
    body: Json = {"text": lines, "session": given.words[8], "method": "patterns", "store": not given.every(3)}
    body |= {"me": given.words[4]} if given.every(2) else {}
    return _send("POST", "/extract", given, body, headers=_named(given))


def _graph(given: Given) -> Ask:
    starts = (("id", given.ref), ("id", given.other)) if given.every(2) else (("id", given.ref),)
    return _send("GET", "/graph", given, query=(*starts, ("depth", "3"), ("limit", "50")))


def _path(given: Given) -> Ask:
    return _send("GET", "/graph/path", given, query=(("from", given.ref), ("to", given.other)))


def _context(given: Given) -> Ask:
    headers = {"accept": "text/markdown"} if given.every(2) else {}
    query = (("session", given.words[4]), ("project", given.label if given.every(3) else ""), ("max_tokens", _PLENTY))
    return _send("GET", "/context", given, headers=headers, query=query)


def _versions(given: Given) -> Ask:
    query: tuple[tuple[str, str], ...] = ()
    if given.every(2):
        query = (("limit", "3"), ("before", str(1 + given.number % 4)), ("branch", branch_for(given)))
    return _send("GET", f"/memories/{_segment(given.ref)}/versions", given, query=query)


def _diff(given: Given) -> Ask:
    query = (("from", "1"), ("to", branch_for(given) if given.every(4) else str(1 + given.number % 3)))
    return _send("GET", f"/memories/{_segment(given.ref)}/diff", given, query=query)


def _revert(given: Given) -> Ask:
    body: Json = {"to": 1 + given.number % 2, "message": given.words[4]}
    return _send("POST", f"/memories/{_segment(given.ref)}/revert", given, body, headers=_origin(given))


def _undo(given: Given) -> Ask:
    body: Json = {} if given.every(4) else {"run": given.run}
    return _send("POST", "/undo", given, body, headers={"idempotency-key": given.key})


def _relate(given: Given) -> Ask:
    body: Json = {
        "target": given.other,
        "relation": given.words[4] if given.every(2) else "related_to",
        "text": given.words[5],
        "metadata": {given.words[6]: given.words[7]},
    }
    return _send("POST", f"/memories/{_segment(given.ref)}/links", given, body)


def _unrelate(given: Given) -> Ask:
    return _send("DELETE", f"/memories/{_segment(given.ref)}/links", given, query=(("target", given.other),))


def _export(given: Given) -> Ask:
    return _send("GET", "/export", given, query=(("format", "kg" if given.every(2) else "scrubjay"),))


def _import(given: Given) -> Ask:
    lines = "".join(f"{json.dumps(line)}\n" for line in import_lines(given))
    request = Ask(
        method="POST", path=f"{API}/import", headers={"content-type": "application/x-ndjson"}, body=lines.encode()
    )
    return _in_space(request, given)


def import_lines(given: Given) -> list[Json]:
    """An export with one memory, under an id of the sender's choice, and a relation."""
    words = given.words
    if given.every(3):
        return [
            {"type": "entity", "name": given.name, "entityType": words[4], "observations": [words[5]]},
            {"type": "relation", "from": given.name, "to": given.label, "relationType": words[6]},
        ]
    memory_id = given.ref if ID.fullmatch(given.ref) else str(uuid5(NAMESPACE_URL, words[4]))
    at = "2026-05-01T12:00:00Z"
    body: Json = {
        "name": given.name, "title": f"Title of {words[5]}", "content": given.text, "tags": [words[6]],
        "created_at": at, "updated_at": at,
    }  # fmt: skip
    version: Json = {
        "number": 1, "action": "created", "created_at": at, "agent": words[7], "run": given.run, "body": body,
    }  # fmt: skip
    edge: Json = {"source": memory_id, "target": given.other, "type": words[8], "text": words[9], "created_at": at}
    return [
        {"scrubjay": 1, "space": words[10], "exported_at": at},
        {"memory": {"id": memory_id, "version": 1}, "versions": [version]},
        {"relation": edge},
    ]


def _changes(given: Given) -> Ask:
    return _send("GET", "/changes", given, query=(("after", BEYOND),))


def _status(given: Given) -> Ask:
    return _send("GET", "/status", given)


def _smart_write(given: Given) -> Ask:
    words = given.words
    body: dict[str, Json] = {
        "title": f"Title of {words[4]}", "content": given.text, "type": words[5], "tags": [words[6]],
        "session_hint": given.label, "intent": "continue" if given.every(2) else "auto",
    }  # fmt: skip
    return _send("POST", "/memories/smart-write", given, body, headers=_origin(given))


def _rules(given: Given) -> Ask:
    return _send("PATCH", "/rules", given, {"never": [given.words[4]], "window_days": 3})


def _judge(verb: str) -> Make:
    return lambda given: _send("POST", f"/inbox/{verb}", given, {"ids": [given.ref], "reason": given.words[4]})


def _add_synonyms(given: Given) -> Ask:
    return _send("POST", "/tags/synonyms", given, {"tag": given.words[4], "variants": [given.words[5]]})


def _remove_synonyms(given: Given) -> Ask:
    return _send("DELETE", "/tags/synonyms", given, query=(("variant", given.label),))


def _preview_tags(given: Given) -> Ask:
    return _send("POST", "/tags/preview", given, {"tags": [given.words[4], given.label], "text": given.text})


def _conflicts(given: Given) -> Ask:
    query = (("status", "all"), *((("memory", given.ref),) if given.every(2) else ()))
    return _send("GET", "/conflicts", given, query=query)


def _resolve(given: Given) -> Ask:
    strategy = ("auto", "merge", "update", "branch", "supersede", "ignore")[given.number % 6]
    body: Json = {"strategy": strategy, "notes": given.words[4], "branch": given.words[5]}
    return _send("POST", f"/conflicts/{_segment(given.ref)}/resolve", given, body, headers=_origin(given))


def _write_note(given: Given) -> Ask:
    words = given.words
    body: Json = {"title": f"Title of {words[4]}", "content": given.text, "tags": [words[5]], "category": words[6]}
    return _send("POST", "/notes", given, body, headers=_origin(given))


def _edit_note(given: Given) -> Ask:
    body: Json = {"title": f"Title of {given.words[4]}", "tags": [given.words[5]], "category": given.words[6]}
    return _send("PATCH", f"/notes/{_segment(given.ref)}", given, body, headers=_origin(given))


def _search_notes(given: Given) -> Ask:
    query = (("q", given.label if given.every(2) else "the jay hid"), ("limit", "3"))
    return _send("GET", "/notes/search", given, query=query)


def _link_notes(given: Given) -> Ask:
    body: Json = {"target": given.other, "text": given.words[4]}
    return _send("POST", f"/notes/{_segment(given.ref)}/links", given, body)


def _attach(given: Given) -> Ask:
    path = f"{API}/notes/{_segment(given.ref)}/attachments"
    query = (("name", f"{given.words[4]}.txt"), ("caption", given.words[5]))
    kind = {"content-type": "application/octet-stream"}
    return _in_space(Ask(method="POST", path=path, query=query, headers=kind, body=given.text.encode()), given)


def _note(method: str, tail: str, *query: tuple[str, str]) -> Make:
    return lambda given: _send(method, f"/notes/{_segment(given.ref)}{tail}", given, query=query)


def _notes(path: str, *query: tuple[str, str]) -> Make:
    return lambda given: _send("GET", f"/notes/{path}", given, query=query)


def _outside(path: str) -> Make:
    return lambda _: Ask(method="GET", path=path)


def _send(
    method: str,
    path: str,
    given: Given,
    body: Json = None,
    *,
    headers: dict[str, str] | None = None,
    query: tuple[tuple[str, str], ...] = (),
) -> Ask:
    kind = {} if body is None else JSON
    ask = Ask(method=method, path=API + path, query=query, headers=kind | (headers or {}), body=body)
    return _in_space(ask, given)


def _in_space(ask: Ask, given: Given) -> Ask:
    return ask.asking(("space", given.space)) if given.space else ask


def _origin(given: Given) -> dict[str, str]:
    return {"idempotency-key": given.key, "x-scrubjay-run": given.run, "x-scrubjay-agent": given.words[3]}


def _named(given: Given) -> dict[str, str]:
    return {"x-scrubjay-run": given.run, "x-scrubjay-agent": given.words[3]}


def _segment(ref: str) -> str:
    return quote(ref, safe="")


_ROUTES: dict[str, Make] = {
    "POST /memories": _remember,
    "POST /memories/read": _read_many,
    "POST /memories/forget": _selection("forget"),
    "POST /memories/restore": _selection("restore"),
    "POST /memories/purge": _selection("purge"),
    "GET /memories/{id}": _read,
    "PATCH /memories/{id}": _revise,
    "DELETE /memories/{id}": _forget,
    "POST /memories/{id}/restore": _one("POST", "restore"),
    "POST /memories/{id}/purge": _one("POST", "purge"),
    "GET /search": _search,
    "POST /search": _search_by_body,
    "GET /memories/{id}/versions": _versions,
    "GET /memories/{id}/diff": _diff,
    "POST /memories/{id}/revert": _revert,
    "POST /memories/{id}/commit": _commit,
    "GET /memories/{id}/branches": _one("GET", "branches"),
    "POST /memories/{id}/branches": _branch,
    "POST /memories/{id}/branches/{name}/switch": _on_branch("POST", "/switch"),
    "POST /memories/{id}/branches/{name}/merge": _on_branch("POST", "/merge"),
    "DELETE /memories/{id}/branches/{name}": _on_branch("DELETE", ""),
    "GET /context": _context,
    "GET /memories/{id}/related": _one("GET", "related"),
    "GET /graph": _graph,
    "GET /graph/path": _path,
    "POST /extract": _extract,
    "POST /undo": _undo,
    "GET /memories/{id}/links": _one("GET", "links"),
    "POST /memories/{id}/links": _relate,
    "DELETE /memories/{id}/links": _unrelate,
    "GET /changes": _changes,
    "GET /status": _status,
    "POST /memories/smart-write": _smart_write,
    "GET /rules": lambda given: _send("GET", "/rules", given),
    "PATCH /rules": _rules,
    "GET /inbox": lambda given: _send("GET", "/inbox", given),
    "POST /inbox/approve": _judge("approve"),
    "POST /inbox/decline": _judge("decline"),
    "GET /conflicts": _conflicts,
    "GET /conflicts/{id}": lambda given: _send("GET", f"/conflicts/{_segment(given.ref)}", given),
    "POST /scan": lambda given: _send("POST", "/scan", given, {"limit": 3}),
    "POST /scan/later": lambda given: _send("POST", "/scan/later", given, {"after": 86_400}),
    "POST /conflicts/{id}/resolve": _resolve,
    "GET /tags": lambda given: _send("GET", "/tags", given),
    "POST /tags/synonyms": _add_synonyms,
    "DELETE /tags/synonyms": _remove_synonyms,
    "POST /tags/preview": _preview_tags,
    "GET /jobs": lambda given: _send("GET", "/jobs", given),
    "POST /jobs/{id}/retry": lambda given: _send("POST", f"/jobs/{_segment(given.ref)}/retry", given),
    "DELETE /jobs/{id}": lambda given: _send("DELETE", f"/jobs/{_segment(given.ref)}", given),
    "POST /notes": _write_note,
    "GET /notes/{id}": _note("GET", ""),
    "PATCH /notes/{id}": _edit_note,
    "GET /notes/search": _search_notes,
    "POST /notes/{id}/links": _link_notes,
    "DELETE /notes/{id}/links": lambda given: _note("DELETE", "/links", ("target", given.other))(given),
    "GET /notes/{id}/backlinks": _note("GET", "/backlinks"),
    "POST /notes/{id}/review": _note("POST", "/review"),
    "GET /notes/due": _notes("due", ("days", "0"), ("limit", "5")),
    "GET /notes/broken-links": _notes("broken-links"),
    "GET /notes/categories": _notes("categories"),
    "GET /notes/templates": _notes("templates"),
    # What changes with every second is asked for by the day.
    "GET /notes/date": _notes("date", ("format", "date_only")),
    "POST /notes/sync": lambda given: _send("POST", "/notes/sync", given),
    "POST /notes/{id}/attachments": _attach,
    "GET /notes/{id}/attachments": _note("GET", "/attachments"),
    "GET /notes/{id}/export": _note("GET", "/export", ("format", "json")),
    "GET /attachments/orphans": lambda given: _send("GET", "/attachments/orphans", given),
    "GET /attachments/{id}": lambda given: _send("GET", f"/attachments/{_segment(given.ref)}", given),
    "GET /export": _export,
    "POST /import": _import,
}
_READING = ("POST /memories/read", "POST /search", "POST /tags/preview")
OPEN = tuple(Deed(name=f"GET {path}", make=_outside(path)) for path in ("/healthz", "/readyz"))
FIGURES = Deed(name="GET /metrics", make=_outside("/metrics"), closed=True)
ROUTES: tuple[Deed, ...] = (
    *(
        Deed(
            name=f"{name.split()[0]} {API}{name.split()[1]}",
            make=make,
            writes=not name.startswith("GET") and name not in _READING,
        )
        for name, make in _ROUTES.items()
    ),
    FIGURES,
)
"""All but the sign of life, which is everybody's."""
