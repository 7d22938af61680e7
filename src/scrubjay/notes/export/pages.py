"""Read the notes of an export page by page, with their links, attachments and paths."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from scrubjay.engine import Engine
from scrubjay.errors import NotFound
from scrubjay.model.attachments import EMBEDS, attachment_from
from scrubjay.model.caller import Caller
from scrubjay.model.media import ATTACHMENT
from scrubjay.model.memory import Memory
from scrubjay.model.query import Filter
from scrubjay.model.relation import LINK, Relation
from scrubjay.model.requests import ReadRequest
from scrubjay.notes.export.exported import ExportedNote, NoteIndex
from scrubjay.notes.markdown.naming import file_name, link_target
from scrubjay.notes.sync.links import ids_named_in
from scrubjay.notes.sync.mapping import LinkedNote, note_of
from scrubjay.notes.sync.state import is_note

__all__ = ["NoteReader"]

_PAGE = 200
Paths = Callable[[Sequence[str]], Awaitable[Mapping[str, str]]]
"""Returns the paths of notes in their folder, by id."""


class NoteReader:
    """Reads the notes of one space for an export, one page at a time."""

    def __init__(self, engine: Engine, *, who: Caller, paths: Paths) -> None:
        self._engine = engine
        self._who = who
        self._paths = paths

    async def ids(
        self, refs: Sequence[str] = (), *, category: str = "", tags: Sequence[str] = ()
    ) -> list[str]:  # fmt: skip
        """Return the ids of the selected notes by age; raises NotFound for an unknown reference."""
        if refs:
            result = await self._engine.read(ReadRequest(ids=tuple(refs), format="json"), who=self._who)
            for missing in result.missing:
                names = " or ".join(missing.suggestions)
                hint = f"Did you mean {names}?" if names else "Find it with `search_notes`"
                raise NotFound(f"no note is called {missing.ref[:100]!r}", hint=hint, ref=missing.ref[:200])
            return list(dict.fromkeys(memory.trunk or memory.id for memory in result.memories))
        selected = Filter(category=category, tags=tuple(tags))
        files = await self._list(replace(selected, kind=ATTACHMENT))
        return sorted(await self._list(selected) - files)

    async def index(self, ids: Sequence[str]) -> NoteIndex:
        """Return the index of the notes that links can lead to; memories that are not notes are left out."""
        index = NoteIndex()
        async for memories in self._memory_pages(ids):
            paths = await self._file_paths(memories)
            for memory in memories:
                index.add(memory, paths[memory.id])
        return index

    async def pages(self, ids: Sequence[str]) -> AsyncIterator[list[ExportedNote]]:
        """Yield the notes page by page."""
        async for memories in self._memory_pages(ids):
            yield await self._complete(memories)

    async def _list(self, filter: Filter) -> set[str]:
        # A set, because concurrent writes reorder the list and an id may appear twice.
        ids: set[str] = set()
        after: str | None = None
        while page := await self._engine.reader.list_ids(self._who.space, filter, limit=1_000, after=after):
            ids |= set(page)
            after = page[-1]
        return ids

    async def _memory_pages(self, ids: Sequence[str]) -> AsyncIterator[list[Memory]]:
        for start in range(0, len(ids), _PAGE):
            page = ids[start : start + _PAGE]
            memories = await self._engine.reader.get(self._who.space, page)
            yield [memories[id_] for id_ in page if id_ in memories and is_note(memories[id_])]

    async def _complete(self, memories: Sequence[Memory]) -> list[ExportedNote]:
        """Return memories as notes with their links, attachments and paths."""
        reader, space = self._engine.reader, self._who.space
        own = [memory.id for memory in memories]
        relations = await reader.relations(space, own) if own else []
        ends = {
            end
            for relation in relations
            if relation.type in (LINK, EMBEDS)
            for end in (relation.source, relation.target)
        }
        by_id = {memory.id: memory for memory in memories}
        by_id |= await reader.get(space, [end for end in ends if end not in by_id])
        paths = await self._file_paths(by_id.values())
        now = self._engine.clock.now()
        by_end: dict[str, list[Relation]] = {}
        for relation in relations:
            for end in {relation.source, relation.target}:
                by_end.setdefault(end, []).append(relation)
        notes: list[ExportedNote] = []
        for memory in memories:
            own_relations = sorted(
                by_end.get(memory.id, []), key=lambda edge: (edge.created_at, edge.source, edge.target)
            )
            linked = tuple(_linked_notes(memory.id, own_relations, by_id, paths))
            note = note_of(memory, linked, now=now, unlisted=ids_named_in(memory.content, linked))
            embedded = [
                attachment_from(by_id[relation.target])
                for relation in own_relations
                if relation.type == EMBEDS and relation.source == memory.id and relation.target in by_id
            ]
            attachments = tuple(attachment for attachment in embedded if attachment)
            notes.append(ExportedNote(memory=memory, note=note, path=paths[memory.id], attachments=attachments))
        return notes

    async def _file_paths(self, memories: Iterable[Memory]) -> dict[str, str]:
        by_id = {memory.id: memory for memory in memories}
        paths = await self._paths(list(by_id))
        return {
            id_: paths.get(id_) or file_name(category=memory.category, title=memory.label, id=id_)
            for id_, memory in by_id.items()
        }


def _linked_notes(
    own: str, relations: Iterable[Relation], by_id: Mapping[str, Memory], paths: Mapping[str, str]
) -> Iterable[LinkedNote]:
    seen = {own}
    for relation in relations:
        other = by_id.get(relation.target if relation.source == own else relation.source)
        if relation.type != LINK or other is None or other.id in seen or not is_note(other):
            continue
        seen.add(other.id)
        yield LinkedNote(id=other.id, target=link_target(paths[other.id]), text=relation.text_at(own) or other.label)
