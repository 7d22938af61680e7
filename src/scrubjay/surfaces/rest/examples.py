"""An answer of each kind, as the OpenAPI description shows it."""

from scrubjay.model.memory import Json

_ID = "0197f3c2-6d3e-7bb0-b8a5-9f4c1e2d3a4b"
_OTHER = "0197f3c2-7a10-7c2f-8d11-0b1c2d3e4f5a"
_RUN = "0197f3c2-6d3e-7bb0-b8a5-9f4c1e2d3a4c"
_AT = "2026-05-31T14:00:00Z"
_NAME = "how-to-reach-sarah"
_SOURCE: dict[str, Json] = {
    "session": "", "conversation": "", "at": None, "method": "manual", "agent": "rest", "tool": "", "trust": "unknown",
}  # fmt: skip

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
    "warnings": [],
    "trace": [{"stage": "validate", "outcome": "accepted", "why": ""}],
}
MERGED: dict[str, Json] = CREATED | {"action": "unchanged", "similarity": 1.0}


def _written(action: str, version: int) -> dict[str, Json]:
    return {"action": action, "id": _ID, "name": _NAME, "version": version, "warnings": []}


def _outcome(action: str, version: int) -> dict[str, Json]:
    return {"done": [_written(action, version)], "missing": [], "dry_run": False, "run": _RUN}


REVISED = _written("updated", 2)
REVERTED = _written("updated", 3)
FORGOTTEN_ONE = _written("trashed", 2)
RESTORED_ONE = _written("restored", 3)
PURGED_ONE = _written("purged", 2)
FORGOTTEN = _outcome("trashed", 2)
RESTORED = _outcome("restored", 3)
PURGED = _outcome("purged", 2)
UNDONE: dict[str, Json] = {"run": _RUN, "done": [_written("undone", 3)], "skipped": []}

READ: dict[str, Json] = {
    "memories": [MEMORY],
    "texts": ["# How to reach Sarah\n\nSarah prefers voice calls to mail\n"],
    "relations": [],
    "missing": [{"ref": "how-to-reach-sara", "suggestions": [_NAME]}],
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
            "memory": None,
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
    "versions": [],
    "diff": [
        {"field": "title", "before": "Sarah", "after": "How to reach Sarah", "lines": ["-Sarah", "+How to reach Sarah"]}
    ],
    "stale": False,
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
EVENT = f'id: 17\ndata: {{"seq": 17, "action": "created", "id": "{_ID}", "version": 1, "at": "{_AT}"}}\n\n'
LINES = f'{{"scrubjay": "export", "format": 1}}\n{{"id": "{_ID}", "content": "Sarah prefers voice calls to mail"}}\n'
