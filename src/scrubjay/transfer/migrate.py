"""Migration: the export of one store into the import of another, resumed after any interruption, and a comparison."""

import time
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime

from scrubjay.errors import Conflict, InvalidInput, ScrubjayError
from scrubjay.lazy import dataclass
from scrubjay.model.change import Origin
from scrubjay.ports import RecordStore
from scrubjay.transfer.compare import (
    Comparison,
    DamagedMemory,
    ReportProgress,
    compare_stores,
    ignore_progress,
    pair_items,
    read_items,
)
from scrubjay.transfer.export import (
    answer_pages,
    count_ids,
    document_pages,
    history_pages,
    id_pages,
    lasting_documents,
    relation_pages,
    vector_pages,
)
from scrubjay.transfer.import_ import ItemImporter

AGENT = "migration"
_CHANGES = 1_000
_PURGED = 500
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
    await _require_fit(migration)
    before = await migration.source.last_seq()
    async with _hint_to_continue():
        copy, seconds = await _copy(migration)
        counts = copy.counts
        comparison = await _compare(migration)
        if comparison.stale and not migration.merging and await _is_own_copy(migration):
            for space, ids in comparison.stale.items():
                for start in range(0, len(ids), _PURGED):
                    await migration.target.purge(space, ids[start : start + _PURGED], origin=migration.origin)
            copy, longer = await _copy(migration)
            # Memories that were copied again had been there.
            existing = max(0, counts["known"] - copy.counts["memories"])
            counts, seconds = counts + copy.counts, seconds + longer
            counts["known"] = existing
            comparison = await _compare(migration)
        changed = await migration.source.last_seq() - before
    result = MigrationResult(
        memories=counts["memories"],
        known=counts["known"],
        relations=counts["relations"],
        vectors=counts["vectors"],
        answers=counts["answers"],
        documents=counts["documents"],
        tokens=counts["tokens"],
        renamed=tuple(copy.renamed),
        damaged=tuple(copy.damaged),
        seconds=seconds,
        rate=round(counts["memories"] / seconds, 1) if seconds else 0.0,
        changed=changed,
    )
    return result, comparison


async def plan_migration(source: RecordStore, target: RecordStore | None) -> MigrationPlan:
    """Return what a migration would copy, and copy nothing; `target` is None if it does not exist yet."""
    plans: list[SpacePlan] = []
    # The space without a name holds documents of the whole store: copied too, but no user's space.
    for space in filter(None, await source.spaces()):
        memories = existing = 0
        async for ids in id_pages(source, space):
            memories += len(ids)
            existing += len(await target.sizes(space, ids)) if target else 0
        sizes = await source.statistics(space)
        plans.append(
            SpacePlan(
                space=space, memories=memories, known=existing, versions=sizes.versions, relations=sizes.relations,
                vectors=dict(sizes.vectors),
            )
        )  # fmt: skip
    return MigrationPlan(spaces=tuple(plans), tokens=len(await source.tokens()))


async def _require_fit(migration: Migration) -> None:
    """Raise an error if both stores are the same, or the target holds something else."""
    if migration.source.store_id == migration.target.store_id:
        raise InvalidInput(
            "both are the same store, or one is a plain copy of the other's files", hint="Name another store with --to"
        )
    if not migration.merging and not await _is_own_copy(migration):
        raise Conflict(
            "the target holds something that is not from this source",
            hint="Choose an empty store, or give --into-existing to add to its content",
        )


async def _is_own_copy(migration: Migration) -> bool:
    """Return whether the target is empty, or only a migration from this very source has written to it."""
    source, target, after = migration.source, migration.target, 0
    while page := await target.changes(after=after, limit=_CHANGES):
        if any(change.run != migration.origin.run for change in page):
            return False
        after = page[-1].seq
    # Documents have no entries in the log.
    for space in await target.spaces() if not after else ():
        async for document in read_items(lasting_documents(target, space)):
            if await source.document(space, document.collection, document.key) != document:
                return False
    return (await target.token_digests()).items() <= (await source.token_digests()).items()


