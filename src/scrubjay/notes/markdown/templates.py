"""Templates for new notes: those in the vault, in the format of Obsidian's own plugin, and a few built in."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from scrubjay.errors import InvalidInput, NoteUnreadable, NotFound
from scrubjay.notes.markdown.fields import comment_out_foreign
from scrubjay.notes.markdown.format import parse
from scrubjay.notes.markdown.note import Note

__all__ = ["BUILT_IN", "FOLDER", "fill_template", "note_from_template", "template_names", "template_text"]

FOLDER = "templates"
BUILT_IN = {
    "daily": "## Plan\n\n- [ ] \n\n## Notes\n\n## Looking back\n",
    "decision": "## Context\n\n## Options\n\n- \n\n## Decision\n\n_Decided on {{date}}._\n\n## Consequences\n",
    "meeting": "**Date:** {{date}} {{time}}\n\n**With:** \n\n## Agenda\n\n- \n\n## Notes\n\n## Next steps\n\n- [ ] \n",
    "project": "**Goal:** \n\n**Started:** {{date}}\n\n## Status\n\n## Next steps\n\n- [ ] \n\n## Material\n\n- \n",
}
_MAX_BYTES = 1024 * 1024
_FIELD = re.compile(r"\{\{[ ]?(?P<name>title|date|time)[ ]?(?::(?P<format>[^{}\n]{0,100}))?\}\}", re.IGNORECASE)
_DEFAULTS = {"date": "YYYY-MM-DD", "time": "HH:mm"}
_PART = re.compile(
    r"\[(?P<literal>[^\]]*)\]|YYYY|YY|MMMM|MMM|MM|Mo|M|DDDD|DDD|Do|DD|D|dddd|ddd|dd|d|E|HH|H|hh|h|mm|m|ss|s|SSS|A|a|"
    r"WW|W|GGGG|Q|ZZ|Z|X|x"
)
_MONTHS = "January February March April May June July August September October November December".split()
_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()


def template_names(folder: Path) -> tuple[str, ...]:
    """List the names of the templates: those in `templates/` of a vault's folder, and those built in."""
    own = folder / FOLDER
    names = {path.stem for path in own.glob("*.md") if _is_plain(path)} if own.is_dir() else set[str]()
    return tuple(sorted(names | BUILT_IN.keys()))


def template_text(folder: Path, name: str) -> str:
    """Return the text of a template, preferring the vault's own; the NotFound error lists the valid names."""
    names = template_names(folder)
    if name not in names:
        raise NotFound(
            f"there is no template {name[:80]!r}", hint=f"Choose one of {', '.join(names)}", template=name[:80]
        )
    path = folder / FOLDER / f"{name}.md"
    if not _is_plain(path):
        return BUILT_IN[name]
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"the template {name!r} cannot be read: {error}", hint="Save it as UTF-8 text") from None


def fill_template(template_text: str, *, title: str, now: datetime) -> str:
    """Fill in `{{title}}`, `{{date}}`, `{{time}}` and `{{date:YYYY-MM-DD}}`; all other text stays."""

    def value(match: re.Match[str]) -> str:
        name = match["name"].lower()
        return title if name == "title" else _format_moment(now, (match["format"] or "").strip() or _DEFAULTS[name])

    return _FIELD.sub(value, template_text)


def note_from_template(text: str) -> Note:
    """Parse a filled template into a new note; unreadable frontmatter stays in the content."""
    try:
        page = parse(text.encode("utf-8", "replace"))
    except NoteUnreadable:
        return Note(content=text)
    head = page.layout.head
    if head is None:
        return Note(content=text)
    return replace(page.note, extra=page.note.extra + comment_out_foreign(head).replace("\r\n", "\n"))


def _is_plain(path: Path) -> bool:
    return path.is_file() and not path.is_symlink() and path.stat().st_size <= _MAX_BYTES


def _format_moment(now: datetime, format: str) -> str:
    """Format a moment like Moment.js."""
    return _PART.sub(lambda part: part["literal"] if part["literal"] is not None else _PARTS[part[0]](now), format)


def _ordinal(number: int) -> str:
    teen = number % 100 in (11, 12, 13)
    return f"{number}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def _zone(now: datetime, colon: str) -> str:
    minutes = int((offset.total_seconds() if (offset := now.utcoffset()) else 0) // 60)
    sign = "-" if minutes < 0 else "+"
    return f"{sign}{abs(minutes) // 60:02}{colon}{abs(minutes) % 60:02}"


_PARTS: dict[str, Callable[[datetime], str]] = {
    "YYYY": lambda now: f"{now.year:04}",
    "YY": lambda now: f"{now.year % 100:02}",
    "MMMM": lambda now: _MONTHS[now.month - 1],
    "MMM": lambda now: _MONTHS[now.month - 1][:3],
    "MM": lambda now: f"{now.month:02}",
    "Mo": lambda now: _ordinal(now.month),
    "M": lambda now: str(now.month),
    "DDDD": lambda now: f"{now.timetuple().tm_yday:03}",
    "DDD": lambda now: str(now.timetuple().tm_yday),
    "Do": lambda now: _ordinal(now.day),
    "DD": lambda now: f"{now.day:02}",
    "D": lambda now: str(now.day),
    "dddd": lambda now: _DAYS[now.weekday()],
    "ddd": lambda now: _DAYS[now.weekday()][:3],
    "dd": lambda now: _DAYS[now.weekday()][:2],
    "d": lambda now: str(now.isoweekday() % 7),
    "E": lambda now: str(now.isoweekday()),
    "HH": lambda now: f"{now.hour:02}",
    "H": lambda now: str(now.hour),
    "hh": lambda now: f"{(now.hour - 1) % 12 + 1:02}",
    "h": lambda now: str((now.hour - 1) % 12 + 1),
    "mm": lambda now: f"{now.minute:02}",
    "m": lambda now: str(now.minute),
    "ss": lambda now: f"{now.second:02}",
    "s": lambda now: str(now.second),
    "SSS": lambda now: f"{now.microsecond // 1000:03}",
    "A": lambda now: "AM" if now.hour < 12 else "PM",  # noqa: PLR2004 - noon
    "a": lambda now: "am" if now.hour < 12 else "pm",  # noqa: PLR2004 - noon
    "WW": lambda now: f"{now.isocalendar().week:02}",
    "W": lambda now: str(now.isocalendar().week),
    "GGGG": lambda now: f"{now.isocalendar().year:04}",
    "Q": lambda now: str((now.month + 2) // 3),
    "ZZ": lambda now: _zone(now, ""),
    "Z": lambda now: _zone(now, ":"),
    "X": lambda now: str(int(now.timestamp())),
    "x": lambda now: str(int(now.timestamp() * 1000)),
}
