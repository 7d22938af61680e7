"""The second pass of an import: what the files link is related, wherever in the folder it came."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from scrubjay.engine import Engine
from scrubjay.model.draft import Caller
from scrubjay.model.memory import State
from scrubjay.model.relation import LINK, Relation
from scrubjay.notes.import_.link_index import Atlas
from scrubjay.notes.markdown.note import Link
from scrubjay.notes.markdown.wiki import key_of
from scrubjay.notes.sync.links import text_link_metadata
from scrubjay.ports import Edge
from scrubjay.writing.batch import Batch

__all__ = ["Linker", "Linking"]

_PAGE = 200
_LONGEST = 300


Linking = tuple[str, tuple[Link, ...], frozenset[str]]
"""A file, what it links, and those of the targets that only its text names."""


@dataclass(slots=True, kw_only=True)
class _Wish:
    """What a link says, and what the text calls its target if nothing but a text has it."""

    text: str
    typed: str


class Linker:
    """Relates notes; `ids` are those of the files by path. In a dry run it only counts, also what has no id yet."""

    def __init__(
        self, engine: Engine, *, who: Caller, atlas: Atlas, ids: Mapping[str, str], dry_run: bool
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
        """Relate what is not related yet; tells how many links that made."""
        made = 0
        for start in range(0, len(files), _PAGE):
            made += await self._page(files[start : start + _PAGE])
        return made

    async def _page(self, files: Iterable[Linking]) -> int:
        expected: dict[tuple[str, str], _Wish] = {}
        for path, links, typed in files:
            for link in links:
                other = await self._meant(link.target, path)
                if other is None:
                    self.broken += [(path, link.target)] if not self._is_file(link.target, path) else []
                elif other != self._ids[path]:
                    wish = expected.setdefault((self._ids[path], other), _Wish(text=link.text, typed=link.target))
                    wish.typed = wish.typed if link.target in typed else ""
        return await (self._count(expected) if self._dry_run else self._relate(expected))

    async def _count(self, pairs: Iterable[tuple[str, str]]) -> int:
        """How many links would be made: two notes have one, however often and from whichever side."""
        new = {frozenset(pair) for pair in pairs} - self._counted
        self._counted |= new
        return len(new - await self._related(new))

    async def _related(self, pairs: Iterable[Iterable[str]]) -> set[frozenset[str]]:
        """Those notes that are linked with each other."""
        ends = list({end for pair in pairs for end in pair})
        results = await self._engine.store.relations(self._who.space, ends) if ends else []
        return {frozenset((item.source, item.target)) for item in results if item.type == LINK}

    async def _meant(self, target: str, path: str) -> str | None:
        """The id of the note that a link means; None where there is none."""
        results = self._atlas.note(target, beside=path)
        if results is not None and results in self._ids:
            return self._ids[results]
        key = key_of(target)
        if key not in self._elsewhere:
            handles = await self._engine.store.find(self._who.space, target[:_LONGEST], state=State.LIVE)
            self._elsewhere[key] = handles[0].id if len(handles) == 1 else ""
        return self._elsewhere[key] or None

    def _is_file(self, target: str, path: str) -> bool:
        return self._atlas.file(target, beside=path) is not None

    async def _relate(self, wanted: Mapping[tuple[str, str], _Wish]) -> int:
        store, space = self._engine.store, self._who.space
        ends = list({end for pair in wanted for end in pair})
        if not ends:
            return 0
        there = await self._related(wanted)
        memories = await store.get(space, ends)
        edges = [
            Edge(relation=edge, present=True)
            for edge in self._edges(wanted, there)
            if edge.source in memories and edge.target in memories
        ]
        named = [_unsaid(edge, memories[edge.relation.target].label) for edge in edges]
        for start in range(0, len(named), _PAGE):
            await self._engine.write_batch(Batch(edges=tuple(named[start : start + _PAGE])), who=self._who)
        return len(named)

    def _edges(self, wanted: Mapping[tuple[str, str], _Wish], there: set[frozenset[str]]) -> Iterator[Relation]:
        now = self._engine.clock.now()
        for (source, target), wish in wanted.items():
            pair = frozenset((source, target))
            if pair not in there:
                there.add(pair)
                words = " ".join(wish.text.split())[:_LONGEST]
                metadata = text_link_metadata(wish.typed)
                yield Relation(source=source, target=target, text=words, metadata=metadata, created_at=now)


def _unsaid(edge: Edge, label: str) -> Edge:
    """A relation says nothing where the link says what the other note is called anyway."""
    relation = edge.relation
    if key_of(relation.text) != key_of(label):
        return edge
    return Edge(relation=replace(relation, text=""), present=True)
