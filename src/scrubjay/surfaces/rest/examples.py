"""The example responses of the OpenAPI description."""

import json

from scrubjay.model.memory import Json
from scrubjay.model.rules import Rules
from scrubjay.rpc.codec import problem

_ID = "0197f3c2-6d3e-7bb0-b8a5-9f4c1e2d3a4b"
_OTHER_ID = "0197f3c2-7a10-7c2f-8d11-0b1c2d3e4f5a"
_RUN_ID = "0197f3c2-6d3e-7bb0-b8a5-9f4c1e2d3a4c"
_AT = "2026-05-31T14:00:00Z"
_LATER = "2026-06-01T09:30:00Z"
_NAME = "how-to-reach-sarah"
_TITLE = "How to reach Sarah"
_SOURCE: dict[str, Json] = {
    "session": "", "conversation": "", "at": None, "method": "manual", "agent": "rest", "tool": "", "trust": "unknown",
}  # fmt: skip

TEXT = "# How to reach Sarah\n\nSarah prefers voice calls to mail\n"
MEMORY: dict[str, Json] = {
    "id": _ID,
    "space": "default",
    "version": 1,
    "name": _NAME,
    "title": _TITLE,
    "kind": "preference",
    "content": "Sarah prefers voice calls to mail",
    "tags": ["contact"],
    "source": {"agent": "rest"},
    "created_at": _AT,
    "updated_at": _AT,
}
MEMORY_LIST: dict[str, Json] = {"memories": [MEMORY], "cursor": _ID}

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
_MERGED_FIELDS: dict[str, Json] = {
    "action": "merged",
    "version": 2,
    "merged_into": _ID,
    "similarity": 0.97,
    "trace": [{"stage": "gate", "outcome": "merged", "why": "it says the same, similarity 0.97"}],
}
MERGED: dict[str, Json] = CREATED | _MERGED_FIELDS
REMEMBERED_MANY: dict[str, Json] = {
    "items": [
        {"index": 0, "result": CREATED, "error": None},
        {
            "index": 1,
            "result": None,
            "error": {
                "code": "invalid_input",
                "message": "remember has no argument 'txt'",
                "hint": "Its arguments are text, title, kind",
                "field": "txt",
            },
        },
    ],
    "dry_run": False,
}
RULES: dict[str, Json] = Rules(gate="report", window_days=14, never=("do not remember*",)).as_json


def _written(action: str, version: int) -> dict[str, Json]:
    return {
        "action": action, "id": _ID, "name": _NAME, "version": version, "warnings": [], "branch": "main",
        "conflicts": [],
    }  # fmt: skip


def _outcome(action: str, version: int) -> dict[str, Json]:
    return {"done": [_written(action, version)], "missing": [], "dry_run": False, "run": _RUN_ID}


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
UNDONE: dict[str, Json] = {"run": _RUN_ID, "done": [_written("undone", 3)], "skipped": []}

_WAITING_FIELDS: dict[str, Json] = {"state": "waiting", "source": {"method": "agent", "agent": "jay"}}
INBOX: dict[str, Json] = {"memories": [MEMORY | _WAITING_FIELDS]}

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

