"""What one store has of a space, read from front to end and summed up."""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

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
from scrubjay.transfer.migrate_pages import DocumentKey, Page, history_pages

Key = TypeVar("Key", str, bytes, tuple[str, str])
Value = TypeVar("Value")
_ANSWERS = 500


@dataclass(slots=True)
class Holdings:
    """What one side has of a space, and a SHA-256 over all of it in order."""

    memories: Counter[str] = field(default_factory=Counter[str])
    versions: int = 0
    relations: int = 0
    vectors: Counter[str] = field(default_factory=Counter[str])
    answers: int = 0
    documents: int = 0
    checksum: str = ""


class Side:
    """One store's part of a space, read from front to end."""

    def __init__(self, store: RecordStore, space: str) -> None:
        self.store = store
        self.space = space
        self.holdings = Holdings()
        self.damaged: dict[str, str] = {}
        self._sum = hashlib.sha256()

    async def digests(self, ids: list[str], *, merging: bool) -> dict[str, bytes]:
        """The digest of each memory with all its versions."""
        found: dict[str, bytes] = {}
        async for page in history_pages(self.store, self.space, ids, self.damaged):
            for memory_history in page:
                digest = _digest(history_json(_unsuffixed(memory_history) if merging else memory_history))
                found[memory_history.memory.id] = digest
                self._sum.update(digest)
                self.holdings.memories[memory_history.memory.state.value] += 1
                self.holdings.versions += len(memory_history.versions)
        return found

    async def relations(self, page: Page, *, without: Mapping[str, str]) -> dict[tuple[str, str, str], Relation]:
        """Relations that go out from the memories of a page, in order."""
        inside = set(page.ids)
        found = {
            relation.key: relation
            for relation in await self.store.relations(self.space, page.ids)
            if relation.source in inside and not {relation.source, relation.target} & without.keys()
        }
        return dict(sorted(found.items()))

    def relate(self, relations: Mapping[tuple[str, str, str], Relation]) -> None:
        """Add relations to the sum."""
        self.holdings.relations += len(relations)
        for relation in relations.values():
            self._sum.update(_digest(relation_json(relation)))

    def store_vectors(self, model: str, vectors: Mapping[bytes, Vector]) -> dict[bytes, bytes]:
        """Add vectors to the sum; returns the bytes of each, as every store keeps them."""
        packed = {digest: vectors[digest].astype(np.float16).tobytes() for digest in sorted(vectors)}
        for digest, data in packed.items():
            self._sum.update(digest + data)
        if packed:
            self.holdings.vectors[model] += len(packed)
        return packed

    async def answers(self) -> int:
        """A sum over all answers, whatever their order: stores order keys each in their own way."""
        total, after = 0, None
        while page := await self.store.answers(self.space, after=after, limit=_ANSWERS):
            for one in page:
                told = [one.key_digest.hex(), one.digest.hex(), one.answer, one.run, one.agent, to_iso(one.at)]
                total += int.from_bytes(_digest(told), "big")
            self.holdings.answers += len(page)
            after = page[-1].key
        return total

    def file(self, documents: Mapping[DocumentKey, Document]) -> None:
        """Add papers to the sum."""
        self.holdings.documents += len(documents)
        for document in documents.values():
            due = to_iso(document.due) if document.due else ""
            told = [document.collection, document.key, str(document.version), to_iso(document.at), due]
            self._sum.update(_digest(told) + _digest(document.value))

    def closed(self) -> Holdings:
        """What there was, with the sum."""
        return replace(self.holdings, checksum=self._sum.hexdigest())


def in_step(
    ours: dict[Key, Value], theirs: dict[Key, Value], *, limit: int
) -> tuple[dict[Key, Value], dict[Key, Value], Key | None]:
    """Two pages as far as both go, and where to go on, if at all."""
    ends = [list(page)[-1] for page in (ours, theirs) if len(page) == limit]
    if not ends:
        return ours, theirs, None
    upto = min(ends)
    first, second = ({key: value for key, value in page.items() if key <= upto} for page in (ours, theirs))
    return first, second, upto


def _digest(told: Sequence[str] | Mapping[str, Json]) -> bytes:
    """A SHA-256 of canonical JSON: what is the same is written the same."""
    text = json.dumps(told, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _unsuffixed(memory_history: MemoryHistory) -> MemoryHistory:
    """The same memory without the end that a name gets when it is taken."""

    def plain(name: str) -> str:
        return remove_suffix(name, memory_history.memory.id)

    versions = tuple(
        replace(version, memory=replace(version.memory, name=plain(version.memory.name)))
        if version.number == memory_history.memory.version
        else version
        for version in memory_history.versions
    )
    return replace(memory_history, versions=versions)
