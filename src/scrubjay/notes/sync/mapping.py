"""A memory as a note and a note as an edit of a memory, and three notes that came of one."""

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from scrubjay.model.draft import Edit
from scrubjay.model.media import ATTACHMENT
from scrubjay.model.memory import Json, Memory, Method, Source
from scrubjay.model.timestamps import to_iso
from scrubjay.notes.markdown.aliases import with_aliases
from scrubjay.notes.markdown.format import Page
from scrubjay.notes.markdown.note import Link, Note
from scrubjay.versions.merge_text import weave

__all__ = ["EXTRA", "FILE", "Linked", "completed", "dressed", "edit_of", "joined", "moment_of", "sheet_of", "tag_key"]

EXTRA = "frontmatter"
"""Where a memory's metadata keeps the frontmatter that we know nothing of."""
FILE = Source(method=Method.FILE, agent="file")
_KIND = "note"
# What a file may leave out without a word about it.
_UNTOLD = ("tags", "category", "kind", "pinned")
_LABELS = ("title", "category", "kind")


@dataclass(frozen=True, slots=True, kw_only=True)
class Linked:
    """A note that another is linked with: `target` is how a link names its file, `text` what the link says."""

    id: str
    target: str
    text: str


def sheet_of(
    memory: Memory, linked: Sequence[Linked] = (), *, now: datetime, unlisted: Container[str] = frozenset()
) -> Note:
    """A memory as its file tells it. `unlisted`: those of the linked that the text names, and no section again."""
    created = moment_of(memory).replace(microsecond=0)
    return Note(
        id=memory.trunk or memory.id,
        title=memory.label,
        tags=memory.tags,
        category=memory.category,
        kind="" if memory.kind == _KIND else memory.kind,
        pinned=memory.pinned,
        created_at=created,
        # Files tell whole seconds.
        updated_at=memory.updated_at.replace(microsecond=0),
        last_reviewed=memory.last_reviewed.replace(microsecond=0) if memory.last_reviewed else created,
        links=tuple(one.id for one in linked),
        extra=str(memory.metadata.get(EXTRA) or ""),
        content=memory.content,
        observations=tuple(observation.text for observation in memory.observations if observation.holds(now)),
        linked=tuple(Link(target=one.target, text=one.text) for one in linked if one.id not in unlisted),
    )


def moment_of(memory: Memory) -> datetime:
    """When a note was begun: what came from a file may be older than its memory."""
    is_older = memory.source.method in (Method.FILE, Method.IMPORT) and memory.source.at is not None
    return memory.source.at if is_older and memory.source.at else memory.created_at


def completed(page: Page, base: Note) -> Note:
    """What a file says, as far as it says anything; the rest is as it was."""
    note = page.note
    # Without an id the frontmatter is gone as a whole; what cannot be read was not taken out either.
    is_whole = "id" in page.told and not page.warnings
    kept = [name for name in _UNTOLD if name not in page.told and not is_whole]
    kept += ["title"] if not _tidy(note.title) else []
    # What is called so has no file of its own.
    kept += ["kind"] if note.kind == ATTACHMENT and "kind" not in kept else []
    kept += ["extra"] if not page.told else []
    kept += [name for name in ("created_at", "last_reviewed") if getattr(note, name) is None]
    return replace(note, id=base.id, **{name: getattr(base, name) for name in kept})


def joined(base: Note, ours: Note, theirs: Note) -> tuple[Note, tuple[str, ...]]:
    """What the store and the file have each made of a note, together, and the fields in which they cannot be.

    Where both mean the same, it is spelled as in the file. The links are the store's.
    """
    clashes: list[str] = []
    fields: dict[str, object] = {}
    for name in (*_LABELS, "pinned", "last_reviewed"):
        before, mine, others = (getattr(side, name) for side in (base, ours, theirs))
        fields[name] = others if _alike(others, mine) or _alike(mine, before) else mine
        if not _alike(others, mine) and not _alike(mine, before) and not _alike(others, before):
            if name == "last_reviewed":
                fields[name] = max(others, mine)
            else:
                clashes.append(name)
    for name in ("content", "extra"):
        before, mine, others = (str(getattr(side, name)) for side in (base, ours, theirs))
        fields[name], differing = weave(before, mine, others)
        clashes += [name] if differing else []
    fields["tags"] = _tags(base.tags, ours.tags, theirs.tags)
    fields["observations"] = _listed(base.observations, ours.observations, theirs.observations)
    return replace(ours, **fields, created_at=theirs.created_at or ours.created_at), tuple(clashes)


