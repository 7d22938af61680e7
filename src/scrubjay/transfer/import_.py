"""Reading an export: everything is checked before anything is stored."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from scrubjay.errors import InvalidInput
from scrubjay.model.change import Origin
from scrubjay.model.memory import Memory, State
from scrubjay.model.relation import Relation
from scrubjay.model.transfer import Imported, Lines
from scrubjay.model.version import Version
from scrubjay.ports import Commit, Edge, MemoryHistory, Progress, RecordStore
from scrubjay.text.slug import add_suffix
from scrubjay.transfer.lines import parse_line

_BATCH = 200


async def import_lines(
    lines: Lines, *, space: str, origin: Origin, store: RecordStore, progress: Progress | None = None
) -> Imported:
    """Take in an export; memories that are there already are left alone, names that are taken get a suffix."""
    total = check_lines(lines)
    imported = known = done = 0
    renamed: list[str] = []
    relations: list[Relation] = []
    for batch in _batches(lines):
        histories = [_in_space(one, space) for one in batch if isinstance(one, MemoryHistory)]
        relations += [one for one in batch if isinstance(one, Relation)]
        names: dict[str, str] = {}
        fresh = await with_free_names(histories, names, space=space, store=store)
        taken = await store.adopt(space, fresh, origin=origin)
        renamed += [names[memory_id] for memory_id in taken if memory_id in names]
        imported += len(taken)
        known += len(histories) - len(taken)
        done += len(batch)
        if progress is not None:
            progress(done, total)
    count = await _relate(relations, space=space, origin=origin, store=store)
    return Imported(imported=imported, known=known, relations=count, renamed=tuple(renamed))


async def with_free_names(
    histories: Sequence[MemoryHistory], renamed: dict[str, str], *, space: str, store: RecordStore
) -> list[MemoryHistory]:
    """The same memories under names that are free; notes in `renamed` which got another."""
    free: list[MemoryHistory] = []
    claimed: dict[str, str] = {}
    for memory_history in histories:
        memory = memory_history.memory
        holders = await store.find(space, memory.name, state=State.LIVE) if memory.state is State.LIVE else ()
        taken = any(holder.name == memory.name and holder.id != memory.id for holder in holders)
        # A file that was written while a name passed from one memory to another has it twice.
        if memory.state is State.LIVE:
            taken = claimed.setdefault(memory.name, memory.id) != memory.id or taken
        if taken:
            name = add_suffix(memory.name, memory.id)
            renamed[memory.id] = f"{memory.name} -> {name}"
            free.append(
                replace(memory_history, memory=replace(memory, name=name), versions=_renamed(memory_history, name))
            )
        else:
            free.append(memory_history)
    return free


def check_lines(lines: Lines) -> int:
    """Parse every line; returns how many there are, raises for the first that is wrong, with its number."""
    count = 0
    for number, line in enumerate(lines(), start=1):
        if line.strip():
            try:
                found = parse_line(line)
            except InvalidInput as error:
                raise InvalidInput(
                    f"line {number}: {error.message}",
                    hint=error.hint or "Nothing was imported; mend the line or export again",
                    line=number,
                ) from None
            count += found is not None
    return count


def _batches(lines: Lines) -> Iterable[list[MemoryHistory | Relation]]:
    batch: list[MemoryHistory | Relation] = []
    for line in lines():
        found = parse_line(line) if line.strip() else None
        if found is not None:
            batch.append(found)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _in_space(memory_history: MemoryHistory, space: str) -> MemoryHistory:
    def moved(memory: Memory) -> Memory:
        return replace(memory, space=space)

    versions = tuple(replace(version, memory=moved(version.memory)) for version in memory_history.versions)
    return MemoryHistory(memory=moved(memory_history.memory), versions=versions)


def _renamed(memory_history: MemoryHistory, name: str) -> tuple[Version, ...]:
    current = memory_history.memory.version
    return tuple(
        replace(version, memory=replace(version.memory, name=name)) if version.number == current else version
        for version in memory_history.versions
    )


async def _relate(relations: Sequence[Relation], *, space: str, origin: Origin, store: RecordStore) -> int:
    count = 0
    for start in range(0, len(relations), _BATCH):
        batch = relations[start : start + _BATCH]
        ends = await store.get(space, [end for one in batch for end in (one.source, one.target)])
        known = {relation.key for relation in await store.relations(space, list(ends))}
        edges = tuple(
            Edge(relation=one, present=True)
            for one in batch
            if one.source in ends and one.target in ends and one.key not in known
        )
        if edges:
            await store.commit(Commit(space=space, origin=origin, edges=edges))
        count += len(edges)
    return count
