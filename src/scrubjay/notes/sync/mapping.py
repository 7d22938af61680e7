"""The mapping between memories and notes: a memory as a note, a note as an edit, and the merge of two notes."""

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from scrubjay.lazy import dataclass
from scrubjay.model.media import ATTACHMENT
from scrubjay.model.memory import Json, Memory, Method, Source
from scrubjay.model.requests import Edit
from scrubjay.model.timestamps import to_iso
from scrubjay.notes.markdown.aliases import with_aliases
from scrubjay.notes.markdown.format import Page
from scrubjay.notes.markdown.note import Link, Note
from scrubjay.versions.merge_text import merge_text

__all__ = [
    "FILE_SOURCE", "FRONTMATTER_KEY", "LinkedNote", "creation_time", "edit_between", "is_equal", "merge_notes",
    "note_from_page", "note_of", "tag_key", "with_stored_fields",
]  # fmt: skip

FRONTMATTER_KEY = "frontmatter"
"""The key in a memory's metadata for the frontmatter fields that we do not know."""
FILE_SOURCE = Source(method=Method.FILE, agent="file")
_DEFAULT_KIND = "note"
# A file may leave these out without clearing them.
_OPTIONAL = ("tags", "category", "kind", "pinned")
_LABELS = ("title", "category", "kind")


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedNote:
    """A note at the other end of a link: `target` is how a link names its file, `text` is the text of the link."""

    id: str
    target: str
    text: str
    # Only a text has made the link: readers of a plain file see it there, and Obsidian lists backlinks itself.
    from_text: bool = False


def note_of(
    memory: Memory, linked: Sequence[LinkedNote] = (), *, now: datetime, unlisted: Container[str] = frozenset()
) -> Note:
    """Return a memory as the note in its file; `unlisted`: linked notes that the text names, so that no list has to."""
    created = creation_time(memory).replace(microsecond=0)
    return Note(
        id=memory.trunk or memory.id,
        title=memory.label,
        tags=memory.tags,
        category=memory.category,
        kind="" if memory.kind == _DEFAULT_KIND else memory.kind,
        pinned=memory.pinned,
        created_at=created,
        # Files have whole seconds.
        updated_at=memory.updated_at.replace(microsecond=0),
        last_reviewed=memory.last_reviewed.replace(microsecond=0) if memory.last_reviewed else created,
        links=tuple(other.id for other in linked),
        extra=str(memory.metadata.get(FRONTMATTER_KEY) or ""),
        content=memory.content,
        observations=tuple(observation.text for observation in memory.observations if observation.holds(now)),
        linked=tuple(Link(target=other.target, text=other.text) for other in linked if other.id not in unlisted),
    )


def creation_time(memory: Memory) -> datetime:
    """Return when a note was created: a note from a file may be older than its memory."""
    is_older = memory.source.method in (Method.FILE, Method.IMPORT) and memory.source.at is not None
    return memory.source.at if is_older and memory.source.at else memory.created_at


def note_from_page(page: Page, base: Note) -> Note:
    """Return the note of a file, with the fields of `base` where the file gives none."""
    note = page.note
    # Without an id, the whole frontmatter is gone; unreadable fields were not removed on purpose either.
    is_complete = "id" in page.set_fields and not page.warnings
    from_base = [name for name in _OPTIONAL if name not in page.set_fields and not is_complete]
    from_base += ["title"] if not _normalize(note.title) else []
    # A memory of that kind has no file of its own.
    from_base += ["kind"] if note.kind == ATTACHMENT and "kind" not in from_base else []
    from_base += ["extra"] if not page.set_fields else []
    from_base += [name for name in ("created_at", "last_reviewed") if getattr(note, name) is None]
    return replace(note, id=base.id, **{name: getattr(base, name) for name in from_base})


def merge_notes(base: Note, ours: Note, theirs: Note) -> tuple[Note, tuple[str, ...]]:
    """Merge the store's note and the file's note; return the result and the fields that conflict.

    Where both mean the same, the spelling of the file wins. The links are the store's.
    """
    conflicts: list[str] = []
    fields: dict[str, object] = {}
    for name in (*_LABELS, "pinned", "last_reviewed"):
        before, mine, others = (getattr(side, name) for side in (base, ours, theirs))
        fields[name] = others if is_equal(others, mine) or is_equal(mine, before) else mine
        if not is_equal(others, mine) and not is_equal(mine, before) and not is_equal(others, before):
            if name == "last_reviewed":
                fields[name] = max(others, mine)
            else:
                conflicts.append(name)
    for name in ("content", "extra"):
        before, mine, others = (str(getattr(side, name)) for side in (base, ours, theirs))
        fields[name], has_conflict = merge_text(before, mine, others)
        conflicts += [name] if has_conflict else []
    fields["tags"] = _merge_tags(base.tags, ours.tags, theirs.tags)
    fields["observations"] = _merge_lists(base.observations, ours.observations, theirs.observations)
    return replace(ours, **fields, created_at=theirs.created_at or ours.created_at), tuple(conflicts)