def edit_of(memory: Memory, told: Note, wanted: Note, *, message: str) -> Edit | None:
    """What has to be changed in a memory, which is `told` as one note, so that it says another; None for nothing."""
    fields: dict[str, Json] = {}
    for name in _LABELS:
        if not _alike(getattr(told, name), getattr(wanted, name)):
            fields[name] = getattr(wanted, name) or (_KIND if name == "kind" else "")
    if told.content != wanted.content:
        fields["content"] = wanted.content
    if told.pinned != wanted.pinned:
        fields["pinned"] = wanted.pinned
    if _keys(told.tags) != _keys(wanted.tags):
        fields["tags"] = list(wanted.tags)
    if wanted.last_reviewed and not _alike(told.last_reviewed, wanted.last_reviewed):
        fields["last_reviewed"] = to_iso(wanted.last_reviewed)
    if told.extra != wanted.extra:
        rest = with_aliases(memory.metadata, before=told.extra, after=wanted.extra)
        rest.pop(EXTRA, None)
        fields["metadata"] = rest | ({EXTRA: wanted.extra} if wanted.extra else {})
    before, after = Counter(told.observations), Counter(wanted.observations)
    added, removed = tuple((after - before).elements()), tuple((before - after).elements())
    if not fields and not added and not removed:
        return None
    return Edit(
        fields=fields, add_observations=added, remove_observations=removed, message=message,
        expected_version=memory.version, branch=memory.branch, source=FILE,
    )  # fmt: skip


def dressed(note: Note, told: Note) -> Note:
    """A note with what the store has made of it: its labels, times and links; its words stay as they are."""
    spelled = {
        name: getattr(note, name)
        for name in (*_LABELS, "pinned", "created_at", "last_reviewed")
        if _alike(getattr(note, name), getattr(told, name))
    }
    tags = note.tags if _keys(note.tags) == _keys(told.tags) else told.tags
    said = {name: getattr(note, name) for name in ("content", "observations", "extra")}
    return replace(told, **spelled, **said, tags=tags)


def tag_key(tag: str) -> str:
    """What two spellings of a tag have in common."""
    return " ".join(tag.lstrip("# ").lower().split())


def _alike(one: object, other: object) -> bool:
    """Whether two values mean the same to the store, which tidies what it is given."""
    if isinstance(one, str) and isinstance(other, str):
        return _tidy(one) == _tidy(other)
    if isinstance(one, datetime) and isinstance(other, datetime):
        return one.replace(microsecond=0) == other.replace(microsecond=0)
    return one == other


def _tidy(label: str) -> str:
    return " ".join(label.split())


def _keys(tags: Iterable[str]) -> set[str]:
    return {tag_key(tag) for tag in tags if tag_key(tag)}


def _tags(base: Sequence[str], ours: Sequence[str], theirs: Sequence[str]) -> tuple[str, ...]:
    before, mine, others = _keys(base), _keys(ours), _keys(theirs)
    if mine in (before, others):
        return tuple(theirs)
    kept = [their for their in theirs if tag_key(their) in mine or tag_key(their) not in before]
    return (*kept, *(our for our in ours if tag_key(our) not in others and tag_key(our) not in before))


def _listed(base: Sequence[str], ours: Sequence[str], theirs: Sequence[str]) -> tuple[str, ...]:
    """Each side's own changes to a list; what neither touched is in the order of the file."""
    before, mine, others = Counter(base), Counter(ours), Counter(theirs)
    if mine in (before, others):
        return tuple(theirs)
    new, gone = mine - before, before - mine
    kept: list[str] = []
    for their in theirs:
        if gone[their]:
            gone[their] -= 1
        else:
            kept.append(their)
    # What both have said anew is said once.
    both = new & (others - before)
    return (*kept, *(new - both).elements())
