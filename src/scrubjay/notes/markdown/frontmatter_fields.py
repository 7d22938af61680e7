"""The frontmatter of a note: what it tells of the fields we know, and how it is written anew where one has changed."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from scrubjay.errors import NoteUnreadable
from scrubjay.notes.markdown.fields import FIELDS, Field, Told, WrongKind
from scrubjay.notes.markdown.frontmatter import read_head
from scrubjay.notes.markdown.note import Note
from scrubjay.notes.markdown.yaml_values import Entry, Head, Scalar, quoted, scalar, singly_quoted

__all__ = ["Read", "changed_head", "fits", "new_head", "of_others", "read_fields"]

_KNOWN: Mapping[str, Field] = {field.key: field for field in FIELDS}
_FENCE = re.compile(r"^---[ \t]*$", re.MULTILINE)
_PROBE = "id: x\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """What a frontmatter says, which of the fields it has, and which of its values are none."""

    note: Note
    told: frozenset[str]
    warnings: tuple[str, ...]


def read_fields(head: Head) -> Read:
    """What a frontmatter says. A value of the wrong kind is not told, and a warning says so."""
    reported: dict[str, Told] = {}
    warnings: list[str] = []
    extra: list[str] = []
    # The first line of the file is the one above.
    line = 2
    for entry in head.entries:
        field = _KNOWN.get(entry.key)
        if field is None:
            extra.append(entry.text)
        else:
            try:
                reported[field.key] = field.read(entry.value)
            except WrongKind as wrong:
                at = line + entry.lead.count("\n")
                warnings.append(f"line {at}: {field.key} should be {wrong}; it stays as it is and counts as not given")
        line += entry.text.count("\n")
    text = "".join([*extra, head.tail]).replace("\r\n", "\n")
    note = replace(Note(extra=text if text.strip() else ""), **reported)
    return Read(note=note, told=frozenset(reported), warnings=tuple(warnings))


def new_head(note: Note) -> str:
    """The lines of a frontmatter as we write it."""
    # A note that is stored has its lists, also if they are empty: a person sees where something can be put.
    lists = {"tags", "links"} if note.id else set[str]()
    lines = [_line(field, field.of(note)) for field in FIELDS if field.of(note) or field.key in lists]
    return "".join(lines) + note.extra


def changed_head(note: Note, *, was: Note, head: Head) -> str:
    """The lines of a frontmatter with what has changed since it was read; all others are as they were."""
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
            # With those that come before it now: their order is the note's.
            lines += others[: at + 1]
            del others[: at + 1]
    for field in FIELDS:
        if field.key in changed and field.of(note):
            lines.insert(_place(field, lines), (field.key, _line(field, field.of(note))))
    return "".join([*(text for _, text in [*lines, *others]), tail])


def fits(extra: str) -> bool:
    """Whether a text can stand in a frontmatter below the fields we know: whole lines of YAML, with keys of others."""
    if not extra:
        return True
    if not extra.endswith("\n") or not extra.strip() or "\r" in extra or _FENCE.search(extra):
        return False
    try:
        head = read_head(_PROBE + extra)
    except NoteUnreadable:
        return False
    own, *others = head.entries or (None,)
    stands_apart = own is not None and own.text == _PROBE and not head.is_odd
    return stands_apart and not any(entry.key in _KNOWN for entry in others)


def of_others(head: Head) -> str:
    """What a frontmatter has in our keys that is not ours, as the remarks that it becomes in a file of our own."""
    existing = ((entry, _KNOWN.get(entry.key)) for entry in head.entries)
    return "".join(
        _remarked(entry) for entry, field in existing if field is not None and not field.is_ours(entry.value)
    )


def _remarked(entry: Entry) -> str:
    # What somebody has written is not ours to lose, although it says nothing to us.
    return "".join(f"# {line}" for line in entry.raw.splitlines(keepends=True))


def _others(note: Note, *, was: Note, head: Head) -> tuple[list[tuple[str, str]], str]:
    """The keys that are not ours with their lines, and the lines after the last key."""
    old = [(entry.key, entry.text) for entry in head.entries if entry.key not in _KNOWN]
    if note.extra == was.extra:
        return old, head.tail
    now = read_head(note.extra)
    # Lines that say the same may end otherwise.
    same = {text.replace("\r\n", "\n"): text for _, text in old}
    return [(entry.key, same.get(entry.text, entry.text)) for entry in now.entries], now.tail


def _place(field: Field, lines: Sequence[tuple[str, str]]) -> int:
    """After the nearest of the fields that come before it, else at the top."""
    before = {item.key for item in FIELDS[: FIELDS.index(field)]}
    return max((at + 1 for at, (key, _) in enumerate(lines) if key in before), default=0)


def _line(field: Field, value: Told) -> str:
    return f"{field.key}: {field.write(value)}\n"


def _changed(entry: Entry, field: Field, note: Note) -> str:
    """The lines of an entry with another value, in the manner in which the old one is written."""
    value = field.of(note)
    if value is None or value == "":
        return ""
    if not field.is_ours(entry.value):
        return _remarked(entry) + _line(field, value)
    if isinstance(entry.value, tuple) and not entry.end and isinstance(value, tuple) and value:
        return _in_lines(entry, field.items(value))
    if not entry.end:
        return _line(field, value)
    text = field.write(value)
    if isinstance(value, str) and isinstance(entry.value, Scalar) and not entry.value.is_plain:
        text = (singly_quoted if entry.raw[entry.start] == "'" else quoted)(value)
    gap = " " if entry.raw[entry.start - 1] == ":" else ""
    return entry.raw[: entry.start] + gap + text + entry.raw[entry.end :]


def _in_lines(entry: Entry, items: Sequence[str]) -> str:
    """A list with an item to a line, of which those that stay are left as they are."""
    first, *lines = entry.raw.splitlines(keepends=True)
    values = entry.value if isinstance(entry.value, tuple) else ()
    whole = len(lines) == len(values) and all(line.lstrip().startswith("- ") for line in lines)
    old = {item.text: line for item, line in zip(values, lines, strict=True)} if whole else dict[str, str]()
    indent = lines[0][: len(lines[0]) - len(lines[0].lstrip())] if whole else "  "
    return (first if whole else f"{entry.key}:\n") + "".join(
        old.get(item) or f"{indent}- {scalar(item)}\n" for item in items
    )