async def _compare(migration: Migration) -> Comparison:
    return await compare_stores(migration.source, migration.target, merging=migration.merging, report=migration.report)


@asynccontextmanager
async def _hint_to_continue() -> AsyncGenerator[None]:
    try:
        yield
    except ScrubjayError as error:
        error.hint = f"{error.hint.rstrip('.')}. {_CONTINUE}" if error.hint else _CONTINUE
        raise


async def _copy(migration: Migration) -> tuple["_StoreCopy", float]:
    started_at = time.monotonic()
    spaces = await migration.source.spaces()
    copy = _StoreCopy(migration, total=sum([await count_ids(migration.source, space) for space in spaces]))
    for space in spaces:
        await copy.copy_space(space)
    await copy.copy_tokens()
    return copy, round(time.monotonic() - started_at, 3)


class _StoreCopy:
    """One round of copying: the export of each space goes into an import, except for memories that exist there."""

    def __init__(self, migration: Migration, *, total: int) -> None:
        self.counts = Counter[str]()
        self.renamed: list[str] = []
        self.damaged: list[DamagedMemory] = []
        self._migration = migration
        self._source, self._target = migration.source, migration.target
        # How much was read, by stage, for the progress.
        self._read = Counter[str]()
        self._total = total

    async def copy_space(self, space: str) -> None:
        """Copy vectors, memories with their history, relations, answers and documents of a space."""
        source, renew = self._source, not self._migration.merging
        importer = ItemImporter(self._target, space=space, origin=self._migration.origin, renew=renew)
        await self._copy_vectors(space, importer)
        damaged: dict[str, str] = {}
        async for ids in self._id_pages("memories", space):
            existing = await self._target.sizes(space, ids)
            self.counts["known"] += len(existing)
            missing = [memory_id for memory_id in ids if memory_id not in existing]
            async for page in history_pages(source, space, missing, damaged=damaged):
                await importer.add(page)
        async for page in relation_pages(source, space, self._id_pages("relations", space)):
            await importer.add(page)
        await importer.finish()
        for pages in (answer_pages(source, space), document_pages(source, space)):
            async for page in pages:
                await importer.add(page)
        if renew:
            await self._delete_other_documents(space)
        self.counts += importer.counts
        self.renamed += [f"{space}: {renaming}" for renaming in importer.renamed]
        self.damaged += [DamagedMemory(space=space, memory_id=memory_id, why=why) for memory_id, why in damaged.items()]

    async def copy_tokens(self) -> None:
        """Copy tokens with their digests; tokens that were revoked since an earlier try are revoked."""
        digests, existing = await self._source.token_digests(), await self._target.token_digests()
        for token in await self._source.tokens():
            if token.id not in existing:
                await self._target.add_token(token, digests[token.id])
                self.counts["tokens"] += 1
            elif token.revoked_at is not None:
                await self._target.revoke_token(token.id, at=token.revoked_at)

    async def _id_pages(self, stage: str, space: str) -> AsyncIterator[Sequence[str]]:
        """Yield the ids of a space, and report the progress after each page."""
        async for ids in id_pages(self._source, space):
            yield ids
            self._read[stage] += len(ids)
            self._migration.report(stage, self._read[stage], self._total)

    async def _copy_vectors(self, space: str, importer: ItemImporter) -> None:
        for model in await self._source.models():
            read = 0
            async for page in vector_pages(self._source, space, [model]):
                await importer.add(page)
                read += len(page)
                # Hashes are evenly distributed: the position of the last one gives an estimate of the total.
                position = int.from_bytes(page[-1].digest[:4].ljust(4, b"\0"), "big") + 1
                done = self._read["vectors"] + read
                self._migration.report("vectors", done, done - read + max(read, read * _HASH_SPAN // position))
            if read:
                self._read["vectors"] += read
                self._migration.report("vectors", self._read["vectors"], self._read["vectors"])

    async def _delete_other_documents(self, space: str) -> None:
        pages = (read_items(document_pages(store, space)) for store in (self._source, self._target))
        async for document, other in pair_items(*pages):
            if document is None and other is not None:
                await self._target.delete_document(space, other.collection, other.key)
