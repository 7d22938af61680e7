"""Merge a changed file into the note of an earlier import, which may have changed too."""

from collections.abc import Mapping
from dataclasses import replace

from scrubjay.engine import Engine
from scrubjay.model.draft import Edit
from scrubjay.model.media import ATTACHMENT
from scrubjay.model.memory import Json, Memory
from scrubjay.notes.import_.manifest import DIGEST, PATH, VERSION
from scrubjay.notes.import_.parse import ParsedFile
from scrubjay.notes.markdown.aliases import ALIASES, aliases_in, aliases_of, with_aliases
from scrubjay.notes.markdown.note import Note
from scrubjay.notes.sync.mapping import FRONTMATTER_KEY, edit_between, merge_notes, note_of, tag_key

__all__ = ["edit_for"]

_LONGEST_REMARK = 1_000


async def edit_for(
    memory: Memory, parsed: ParsedFile, *, facts: Mapping[str, Json], path: str, engine: Engine
) -> tuple[Edit | None, tuple[str, ...]]:
    """Return the edit that updates a note to its file, and the fields that both changed since the last import."""
    now = engine.clock.now()
    ours = note_of(memory, now=now)
    number = memory.metadata.get(VERSION)
    past = await engine.store.version(memory.space, memory.id, number) if isinstance(number, int) else None
    base = note_of(past.memory, now=now) if past is not None else ours
    theirs = _completed(parsed.note, ours)
    note, clashes = merge_notes(base, ours, theirs)
    if clashes:
        return None, clashes
    edit = edit_between(memory, ours, note, message="")
    facts = _with_frontmatter(memory, parsed, facts, before=ours.extra, after=note.extra)
    if edit is None and all(memory.metadata.get(name) == facts.get(name) for name in (DIGEST, PATH, FRONTMATTER_KEY)):
        return None, ()
    fields = dict(edit.fields) if edit is not None else {}
    message = f"imported from {path}"[:_LONGEST_REMARK]
    whole = edit or Edit(expected_version=memory.version, branch=memory.branch)
    return replace(whole, fields=fields | {"metadata": dict(facts)}, message=message), ()


def _with_frontmatter(
    memory: Memory, parsed: ParsedFile, facts: Mapping[str, Json], *, before: str, after: str
) -> dict[str, Json]:
    """Return the metadata of a note with the merged frontmatter and its aliases."""
    own = set(aliases_in(parsed.note.extra))
    aliases = aliases_of(with_aliases(memory.metadata, before=before, after=after))
    names = dict.fromkeys((*aliases, *(alias for alias in parsed.aliases if alias not in own)))
    rest: dict[str, Json] = {name: value for name, value in facts.items() if name not in (FRONTMATTER_KEY, ALIASES)}
    if after:
        rest[FRONTMATTER_KEY] = after
    if names:
        rest[ALIASES] = list(names)
    return rest


def _completed(note: Note, ours: Note) -> Note:
    """Complete the note of a file with the stored values that it does not set, and with added tags."""
    keys = {tag_key(tag) for tag in ours.tags}
    return replace(
        note,
        id=ours.id,
        tags=(*ours.tags, *(tag for tag in note.tags if tag_key(tag) not in keys)),
        kind=ours.kind if note.kind in ("", ATTACHMENT) else note.kind,
        pinned=note.pinned or ours.pinned,
        created_at=ours.created_at,
        last_reviewed=note.last_reviewed or ours.last_reviewed,
        links=ours.links,
        linked=ours.linked,
    )
