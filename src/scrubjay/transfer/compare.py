"""Compare two stores: the exports of every space item by item, by digest, and the tokens."""

import hashlib
import json
import time
from collections import Counter
from collections.abc import AsyncIterable, AsyncIterator, Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import TypeVar

import numpy as np

from scrubjay.lazy import dataclass
from scrubjay.model.document import Document
from scrubjay.model.relation import Relation
from scrubjay.model.version import MemoryHistory
from scrubjay.ports import RecordStore
from scrubjay.ports.commit import StoredAnswer
from scrubjay.text.slug import remove_suffix
from scrubjay.transfer.export import (
    answer_pages,
    count_ids,
    history_pages,
    id_pages,
    lasting_documents,
    relation_pages,
    vector_pages,
)
from scrubjay.transfer.lines import Item, StoredVector, to_json

T = TypeVar("T", bound=Item)
ReportProgress = Callable[[str, int, int], None]
"""Called with the stage of the work, how much of it is done, and how much there is."""
# The most differences that are reported, and repaired: stores with more have little in common.
MAX_DIFFERENCES = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DamagedMemory:
    """A memory that cannot be read, and why."""

    space: str
    memory_id: str
    why: str

    def __str__(self) -> str:
        return f"{self.space}: {self.why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreDifference:
    """A difference between two stores; only one of a memory has an id."""

    space: str
    memory_id: str
    what: str

    def __str__(self) -> str:
        return f"{self.space}: {self.memory_id or 'a vector'} {self.what}" if self.space else self.what


