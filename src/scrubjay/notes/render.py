"""Results of notes in the formats that callers choose: a memory as a note, and the current date."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from scrubjay.errors import InvalidInput
from scrubjay.model.checks import require_text
from scrubjay.model.labels import mark_of_all
from scrubjay.model.memory import Json, Memory
from scrubjay.model.notes import CurrentDate, NoteRead
from scrubjay.model.timestamps import to_iso

__all__ = ["DATE_FORMATS", "NOTE_FORMATS", "normalize_category", "render_date", "render_note"]

NOTE_FORMATS = ("markdown", "plain", "json")
DATE_FORMATS = ("iso", "locale", "timestamp", "date_only")
_LOCALTIME = Path("/etc/localtime")
_ZONE_FOLDER = "zoneinfo/"
_MAX_ZONE = 100


def render_note(memory: Memory, *, links: Sequence[str], path: str, format: str, now: datetime) -> NoteRead:
    """Return a note with its content in a format: as written, without markup, or the whole note as JSON."""
    note = NoteRead(
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
        observations=tuple(observation.text for observation in memory.observations if observation.holds(now)),
        state=memory.state.value,
        mark=mark_of_all(memory),
    )
    if format == "json":
        return replace(note, content=_json(note))
    if format == "plain":
        # Few callers choose this format, and the Markdown parser takes a while to load.
        from scrubjay.notes.markdown.plain import plain_text  # noqa: PLC0415

        parts = (plain_text(note.content), *note.observations)
        return replace(note, content="\n".join(part for part in parts if part))
    return note


def render_date(now: datetime, *, format: str = "iso", timezone: str = "") -> CurrentDate:
    """Return a moment in a format and time zone, by default that of this machine; `timestamp` is seconds since 1970."""
    if format not in DATE_FORMATS:
        raise InvalidInput(f"format must be one of {', '.join(DATE_FORMATS)}, not {str(format)[:60]!r}", field="format")
    local = now.astimezone(_load_zone(timezone)) if timezone else now.astimezone()
    local = local.replace(microsecond=0)
    by_format = {
        "iso": local.isoformat(),
        "locale": f"{local:%A}, {local.day} {local:%B %Y}, {local:%H:%M:%S} {local.tzname()}",
        "timestamp": str(int(local.timestamp())),
        "date_only": local.date().isoformat(),
    }
    return CurrentDate(
        date=by_format[format],
        format=format,
        iso=by_format["iso"],
        timestamp=int(local.timestamp()),
        timezone=timezone or _local_zone() or str(local.tzname()),
        utc_offset=local.isoformat()[-6:],
        weekday=f"{local:%A}",
    )


def normalize_category(category: str) -> str:
    """Return a category with single slashes between its parts, without parts that would lead to another place."""
    parts = (part.strip() for part in require_text(category, field="category").split("/"))
    return "/".join(part for part in parts if part not in {"", ".", ".."})


def _json(note: NoteRead) -> str:
    fields: dict[str, Json] = {
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
        **({"mark": note.mark} if note.mark else {}),
        **({"state": note.state} if note.state != "live" else {}),
    }
    return json.dumps(fields, ensure_ascii=False, indent=2)


def _load_zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(require_text(name, field="timezone")[:_MAX_ZONE])
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidInput(
            f"there is no time zone {name[:60]!r}",
            hint="Name a zone such as Europe/Berlin, or leave it out",
            field="timezone",
        ) from None


def _local_zone() -> str:
    """Return the name of this machine's time zone, if the system provides it."""
    try:
        return str(_LOCALTIME.readlink()).partition(_ZONE_FOLDER)[2]
    except OSError:
        return ""
