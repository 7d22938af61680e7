"""An answer of each kind about notes, as the OpenAPI description shows it."""

from scrubjay.model.memory import Json

_ID = "0197f3c2-6d3e-7bb0-b8a5-9f4c1e2d3a4b"
_OTHER = "0197f3c2-7a10-7c2f-8d11-0b1c2d3e4f5a"
_AT = "2026-05-31T14:00:00Z"
_LATER = "2026-06-01T09:30:00Z"
_TITLE = "How to reach Sarah"
_FOLDER = "/home/ada/notes"
_STEM = f"people-how-to-reach-sarah-{_ID}"
_FILE = f"{_FOLDER}/{_STEM}.md"

WRITTEN: dict[str, Json] = {
    "action": "created",
    "id": _ID,
    "name": "how-to-reach-sarah",
    "title": _TITLE,
    "file_path": _FILE,
    "created_at": _AT,
    "version": 1,
    "category": "people",
    "tags": ["contact"],
    "similar": [],
    "conflicts": [],
    "warnings": [],
}
READ: dict[str, Json] = {
    "id": _ID,
    "name": "how-to-reach-sarah",
    "title": _TITLE,
    "content": "# Sarah\n\nShe prefers **voice calls** to mail.\n",
    "format": "markdown",
    "tags": ["contact"],
    "category": "people",
    "kind": "note",
    "created_at": _AT,
    "updated_at": _AT,
    "last_reviewed": _AT,
    "file_path": _FILE,
    "links": [_OTHER],
    "version": 1,
    "observations": [],
    "state": "live",
}
CHANGED: dict[str, Json] = {
    "success": True,
    "action": "updated",
    "id": _ID,
    "name": "how-to-reach-sarah",
    "title": _TITLE,
    "updated_at": _LATER,
    "file_path": _FILE,
    "version": 2,
    "conflicts": [],
    "warnings": [],
}
FOUND: dict[str, Json] = {
    "results": [
        {
            "id": _ID,
            "title": _TITLE,
            "score": 3.21,
            "snippet": "She prefers **voice calls** to mail.",
            "category": "people",
            "tags": ["contact"],
            "updated_at": _AT,
            "file_path": _FILE,
            "matched": ["content"],
        }
    ],
    "more": False,
    "degraded": [],
}
LINKED: dict[str, Json] = {
    "success": True,
    "action": "created",
    "source_id": _OTHER,
    "source_title": "Sarah",
    "source_links": [_ID],
    "target_id": _ID,
    "target_title": _TITLE,
    "target_links": [_OTHER],
    "markdown_link": f"[[{_STEM}|how to call her]]",
    "warnings": [],
}
_GONE: dict[str, Json] = {"action": "removed", "source_links": [], "target_links": [], "markdown_link": ""}
UNLINKED: dict[str, Json] = LINKED | _GONE
DATE: dict[str, Json] = {
    "date": "2026-05-31T16:00:00+02:00",
    "format": "iso",
    "iso": "2026-05-31T16:00:00+02:00",
    "timestamp": 1_780_236_000,
    "timezone": "Europe/Berlin",
    "utc_offset": "+02:00",
    "weekday": "Sunday",
}
REVIEWED: dict[str, Json] = {
    "success": True, "id": _ID, "title": _TITLE, "last_reviewed": _LATER, "file_path": _FILE, "version": 3,
}  # fmt: skip
DUE: dict[str, Json] = {
    "notes": [{"id": _ID, "title": _TITLE, "last_reviewed": _AT, "days": 97, "category": "people", "file_path": _FILE}]
}
BACKLINKS: dict[str, Json] = {
    "id": _ID,
    "title": _TITLE,
    "backlinks": [
        {
            "id": _OTHER,
            "title": "Sarah",
            "text": "how to call her",
            "file_path": f"{_FOLDER}/people-sarah-{_OTHER}.md",
            "snippet": "",
        }
    ],
}
BROKEN: dict[str, Json] = {
    "links": [
        {
            "id": _ID,
            "title": _TITLE,
            "target": "Sara",
            "text": "",
            "file_path": _FILE,
            "suggestions": ["Sarah"],
        }
    ]
}
CATEGORIES: dict[str, Json] = {"categories": [{"path": "people", "name": "people", "notes": 1, "total": 1}]}
TEMPLATES: dict[str, Json] = {
    "templates": [{"name": "meeting", "built_in": True}],
    "folder": f"{_FOLDER}/templates",
}
SYNCED: dict[str, Json] = {
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
