"""Read an export: all lines are checked before any is stored."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from scrubjay.errors import InvalidInput
from scrubjay.model.change import Origin
from scrubjay.model.memory import Memory, State
from scrubjay.model.relation import Relation
from scrubjay.model.transfer import Imported, Lines
from scrubjay.ports import Commit, Edge, MemoryHistory, Progress, RecordStore
from scrubjay.text.slug import add_suffix
from scrubjay.transfer.lines import parse_line

_BATCH = 200


async def import_lines(
    lines: Lines, *, space: str, origin: Origin, store: RecordStore, progress: Progress | None = None
) -> Imported:
    """Import an export; memories that exist already are left alone, names that are taken get a suffix."""
    total = check_lines(lines)
    imported = existing = done = 0
    renamed: list[str] = []
    relations: list[Relation] = []
    for batch in _batches(lines):
        histories = [_move_to_space(item, space) for item in batch if isinstance(item, MemoryHistory)]
        relations += [item for item in batch if isinstance(item, Relation)]
        new_names: dict[str, str] = {}
        named = await with_free_names(histories, new_names, space=space, store=store)
        adopted = await store.adopt(space, named, origin=origin)
        renamed += [new_names[memory_id] for memory_id in adopted if memory_id in new_names]
        imported += len(adopted)
        existing += len(histories) - len(adopted)
        done += len(batch)
        if progress is not None:
            progress(done, total)
    count = await _import_relations(relations, space=space, origin=origin, store=store)
    return Imported(imported=imported, known=existing, relations=count, renamed=tuple(renamed))


async def with_free_names(
    histories: Sequence[MemoryHistory], renamed: dict[str, str], *, space: str, store: RecordStore
) -> list[MemoryHistory]:
    """Return the memories under names that are free; `renamed` gets a description for each that has a new one."""
    free: list[MemoryHistory] = []
    claimed: dict[str, str] = {}
    for memory_history in histories:
        memory = memory_history.memory
        is_live = memory.state is State.LIVE
        holders = await store.find(space, memory.name, state=State.LIVE) if is_live else ()
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


def check_lines(lines: Lines) -> int:
    """Parse every line and return how many there are; raises InvalidInput for the first bad one, with its number."""
    count = 0
    for number, line in enumerate(lines(), start=1):
        if line.strip():
            try:
                parsed = parse_line(line)
            except InvalidInput as error:
                raise InvalidInput(
                    f"line {number}: {error.message}",
                    hint=error.hint or "Nothing was imported; correct the line or export again",
                    line=number,
                ) from None
            count += parsed is not None
    return count


def _batches(lines: Lines) -> Iterable[list[MemoryHistory | Relation]]:
    batch: list[MemoryHistory | Relation] = []
    for line in lines():
        parsed = parse_line(line) if line.strip() else None
        if parsed is not None:
            batch.append(parsed)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _move_to_space(memory_history: MemoryHistory, space: str) -> MemoryHistory:
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


async def _import_relations(relations: Sequence[Relation], *, space: str, origin: Origin, store: RecordStore) -> int:
    count = 0
    for start in range(0, len(relations), _BATCH):
        batch = relations[start : start + _BATCH]
        ends = await store.get(space, [end for relation in batch for end in (relation.source, relation.target)])
        existing = {relation.key for relation in await store.relations(space, list(ends))}
        edges = tuple(
            Edge(relation=relation, present=True)
            for relation in batch
            if relation.source in ends and relation.target in ends and relation.key not in existing
        )
        if edges:
            await store.commit(Commit(space=space, origin=origin, edges=edges))
        count += len(edges)
    return count
