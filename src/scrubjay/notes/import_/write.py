"""Write the notes of an import: new notes in batches, and changed files merged into the notes of earlier imports."""

from collections.abc import Mapping
from dataclasses import replace

from scrubjay.engine import Engine
from scrubjay.errors import NameTaken, ScrubjayError, StoreError
from scrubjay.lazy import dataclass
from scrubjay.model.caller import Caller
from scrubjay.model.draft import Draft
from scrubjay.model.identity import new_id
from scrubjay.model.media import ATTACHMENT
from scrubjay.model.memory import Flag, Json, Memory
from scrubjay.model.requests import Edit, RulesRequest
from scrubjay.notes.import_.manifest import DIGEST, PATH, VERSION
from scrubjay.notes.import_.parse import ParsedFile
from scrubjay.notes.markdown.aliases import ALIASES, aliases_in, aliases_of, with_aliases
from scrubjay.notes.markdown.note import Note
from scrubjay.notes.sync.mapping import FRONTMATTER_KEY, edit_between, merge_notes, note_of, tag_key
from scrubjay.text.slug import add_suffix
from scrubjay.writing.batch import MAX_CONFLICT_CHECKS, Batch, NewMemory
from scrubjay.writing.compose import derive_name

__all__ = ["BatchWriter", "StoredDraft", "edit_for"]

_MESSAGE = "imported from a folder"
_MAX_MESSAGE = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredDraft:
    """The result of storing a draft: its id, or the problem."""

    id: str = ""
    problem: str = ""
    warnings: tuple[str, ...] = ()


class BatchWriter:
    """Stores drafts in batches, or separately if a rule of the space requires review.

    The notes of a batch are screened and embedded together. `needs_scan`: a batch was too large for conflict checks.
    """

    def __init__(self, engine: Engine, *, who: Caller) -> None:
        self._engine = engine
        self._who = who
        self._names: set[str] = set()
        self.needs_scan = False

    async def store(self, drafts: Mapping[str, Draft]) -> dict[str, StoredDraft]:
        """Store drafts by path; a draft that cannot be stored does not affect the others."""
        if not drafts:
            return {}
        if (await self._engine.rules(RulesRequest(), who=self._who)).review != "none":
            return {path: await self._store_single(draft) for path, draft in drafts.items()}
        try:
            return await self._store_batch({path: self._new_memory(draft) for path, draft in drafts.items()})
        except StoreError:
            raise
        except ScrubjayError:
            return {path: await self._store_single(draft) for path, draft in drafts.items()}

    async def _store_batch(self, new: dict[str, NewMemory]) -> dict[str, StoredDraft]:
        try:
            await self._write(new)
        except NameTaken:
            # A name is taken: each note gets a name that ends in a part of its id.
            for path, item in new.items():
                name, suffix = item.draft.name, add_suffix("", item.id)
                if not name.endswith(suffix):
                    new[path] = replace(item, draft=replace(item.draft, name=f"{name}{suffix}"))
            await self._write(new)
        memories = await self._engine.reader.get(self._who.space, [item.id for item in new.values()])
        redacted = {memory.id for memory in memories.values() if Flag.REDACTED in memory.flags}
        return {
            path: StoredDraft(id=item.id, warnings=("a secret was redacted",) if item.id in redacted else ())
            for path, item in new.items()
        }

    async def _write(self, new: Mapping[str, NewMemory]) -> None:
        await self._engine.write_batch(Batch(new=tuple(new.values()), message=_MESSAGE), who=self._who)
        self.needs_scan |= len(new) > MAX_CONFLICT_CHECKS

    async def _store_single(self, draft: Draft) -> StoredDraft:
        try:
            done = await self._engine.remember(draft, who=self._who)
        except StoreError:
            raise
        except ScrubjayError as error:
            return StoredDraft(problem=str(error))
        return StoredDraft(id=done.id, problem="; ".join(done.warnings) or "a rule refused it", warnings=done.warnings)

    def _new_memory(self, draft: Draft) -> NewMemory:
        """Return the memory of a draft, with a name that no other note of the import has."""
        own_id = draft.id or new_id()
        name = derive_name(draft.title, draft.text, draft.observations)
        name = add_suffix(name, own_id) if name in self._names else name
        self._names.add(name)
        return NewMemory(draft=replace(draft, id=own_id, name=name), id=own_id)


async def edit_for(
    memory: Memory, parsed: ParsedFile, *, facts: Mapping[str, Json], path: str, engine: Engine
) -> tuple[Edit | None, tuple[str, ...]]:
    """Return the edit that updates a note to its file, and the fields that both changed since the last import."""
    now = engine.clock.now()
    ours = note_of(memory, now=now)
    number = memory.metadata.get(VERSION)
    past = await engine.reader.version(memory.space, memory.id, number) if isinstance(number, int) else None
    base = note_of(past.memory, now=now) if past is not None else ours
    note, clashes = merge_notes(base, ours, _complete(parsed.note, ours))
    if clashes:
        return None, clashes
    edit = edit_between(memory, ours, note, message="")
    facts = _with_frontmatter(memory, parsed, facts, before=ours.extra, after=note.extra)
    if edit is None and all(memory.metadata.get(name) == facts.get(name) for name in (DIGEST, PATH, FRONTMATTER_KEY)):
        return None, ()
    fields = dict(edit.fields) if edit is not None else {}
    message = f"imported from {path}"[:_MAX_MESSAGE]
    whole = edit or Edit(expected_version=memory.version, branch=memory.branch)
    return replace(whole, fields=fields | {"metadata": dict(facts)}, message=message), ()


def _with_frontmatter(
    memory: Memory, parsed: ParsedFile, facts: Mapping[str, Json], *, before: str, after: str
) -> dict[str, Json]:
    """Return the metadata of a note with the merged frontmatter and its aliases."""
    own = set(aliases_in(parsed.note.extra))
    aliases = aliases_of(with_aliases(memory.metadata, before=before, after=after))
    names = dict.fromkeys((*aliases, *(alias for alias in parsed.aliases if alias not in own)))
    metadata: dict[str, Json] = {name: value for name, value in facts.items() if name not in (FRONTMATTER_KEY, ALIASES)}
    if after:
        metadata[FRONTMATTER_KEY] = after
    if names:
        metadata[ALIASES] = list(names)
    return metadata


def _complete(note: Note, ours: Note) -> Note:
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
