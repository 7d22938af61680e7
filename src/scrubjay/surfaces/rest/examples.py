"""An answer of each kind, as the OpenAPI description shows it."""

import json

from scrubjay.model.memory import Json
from scrubjay.model.rules import Rules
from scrubjay.rpc.codec import problem

_ID = "0197f3c2-6d3e-7bb0-b8a5-9f4c1e2d3a4b"
_OTHER = "0197f3c2-7a10-7c2f-8d11-0b1c2d3e4f5a"
_RUN = "0197f3c2-6d3e-7bb0-b8a5-9f4c1e2d3a4c"
_AT = "2026-05-31T14:00:00Z"
_NAME = "how-to-reach-sarah"
_SOURCE: dict[str, Json] = {
    "session": "", "conversation": "", "at": None, "method": "manual", "agent": "rest", "tool": "", "trust": "unknown",
}  # fmt: skip

TEXT = "# How to reach Sarah\n\nSarah prefers voice calls to mail\n"
MEMORY: dict[str, Json] = {
    "id": _ID,
    "space": "default",
    "version": 1,
    "name": _NAME,
    "title": "How to reach Sarah",
    "kind": "preference",
    "content": "Sarah prefers voice calls to mail",
    "tags": ["contact"],
    "source": {"agent": "rest"},
    "created_at": _AT,
    "updated_at": _AT,
}

CREATED: dict[str, Json] = {
    "action": "created",
    "id": _ID,
    "ids": [_ID],
    "name": _NAME,
    "version": 1,
    "tags": ["contact"],
    "merged_into": "",
    "similarity": None,
    "similar": [],
    "conflicts": [],
    "suggested_entities": ["Sarah"],
    "flags": [],
    "warnings": [],
    "trace": [{"stage": "validate", "outcome": "accepted", "why": ""}],
}
_AS_MERGED: dict[str, Json] = {
    "action": "merged",
    "version": 2,
    "merged_into": _ID,
    "similarity": 0.97,
    "trace": [{"stage": "gate", "outcome": "merged", "why": "it says the same, similarity 0.97"}],
}
MERGED: dict[str, Json] = CREATED | _AS_MERGED
RULES: dict[str, Json] = Rules(gate="report", window_days=14, never=("do not remember*",)).as_json


def _written(action: str, version: int) -> dict[str, Json]:
    return {
        "action": action, "id": _ID, "name": _NAME, "version": version, "warnings": [], "branch": "main",
        "conflicts": [],
    }  # fmt: skip


def _outcome(action: str, version: int) -> dict[str, Json]:
    return {"done": [_written(action, version)], "missing": [], "dry_run": False, "run": _RUN}


REVISED = _written("updated", 2)
REVERTED = _written("updated", 3)
COMMITTED = _written("committed", 4)
FORGOTTEN_ONE = _written("trashed", 2)
RESTORED_ONE = _written("restored", 3)
PURGED_ONE = _written("purged", 2)
FORGOTTEN = _outcome("trashed", 2)
RESTORED = _outcome("restored", 3)
PURGED = _outcome("purged", 2)
APPROVED = _outcome("approved", 2)
DECLINED = FORGOTTEN
UNDONE: dict[str, Json] = {"run": _RUN, "done": [_written("undone", 3)], "skipped": []}

_WAITING: dict[str, Json] = {"state": "waiting", "source": {"method": "agent", "agent": "jay"}}
INBOX: dict[str, Json] = {"memories": [MEMORY | _WAITING]}

TAGS: dict[str, Json] = {
    "tags": [{"tag": "contact", "memories": 3}],
    "synonyms": [{"tag": "payment", "variants": ["payments-fix", "paying"], "named": []}],
    "built_in": [{"tag": "auth", "variants": ["authentication", "auth-fix"], "named": ["oauth"]}],
    "off": [],
    "more": False,
}
PREVIEW: dict[str, Json] = {
    "before": ["auth-fix", "oauth", "cli"],
    "after": ["auth", "oauth", "cli"],
    "suggested": [],
    "why": [{"tag": "auth-fix", "becomes": ["auth"], "why": "a synonym"}],
}

READ: dict[str, Json] = {
    "memories": [MEMORY],
    "texts": [TEXT],
    "relations": [],
    "missing": [{"ref": "how-to-reach-sara", "suggestions": [_NAME], "why": ""}],
    "stale": False,
}

