"""The notes that are exported, page by page: what each says, what it links and embeds, and where it lies."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from scrubjay.engine import Engine
from scrubjay.errors import NotFound
from scrubjay.model.draft import Caller
from scrubjay.model.media import ATTACHMENT
from scrubjay.model.memory import Memory
from scrubjay.model.query import Filter
from scrubjay.model.relation import LINK, Relation
from scrubjay.notes.attachments.results import EMBEDS, Attachment, attachment_from
from scrubjay.notes.markdown.naming import file_name, id_in, link_target
from scrubjay.notes.markdown.note import Note
from scrubjay.notes.markdown.wiki import key_of
from scrubjay.notes.requests import NotesSelection
from scrubjay.notes.sync.links import ids_named_in
from scrubjay.notes.sync.mapping import LinkedNote, note_of
from scrubjay.notes.sync.state import is_note

__all__ = ["Entry", "Leaf", "Leaves", "Register"]

_PAGE = 200
Paths = Callable[[Sequence[str]], Awaitable[Mapping[str, str]]]
"""Where the files of some notes lie in their folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What is known of every note of an export."""

    id: str
    title: str
    category: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """One note: `note` as its file tells it, `path` where that file lies, and what it embeds."""

    memory: Memory
    note: Note
    path: str
    embedded: tuple[Attachment, ...] = ()

    def attachment(self, target: str) -> Attachment | None:
        """The file that an embed names."""
        name = _file_key(target)
        return next((one for one in self.embedded if _file_key(one.file) == name), None)


@dataclass(slots=True, kw_only=True)
class Register:
    """All notes of an export, by whatever links call them. The first of a name has it."""

    entries: dict[str, Entry] = field(default_factory=dict[str, Entry])
    _keys: dict[str, str] = field(default_factory=dict[str, str])

    def add(self, memory: Memory, path: str) -> None:
        """Add a note."""
        self.entries[memory.id] = Entry(id=memory.id, title=memory.label, category=memory.category, path=path)
        aliases = memory.metadata.get("aliases")
        others = [alias for alias in aliases if isinstance(alias, str)] if isinstance(aliases, list) else []
        stem = PurePosixPath(link_target(path)).name
        for name in (memory.id, link_target(path), stem, memory.label, memory.name, *others):
            if key := key_of(name):
                self._keys.setdefault(key, memory.id)

    def find(self, target: str) -> Entry | None:
        """The note that a link means, if it is among them."""
        own = self._keys.get(key_of(target)) or self._keys.get(key_of(PurePosixPath(link_target(target)).name))
        return self.entries.get(own or id_in(target))


class Leaves:
    """Reads the notes of one space for an export; never more than a page of them at once."""

    def __init__(self, engine: Engine, *, who: Caller, paths: Paths) -> None:
        self._engine = engine
        self._who = who
        self._paths = paths

    async def ids(self, wanted: NotesSelection) -> list[str]:
        """Who is exported, in the order in which they came to be; raises NotFound for a name that nobody has."""
        if wanted.refs:
            return await self._named(wanted.refs)
        among = Filter(category=wanted.category, tags=wanted.tags)
        files = await self._listed(replace(among, kind=ATTACHMENT))
        return sorted(await self._listed(among) - files)

    async def register(self, ids: Sequence[str]) -> Register:
        """What links may lead to. What is no note of its own is left out."""
        found = Register()
        async for memories in self._pages(ids):
            paths = await self._places(memories)
            for memory in memories:
                found.add(memory, paths[memory.id])
        return found

    async def pages(self, ids: Sequence[str]) -> AsyncIterator[list[Leaf]]:
        """The notes themselves."""
        async for memories in self._pages(ids):
            yield await self._leaves(memories)

    async def _listed(self, filter: Filter) -> set[str]:
        # Somebody may write meanwhile, and what is updated comes first: so each may be told twice.
        found: set[str] = set()
        after: str | None = None
        while page := await self._engine.store.list_ids(self._who.space, filter, limit=1_000, after=after):
            found |= set(page)
            after = page[-1]
        return found

    async def _named(self, refs: Iterable[str]) -> list[str]:
        found = await self._engine.read(tuple(refs), who=self._who, format="json")
        for one in found.missing:
            hint = f"Did you mean {' or '.join(one.suggestions)}?" if one.suggestions else "Find it with search_mem"
            raise NotFound(f"no note answers to {one.ref[:100]!r}", hint=hint, ref=one.ref[:200])
        return list(dict.fromkeys(memory.trunk or memory.id for memory in found.memories))

    async def _pages(self, ids: Sequence[str]) -> AsyncIterator[list[Memory]]:
        for start in range(0, len(ids), _PAGE):
            page = ids[start : start + _PAGE]
            found = await self._engine.store.get(self._who.space, page)
            yield [found[one] for one in page if one in found and is_note(found[one])]

    async def _leaves(self, memories: Sequence[Memory]) -> list[Leaf]:
        store, space = self._engine.store, self._who.space
        own = [memory.id for memory in memories]
        relations = await store.relations(space, own) if own else []
        ends = {
            end
            for relation in relations
            if relation.type in (LINK, EMBEDS)
            for end in (relation.source, relation.target)
        }
        known = {memory.id: memory for memory in memories}
        known |= await store.get(space, [end for end in ends if end not in known])
        paths = await self._places(known.values())
        now = self._engine.clock.now()
        by_end: dict[str, list[Relation]] = {}
        for one in relations:
            for end in {one.source, one.target}:
                by_end.setdefault(end, []).append(one)
        leaves: list[Leaf] = []
        for memory in memories:
            mine = sorted(by_end.get(memory.id, []), key=lambda one: (one.created_at, one.source, one.target))
            linked = tuple(_linked(memory.id, mine, known, paths))
            note = note_of(memory, linked, now=now, unlisted=ids_named_in(memory.content, linked))
            embedded = [known[one.target] for one in mine if _embeds(one, memory.id) and one.target in known]
            files = tuple(told for one in embedded if (told := attachment_from(one)))
            leaves.append(Leaf(memory=memory, note=note, path=paths[memory.id], embedded=files))
        return leaves

    async def _places(self, memories: Iterable[Memory]) -> dict[str, str]:
        known = {memory.id: memory for memory in memories}
        paths = await self._paths(list(known))
        return {
            one: paths.get(one) or file_name(category=memory.category, title=memory.label, id=memory.id)
            for one, memory in known.items()
        }


def _linked(
    own: str, relations: Iterable[Relation], known: Mapping[str, Memory], paths: Mapping[str, str]
) -> Iterable[LinkedNote]:
    seen = {own}
    for relation in relations:
        other = known.get(relation.target if relation.source == own else relation.source)
        if relation.type != LINK or other is None or other.id in seen or not is_note(other):
            continue
        seen.add(other.id)
        yield LinkedNote(id=other.id, target=link_target(paths[other.id]), text=relation.text or other.label)


def _embeds(relation: Relation, own: str) -> bool:
    return relation.type == EMBEDS and relation.source == own


def _file_key(path: str) -> str:
    return key_of(path.rpartition("/")[2])