RECALLED: dict[str, Json] = {
    "hits": [
        {
            "id": _ID,
            "name": _NAME,
            "title": _TITLE,
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
            "run": _RUN_ID,
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
    "diff": [{"field": "title", "before": "Sarah", "after": _TITLE, "lines": ["-Sarah", "+How to reach Sarah"]}],
    "stale": False,
}


def _branch(name: str, version: int, **other_fields: Json) -> Json:
    fields: dict[str, Json] = {
        "name": name, "version": version, "forked": 0, "description": "", "created_at": _AT, "updated_at": _AT,
        "agent": "rest",
    }  # fmt: skip
    return fields | other_fields


_MAIN_BRANCH = _branch("main", 3)
_DRAFT_BRANCH = _branch("draft", 4, forked=3, description="What if she moves?")
BRANCHES: dict[str, Json] = {
    "id": _ID,
    "name": _NAME,
    "current": "main",
    "branches": [_MAIN_BRANCH, _DRAFT_BRANCH],
}
SWITCHED: dict[str, Json] = BRANCHES | {"current": "draft"}
_DROPPED_FIELDS: dict[str, Json] = {"branches": [_MAIN_BRANCH]}
DROPPED: dict[str, Json] = BRANCHES | _DROPPED_FIELDS
BRANCH_MERGED: dict[str, Json] = {
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
    "run": _RUN_ID,
    "method": "patterns",
    "warnings": [],
}

_EDGE: dict[str, Json] = {
    "source": _ID,
    "target": _OTHER_ID,
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
    "source_name": _TITLE,
    "target": _OTHER_ID,
    "target_name": "Sarah",
    "source_links": [_EDGE],
    "target_links": [_EDGE],
}
_NODE: dict[str, Json] = {
    "id": _ID, "name": _NAME, "title": _TITLE, "kind": "preference", "distance": 0, "pinned": False,
}  # fmt: skip
_NEIGHBOUR: dict[str, Json] = {"id": _OTHER_ID, "name": "sarah", "title": "Sarah", "kind": "person", "distance": 1}
NETWORK: dict[str, Json] = {"nodes": [_NODE, _NEIGHBOUR | {"pinned": False}], "edges": [_EDGE], "truncated": False}
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
    "run": _RUN_ID,
    "relation": None,
}
EVENT = f"id: 17\ndata: {json.dumps(CHANGE)}\n\n"


def _version(number: int, action: str, **body: Json) -> Json:
    return {"number": number, "action": action, "created_at": _AT, "agent": "rest", "run": _RUN_ID, "body": body}


def _exported(memory_id: str, *versions: Json) -> Json:
    return {"memory": {"id": memory_id, "version": len(versions)}, "versions": list(versions)}


_TIMES: dict[str, Json] = {"created_at": _AT, "updated_at": _AT}
_LINES: tuple[Json, ...] = (
    {"scrubjay": 1, "space": "default", "exported_at": _AT},
    _exported(
        _ID,
        _version(1, "created", name=_NAME, title="Sarah", content="Sarah prefers voice calls to mail", **_TIMES),
        _version(2, "revised", name=_NAME, title=_TITLE, content="Sarah prefers voice calls", **_TIMES),
    ),
    _exported(
        _OTHER_ID, _version(1, "created", name="sarah", title="Sarah", kind="person", content="A colleague", **_TIMES)
    ),
    {"relation": _EDGE},
)
# An import of these lines creates the memories of the other examples.
LINES = "".join(f"{json.dumps(line)}\n" for line in _LINES)

_CONFLICT_ID = "c-3f8a2b1c9d0e4f67"
_NEWER: dict[str, Json] = {
    "id": _OTHER_ID,
    "name": "sarah-moved",
    "statement": "Sarah lives in Paris.",
    "date": _AT,
    "trust": "user",
    "agent": "rest",
    "session": "",
}
_OLDER: dict[str, Json] = _NEWER | {
    "id": _ID,
    "name": "where-sarah-lives",
    "statement": "Sarah lives in Berlin.",
    "date": "2026-05-01T12:00:00Z",
}
CONFLICT: dict[str, Json] = {
    "id": _CONFLICT_ID,
    "type": "contradiction",
    "confidence": 0.94,
    "suggested_action": "supersede",
    "status": "pending",
    "memory": _NEWER,
    "other": _OLDER,
    "differs": ["name: Paris or Berlin"],
    "detected_at": _AT,
    "strategy": None,
    "notes": "",
    "resolved_at": None,
    "resolved_by": "",
    "run": "",
}
SCAN_JOB: dict[str, Json] = {
    "space": "work",
    "kind": "conflicts",
    "about": {},
    "id": "0197f3c2-9a10-7c2f-8d11-0b1c2d3e4f5b",
    "state": "waiting",
    "tries": 0,
    "created_at": _AT,
    "due": _AT,
    "outcome": "",
    "version": 1,
}
SCAN: dict[str, Json] = {"memories": 2, "found": [CONFLICT], "count": 1, "by_type": {"contradiction": 1}}
RESOLVED: dict[str, Json] = {
    "action": "superseded",
    "conflict": _CONFLICT_ID,
    "strategy": "supersede",
    "kept": _NEWER["id"],
    "changed": [_OLDER["id"], _NEWER["id"]],
    "why": "",
    "run": _RUN_ID,
    "branch": "",
    "warnings": [],
}

JOB: dict[str, Json] = {
    "space": "default",
    "kind": "polish",
    "about": {"memory_id": _ID},
    "id": "0197f3c2-7a10-7c2f-8d11-0b1c2d3e4f5b",
    "state": "done",
    "tries": 1,
    "created_at": _AT,
    "due": "2026-06-01T14:00:05Z",
    "outcome": "polished: version 3",
    "version": 3,
}
_RETRIED_FIELDS: dict[str, Json] = {"state": "waiting", "tries": 0, "outcome": "", "version": 4}
RETRIED_JOB: dict[str, Json] = JOB | _RETRIED_FIELDS

_FOLDER = "/home/ada/notes"
_NOTE_STEM = f"people-how-to-reach-sarah-{_ID}"
_NOTE_FILE = f"{_FOLDER}/{_NOTE_STEM}.md"

NOTE_WRITTEN: dict[str, Json] = {
    "action": "created",
    "id": _ID,
    "name": _NAME,
    "title": _TITLE,
    "file_path": _NOTE_FILE,
    "created_at": _AT,
    "version": 1,
    "category": "people",
    "tags": ["contact"],
    "similar": [],
    "conflicts": [],
    "warnings": [],
}
NOTE_READ: dict[str, Json] = {
    "id": _ID,
    "name": _NAME,
    "title": _TITLE,
    "content": "# Sarah\n\nShe prefers **voice calls** to mail.\n",
    "format": "markdown",
    "tags": ["contact"],
    "category": "people",
    "kind": "note",
    "created_at": _AT,
    "updated_at": _AT,
    "last_reviewed": _AT,
    "file_path": _NOTE_FILE,
    "links": [_OTHER_ID],
    "version": 1,
    "observations": [],
    "state": "live",
}
NOTE_CHANGED: dict[str, Json] = {
    "success": True,
    "action": "updated",
    "id": _ID,
    "name": _NAME,
    "title": _TITLE,
    "updated_at": _LATER,
    "file_path": _NOTE_FILE,
    "version": 2,
    "conflicts": [],
    "warnings": [],
}
NOTES_FOUND: dict[str, Json] = {
    "results": [
        {
            "id": _ID,
            "title": _TITLE,
            "score": 3.21,
            "snippet": "She prefers **voice calls** to mail.",
            "category": "people",
            "tags": ["contact"],
            "updated_at": _AT,
            "file_path": _NOTE_FILE,
            "matched": ["content"],
        }
    ],
    "more": False,
    "degraded": [],
}
NOTES_LINKED: dict[str, Json] = {
    "success": True,
    "action": "created",
    "source_id": _OTHER_ID,
    "source_title": "Sarah",
    "source_links": [_ID],
    "target_id": _ID,
    "target_title": _TITLE,
    "target_links": [_OTHER_ID],
    "markdown_link": f"[[{_NOTE_STEM}|how to call her]]",
    "warnings": [],
}
_UNLINKED_FIELDS: dict[str, Json] = {"action": "removed", "source_links": [], "target_links": [], "markdown_link": ""}
NOTES_UNLINKED: dict[str, Json] = NOTES_LINKED | _UNLINKED_FIELDS
DATE: dict[str, Json] = {
    "date": "2026-05-31T16:00:00+02:00",
    "format": "iso",
    "iso": "2026-05-31T16:00:00+02:00",
    "timestamp": 1_780_236_000,
    "timezone": "Europe/Berlin",
    "utc_offset": "+02:00",
    "weekday": "Sunday",
}
NOTE_REVIEWED: dict[str, Json] = {
    "success": True, "id": _ID, "title": _TITLE, "last_reviewed": _LATER, "file_path": _NOTE_FILE, "version": 3,
}  # fmt: skip
DUE_NOTES: dict[str, Json] = {
    "notes": [
        {"id": _ID, "title": _TITLE, "last_reviewed": _AT, "days": 97, "category": "people", "file_path": _NOTE_FILE}
    ]
}
BACKLINKS: dict[str, Json] = {
    "id": _ID,
    "title": _TITLE,
    "backlinks": [
        {
            "id": _OTHER_ID,
            "title": "Sarah",
            "text": "how to call her",
            "file_path": f"{_FOLDER}/people-sarah-{_OTHER_ID}.md",
            "snippet": "",
        }
    ],
}
BROKEN_LINKS: dict[str, Json] = {
    "links": [
        {
            "id": _ID,
            "title": _TITLE,
            "target": "Sara",
            "text": "",
            "file_path": _NOTE_FILE,
            "suggestions": ["Sarah"],
        }
    ]
}
CATEGORIES: dict[str, Json] = {"categories": [{"path": "people", "name": "people", "notes": 1, "total": 1}]}
TEMPLATES: dict[str, Json] = {
    "templates": [{"name": "meeting", "built_in": True}],
    "folder": f"{_FOLDER}/templates",
}
NOTES_SYNCED: dict[str, Json] = {
    "folder": _FOLDER,
    "checked": 312,
    "taken": 2,
    "created": 1,
    "written": 0,
    "trashed": 0,
    "moved": 0,
    "conflicts": 0,
    "problems": [],
}

_DIGEST = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
_ATTACHED_FILE = f"attachments/sarah-at-her-desk-{_DIGEST[:12]}.png"
_ATTACHMENT: dict[str, Json] = {
    "id": _OTHER_ID,
    "name": f"sarah-at-her-desk-png-{_DIGEST[:12]}",
    "title": "Sarah at her desk.png",
    "media_type": "image/png",
    "bytes": 48_120,
    "sha256": _DIGEST,
    "file": _ATTACHED_FILE,
    "caption": "Sarah, May 2026",
    "path": f"{_FOLDER}/{_ATTACHED_FILE}",
}
ATTACHED: dict[str, Json] = {"action": "created", "note": _ID, "attachment": _ATTACHMENT, "warnings": []}
_ORPHAN: dict[str, Json] = {
    "why": "no note embeds it",
    "file": _ATTACHED_FILE,
    "id": _ATTACHMENT["id"],
    "bytes": _ATTACHMENT["bytes"],
}
NOTE_ATTACHMENTS: dict[str, Json] = {"note": _ID, "attachments": [_ATTACHMENT]}
ORPHANS: dict[str, Json] = {"orphans": [_ORPHAN]}


def _problem(status: int, code: str, detail: str, **members: Json) -> dict[str, Json]:
    return problem(status, code, detail, request_id="5f0c2a9be1d34c77") | members


PROBLEMS: dict[int, dict[str, Json]] = {
    400: _problem(400, "bad_json", "the body is not valid JSON: Expecting value in line 1, column 10"),
    401: _problem(401, "not_admitted", "this server requires a token", reason="missing"),
    403: _problem(403, "not_allowed", "you may not use the space 'work'", field="space"),
    404: _problem(404, "not_found", "no memory is called 'how-to-reach-sara'", suggestions=[_NAME]),
    408: _problem(408, "too_slow", "the body did not arrive within 30 s", hint="Send it faster, or send less"),
    409: _problem(409, "name_taken", f"another memory is called {_NAME!r}", field="name"),
    412: _problem(412, "stale_version", f"memory {_NAME!r} is at version 3, not 2", expected=2, current=3),
    413: _problem(413, "too_large", "the body is larger than 16,777,216 bytes", limit=16_777_216),
    415: _problem(415, "unsupported_media_type", "a body must be declared as JSON, and this one is 'text/plain'"),
    422: _problem(422, "invalid_input", "limit must be at least 1", field="limit", errors=["limit must be at least 1"]),
    429: _problem(429, "too_many_requests", "this token may make 60 requests a minute", retry_after=1, limit=60),
    431: _problem(431, "request_header_fields_too_large", "the URL and the headers are too long"),
    500: _problem(500, "error", "the request failed: ValueError", hint="See the server's log for details"),
    503: _problem(503, "busy", "1,000 requests are waiting already", hint="Retry after 1 s", retry_after=1),
    507: _problem(507, "disk_full", "no room is left where the store is"),
}