@dataclass(slots=True)
class SpaceContents:
    """The counts of a space in one store, and a SHA-256 over all of it in order."""

    memories: Counter[str] = field(default_factory=Counter[str])
    versions: int = 0
    relations: int = 0
    vectors: Counter[str] = field(default_factory=Counter[str])
    answers: int = 0
    documents: int = 0
    checksum: str = ""

    def count(self, item: Item) -> None:
        """Count an item."""
        match item:
            case MemoryHistory():
                self.memories[item.memory.state.value] += 1
                self.versions += len(item.versions)
            case Relation():
                self.relations += 1
            case StoredVector():
                self.vectors[item.model] += 1
            case StoredAnswer():
                self.answers += 1
            case Document():
                self.documents += 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceCompared:
    """A space in both stores."""

    space: str
    source: SpaceContents
    target: SpaceContents


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The result of a comparison. `different` also counts the differences that are too many to report."""

    spaces: tuple[SpaceCompared, ...]
    tokens: int
    different: int
    differences: tuple[StoreDifference, ...]
    damaged: tuple[DamagedMemory, ...]
    seconds: float

    @property
    def same(self) -> bool:
        """Whether the target has everything of the source that can be read."""
        return not self.different and all(space.source == space.target for space in self.spaces)

    @property
    def stale(self) -> dict[str, list[str]]:
        """The ids of memories of the target that differ, by space."""
        by_space: dict[str, list[str]] = {}
        for difference in self.differences:
            if difference.memory_id and difference.memory_id not in by_space.setdefault(difference.space, []):
                by_space[difference.space].append(difference.memory_id)
        return by_space


def ignore_progress(stage: str, done: int, total: int) -> None:
    """Ignore the progress."""
    del stage, done, total


async def read_items(pages: AsyncIterable[Sequence[T]]) -> AsyncIterator[T]:
    """Yield the items of pages."""
    async for page in pages:
        for item in page:
            yield item


async def pair_items(left: AsyncIterator[T], right: AsyncIterator[T]) -> AsyncIterator[tuple[T | None, T | None]]:
    """Yield the items of two ordered streams in pairs of the same key; an item of only one stream comes with None."""
    ours, theirs = await anext(left, None), await anext(right, None)
    while ours is not None or theirs is not None:
        if theirs is None or (ours is not None and _key(ours) < _key(theirs)):
            yield ours, None
            ours = await anext(left, None)
        elif ours is None or _key(theirs) < _key(ours):
            yield None, theirs
            theirs = await anext(right, None)
        else:
            yield ours, theirs
            ours, theirs = await anext(left, None), await anext(right, None)


async def compare_stores(
    source: RecordStore, target: RecordStore, *, report: ReportProgress, merging: bool = False
) -> Comparison:
    """Compare everything. With `merging` the target may hold more, and other names for the same memories."""
    started_at = time.monotonic()
    spaces = sorted({*await source.spaces(), *(() if merging else await target.spaces())})
    total = sum([await count_ids(source, space) for space in spaces])
    comparer = _Comparer(source=source, target=target, merging=merging, total=total, report=report)
    compared = [await comparer.compare_space(space) for space in spaces]
    tokens = await comparer.compare_tokens()
    return Comparison(
        spaces=tuple(compared),
        tokens=tokens,
        different=comparer.different,
        differences=tuple(comparer.differences),
        damaged=tuple(comparer.damaged),
        seconds=round(time.monotonic() - started_at, 3),
    )


@dataclass(slots=True, kw_only=True)
class _Comparer:
    """A comparison in progress, and the differences so far."""

    source: RecordStore
    target: RecordStore
    merging: bool
    total: int
    report: ReportProgress
    done: int = 0
    different: int = 0
    differences: list[StoreDifference] = field(default_factory=list[StoreDifference])
    damaged: list[DamagedMemory] = field(default_factory=list[DamagedMemory])

    async def compare_space(self, space: str) -> SpaceCompared:
        """Compare memories, relations, vectors, documents and answers of a space."""
        ours, theirs = _SpaceSums(merging=self.merging), _SpaceSums(merging=self.merging)
        source, target, models = self.source, self.target, await self.source.models()
        # When merging, the target may be much larger: only the memories of the source are read.
        listing = source if self.merging else target

        async def compare(left: AsyncIterator[Item], right: AsyncIterator[Item]) -> None:
            await self._compare_items(_Sides(space=space, ours=ours, theirs=theirs), left, right)

        def relations(store: RecordStore) -> AsyncIterator[Item]:
            return read_items(relation_pages(store, space, id_pages(source, space)))

        await compare(
            self._read_memories(source, space, id_pages(source, space), ours.damaged),
            self._read_memories(target, space, id_pages(listing, space), theirs.damaged),
        )
        await compare(relations(source), relations(target))
        await compare(read_items(vector_pages(source, space, models)), read_items(vector_pages(target, space, models)))
        await compare(read_items(lasting_documents(source, space)), read_items(lasting_documents(target, space)))
        if not self.merging and await ours.sum_answers(source, space) != await theirs.sum_answers(target, space):
            what = f"answers to idempotency keys of the space {space} are not the same"
            self._add(StoreDifference(space="", memory_id="", what=what))
        self.damaged += [
            DamagedMemory(space=space, memory_id=memory_id, why=why) for memory_id, why in ours.damaged.items()
        ]
        return SpaceCompared(space=space, source=ours.finish(), target=theirs.finish())

    async def compare_tokens(self) -> int:
        """Compare every token with its digest; return how many the source has."""
        ours, theirs = await self.source.tokens(), {token.id: token for token in await self.target.tokens()}
        our_digests, their_digests = await self.source.token_digests(), await self.target.token_digests()
        for token in ours:
            if theirs.get(token.id) != token or our_digests[token.id] != their_digests.get(token.id):
                self._add(StoreDifference(space="", memory_id="", what=f"the token {token.id} is not the same"))
        if not self.merging:
            for token_id in theirs.keys() - our_digests.keys():
                what = f"the token {token_id} is only in the target"
                self._add(StoreDifference(space="", memory_id="", what=what))
        return len(ours)

    async def _read_memories(
        self, store: RecordStore, space: str, pages: AsyncIterable[Sequence[str]], damaged: dict[str, str]
    ) -> AsyncIterator[Item]:
        async for ids in pages:
            async for item in read_items(history_pages(store, space, ids, damaged=damaged)):
                yield item
            if store is self.source:
                self.done += len(ids)
                self.report("comparing", self.done, self.total)

    async def _compare_items(self, sides: "_Sides", left: AsyncIterator[Item], right: AsyncIterator[Item]) -> None:
        ours, theirs, last = sides.ours, sides.theirs, None
        async for mine, other in pair_items(left, right):
            if any(item is not None and _concerns(item, ours.damaged) for item in (mine, other)):
                continue
            if self.merging and (mine is None or (isinstance(mine, Document) and other is not None)):
                # The target may have more, and its own document under a key stays.
                other = mine  # noqa: PLW2901
            if ours.add(mine) != theirs.add(other):
                difference = _difference(sides.space, mine, other, damaged=theirs.damaged)
                # Several relations of a memory are one difference.
                if difference != last:
                    self._add(difference)
                last = difference

    def _add(self, difference: StoreDifference) -> None:
        self.different += 1
        if len(self.differences) < MAX_DIFFERENCES:
            self.differences.append(difference)


class _SpaceSums:
    """The counts and the checksum of a space in one store."""

    def __init__(self, *, merging: bool) -> None:
        self.damaged: dict[str, str] = {}
        self._merging = merging
        self._contents = SpaceContents()
        self._hash = hashlib.sha256()

    def add(self, item: Item | None) -> bytes:
        """Add an item; return its digest."""
        if item is None:
            return b""
        self._contents.count(item)
        digest = _digest(_without_suffix(item) if self._merging and isinstance(item, MemoryHistory) else item)
        self._hash.update(digest)
        return digest

    async def sum_answers(self, store: RecordStore, space: str) -> int:
        """Return a sum over all answers that does not depend on their order: each store sorts keys in its own way."""
        total = 0
        async for answer in read_items(answer_pages(store, space)):
            self._contents.count(answer)
            total += int.from_bytes(_digest(answer), "big")
        return total

    def finish(self) -> SpaceContents:
        """Return the contents with the checksum."""
        return replace(self._contents, checksum=self._hash.hexdigest())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sides:
    """The sums of a space in both stores."""

    space: str
    ours: _SpaceSums
    theirs: _SpaceSums


def _key(item: Item) -> tuple[str, ...]:
    """Return the key by which the items of a section are in order."""
    match item:
        case MemoryHistory():
            return (item.memory.id,)
        case Relation():
            return item.key
        case StoredVector():
            return item.model, item.digest.hex()
        case Document():
            return item.collection, item.key
        case StoredAnswer():
            return (item.key_digest.hex(),)


def _concerns(item: Item, ids: Mapping[str, str]) -> bool:
    match item:
        case MemoryHistory():
            return item.memory.id in ids
        case Relation():
            return item.source in ids or item.target in ids
        case _:
            return False


def _difference(space: str, mine: Item | None, other: Item | None, *, damaged: Mapping[str, str]) -> StoreDifference:
    memory_id = ""
    match mine or other:
        case MemoryHistory(memory=memory):
            memory_id = memory.id
            what = "is only in the target" if mine is None else "is not the same in the target"
            if other is None:
                what = "is damaged in the target" if memory_id in damaged else "is not in the target"
        case Relation(source=memory_id):
            what = "has other relations in the target"
        case StoredVector(model=model, digest=digest):
            what = f"of {model} for the text {digest.hex()} is not the same"
        case Document(collection=collection, key=key):
            space, what = "", f"the document {key} in {collection} of the space {space} is not the same"
        case item:
            raise TypeError(f"no difference of {item!r} is described")
    return StoreDifference(space=space, memory_id=memory_id, what=what)


def _digest(item: Item) -> bytes:
    """Return the SHA-256 of the canonical JSON of an item, or of a vector in the precision of every store."""
    if isinstance(item, StoredVector):
        return hashlib.sha256(item.digest + item.vector.astype(np.float16).tobytes()).digest()
    text = json.dumps(to_json(item), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _without_suffix(memory_history: MemoryHistory) -> MemoryHistory:
    """Return a memory without the suffix that an import adds to a taken name."""
    memory = memory_history.memory
    versions = tuple(
        replace(version, memory=replace(version.memory, name=remove_suffix(version.memory.name, memory.id)))
        if version.number == memory.version
        else version
        for version in memory_history.versions
    )
    return replace(memory_history, versions=versions)
