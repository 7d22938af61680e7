"""One memory as it is wanted: on a branch, at one of its versions, or as it was at a moment."""

from dataclasses import dataclass
from datetime import datetime

from scrubjay.errors import InvalidInput
from scrubjay.lookup.branches import branch_id, on_branch, presented, trunk_of, version_of
from scrubjay.model.checks import require_integer, require_moment, require_text
from scrubjay.model.memory import MAIN, Memory, State
from scrubjay.model.timestamps import to_iso
from scrubjay.ports import RecordStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """On which branch a memory is wanted, the one it is switched to if none is named, and at which point of it.

    `alone`: nothing else is asked for.
    """

    branch: str = ""
    version: int | None = None
    as_of: datetime | None = None
    alone: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether it is wanted as it is: then whoever is there can be told."""
        return self.as_of is None and self.version is None and self.branch in ("", MAIN)

    def __post_init__(self) -> None:
        """Refuse what cannot be had together."""
        require_text(self.branch, field="branch")
        require_moment(self.as_of, field="as_of")
        if self.version is None:
            return
        require_integer(self.version, field="version")
        if self.as_of is not None:
            raise InvalidInput("version and as_of cannot be had together", hint="Leave one of them out", field="as_of")


async def as_wanted(memory: Memory, wanted: Standing, *, store: RecordStore) -> tuple[Memory | None, str]:
    """The memory as it is wanted; or none, and why there is none."""
    if wanted.as_of is not None:
        return await _then(memory, wanted.branch, at=wanted.as_of, store=store)
    line = await on_branch(store, memory, wanted.branch)
    if wanted.version is None:
        return presented(line), ""
    return (await version_of(line, wanted.version, store=store)).memory, ""


async def _then(memory: Memory, branch: str, *, at: datetime, store: RecordStore) -> tuple[Memory | None, str]:
    line = await _line(memory, branch, store=store)
    found = await _at(line, at, store=store)
    main = await _at(await trunk_of(store, line), at, store=store) if line.trunk else found
    if main is None:
        return None, f"it did not exist at {to_iso(at)}: it is of {to_iso(memory.created_at)}"
    if main.state is State.TRASHED:
        return None, f"it was in the trash at {to_iso(at)}"
    # Where there was no such branch, or none any more, the memory stands for it.
    return presented(main if found is None or found.state is State.TRASHED else found), ""


async def _line(memory: Memory, branch: str, *, store: RecordStore) -> Memory:
    """The record of a branch, which may have been dropped since, or gone into the trash with its memory."""
    if branch and branch != MAIN and not memory.trunk:
        shadow = branch_id(memory.id, branch)
        found = (await store.get(memory.space, [shadow])).get(shadow)
        if found is not None:
            return found
    return await on_branch(store, memory, branch)


async def _at(line: Memory, at: datetime, *, store: RecordStore) -> Memory | None:
    found = await store.version_at(line.space, line.id, at=at)
    return None if found is None else found.memory