def edit_between(memory: Memory, before: Note, after: Note, *, message: str) -> Edit | None:
    """Return the edit that turns a memory, whose note is `before`, into the note `after`; None if they are equal."""
    fields: dict[str, Json] = {}
    for name in _LABELS:
        if not is_equal(getattr(before, name), getattr(after, name)):
            fields[name] = getattr(after, name) or (_DEFAULT_KIND if name == "kind" else "")
    if before.content != after.content:
        fields["content"] = after.content
    if before.pinned != after.pinned:
        fields["pinned"] = after.pinned
    if _tag_keys(before.tags) != _tag_keys(after.tags):
        fields["tags"] = list(after.tags)
    if after.last_reviewed and not is_equal(before.last_reviewed, after.last_reviewed):
        fields["last_reviewed"] = to_iso(after.last_reviewed)
    if before.extra != after.extra:
        metadata = with_aliases(memory.metadata, before=before.extra, after=after.extra)
        metadata.pop(FRONTMATTER_KEY, None)
        fields["metadata"] = metadata | ({FRONTMATTER_KEY: after.extra} if after.extra else {})
    old, new = Counter(before.observations), Counter(after.observations)
    added, removed = tuple((new - old).elements()), tuple((old - new).elements())
    if not fields and not added and not removed:
        return None
    return Edit(
        fields=fields, add_observations=added, remove_observations=removed, message=message,
        expected_version=memory.version, branch=memory.branch, source=FILE_SOURCE,
    )  # fmt: skip


def with_stored_fields(note: Note, stored: Note) -> Note:
    """Return a note with the labels, times and links of the store; the texts, and equal spellings, stay the note's."""
    spelling = {
        name: getattr(note, name)
        for name in (*_LABELS, "pinned", "created_at", "last_reviewed")
        if is_equal(getattr(note, name), getattr(stored, name))
    }
    tags = note.tags if _tag_keys(note.tags) == _tag_keys(stored.tags) else stored.tags
    texts = {name: getattr(note, name) for name in ("content", "observations", "extra")}
    return replace(stored, **spelling, **texts, tags=tags)


def tag_key(tag: str) -> str:
    """Return the key that all spellings of a tag share."""
    return " ".join(tag.lstrip("# ").lower().split())


def is_equal(first: object, second: object) -> bool:
    """Whether two values are equal after the normalization that the store applies."""
    if isinstance(first, str) and isinstance(second, str):
        return _normalize(first) == _normalize(second)
    if isinstance(first, datetime) and isinstance(second, datetime):
        return first.replace(microsecond=0) == second.replace(microsecond=0)
    return first == second


def _normalize(label: str) -> str:
    return " ".join(label.split())


def _tag_keys(tags: Iterable[str]) -> set[str]:
    return {key for tag in tags if (key := tag_key(tag))}


def _merge_tags(base: Sequence[str], ours: Sequence[str], theirs: Sequence[str]) -> tuple[str, ...]:
    before, mine, others = _tag_keys(base), _tag_keys(ours), _tag_keys(theirs)
    if mine in (before, others):
        return tuple(theirs)
    remaining = [tag for tag in theirs if tag_key(tag) in mine or tag_key(tag) not in before]
    return (*remaining, *(tag for tag in ours if tag_key(tag) not in others and tag_key(tag) not in before))


def _merge_lists(base: Sequence[str], ours: Sequence[str], theirs: Sequence[str]) -> tuple[str, ...]:
    """Apply the changes of both sides to a list; unchanged items keep the order of the file."""
    before, mine, others = Counter(base), Counter(ours), Counter(theirs)
    if mine in (before, others):
        return tuple(theirs)
    added, removed = mine - before, before - mine
    remaining: list[str] = []
    for item in theirs:
        if removed[item]:
            removed[item] -= 1
        else:
            remaining.append(item)
    # An item that both sides added appears once.
    added_by_both = added & (others - before)
    return (*remaining, *(added - added_by_both).elements())