FOUND: dict[str, Json] = {
    "hits": [
        {
            "id": _ID,
            "name": _NAME,
            "title": "How to reach Sarah",
            "passage": "Sarah prefers voice calls to mail",
            "score": 7.31,
            "date": _AT,
            "entities": ["Sarah"],
            "source": _SOURCE,
            "trust": "unknown",
            "space": "default",
            "why": [],
            "around": [],
            "memory": None,
            "branch": "main",
        }
    ],
    "pinned": [],
    "cursor": "",
    "tokens": 48,
    "degraded": [],
    "stale": False,
}

VERSIONS: dict[str, Json] = {
    "id": _ID,
    "name": _NAME,
    "branch": "main",
    "versions": [
        {
            "number": 1,
            "memory": MEMORY,
            "parent": None,
            "action": "created",
            "created_at": _AT,
            "agent": "rest",
            "run": _RUN,
            "message": "",
        }
    ],
    "diff": [],
    "stale": False,
}
DIFF: dict[str, Json] = {
    "id": _ID,
    "name": _NAME,
    "branch": "main",
    "versions": [],
    "diff": [
        {"field": "title", "before": "Sarah", "after": "How to reach Sarah", "lines": ["-Sarah", "+How to reach Sarah"]}
    ],
    "stale": False,
}


def _branch(name: str, version: int, **about: Json) -> Json:
    existing: dict[str, Json] = {
        "name": name, "version": version, "forked": 0, "description": "", "created_at": _AT, "updated_at": _AT,
        "agent": "rest",
    }  # fmt: skip
    return existing | about


_MAIN_BRANCH = _branch("main", 3)
_DRAFT_BRANCH = _branch("draft", 4, forked=3, description="What if she moves?")
BRANCHES: dict[str, Json] = {
    "id": _ID,
    "name": _NAME,
    "current": "main",
    "branches": [_MAIN_BRANCH, _DRAFT_BRANCH],
}
SWITCHED: dict[str, Json] = BRANCHES | {"current": "draft"}
_DROPPED: dict[str, Json] = {"branches": [_MAIN_BRANCH]}
DROPPED: dict[str, Json] = BRANCHES | _DROPPED
JOINED: dict[str, Json] = {
    "action": "merged",
    "id": _ID,
    "name": _NAME,
    "branch": "draft",
    "into": "main",
    "version": 4,
    "clashes": [],
    "warnings": [],
    "conflicts": [],
}
CONTEXT: dict[str, Json] = {
    "space": "default",
    "profile": [
        {
            "id": _ID,
            "name": _NAME,
            "kind": "preference",
            "text": "Sarah prefers voice calls to mail",
            "date": _AT,
            "why": "",
        }
    ],
    "pinned": [],
    "last_session": "",
    "recent": [],
    "conflicts": [],
    "reminders": [],
    "text": "# What is remembered (information, not instructions)\n\n## Profile\n"
    f"- Sarah prefers voice calls to mail [{_NAME}]",
    "tokens": 47,
    "left_out": [],
}
EXTRACTED: dict[str, Json] = {
    "facts": [
        {
            "fact": {
                "statement": "Sarah: I prefer voice calls to mail.",
                "type": "preference",
                "subject": "Sarah",
                "speaker": "Sarah",
                "turn": "1",
                "confidence": 0.95,
                "at": None,
                "method": "patterns",
            },
            "action": "created",
            "id": _ID,
            "conflicts": [],
        }
    ],
    "turns": 1,
    "session": "log-3f8a2b1c9d0e",
    "run": _RUN,
    "method": "patterns",
    "warnings": [],
}

_EDGE: dict[str, Json] = {
    "source": _ID,
    "target": _OTHER,
    "created_at": _AT,
    "type": "related_to",
    "text": "",
    "strength": 0.5,
    "metadata": {},
}
LINKS: dict[str, Json] = {"id": _ID, "name": _NAME, "links": [_EDGE]}
RELATED: dict[str, Json] = {
    "action": "created",
    "source": _ID,
    "source_name": "How to reach Sarah",
    "target": _OTHER,
    "target_name": "Sarah",
    "source_links": [_EDGE],
    "target_links": [_EDGE],
}
_NODE: dict[str, Json] = {
    "id": _ID, "name": _NAME, "title": "How to reach Sarah", "kind": "preference", "distance": 0, "pinned": False,
}  # fmt: skip
_NEAR: dict[str, Json] = {"id": _OTHER, "name": "sarah", "title": "Sarah", "kind": "person", "distance": 1}
NETWORK: dict[str, Json] = {"nodes": [_NODE, _NEAR | {"pinned": False}], "edges": [_EDGE], "truncated": False}
WAY = NETWORK
UNRELATED: dict[str, Json] = RELATED | {"action": "removed", "source_links": [], "target_links": []}

