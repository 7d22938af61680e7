"""Compare two stores: every memory with all its versions and relations, every vector, document and token."""

import hashlib
import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from scrubjay.model.document import Document
from scrubjay.model.memory import Json
from scrubjay.model.passage import Vector
from scrubjay.model.relation import Relation
from scrubjay.model.timestamps import to_iso
from scrubjay.model.version import MemoryHistory
from scrubjay.ports import RecordStore
from scrubjay.text.slug import remove_suffix
from scrubjay.transfer.lines import history_json, relation_json
from scrubjay.transfer.migrate_pages import (
    DOCUMENTS,
    IDS,
    DamagedMemory,
    DocumentKey,
    IdPage,
    ReportProgress,
    common_range,
    document_page,
    history_pages,
    id_pages,
)

_VECTORS = 500
_ANSWERS = 500
# The most differences that are reported, and repaired: stores with more have little in common.
MAX_DIFFERENCES = 10_000


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


async def compare_stores(
    source: RecordStore, target: RecordStore, *, report: ReportProgress, merging: bool = False
) -> Comparison:
    """Compare everything. With `merging` the target may hold more, and other names for the same memories."""
    started_at = time.monotonic()
    spaces = sorted({*await source.spaces(), *(() if merging else await target.spaces())})
    total = 0
    for space in spaces:
        async for page in id_pages(source, space):
            total += len(page.ids)
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
        """Compare memories, then relations, vectors, answers and documents of a space, each in order."""
        ours, theirs = _SpaceReader(self.source, space), _SpaceReader(self.target, space)
        await self._compare_memories(ours, theirs)
        async for page in id_pages(self.source, space):
            await self._compare_relations(ours, theirs, page)
        for model in await self.source.models():
            await self._compare_vectors(ours, theirs, model)
        if not self.merging and await ours.sum_answers() != await theirs.sum_answers():
            self._add("", "", f"answers to idempotency keys of the space {space} are not the same")
        await self._compare_documents(ours, theirs)
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
                self._add("", "", f"the token {token.id} is not the same")
        if not self.merging:
            for token_id in theirs.keys() - our_digests.keys():
                self._add("", "", f"the token {token_id} is only in the target")
        return len(ours)

    async def _compare_memories(self, ours: "_SpaceReader", theirs: "_SpaceReader") -> None:
        async def ids(side: _SpaceReader, after: str) -> dict[str, None]:
            return dict.fromkeys(await side.store.ids(side.space, after=after, limit=IDS))

        after: str | None = ""
        while after is not None:
            our_ids = await ids(ours, after)
            their_ids = our_ids if self.merging else await ids(theirs, after)
            our_ids, their_ids, after = common_range(our_ids, their_ids, limit=IDS)
            left = await ours.digests(list(our_ids), merging=self.merging)
            readable = [memory_id for memory_id in their_ids if memory_id not in ours.damaged]
            right = await theirs.digests(readable, merging=self.merging)
            for memory_id in sorted({*our_ids, *right, *(() if self.merging else their_ids)} - ours.damaged.keys()):
                if left.get(memory_id) != right.get(memory_id):
                    self._add(ours.space, memory_id, _describe(memory_id, left, right, theirs))
            self.done += len(our_ids)
            self.report("comparing", self.done, self.total)

    async def _compare_relations(self, ours: "_SpaceReader", theirs: "_SpaceReader", page: IdPage) -> None:
        left = await ours.relations(page, without=ours.damaged)
        right = await theirs.relations(page, without=ours.damaged)
        if self.merging:
            right = {key: relation for key, relation in right.items() if key in left}
        ours.add_relations(left)
        theirs.add_relations(right)
        if left != right:
            different = {key[0] for key in left.keys() | right.keys() if left.get(key) != right.get(key)}
            for memory_id in sorted(different):
                self._add(ours.space, memory_id, "has other relations in the target")

    async def _compare_vectors(self, ours: "_SpaceReader", theirs: "_SpaceReader", model: str) -> None:
        async def vectors(side: _SpaceReader, after: bytes) -> dict[bytes, Vector]:
            return await side.store.stored_vectors(side.space, model, after=after, limit=_VECTORS)

        after: bytes | None = b""
        while after is not None:
            our_vectors = await vectors(ours, after)
            if self.merging:
                their_vectors = await theirs.store.vectors(theirs.space, model, list(our_vectors))
                after = list(our_vectors)[-1] if our_vectors else None
            else:
                their_vectors = await vectors(theirs, after)
                our_vectors, their_vectors, after = common_range(our_vectors, their_vectors, limit=_VECTORS)
            left, right = ours.add_vectors(model, our_vectors), theirs.add_vectors(model, their_vectors)
            for digest in sorted(left.keys() | right.keys()):
                if left.get(digest) != right.get(digest):
                    self._add(ours.space, "", f"of {model} for the text {digest.hex()} is not the same")

    async def _compare_documents(self, ours: "_SpaceReader", theirs: "_SpaceReader") -> None:
        after: DocumentKey | None = ("", "")
        while after is not None:
            pages = [await document_page(side.store, side.space, after=after) for side in (ours, theirs)]
            our_documents, their_documents, after = common_range(*pages, limit=DOCUMENTS)
            if self.merging:
                # A document of the target under the same key has stayed.
                their_documents = {key: our_documents[key] for key in their_documents if key in our_documents}
            ours.add_documents(our_documents)
            theirs.add_documents(their_documents)
            for key in sorted(our_documents.keys() | their_documents.keys()):
                if our_documents.get(key) != their_documents.get(key):
                    self._add("", "", f"the document {key[1]} in {key[0]} of the space {ours.space} is not the same")

    def _add(self, space: str, memory_id: str, what: str) -> None:
        self.different += 1
        if len(self.differences) < MAX_DIFFERENCES:
            self.differences.append(StoreDifference(space=space, memory_id=memory_id, what=what))


