"""The second pass of an import: what the files link is related, wherever in the folder it came."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from scrubjay.engine import Engine
from scrubjay.model.draft import Caller
from scrubjay.model.memory import State
from scrubjay.model.relation import LINK, Relation
from scrubjay.notes.importing.atlas import Atlas
from scrubjay.notes.page.note import Link
from scrubjay.notes.page.wiki import key_of
from scrubjay.ports import Edge
from scrubjay.writing.together import Together

__all__ = ["Linker"]

_PAGE = 200
_LONGEST = 300


class Linker:
    """Relates notes; `ids` are those of the files by path, empty in a dry run for what would be new."""

    def __init__(
        self, engine: Engine, *, who: Caller, atlas: Atlas, ids: Mapping[str, str], dry_run: bool
    ) -> None:  # fmt: skip
        self._engine = engine
        self._who = who
        self._atlas = atlas
        self._ids = ids
        self._dry_run = dry_run
        self._elsewhere: dict[str, str] = {}
        self.broken: list[tuple[str, str]] = []

    async def link(self, files: Sequence[tuple[str, tuple[Link, ...]]]) -> int:
        """Relate what is not related yet; tells how many links that made."""
        made = 0
        for start in range(0, len(files), _PAGE):
            made += await self._page(files[start : start + _PAGE])
        return made

    async def _page(self, files: Iterable[tuple[str, tuple[Link, ...]]]) -> int:
        wanted: dict[tuple[str, str], str] = {}
        count = 0
        for path, links in files:
            for link in links:
                other = await self._meant(link.target, path)
                if other is None:
                    self.broken += [(path, link.target)] if not self._is_file(link.target, path) else []
                elif self._ids[path] and other and other != self._ids[path]:
                    wanted.setdefault((self._ids[path], other), link.text)
                else:
                    count += other == "" and self._dry_run
        if self._dry_run:
            return count + len(wanted)
        return await self._relate(wanted)

    async def _meant(self, target: str, path: str) -> str | None:
        """The id of the note that a link means; None where there is none."""
        found = self._atlas.note(target, beside=path)
        if found is not None and found in self._ids:
            return self._ids[found]
        key = key_of(target)
        if key not in self._elsewhere:
            handles = await self._engine.store.find(self._who.space, target[:_LONGEST], state=State.LIVE)
            self._elsewhere[key] = handles[0].id if len(handles) == 1 else ""
        return self._elsewhere[key] or None

    def _is_file(self, target: str, path: str) -> bool:
        return self._atlas.file(target, beside=path) is not None

    async def _relate(self, wanted: Mapping[tuple[str, str], str]) -> int:
        store, space = self._engine.store, self._who.space
        ends = list({end for pair in wanted for end in pair})
        if not ends:
            return 0
        there = {frozenset((one.source, one.target)) for one in await store.relations(space, ends) if one.type == LINK}
        memories = await store.get(space, ends)
        edges = [
            Edge(relation=one, present=True)
            for one in self._edges(wanted, there)
            if one.source in memories and one.target in memories
        ]
        named = [_unsaid(edge, memories[edge.relation.target].label) for edge in edges]
        for start in range(0, len(named), _PAGE):
            await self._engine.write_together(Together(edges=tuple(named[start : start + _PAGE])), who=self._who)
        return len(named)

    def _edges(self, wanted: Mapping[tuple[str, str], str], there: set[frozenset[str]]) -> Iterator[Relation]:
        now = self._engine.clock.now()
        for (source, target), text in wanted.items():
            pair = frozenset((source, target))
            if pair not in there:
                there.add(pair)
                words = " ".join(text.split())[:_LONGEST]
                yield Relation(source=source, target=target, text=words, created_at=now)


def _unsaid(edge: Edge, label: str) -> Edge:
    """A relation says nothing where the link says what the other note is called anyway."""
    relation = edge.relation
    if key_of(relation.text) != key_of(label):
        return edge
    bare = Relation(source=relation.source, target=relation.target, created_at=relation.created_at)
    return Edge(relation=bare, present=True)
