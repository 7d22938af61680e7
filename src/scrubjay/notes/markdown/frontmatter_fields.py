"""Read the known fields of a note's frontmatter, and rewrite the lines of the fields that changed."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from scrubjay.errors import NoteUnreadable
from scrubjay.notes.markdown.fields import FIELDS, Field, FieldValue, WrongType
from scrubjay.notes.markdown.frontmatter import parse_frontmatter
from scrubjay.notes.markdown.note import Note
from scrubjay.notes.markdown.yaml_values import FrontmatterEntry, Frontmatter, Scalar, quote_double, scalar, quote_single

__all__ = ["ParsedFields", "changed_head", "fits", "new_head", "of_others", "read_fields"]

_KNOWN: Mapping[str, Field] = {field.key: field for field in FIELDS}
_FENCE = re.compile(r"^---[ \t]*$", re.MULTILINE)
_PROBE = "id: x\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedFields:
    """The note of a frontmatter, the fields that it sets (`told`), and warnings about invalid values."""

    note: Note
    told: frozenset[str]
    warnings: tuple[str, ...]


def read_fields(head: Frontmatter) -> ParsedFields:
    """Read the fields of a frontmatter; a value of the wrong type is skipped with a warning."""
    values: dict[str, FieldValue] = {}
    warnings: list[str] = []
    extra: list[str] = []
    # The first line of the file is the opening delimiter.
    line = 2
    for entry in head.entries:
        field = _KNOWN.get(entry.key)
        if field is None:
            extra.append(entry.text)
        else:
            try:
                values[field.key] = field.read(entry.value)
            except WrongType as wrong:
                at = line + entry.lead.count("\n")
                warnings.append(f"line {at}: {field.key} should be {wrong}; the line stays, and its value is ignored")
        line += entry.text.count("\n")
    text = "".join([*extra, head.tail]).replace("\r\n", "\n")
    note = replace(Note(extra=text if text.strip() else ""), **values)
    return ParsedFields(note=note, told=frozenset(values), warnings=tuple(warnings))


def new_frontmatter(note: Note) -> str:
    """Return the lines of a new frontmatter."""
    # A stored note shows its lists even if they are empty, so that people see where to add items.
    lists = {"tags", "links"} if note.id else set[str]()
    lines = [_line(field, field.of(note)) for field in FIELDS if field.of(note) or field.key in lists]
    return "".join(lines) + note.extra


def update_frontmatter(note: Note, *, was: Note, head: Frontmatter) -> str:
    """Return the lines of a frontmatter with the changed fields rewritten and all other lines unchanged."""
    changed = {field.key: field for field in FIELDS if field.of(note) != field.of(was)}
    if not changed and note.extra == was.extra:
        return head.raw
    others, tail = _others(note, was=was, head=head)
    lines: list[tuple[str, str]] = []
    for entry in head.entries:
        if entry.key in changed:
            lines.append((entry.key, entry.lead + _changed(entry, changed.pop(entry.key), note)))
        elif entry.key in _KNOWN:
            lines.append((entry.key, entry.text))
        elif (at := next((at for at, (key, _) in enumerate(others) if key == entry.key), -1)) >= 0:
            # Entries that now precede it come along: the note determines their order.
            lines += others[: at + 1]
            del others[: at + 1]
    for field in FIELDS:
        if field.key in changed and field.of(note):
            lines.insert(_place(field, lines), (field.key, _line(field, field.of(note))))
    return "".join([*(text for _, text in [*lines, *others]), tail])


def is_valid_extra(extra: str) -> bool:
    """Return whether a text fits below the known fields: whole lines of YAML without any known key."""
    if not extra:
        return True
    if not extra.endswith("\n") or not extra.strip() or "\r" in extra or _FENCE.search(extra):
        return False
    try:
        head = parse_frontmatter(_PROBE + extra)
    except NoteUnreadable:
        return False
    own, *others = head.entries or (None,)
    is_separate = own is not None and own.text == _PROBE and not head.is_odd
    return is_separate and not any(entry.key in _KNOWN for entry in others)


def comment_out_foreign(head: Frontmatter) -> str:
    """Return the foreign values under our keys, as the comments that they become in our files."""
    pairs = ((entry, _KNOWN.get(entry.key)) for entry in head.entries)
    return "".join(
        _comment_out(entry) for entry, field in pairs if field is not None and not field.is_ours(entry.value)
    )


def _comment_out(entry: FrontmatterEntry) -> str:
    # We cannot interpret the user's value, but we must not lose it.
    return "".join(f"# {line}" for line in entry.raw.splitlines(keepends=True))


def _others(note: Note, *, was: Note, head: Frontmatter) -> tuple[list[tuple[str, str]], str]:
    """Return the foreign keys with their lines, and the lines after the last key."""
    old = [(entry.key, entry.text) for entry in head.entries if entry.key not in _KNOWN]
    if note.extra == was.extra:
        return old, head.tail
    now = parse_frontmatter(note.extra)
    # Equal lines may differ in their line endings.
    same = {text.replace("\r\n", "\n"): text for _, text in old}
    return [(entry.key, same.get(entry.text, entry.text)) for entry in now.entries], now.tail


def _place(field: Field, lines: Sequence[tuple[str, str]]) -> int:
    """Return the position after the nearest preceding field, else the top."""
    before = {item.key for item in FIELDS[: FIELDS.index(field)]}
    return max((at + 1 for at, (key, _) in enumerate(lines) if key in before), default=0)


def _line(field: Field, value: FieldValue) -> str:
    return f"{field.key}: {field.write(value)}\n"


def _changed(entry: FrontmatterEntry, field: Field, note: Note) -> str:
    """Return the lines of an entry with a new value in the style of the old one."""
    value = field.of(note)
    if value is None or value == "":
        return ""
    if not field.is_ours(entry.value):
        return _comment_out(entry) + _line(field, value)
    if isinstance(entry.value, tuple) and not entry.end and isinstance(value, tuple) and value:
        return _in_lines(entry, field.items(value))
    if not entry.end:
        return _line(field, value)
    text = field.write(value)
    if isinstance(value, str) and isinstance(entry.value, Scalar) and not entry.value.is_plain:
        text = (quote_single if entry.raw[entry.start] == "'" else quote_double)(value)
    gap = " " if entry.raw[entry.start - 1] == ":" else ""
    return entry.raw[: entry.start] + gap + text + entry.raw[entry.end :]


def _in_lines(entry: FrontmatterEntry, items: Sequence[str]) -> str:
    """Return a list with one item per line; the lines of unchanged items stay as they are."""
    first, *lines = entry.raw.splitlines(keepends=True)
    values = entry.value if isinstance(entry.value, tuple) else ()
    whole = len(lines) == len(values) and all(line.lstrip().startswith("- ") for line in lines)
    old = {item.text: line for item, line in zip(values, lines, strict=True)} if whole else dict[str, str]()
    indent = lines[0][: len(lines[0]) - len(lines[0].lstrip())] if whole else "  "
    return (first if whole else f"{entry.key}:\n") + "".join(
        old.get(item) or f"{indent}- {scalar(item)}\n" for item in items
    )