class _SpaceReader:
    """Reads a space of one store from beginning to end, and sums up its contents."""

    def __init__(self, store: RecordStore, space: str) -> None:
        self.store = store
        self.space = space
        self.damaged: dict[str, str] = {}
        self._contents = SpaceContents()
        self._hash = hashlib.sha256()

    async def digests(self, ids: list[str], *, merging: bool) -> dict[str, bytes]:
        """Return the digest of each memory with all its versions."""
        digests: dict[str, bytes] = {}
        async for page in history_pages(self.store, self.space, ids, self.damaged):
            for memory_history in page:
                digest = _digest(history_json(_without_suffix(memory_history) if merging else memory_history))
                digests[memory_history.memory.id] = digest
                self._hash.update(digest)
                self._contents.memories[memory_history.memory.state.value] += 1
                self._contents.versions += len(memory_history.versions)
        return digests

    async def relations(self, page: IdPage, *, without: Mapping[str, str]) -> dict[tuple[str, str, str], Relation]:
        """Return the relations whose source is a memory of a page, in order."""
        sources = set(page.ids)
        relations = {
            relation.key: relation
            for relation in await self.store.relations(self.space, page.ids)
            if relation.source in sources and not {relation.source, relation.target} & without.keys()
        }
        return dict(sorted(relations.items()))

    def add_relations(self, relations: Mapping[tuple[str, str, str], Relation]) -> None:
        """Add relations to the checksum."""
        self._contents.relations += len(relations)
        for relation in relations.values():
            self._hash.update(_digest(relation_json(relation)))

    def add_vectors(self, model: str, vectors: Mapping[bytes, Vector]) -> dict[bytes, bytes]:
        """Add vectors to the checksum; return the bytes of each, in the precision of every store."""
        packed = {digest: vectors[digest].astype(np.float16).tobytes() for digest in sorted(vectors)}
        for digest, data in packed.items():
            self._hash.update(digest + data)
        if packed:
            self._contents.vectors[model] += len(packed)
        return packed

    async def sum_answers(self) -> int:
        """Return a sum over all answers that does not depend on their order: each store sorts keys in its own way."""
        total, after = 0, None
        while page := await self.store.answers(self.space, after=after, limit=_ANSWERS):
            for stored in page:
                values = [
                    stored.key_digest.hex(), stored.digest.hex(), stored.answer, stored.run, stored.agent,
                    to_iso(stored.at),
                ]  # fmt: skip
                total += int.from_bytes(_digest(values), "big")
            self._contents.answers += len(page)
            after = page[-1].key
        return total

    def add_documents(self, documents: Mapping[DocumentKey, Document]) -> None:
        """Add documents to the checksum."""
        self._contents.documents += len(documents)
        for document in documents.values():
            due = to_iso(document.due) if document.due else ""
            values = [document.collection, document.key, str(document.version), to_iso(document.at), due]
            self._hash.update(_digest(values) + _digest(document.value))

    def finish(self) -> SpaceContents:
        """Return the contents with the checksum."""
        return replace(self._contents, checksum=self._hash.hexdigest())


def _describe(memory_id: str, left: Mapping[str, bytes], right: Mapping[str, bytes], theirs: _SpaceReader) -> str:
    if memory_id in theirs.damaged:
        return "is damaged in the target"
    if memory_id not in left:
        return "is only in the target"
    return "is not the same in the target" if memory_id in right else "is not in the target"


def _digest(value: Sequence[str] | Mapping[str, Json]) -> bytes:
    """Return a SHA-256 of canonical JSON."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
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
