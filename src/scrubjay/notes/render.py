"""A memory told as a note."""

import json
from collections.abc import Sequence
from datetime import datetime

from scrubjay.model.checks import require_text
from scrubjay.model.memory import Json, Memory
from scrubjay.model.timestamps import to_iso
from scrubjay.notes.results import NoteRead

__all__ = ["FORMATS", "note_read", "tidy_category"]

FORMATS = ("markdown", "plain", "json")


def note_read(memory: Memory, *, links: Sequence[str], path: str, format: str, now: datetime) -> NoteRead:
    """A note with its content in a format: as it was written, without its marks, or all of it as JSON."""
    holding = tuple(observation.text for observation in memory.observations if observation.holds(now))
    told = NoteRead(
        id=memory.trunk or memory.id,
        name=memory.name,
        title=memory.label,
        content=memory.content,
        format=format,
        tags=memory.tags,
        category=memory.category,
        kind=memory.kind,
        created_at=memory.created_at,
        updated_at=memory.updated_at,
        last_reviewed=memory.last_reviewed or memory.created_at,
        file_path=path,
        links=tuple(links),
        version=memory.version,
        observations=holding,
        state=memory.state.value,
    )
    if format == "markdown":
        return told
    content = _plain(memory.content, holding) if format == "plain" else _json(told)
    return NoteRead(**{name: getattr(told, name) for name in NoteRead.__slots__ if name != "content"}, content=content)


def tidy_category(category: str) -> str:
    """A category, with its parts between single slashes; what would lead to another place is no part."""
    parts = (part.strip() for part in require_text(category, field="category").split("/"))
    return "/".join(part for part in parts if part not in {"", ".", ".."})


def _plain(content: str, observations: Sequence[str]) -> str:
    # Few ask for it, and what reads Markdown takes a while to load.
    from scrubjay.notes.markdown.plain import plain_text  # noqa: PLC0415

    return "\n".join(part for part in (plain_text(content), *observations) if part)


def _json(note: NoteRead) -> str:
    told: dict[str, Json] = {
        "id": note.id,
        "title": note.title,
        "content": note.content,
        "tags": list(note.tags),
        "category": note.category,
        "created_at": to_iso(note.created_at),
        "updated_at": to_iso(note.updated_at),
        "last_reviewed": to_iso(note.last_reviewed),
        "file_path": note.file_path,
        "links": list(note.links),
        "observations": list(note.observations),
    }
    return json.dumps(told, ensure_ascii=False, indent=2)
