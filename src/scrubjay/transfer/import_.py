"""Read an export: all lines are checked before any is stored."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from scrubjay.errors import InvalidInput, NameTaken
from scrubjay.lazy import dataclass
from scrubjay.model.change import Origin
from scrubjay.model.document import Document
from scrubjay.model.memory import Memory, State
from scrubjay.model.relation import Relation
from scrubjay.model.transfer import Imported, Lines
from scrubjay.ports import Commit, Edge, Embedded, MemoryHistory, Progress, RecordStore
from scrubjay.ports.commit import StoredAnswer
from scrubjay.text.slug import add_suffix
from scrubjay.transfer.lines import Item, StoredVector, parse_line

_BATCH = 200
# A batch of long lines ends earlier.
_BATCH_CHARACTERS = 4 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Screening:
    """What the rules of a space make of an import: `check` raises InvalidInput for a memory that is never stored."""

    check: Callable[[Memory], None]
    memory: Callable[[MemoryHistory], MemoryHistory]
    relation: Callable[[Relation], Relation]


async def import_lines(
    lines: Lines,
    *,
    space: str,
    origin: Origin,
    store: RecordStore,
    with_sections: bool = True,
    screening: Screening | None = None,
    progress: Progress | None = None,
) -> Imported:
    """Import an export; memories that exist already are left alone, names that are taken get a suffix."""
    models, done = await store.models(), 0
    total = check_lines(lines, dimensions=models, with_sections=with_sections, screening=screening)
    importer = ItemImporter(store, space=space, origin=origin)
    for batch in _batches(lines):
        await importer.add(await asyncio.to_thread(_screen, batch, screening) if screening else batch)
        done += len(batch)
        if progress is not None:
            progress(done, total)
    await importer.finish()
    counts = importer.counts
    return Imported(
        imported=counts["memories"],
        known=counts["known"],
        relations=counts["relations"],
        renamed=tuple(importer.renamed),
    )


def _screen(items: Sequence[Item], screening: Screening) -> list[Item]:
    screened: list[Item] = []
    for item in items:
        if isinstance(item, MemoryHistory):
            item = screening.memory(item)  # noqa: PLW2901
        screened.append(screening.relation(item) if isinstance(item, Relation) else item)
    return screened


def check_lines(
    lines: Lines,
    *,
    dimensions: Mapping[str, int] | None = None,
    with_sections: bool = True,
    screening: Screening | None = None,
) -> int:
    """Parse every line and return how many there are; raises InvalidInput for the first bad one, with its number.

    Vectors must have the length that the store has for their model. Without `with_sections`, other lines than memories
    and relations are bad: documents contain jobs that a server runs, and answers replace those of other callers.
    """
    lengths = dict(dimensions or {})
    count = 0
    for number, line in enumerate(lines(), start=1):
        if line.strip():
            try:
                item = parse_line(line)
                _check_item(item, lengths, with_sections=with_sections)
                if screening is not None and isinstance(item, MemoryHistory):
                    screening.check(item.memory)
            except InvalidInput as error:
                raise InvalidInput(
                    f"line {number}: {error.message}",
                    hint=error.hint or "Nothing was imported; correct the line or export again",
                    line=number,
                ) from None
            count += item is not None
    return count


class ItemImporter:
    """Stores the items of an export that a store lacks; its memories stay unchanged, so it can start again any time.

    Existing documents stay too, unless `renew` is set.
    """

    def __init__(self, store: RecordStore, *, space: str, origin: Origin, renew: bool = False) -> None:
        self.counts = Counter[str]()
        self.renamed: list[str] = []
        self._store = store
        self._space = space
        self._origin = origin
        self._renew = renew
        # Relations of memories that have not come yet, and the relations of the sources that came last.
        self._waiting: list[Relation] = []
        self._keys: dict[str, set[tuple[str, str, str]]] = {}

    async def add(self, items: Sequence[Item]) -> None:
        """Store items."""
        # Vectors first: a memory finds its own, and the log has one entry for it instead of two.
        await self._add_vectors([item for item in items if isinstance(item, StoredVector)])
        await self._add_memories([item for item in items if isinstance(item, MemoryHistory)])
        if relations := [item for item in items if isinstance(item, Relation)]:
            self._waiting += await self._add_relations(relations)
        if answers := [item for item in items if isinstance(item, StoredAnswer)]:
            self.counts["answers"] += await self._store.import_answers(self._space, answers, origin=self._origin)
        if documents := [replace(item, space=self._space) for item in items if isinstance(item, Document)]:
            changed = await self._store.import_documents(self._space, documents, renew=self._renew)
            self.counts["documents"] += changed

    async def finish(self) -> None:
        """Store the relations that came before their memories; leave out those of missing memories."""
        for start in range(0, len(self._waiting), _BATCH):
            await self._add_relations(self._waiting[start : start + _BATCH])
        self._waiting = []

    async def _add_vectors(self, items: Sequence[StoredVector]) -> None:
        for model in dict.fromkeys(item.model for item in items):
            vectors = {item.digest: item.vector for item in items if item.model == model}
            existing = await self._store.embedded(self._space, model, list(vectors))
            missing = {digest: vector for digest, vector in vectors.items() if digest not in existing}
            if missing:
                dimension = len(next(iter(missing.values())))
                embedded = Embedded(model=model, dimension=dimension, vectors=missing)
                await self._store.store_vectors(self._space, embedded, memory_ids=(), origin=self._origin)
            self.counts["vectors"] += len(missing)

    async def _add_memories(self, items: Sequence[MemoryHistory]) -> None:
        if not items:
            return
        histories = [_move_to_space(item, self._space) for item in items]
        renamed: dict[str, str] = {}
        try:
            adopted = await self._store.adopt(self._space, histories, origin=self._origin)
        except NameTaken:
            histories = await self._with_free_names(histories, renamed)
            adopted = await self._store.adopt(self._space, histories, origin=self._origin)
        self.renamed += [renamed[memory_id] for memory_id in adopted if memory_id in renamed]
        self.counts["memories"] += len(adopted)
        self.counts["known"] += len(histories) - len(adopted)

    async def _with_free_names(
        self, histories: Sequence[MemoryHistory], renamed: dict[str, str]
    ) -> list[MemoryHistory]:
        """Return the memories under names that are free; `renamed` gets a description for each that has a new one."""
        free: list[MemoryHistory] = []
        claimed: dict[str, str] = {}
        for memory_history in histories:
            memory = memory_history.memory
            is_live = memory.state is State.LIVE
            holders = await self._store.find(self._space, memory.name, state=State.LIVE) if is_live else ()
            is_taken = any(holder.name == memory.name and holder.id != memory.id for holder in holders)
            # An export that was written while a name passed from one memory to another has it twice.
            if is_live:
                is_taken = claimed.setdefault(memory.name, memory.id) != memory.id or is_taken
            if is_taken:
                name = add_suffix(memory.name, memory.id)
                renamed[memory.id] = f"{memory.name} -> {name}"
                memory_history = _rename(memory_history, name)  # noqa: PLW2901
            free.append(memory_history)
        return free

    async def _add_relations(self, relations: Sequence[Relation]) -> list[Relation]:
        """Store relations, and return those that lack a memory."""
        ends = await self._store.sizes(
            self._space, [end for relation in relations for end in (relation.source, relation.target)]
        )
        ready = [relation for relation in relations if relation.source in ends and relation.target in ends]
        await self._read_keys({relation.source for relation in ready})
        new = [relation for relation in ready if relation.key not in self._keys[relation.source]]
        if new:
            edges = tuple(Edge(relation=relation, present=True) for relation in new)
            await self._store.commit(Commit(space=self._space, origin=self._origin, edges=edges))
        for relation in new:
            self._keys[relation.source].add(relation.key)
        self.counts["relations"] += len(new)
        return [relation for relation in relations if relation.source not in ends or relation.target not in ends]

    async def _read_keys(self, sources: set[str]) -> None:
        """Read which relations the store has; those of a source with very many are read once, not for each batch."""
        missing = [source for source in sources if source not in self._keys]
        self._keys = {source: self._keys.get(source, set()) for source in sources}
        for relation in await self._store.relations(self._space, missing) if missing else ():
            if relation.source in self._keys:
                self._keys[relation.source].add(relation.key)


def _check_item(item: Item | None, lengths: dict[str, int], *, with_sections: bool) -> None:
    if not with_sections and not isinstance(item, MemoryHistory | Relation | None):
        raise InvalidInput(
            "this file has documents, answers or vectors, which only the owner may import, and not over HTTP",
            hint="Export without these sections, or run `scrubjay import` on the machine of the store",
        )
    if isinstance(item, StoredVector):
        length = lengths.setdefault(item.model, len(item.vector))
        if length != len(item.vector):
            raise InvalidInput(
                f"a vector of {item.model} has {len(item.vector)} numbers, others of this model have {length}",
                hint="Nothing was imported; export without vectors, and the import embeds the texts",
            )


def _batches(lines: Lines) -> Iterator[list[Item]]:
    batch: list[Item] = []
    characters = 0
    for line in lines():
        item = parse_line(line) if line.strip() else None
        if item is not None:
            batch.append(item)
            characters += len(line)
        if len(batch) == _BATCH or characters > _BATCH_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


def _move_to_space(memory_history: MemoryHistory, space: str) -> MemoryHistory:
    if memory_history.memory.space == space:
        return memory_history

    def move(memory: Memory) -> Memory:
        return replace(memory, space=space)

    versions = tuple(replace(version, memory=move(version.memory)) for version in memory_history.versions)
    return MemoryHistory(memory=move(memory_history.memory), versions=versions)


def _rename(memory_history: MemoryHistory, name: str) -> MemoryHistory:
    current = memory_history.memory.version
    versions = tuple(
        replace(version, memory=replace(version.memory, name=name)) if version.number == current else version
        for version in memory_history.versions
    )
    return replace(memory_history, memory=replace(memory_history.memory, name=name), versions=versions)
