"""Bringing one space over: vectors, then memories with their past, then relations, answers and papers."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from scrubjay.errors import NameTaken, NotFound
from scrubjay.model.change import Origin
from scrubjay.model.passage import Vector
from scrubjay.model.relation import Relation
from scrubjay.model.version import MemoryHistory
from scrubjay.ports import Commit, Edge, Embedded, RecordStore
from scrubjay.transfer.import_ import with_free_names
from scrubjay.transfer.migrate_digest import in_step
from scrubjay.transfer.migrate_pages import (
    DOCUMENTS,
    Damaged,
    DocumentKey,
    Page,
    Stage,
    document_page,
    history_pages,
    id_pages,
    known_among,
)

_VECTORS = 500
_EDGES = 500
_ANSWERS = 500
_HASH_SPAN = 1 << 32


@dataclass(slots=True)
class Carried:
    """What has been brought over so far; `known` was there already."""

    memories: int = 0
    known: int = 0
    relations: int = 0
    vectors: int = 0
    answers: int = 0
    documents: int = 0
    tokens: int = 0
    renamed: list[str] = field(default_factory=list[str])
    damaged: list[Damaged] = field(default_factory=list[Damaged])
    # How much was looked at, for whoever watches.
    seen_vectors: int = 0
    seen_ends: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Carrier:
    """Brings over what the target lacks; no memory that is there is changed, so it can begin again at any time.

    With `renewing` the papers of the target become those of the source, else those that are there stay.
    """

    source: RecordStore
    target: RecordStore
    origin: Origin
    total: int
    report: Stage
    renewing: bool
    carried: Carried = field(default_factory=Carried)

    async def space(self, space: str) -> None:
        """Everything of one space."""
        # Vectors first: a memory that is taken in finds its own, and the log has one entry for it, not two.
        for model, dimension in (await self.source.models()).items():
            await self._vectors(space, model, dimension)
        damaged: dict[str, str] = {}
        async for page in id_pages(self.source, space):
            await self._memories(space, page, damaged)
        self.carried.damaged += [Damaged(space=space, memory_id=one, why=why) for one, why in damaged.items()]
        async for page in id_pages(self.source, space):
            await self._relations(space, page.ids, damaged)
            self.carried.seen_ends += len(page.ids)
            self.report("relations", self.carried.seen_ends, self.total)
        await self._answers(space)
        await self._documents(space)

    async def tokens(self) -> None:
        """The tokens, by their digests; what was revoked since an earlier try is revoked."""
        digests, there = await self.source.token_digests(), await self.target.token_digests()
        for token in await self.source.tokens():
            if token.id not in there:
                await self.target.add_token(token, digests[token.id])
                self.carried.tokens += 1
            elif token.revoked_at is not None:
                await self.target.revoke_token(token.id, at=token.revoked_at)

    async def _vectors(self, space: str, model: str, dimension: int) -> None:
        after, before = b"", self.carried.seen_vectors
        while page := await self.source.stored_vectors(space, model, after=after, limit=_VECTORS):
            there = await self.target.embedded(space, model, list(page))
            fresh: dict[bytes, Vector] = {key: vector for key, vector in page.items() if key not in there}
            if fresh:
                embedded = Embedded(model=model, dimension=dimension, vectors=fresh)
                await self.target.store_vectors(space, embedded, memory_ids=(), origin=self.origin)
            after = list(page)[-1]
            self.carried.vectors += len(fresh)
            self.carried.seen_vectors += len(page)
            # Hashes are spread evenly: how far the last one is tells how many there will be.
            seen = self.carried.seen_vectors
            reached = int.from_bytes(after[:4].ljust(4, b"\0"), "big") + 1
            coming = (seen - before) * _HASH_SPAN // reached if len(page) == _VECTORS else seen - before
            self.report("vectors", seen, before + max(seen - before, coming))

    async def _memories(self, space: str, page: Page, damaged: dict[str, str]) -> None:
        known = await known_among(self.target, space, page)
        self.carried.known += len(known)
        missing = [id_ for id_ in page.ids if id_ not in known]
        async for histories in history_pages(self.source, space, missing, damaged):
            self.carried.memories += await self._adopt(space, histories)
            self._tell()
        self._tell()

    async def _adopt(self, space: str, histories: Sequence[MemoryHistory]) -> int:
        try:
            return len(await self.target.adopt(space, histories, origin=self.origin))
        except NameTaken:
            # By what was there before, or has changed hands in the source since an earlier try.
            renamed: dict[str, str] = {}
            free = await with_free_names(histories, renamed, space=space, store=self.target)
            taken = await self.target.adopt(space, free, origin=self.origin)
            self.carried.renamed += [f"{space}: {renamed[one]}" for one in taken if one in renamed]
            return len(taken)

    async def _relations(self, space: str, ids: Sequence[str], damaged: dict[str, str]) -> None:
        inside = set(ids)
        ours = [relation for relation in await self.source.relations(space, ids) if relation.source in inside]
        if not ours:
            return
        known = {relation.key for relation in await self.target.relations(space, ids)}
        fresh = [our for our in ours if our.key not in known and not {our.source, our.target} & damaged.keys()]
        for start in range(0, len(fresh), _EDGES):
            self.carried.relations += await self._relate(space, fresh[start : start + _EDGES])

    async def _relate(self, space: str, relations: Sequence[Relation]) -> int:
        edges = tuple(Edge(relation=relation, present=True) for relation in relations)
        try:
            await self.target.commit(Commit(space=space, origin=self.origin, edges=edges))
        except NotFound:
            # Somebody writes to the source: an end came after its page was read. The comparison will tell.
            ends = await self.target.get(
                space, [end for relation in relations for end in (relation.source, relation.target)]
            )
            edges = tuple(edge for edge in edges if {edge.relation.source, edge.relation.target} <= ends.keys())
            await self.target.commit(Commit(space=space, origin=self.origin, edges=edges))
        return len(edges)

    async def _answers(self, space: str) -> None:
        after: str | bytes | None = None
        while page := await self.source.answers(space, after=after, limit=_ANSWERS):
            self.carried.answers += await self.target.import_answers(space, page, origin=self.origin)
            after = page[-1].key

    async def _documents(self, space: str) -> None:
        after: DocumentKey | None = ("", "")
        while after is not None:
            ours, theirs = [await document_page(store, space, after=after) for store in (self.source, self.target)]
            ours, theirs, after = in_step(ours, theirs, limit=DOCUMENTS)
            unlike = [document for key, document in ours.items() if theirs.get(key) != document]
            if unlike:
                self.carried.documents += await self.target.import_documents(space, unlike, renew=self.renewing)
            for collection, key in sorted(theirs.keys() - ours.keys()) if self.renewing else ():
                await self.target.delete_document(space, collection, key)

    def _tell(self) -> None:
        self.report("memories", self.carried.memories + self.carried.known, self.total)