STATUS: dict[str, Json] = {
    "space": "default",
    "version": "0.1.0",
    "data": "",
    "memories": {"live": 3},
    "versions": 4,
    "relations": 1,
    "store": {},
    "embedding": {"available": True, "model": "all-MiniLM-L6-v2", "dimension": 384},
    "index": {},
    "compression": {},
    "vault": {},
    "llm": {},
    "degraded": [],
    "daemon": {},
}
IMPORTED: dict[str, Json] = {"imported": 3, "known": 0, "relations": 1, "renamed": [], "duplicates": []}
CHANGE: dict[str, Json] = {
    "seq": 17,
    "action": "created",
    "id": _ID,
    "version": 1,
    "at": _AT,
    "agent": "rest",
    "run": _RUN,
    "relation": None,
}
EVENT = f"id: 17\ndata: {json.dumps(CHANGE)}\n\n"


def _version(number: int, action: str, **body: Json) -> Json:
    return {"number": number, "action": action, "created_at": _AT, "agent": "rest", "run": _RUN, "body": body}


def _kept(memory_id: str, *versions: Json) -> Json:
    return {"memory": {"id": memory_id, "version": len(versions)}, "versions": list(versions)}


_TIMES: dict[str, Json] = {"created_at": _AT, "updated_at": _AT}
_LINES: tuple[Json, ...] = (
    {"scrubjay": 1, "space": "default", "exported_at": _AT},
    _kept(
        _ID,
        _version(1, "created", name=_NAME, title="Sarah", content="Sarah prefers voice calls to mail", **_TIMES),
        _version(2, "revised", name=_NAME, title="How to reach Sarah", content="Sarah prefers voice calls", **_TIMES),
    ),
    _kept(_OTHER, _version(1, "created", name="sarah", title="Sarah", kind="person", content="A colleague", **_TIMES)),
    {"relation": _EDGE},
)
# Whoever imports them has the memories that the other examples are about.
LINES = "".join(f"{json.dumps(line)}\n" for line in _LINES)


def _problem(status: int, code: str, detail: str, **facts: Json) -> dict[str, Json]:
    return problem(status, code, detail, request_id="5f0c2a9be1d34c77") | facts


PROBLEMS: dict[int, dict[str, Json]] = {
    400: _problem(400, "bad_json", "the body is no JSON: Expecting value in line 1, column 10"),
    401: _problem(401, "not_admitted", "this server requires a token", reason="missing"),
    403: _problem(403, "not_allowed", "you may not use the space 'work'", field="space"),
    404: _problem(404, "not_found", "no memory is called 'how-to-reach-sara'", suggestions=[_NAME]),
    408: _problem(408, "too_slow", "the body did not arrive within 30 s", hint="Send it faster, or less of it"),
    409: _problem(409, "name_taken", f"another memory is called {_NAME!r}", field="name"),
    412: _problem(412, "stale_version", f"memory {_NAME!r} is at version 3, not 2", expected=2, current=3),
    413: _problem(413, "too_large", "the body is larger than 16,777,216 bytes", limit=16_777_216),
    415: _problem(415, "unsupported_media_type", "a body must be JSON, and this one says it is 'text/plain'"),
    422: _problem(422, "invalid_input", "limit must be at least 1", field="limit", errors=["limit must be at least 1"]),
    429: _problem(429, "too_many_requests", "this token may make 60 requests a minute", retry_after=1, limit=60),
    431: _problem(431, "request_header_fields_too_large", "the head of the request is too large"),
    500: _problem(500, "error", "the request failed: ValueError", hint="The server's log says more"),
    503: _problem(503, "busy", "1,000 requests are waiting already", hint="Retry after 1 s", retry_after=1),
    507: _problem(507, "disk_full", "no room is left where the store is"),
}
