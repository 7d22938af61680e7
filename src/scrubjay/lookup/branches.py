"""The record of a memory on a branch, and the versions of that branch.

A branch of a memory is a record of its own, in the state `branched`. Its id is derived from the memory's id and the
branch's name, so that no lookup is needed and no branch can be made twice. Searches on main never find it.
"""

import difflib
import hashlib
import uuid
from collections.abc import Sequence
from dataclasses import replace

from scrubjay.errors import NotFound, StaleVersion, WrongState
from scrubjay.lazy import dataclass
from scrubjay.model.branch import normalize_branch_name
from scrubjay.model.change import Action, Origin
from scrubjay.model.checks import require_integer, require_text
from scrubjay.model.document import Document
from scrubjay.model.memory import MAIN, Json, Memory, State
from scrubjay.model.query import Filter
from scrubjay.model.version import Version
from scrubjay.ports import MemoryReader, RecordStore

# One document for each memory that was ever switched to another branch than main.
CURRENT_COLLECTION = "branches"
# One document for each branch, written at its start: its first version, and the version of main it starts from.
START_COLLECTION = "lines"
# The fields of a record itself, its place and its use: they are never copied from another record or version.
OWN_FIELDS = (
    "id", "space", "created_at", "state", "merged_into", "version", "branch", "trunk", "forked", "group",
    "last_accessed", "last_confirmed", "last_reviewed", "access_count",
)  # fmt: skip
_SUGGESTIONS = 3
_TIME_BITS = 48
_PAGE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchVersions:
    """The versions of a branch: its own from `start` on, and before them those of main up to `fork`.

    On main, `start` is 1. Versions of the record between the two belong to a former branch of the same name.
    """

    start: int = 1
    fork: int = 0


def branch_id(trunk: str, name: str) -> str:
    """Return the id of the record of a branch; it sorts beside the memory's own."""
    both = f"{trunk}\n{normalize_branch_name(name)}".encode("utf-8", "surrogatepass")
    digest = int.from_bytes(hashlib.sha256(both).digest()[:10], "big")
    time = uuid.UUID(trunk).int >> (128 - _TIME_BITS) << (128 - _TIME_BITS)
    number = time | 0x7 << 76 | (digest >> 62 & 0xFFF) << 64 | 0b10 << 62 | digest & (1 << 62) - 1
    return str(uuid.UUID(int=number))


async def current_branch(store: RecordStore, memory: Memory) -> str:
    """Return the branch that a memory is switched to; main if that branch is gone."""
    return branch_of(await on_branch(store, memory))


async def switched_to(store: RecordStore, memory: Memory) -> str:
    """Return the branch that a memory was switched to last, whether it still exists or not."""
    document = await store.document(memory.space, CURRENT_COLLECTION, memory.id)
    return MAIN if document is None else str(document.value.get("current") or MAIN)


async def on_branch(store: RecordStore, memory: Memory, branch: str = "") -> Memory:
    """Return the record of a memory on a branch, by default on the one it is switched to."""
    requested = normalize_branch_name(require_text(branch, field="branch"))
    if memory.trunk:
        if requested in ("", memory.branch):
            return memory
        memory = await trunk_of(store, memory)
    if requested == MAIN or (not requested and memory.state is not State.LIVE):
        return memory
    name = requested or await switched_to(store, memory)
    if name == MAIN:
        return memory
    require_live(memory)
    record_id = branch_id(memory.id, name)
    record = (await store.get(memory.space, [record_id])).get(record_id)
    if record is not None and record.state is State.BRANCHED:
        return record
    if not requested:
        return memory
    raise await no_branch(store, memory, name, dropped=record.branch if record is not None else "")


async def no_branch(
    store: RecordStore, memory: Memory, name: str, *, states: Sequence[State] = (State.BRANCHED,), dropped: str = ""
) -> NotFound:
    """Return the error for a branch that a memory does not have, with the nearest names."""
    names = [MAIN, *(branch.branch for branch in await branches_of(store, [memory], states=states))]
    near = tuple(difflib.get_close_matches(name[:200], names, n=_SUGGESTIONS))
    hint = f"Did you mean {' or '.join(near)}?" if near else "`branches` lists its branches"
    if dropped:
        hint = f"It was dropped: `restore {memory.name} --branch {dropped}` brings it back"
    return NotFound(
        f"{memory.name!r} has no branch {name[:100]!r}",
        hint=hint,
        memory_id=memory.id,
        branch=name[:200],
        suggestions=near,
    )


async def require_open(store: RecordStore, record: Memory) -> Memory:
    """Check that a record can have a new version: a dropped branch, or one of a dropped memory, cannot."""
    if record.trunk:
        trunk = require_live(await trunk_of(store, record))
        if record.state is not State.BRANCHED:
            raise WrongState(
                f"branch {record.branch!r} of {trunk.name!r} was dropped",
                hint=f"`restore {trunk.name} --branch {record.branch}` brings it back",
                memory_id=trunk.id,
                branch=record.branch,
            )
    return record


def require_live(memory: Memory) -> Memory:
    """Check that a memory can have branches, or raise an error that says what to do first."""
    if memory.state is State.MERGED:
        raise WrongState(
            f"{memory.name!r} is part of another memory now",
            hint=f"Use {memory.merged_into}",
            memory_id=memory.id,
            merged_into=memory.merged_into,
        )
    if memory.state is not State.LIVE:
        raise WrongState(
            f"{memory.name!r} is {memory.state}; only a live memory has branches",
            hint=f"Run `restore {memory.name}` first",
            memory_id=memory.id,
        )
    return memory


