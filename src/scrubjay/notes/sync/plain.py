"""Plain files: notes that a user wrote in a folder which we have adopted. They stay as they are, byte for byte.

A plain file has no id of ours: the ledger knows which memory it shows, and the memory's metadata has its path in case
the ledger is lost. Its title is its name, its category its folder, and its tags are those of its frontmatter and text.
If the store has news for it, only the lines that changed are written, in its own style.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import PurePosixPath

from scrubjay.model.memory import Memory
from scrubjay.notes.files.ledger import LedgerEntry
from scrubjay.notes.markdown.aliases import texts_of
from scrubjay.notes.markdown.foreign import creation_time_in, inline_tags
from scrubjay.notes.markdown.format import Page
from scrubjay.notes.markdown.naming import stem_of
from scrubjay.notes.markdown.note import Link, Note
from scrubjay.notes.sync.mapping import is_equal, note_from_page, tag_key

__all__ = [
    "created_in", "folder_of", "is_same_text", "new_plain_note", "plain_note", "tags_of",
    "view_of",
]  # fmt: skip

_FIELDS = ("title", "category", "kind", "pinned", "last_reviewed")
# A file with the inode of a missing one is that file if so much of its text is the same: inodes are used again.
_SHARE = 0.5


def view_of(page: Page, base: Note, *, plain: bool) -> Note:
    """Return the note of a file, with the fields of `base` where the file gives none."""
    note = note_from_page(page, base)
    if not plain:
        return note
    has_tags = "tags" in page.set_fields or not page.warnings
    return replace(note, tags=tags_of(page) if has_tags else base.tags, extra=page.note.extra)


def plain_note(page: Page, *, view: Note, merged: Note, linked: Sequence[Link]) -> Note:
    """Return the note for a plain file: its own fields, except where the merged note differs from what it shows."""
    own = page.note
    fields = {
        name: getattr(merged, name)
        for name in _FIELDS
        if not is_equal(getattr(view, name), getattr(merged, name))
    }  # fmt: skip
    before, after = ({tag_key(tag): tag for tag in note.tags} for note in (view, merged))
    if before.keys() != after.keys():
        listed = {tag_key(tag) for tag in own.tags}
        remaining = [tag for tag in own.tags if tag_key(tag) in after]
        added = [tag for key, tag in after.items() if key not in before and key not in listed]
        fields["tags"] = (*remaining, *added)
    for name in ("content", "observations", "extra"):
        if getattr(view, name) != getattr(merged, name):
            fields[name] = getattr(merged, name)
    return replace(own, **fields, linked=tuple(linked))


def new_plain_note(note: Note, *, path: str) -> Note:
    """Return the note for a plain file that has to be written again: without what its path and its text say."""
    in_text = {tag_key(tag) for tag in inline_tags(note.content)}
    return Note(
        title="" if is_equal(note.title, stem_of(path)) else note.title,
        tags=tuple(tag for tag in note.tags if tag_key(tag) not in in_text),
        category="" if is_equal(note.category, folder_of(path)) else note.category,
        kind=note.kind,
        pinned=note.pinned,
        extra=note.extra,
        content=note.content,
        observations=note.observations,
        linked=note.linked,
    )


def tags_of(page: Page) -> tuple[str, ...]:
    """Return the tags of a file as Obsidian sees them: `tags` and `tag` of its frontmatter, and those in its text."""
    entries = page.layout.head.entries if page.layout.head else ()
    tags = {tag_key(tag): tag for tag in (*inline_tags(page.note.content), *texts_of(entries, "tag"), *page.note.tags)}
    return tuple(tag.lstrip("#") for key, tag in reversed(tags.items()) if key)


def created_in(page: Page) -> datetime | None:
    """Return when a file says that it was created."""
    return page.note.created_at or creation_time_in(page.layout.head.entries if page.layout.head else ())


def folder_of(path: str) -> str:
    """Return the folder of a file, or an empty text."""
    parent = str(PurePosixPath(path).parent)
    return parent if parent != "." else ""


def is_same_text(page: Page, memory: Memory | None, entry: LedgerEntry, *, digest: bytes) -> bool:
    """Whether a file is the one of an entry, moved and perhaps edited since."""
    if entry.digest == digest:
        return True
    before = {line for line in memory.content.splitlines() if line.strip()} if memory is not None else set[str]()
    after = {line for line in page.note.content.splitlines() if line.strip()}
    return bool(before) and len(before & after) >= _SHARE * max(len(before), len(after))
