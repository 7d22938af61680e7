"""Migration: copy everything from one store to another, resume after any interruption, and compare at the end."""

import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime

from scrubjay.errors import Conflict, InvalidInput, NameTaken, NotFound, ScrubjayError
from scrubjay.model.change import Origin
from scrubjay.model.passage import Vector
from scrubjay.model.relation import Relation
from scrubjay.model.version import MemoryHistory
from scrubjay.ports import Commit, Edge, Embedded, RecordStore
from scrubjay.transfer.import_ import with_free_names
from scrubjay.transfer.migrate_pages import (
    DOCUMENTS,
    DamagedMemory,
    DocumentKey,
    IdPage,
    ReportProgress,
    common_range,
    document_page,
    existing_ids,
    history_pages,
    id_pages,
    ignore_progress,
)
from scrubjay.transfer.migrate_verify import Comparison, compare_stores

AGENT = "migration"
_CHANGES = 1_000
_PURGED = 500
_VECTORS = 500
_EDGES = 500
_ANSWERS = 500
_HASH_SPAN = 1 << 32
_CONTINUE = "Run the same command again: it continues where it stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """The stores of a migration. Unless `merging`, the target must be empty or an unfinished copy of this source."""

    source: RecordStore
    target: RecordStore
    now: Callable[[], datetime]
    merging: bool = False
    report: ReportProgress = ignore_progress

    @property
    def origin(self) -> Origin:
        """The origin of copied data, which `undo` ignores. The run names the source, to recognise a partial copy."""
        return Origin(at=self.now(), run=f"{AGENT}-{self.source.store_id}", agent=AGENT)


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationResult:
    """What a migration copied; `known` memories were there already. `rate` is memories a second, without comparing."""

    memories: int
    known: int
    relations: int
    vectors: int
    answers: int
    documents: int
    tokens: int
    renamed: tuple[str, ...]
    damaged: tuple[DamagedMemory, ...]
    seconds: float
    rate: float
    # How many changes were made to the source meanwhile.
    changed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SpacePlan:
    """The content of a space to copy; `known` memories are in the target already."""

    space: str
    memories: int
    known: int
    versions: int
    relations: int
    vectors: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationPlan:
    """What a migration would copy."""

    spaces: tuple[SpacePlan, ...]
    tokens: int


async def migrate_store(migration: Migration) -> tuple[MigrationResult, Comparison]:
    """Copy all that the target lacks, then compare; memories that changed since an earlier try are copied again."""
    await require_fit(migration)
    before = await migration.source.last_seq()
    async with _hint_to_continue():
        counts, seconds = await _copy(migration)
        comparison = await _compare(migration)
        if comparison.stale and not migration.merging and await is_own_copy(migration):
            for space, ids in comparison.stale.items():
                for start in range(0, len(ids), _PURGED):
                    await migration.target.purge(space, ids[start : start + _PURGED], origin=migration.origin)
            more, longer = await _copy(migration)
            counts, seconds = _add_counts(counts, more), seconds + longer
            comparison = await _compare(migration)
        changed = await migration.source.last_seq() - before
    result = MigrationResult(
        memories=counts.memories,
        known=counts.known,
        relations=counts.relations,
        vectors=counts.vectors,
        answers=counts.answers,
        documents=counts.documents,
        tokens=counts.tokens,
        renamed=tuple(counts.renamed),
        damaged=tuple(counts.damaged),
        seconds=seconds,
        rate=round(counts.memories / seconds, 1) if seconds else 0.0,
        changed=changed,
    )
    return result, comparison


async def plan_migration(source: RecordStore, target: RecordStore | None) -> MigrationPlan:
    """Return what a migration would copy, and copy nothing; `target` is None if it does not exist yet."""
    plans: list[SpacePlan] = []
    # The space without a name holds documents of the whole store: copied too, but no user's space.
    for space in filter(None, await source.spaces()):
        memories = existing = 0
        async for page in id_pages(source, space):
            memories += len(page.ids)
            existing += len(await existing_ids(target, space, page)) if target else 0
        sizes = await source.statistics(space)
        plans.append(
            SpacePlan(
                space=space, memories=memories, known=existing, versions=sizes.versions, relations=sizes.relations,
                vectors=dict(sizes.vectors),
            )
        )  # fmt: skip
    return MigrationPlan(spaces=tuple(plans), tokens=len(await source.tokens()))


async def require_fit(migration: Migration) -> None:
    """Raise an error if both stores are the same, or the target holds something else."""
    if migration.source.store_id == migration.target.store_id:
        raise InvalidInput(
            "both are the same store, or one is a plain copy of the other's files", hint="Name another store with --to"
        )
    if not migration.merging and not await is_own_copy(migration):
        raise Conflict(
            "the target holds something that is not from this source",
            hint="Choose an empty store, or give --into-existing to add to its content",
        )


async def is_own_copy(migration: Migration) -> bool:
    """Return whether the target is empty, or only a migration from this very source has written to it."""
    run, after = migration.origin.run, 0
    while page := await migration.target.changes(after=after, limit=_CHANGES):
        if any(change.run != run for change in page):
            return False
        after = page[-1].seq
    # Documents have no entries in the log.
    if not after and not await _has_only_documents_of_source(migration):
        return False
    source_digests = await migration.source.token_digests()
    return (await migration.target.token_digests()).items() <= source_digests.items()


async def _has_only_documents_of_source(migration: Migration) -> bool:
    for space in await migration.target.spaces():
        after: DocumentKey = ("", "")
        while page := await document_page(migration.target, space, after=after):
            for after, document in page.items():
                if await migration.source.document(space, *after) != document:
                    return False
    return True


async def _copy(migration: Migration) -> tuple["CopyCounts", float]:
    started_at, total = time.monotonic(), 0
    spaces = await migration.source.spaces()
    for space in spaces:
        async for page in id_pages(migration.source, space):
            total += len(page.ids)
    copier = StoreCopier(migration=migration, origin=migration.origin, total=total)
    for space in spaces:
        await copier.copy_space(space)
    await copier.copy_tokens()
    return copier.counts, round(time.monotonic() - started_at, 3)


async def _compare(migration: Migration) -> Comparison:
    return await compare_stores(migration.source, migration.target, merging=migration.merging, report=migration.report)


@asynccontextmanager
async def _hint_to_continue() -> AsyncGenerator[None]:
    try:
        yield
    except ScrubjayError as error:
        error.hint = f"{error.hint.rstrip('.')}. {_CONTINUE}" if error.hint else _CONTINUE
        raise


@dataclass(slots=True)
class CopyCounts:
    """What has been copied so far; `known` memories were there already."""

    memories: int = 0
    known: int = 0
    relations: int = 0
    vectors: int = 0
    answers: int = 0
    documents: int = 0
    tokens: int = 0
    renamed: list[str] = field(default_factory=list[str])
    damaged: list[DamagedMemory] = field(default_factory=list[DamagedMemory])
    # How much was read, for the progress.
    read_vectors: int = 0
    related_memories: int = 0


def _add_counts(first: CopyCounts, second: CopyCounts) -> CopyCounts:
    """Return the counts of two rounds; the damaged and renamed memories are those of the second."""
    return CopyCounts(
        memories=first.memories + second.memories,
        # Memories that were copied again had been there.
        known=max(0, first.known - second.memories),
        relations=first.relations + second.relations,
        vectors=first.vectors + second.vectors,
        answers=first.answers + second.answers,
        documents=first.documents + second.documents,
        tokens=first.tokens + second.tokens,
        renamed=second.renamed,
        damaged=second.damaged,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreCopier:
    """Copies all that the target lacks. No memory of the target is changed, so it can start again at any time.

    When merging, documents of the target stay; else they become those of the source.
    """

    migration: Migration
    origin: Origin
    total: int
    counts: CopyCounts = field(default_factory=CopyCounts)

    @property
    def source(self) -> RecordStore:
        """The store to read."""
        return self.migration.source

    @property
    def target(self) -> RecordStore:
        """The store to write."""
        return self.migration.target

    async def copy_space(self, space: str) -> None:
        """Copy vectors, memories with their history, relations, answers and documents of a space."""
        # Vectors first: an adopted memory finds its own, and the log has one entry for it instead of two.
        for model, dimension in (await self.source.models()).items():
            await self._copy_vectors(space, model, dimension)
        damaged: dict[str, str] = {}
        async for page in id_pages(self.source, space):
            await self._copy_memories(space, page, damaged)
        self.counts.damaged += [
            DamagedMemory(space=space, memory_id=memory_id, why=why) for memory_id, why in damaged.items()
        ]
        async for page in id_pages(self.source, space):
            await self._copy_relations(space, page.ids, damaged)
            self.counts.related_memories += len(page.ids)
            self.migration.report("relations", self.counts.related_memories, self.total)
        await self._copy_answers(space)
        await self._copy_documents(space)

    async def copy_tokens(self) -> None:
        """Copy tokens with their digests; tokens that were revoked since an earlier try are revoked."""
        digests, existing = await self.source.token_digests(), await self.target.token_digests()
        for token in await self.source.tokens():
            if token.id not in existing:
                await self.target.add_token(token, digests[token.id])
                self.counts.tokens += 1
            elif token.revoked_at is not None:
                await self.target.revoke_token(token.id, at=token.revoked_at)

    async def _copy_vectors(self, space: str, model: str, dimension: int) -> None:
        after, before = b"", self.counts.read_vectors
        while page := await self.source.stored_vectors(space, model, after=after, limit=_VECTORS):
            existing = await self.target.embedded(space, model, list(page))
            missing: dict[bytes, Vector] = {key: vector for key, vector in page.items() if key not in existing}
            if missing:
                embedded = Embedded(model=model, dimension=dimension, vectors=missing)
                await self.target.store_vectors(space, embedded, memory_ids=(), origin=self.origin)
            after = list(page)[-1]
            self.counts.vectors += len(missing)
            self.counts.read_vectors += len(page)
            # Hashes are evenly distributed: the position of the last one gives an estimate of the total.
            done = self.counts.read_vectors
            position = int.from_bytes(after[:4].ljust(4, b"\0"), "big") + 1
            expected = (done - before) * _HASH_SPAN // position if len(page) == _VECTORS else done - before
            self.migration.report("vectors", done, before + max(done - before, expected))

    async def _copy_memories(self, space: str, page: IdPage, damaged: dict[str, str]) -> None:
        existing = await existing_ids(self.target, space, page)
        self.counts.known += len(existing)
        missing = [memory_id for memory_id in page.ids if memory_id not in existing]
        async for histories in history_pages(self.source, space, missing, damaged):
            self.counts.memories += await self._adopt(space, histories)
            self._report_memories()
        self._report_memories()

    def _report_memories(self) -> None:
        self.migration.report("memories", self.counts.memories + self.counts.known, self.total)

    async def _adopt(self, space: str, histories: Sequence[MemoryHistory]) -> int:
        try:
            return len(await self.target.adopt(space, histories, origin=self.origin))
        except NameTaken:
            # By a memory of the target's own, or one that had the name in the source at an earlier try.
            renamed: dict[str, str] = {}
            named = await with_free_names(histories, renamed, space=space, store=self.target)
            adopted = await self.target.adopt(space, named, origin=self.origin)
            self.counts.renamed += [f"{space}: {renamed[memory_id]}" for memory_id in adopted if memory_id in renamed]
            return len(adopted)

    async def _copy_relations(self, space: str, ids: Sequence[str], damaged: dict[str, str]) -> None:
        sources = set(ids)
        relations = [relation for relation in await self.source.relations(space, ids) if relation.source in sources]
        if not relations:
            return
        existing = {relation.key for relation in await self.target.relations(space, ids)}
        missing = [
            relation
            for relation in relations
            if relation.key not in existing and not {relation.source, relation.target} & damaged.keys()
        ]
        for start in range(0, len(missing), _EDGES):
            self.counts.relations += await self._relate(space, missing[start : start + _EDGES])

    async def _relate(self, space: str, relations: Sequence[Relation]) -> int:
        edges = tuple(Edge(relation=relation, present=True) for relation in relations)
        try:
            await self.target.commit(Commit(space=space, origin=self.origin, edges=edges))
        except NotFound:
            # The source is being written to: a memory was added after its page was read. The comparison reports it.
            ends = await self.target.get(
                space, [end for relation in relations for end in (relation.source, relation.target)]
            )
            edges = tuple(edge for edge in edges if {edge.relation.source, edge.relation.target} <= ends.keys())
            await self.target.commit(Commit(space=space, origin=self.origin, edges=edges))
        return len(edges)

    async def _copy_answers(self, space: str) -> None:
        after: str | bytes | None = None
        while page := await self.source.answers(space, after=after, limit=_ANSWERS):
            self.counts.answers += await self.target.import_answers(space, page, origin=self.origin)
            after = page[-1].key

    async def _copy_documents(self, space: str) -> None:
        renew = not self.migration.merging
        after: DocumentKey | None = ("", "")
        while after is not None:
            ours, theirs = [await document_page(store, space, after=after) for store in (self.source, self.target)]
            ours, theirs, after = common_range(ours, theirs, limit=DOCUMENTS)
            different = [document for key, document in ours.items() if theirs.get(key) != document]
            if different:
                self.counts.documents += await self.target.import_documents(space, different, renew=renew)
            for collection, key in sorted(theirs.keys() - ours.keys()) if renew else ():
                await self.target.delete_document(space, collection, key)