async def trunk_of(store: MemoryReader, memory: Memory) -> Memory:
    """Return the memory of a branch; any other record is its own."""
    if not memory.trunk:
        return memory
    trunk = (await store.get(memory.space, [memory.trunk])).get(memory.trunk)
    if trunk is None:
        raise NotFound(f"the memory of branch {memory.branch!r} is gone", memory_id=memory.trunk)
    return trunk


async def branches_of(
    store: MemoryReader, memories: Sequence[Memory], *, states: Sequence[State] = (State.BRANCHED,)
) -> list[Memory]:
    """Return the branches of memories, in the order of their names."""
    trunks = [memory.id for memory in memories if not memory.trunk]
    ids: list[str] = []
    for start in range(0, len(trunks), _PAGE):
        first, *others = trunks[start : start + _PAGE]
        also = {f"trunk={first}": tuple(f"trunk={other}" for other in others)}
        for state in states:
            ids += await _all_ids(store, Filter(trunk=first, also=also, state=state), space=memories[0].space)
    records = await store.get(memories[0].space, ids) if ids else {}
    return sorted(records.values(), key=lambda record: (record.trunk, record.branch))


def branch_document(record: Memory, *, description: str, origin: Origin) -> Document:
    """Return the document that is written at the start of a branch."""
    value: dict[str, Json] = {
        "start": record.version, "fork": record.forked, "description": description, "agent": origin.agent,
        "about": {"memory_id": record.id},
    }  # fmt: skip
    return Document(space=record.space, collection=START_COLLECTION, key=record.id, value=value, at=origin.at)


async def branch_versions(store: RecordStore, record: Memory) -> BranchVersions:
    """Return the versions of a branch since its last start: its name may have been used before."""
    if not record.trunk:
        return BranchVersions()
    document = await store.document(record.space, START_COLLECTION, record.id)
    start, fork = (document.value.get(name) for name in ("start", "fork")) if document else (None, None)
    if isinstance(start, int) and isinstance(fork, int):
        return BranchVersions(start=start, fork=fork)
    # An imported branch has no document.
    first = await _first_version(store, record)
    return BranchVersions(start=first.number, fork=first.memory.forked) if first else BranchVersions(fork=record.forked)


async def version_on(store: RecordStore, record: Memory, number: int) -> Version | None:
    """Return a version of a branch; before the start of the branch it is one of main."""
    # A merge moves `forked` on: only below it the start of the branch matters.
    is_of_main = record.trunk and number <= record.forked and number <= (await branch_versions(store, record)).fork
    version = await store.version(record.space, record.trunk if is_of_main else record.id, number)
    return None if version is None else public_version(version)


async def version_of(record: Memory, number: int, *, store: RecordStore) -> Version:
    """Return a version of a branch, or raise an error that says where it is, or which versions exist."""
    version = await version_on(store, record, require_integer(number, field="version"))
    if version is None:
        raise await _no_version(record, number, store=store)
    return version


def branch_of(record: Memory) -> str:
    """Return the name of a record's branch."""
    return record.branch if record.trunk else MAIN


def public_record(memory: Memory) -> Memory:
    """Return a branch's record as callers see it: the memory itself, as it is on that branch."""
    if not memory.trunk:
        return memory
    return replace(memory, id=memory.trunk, state=State.LIVE if memory.state is State.BRANCHED else memory.state)


def public_version(version: Version) -> Version:
    """Return a version as callers see it."""
    return replace(version, memory=public_record(version.memory)) if version.memory.trunk else version


def keeps_changing(ref: str) -> StaleVersion:
    """Return the error for a memory that other writers keep changing."""
    return StaleVersion(f"{ref[:100]!r} keeps changing", hint="Try again", ref=ref[:200])


async def _no_version(record: Memory, number: int, *, store: RecordStore) -> NotFound:
    trunk = await trunk_of(store, record)
    branch = branch_of(record)
    for other in (trunk, *await branches_of(store, [trunk])):
        versions = await branch_versions(store, other)
        if other.id != record.id and versions.start <= number <= other.version:
            return NotFound(
                f"version {number} of {record.name!r} is on branch {branch_of(other)!r}, not on {branch!r}",
                hint=f"Name the branch {branch_of(other)!r}, or merge it first",
                memory_id=trunk.id,
                version=number,
                branch=branch_of(other),
            )
    where = f" on branch {branch!r}" if record.trunk else ""
    return NotFound(
        f"{record.name!r} has no version {number}{where}",
        hint=f"Its versions go from 1 to {record.version}",
        memory_id=trunk.id,
        version=number,
    )


async def _first_version(store: RecordStore, record: Memory) -> Version | None:
    oldest: Version | None = None
    while page := await store.versions(record.space, record.id, limit=_PAGE, before=oldest and oldest.number):
        for version in page:
            if version.action == Action.BRANCHED:
                return version
        oldest = page[-1]
    return oldest


async def _all_ids(store: MemoryReader, filter: Filter, *, space: str) -> list[str]:
    ids = page = await store.list_ids(space, filter, limit=_PAGE)
    while len(page) == _PAGE:
        page = await store.list_ids(space, filter, limit=_PAGE, after=page[-1])
        ids = [*ids, *page]
    return ids
