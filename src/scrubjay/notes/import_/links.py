"""The second pass of an import: relate linked notes, once all files are stored."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from scrubjay.engine import Engine
from scrubjay.model.draft import Caller
from scrubjay.model.memory import State
from scrubjay.model.relation import LINK, Relation
from scrubjay.notes.import_.link_index import LinkIndex
from scrubjay.notes.markdown.note import Link
from scrubjay.notes.markdown.wiki import key_of
from scrubjay.notes.sync.links import text_link_metadata
from scrubjay.ports import Edge
from scrubjay.writing.batch import Batch

__all__ = ["Linker", "Linking"]

_PAGE = 200
_LONGEST = 300


Linking = tuple[str, tuple[Link, ...], frozenset[str]]
"""A file, its links, and the targets that occur only in its text."""


@dataclass(slots=True, kw_only=True)
class _NewLink:
    """The text of a link, and its target if the link occurs only in the content."""

    text: str
    typed: str


class Linker:
    """Relates notes; `ids` maps paths to note ids. In a dry run it only counts, including notes without an id yet."""

    def __init__(
        self, engine: Engine, *, who: Caller, atlas: LinkIndex, ids: Mapping[str, str], dry_run: bool
    ) -> None:  # fmt: skip
        self._engine = engine
        self._who = who
        self._atlas = atlas
        self._ids = ids
        self._dry_run = dry_run
        self._elsewhere: dict[str, str] = {}
        self._counted: set[frozenset[str]] = set()
        self.broken: list[tuple[str, str]] = []

    async def link(self, files: Sequence[Linking]) -> int:
        """Relate notes that are not related yet; returns the number of new links."""
        made = 0
        for start in range(0, len(files), _PAGE):
            made += await self._page(files[start : start + _PAGE])
        return made

    async def _page(self, files: Iterable[Linking]) -> int:
        new_links: dict[tuple[str, str], _NewLink] = {}
        for path, links, typed in files:
            for link in links:
                other = await self._resolve(link.target, path)
                if other is None:
                    self.broken += [(path, link.target)] if not self._is_file(link.target, path) else []
                elif other != self._ids[path]:
                    new_link = new_links.setdefault(
                        (self._ids[path], other), _NewLink(text=link.text, typed=link.target)
                    )
                    new_link.typed = new_link.typed if link.target in typed else ""
        return await (self._count(new_links) if self._dry_run else self._relate(new_links))

    async def _count(self, pairs: Iterable[tuple[str, str]]) -> int:
        """Count the links that would be created; two notes have at most one, in either direction."""
        new = {frozenset(pair) for pair in pairs} - self._counted
        self._counted |= new
        return len(new - await self._related(new))

    async def _related(self, pairs: Iterable[Iterable[str]]) -> set[frozenset[str]]:
        """Return the pairs of notes that are already linked."""
        ends = list({end for pair in pairs for end in pair})
        relations = await self._engine.store.relations(self._who.space, ends) if ends else []
        return {frozenset((relation.source, relation.target)) for relation in relations if relation.type == LINK}

    async def _resolve(self, target: str, path: str) -> str | None:
        """Return the id of the note that a link names, or None."""
        note_path = self._atlas.note(target, beside=path)
        if note_path is not None and note_path in self._ids:
            return self._ids[note_path]
        key = key_of(target)
        if key not in self._elsewhere:
            handles = await self._engine.store.find(self._who.space, target[:_LONGEST], state=State.LIVE)
            self._elsewhere[key] = handles[0].id if len(handles) == 1 else ""
        return self._elsewhere[key] or None

    def _is_file(self, target: str, path: str) -> bool:
        return self._atlas.file(target, beside=path) is not None

    async def _relate(self, new_links: Mapping[tuple[str, str], _NewLink]) -> int:
        store, space = self._engine.store, self._who.space
        ends = list({end for pair in new_links for end in pair})
        if not ends:
            return 0
        there = await self._related(new_links)
        memories = await store.get(space, ends)
        edges = [
            Edge(relation=edge, present=True)
            for edge in self._edges(new_links, there)
            if edge.source in memories and edge.target in memories
        ]
        named = [_drop_label(edge, memories[edge.relation.target].label) for edge in edges]
        for start in range(0, len(named), _PAGE):
            await self._engine.write_batch(Batch(edges=tuple(named[start : start + _PAGE])), who=self._who)
        return len(named)

    def _edges(self, new_links: Mapping[tuple[str, str], _NewLink], there: set[frozenset[str]]) -> Iterator[Relation]:
        now = self._engine.clock.now()
        for (source, target), new_link in new_links.items():
            pair = frozenset((source, target))
            if pair not in there:
                there.add(pair)
                words = " ".join(new_link.text.split())[:_LONGEST]
                metadata = text_link_metadata(new_link.typed)
                yield Relation(source=source, target=target, text=words, metadata=metadata, created_at=now)


def _drop_label(edge: Edge, label: str) -> Edge:
    """Drop the text of a relation if it only repeats the name of the other note."""
    relation = edge.relation
    if key_of(relation.text) != key_of(label):
        return edge
    return Edge(relation=replace(relation, text=""), present=True)
