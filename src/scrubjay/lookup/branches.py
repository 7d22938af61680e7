"""Which record stands for a memory on a branch, and which versions that branch has.

A branch of a memory is a record of its own, in the state `branched`, whose id follows from the memory's and the
branch's name: there is nothing to look up, and nobody can make one twice. What is found on main never sees it.
"""

import difflib
import hashlib
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace

from scrubjay.errors import NotFound, StaleVersion, WrongState
from scrubjay.model.branch import normalize_branch_name
from scrubjay.model.change import Action, Origin
from scrubjay.model.checks import require_integer, require_text
from scrubjay.model.document import Document
from scrubjay.model.memory import MAIN, Json, Memory, State
from scrubjay.model.query import Filter
from scrubjay.model.version import Version
from scrubjay.ports import RecordStore

# One paper for each memory that was ever switched to another branch than main.
COLLECTION = "branches"
# One for each branch, filed when it is begun: with which version, and at which version of main.
LINES = "lines"
# What says which record it is, where it stands and how it is used: of another record or version it is never taken.
OWN_FIELDS = (
    "id", "space", "created_at", "state", "merged_into", "version", "branch", "trunk", "forked", "group",
    "last_accessed", "last_confirmed", "last_reviewed", "access_count",
)  # fmt: skip
_SUGGESTIONS = 3
_TIME_BITS = 48
_PAGE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """The versions of a branch: its own from `start` on, and before them those of main up to `fork`.

    `start` is 1 on main. What the record has between the two was written under the same name by a branch before.
    """

    start: int = 1
    fork: int = 0


def branch_id(trunk: str, name: str) -> str:
    """The id of the record that is a branch of a memory; it sorts beside the memory's own."""
    both = f"{trunk}\n{normalize_branch_name(name)}".encode("utf-8", "surrogatepass")
    digest = int.from_bytes(hashlib.sha256(both).digest()[:10], "big")
    time = uuid.UUID(trunk).int >> (128 - _TIME_BITS) << (128 - _TIME_BITS)
    number = time | 0x7 << 76 | (digest >> 62 & 0xFFF) << 64 | 0b10 << 62 | digest & (1 << 62) - 1
    return str(uuid.UUID(int=number))


async def current_branch(store: RecordStore, memory: Memory) -> str:
    """The branch that a memory is switched to; one that has gone since counts for none."""
    return branch_of(await on_branch(store, memory))


async def switched_to(store: RecordStore, memory: Memory) -> str:
    """The branch that a memory was switched to last, whether there is one of that name now or not."""
    document = await store.document(memory.space, COLLECTION, memory.id)
    return MAIN if document is None else str(document.value.get("current") or MAIN)


async def on_branch(store: RecordStore, memory: Memory, branch: str = "") -> Memory:
    """The record that stands for a memory on a branch, on the one it is switched to if none is named."""
    asked = normalize_branch_name(require_text(branch, field="branch"))
    if memory.trunk:
        if asked in ("", memory.branch):
            return memory
        memory = await trunk_of(store, memory)
    if asked == MAIN or (not asked and memory.state is not State.LIVE):
        return memory
    name = asked or await switched_to(store, memory)
    if name == MAIN:
        return memory
    require_live(memory)
    shadow = branch_id(memory.id, name)
    found = (await store.get(memory.space, [shadow])).get(shadow)
    if found is not None and found.state is State.BRANCHED:
        return found
    if not asked:
        return memory
    raise await no_branch(store, memory, name, dropped=found.branch if found is not None else "")


async def no_branch(
    store: RecordStore, memory: Memory, name: str, *, states: Sequence[State] = (State.BRANCHED,), dropped: str = ""
) -> NotFound:
    """The error for a branch that a memory does not have, with the nearest of those that it has."""
    names = [MAIN, *(branch.branch for branch in await branches_of(store, [memory], states=states))]
    near = tuple(difflib.get_close_matches(name[:200], names, n=_SUGGESTIONS))
    hint = f"Did you mean {' or '.join(near)}?" if near else "`branches` lists those it has"
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
    """A record that can have a further version: a branch that was dropped, or whose memory was, cannot."""
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
    """A memory that can have branches, or an error that says what to do first."""
    if memory.state is State.MERGED:
        raise WrongState(
            f"{memory.name!r} is part of another memory now",
            hint=f"Go by {memory.merged_into}",
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


async def trunk_of(store: RecordStore, memory: Memory) -> Memory:
    """The memory that a record is a branch of; any other is its own."""
    if not memory.trunk:
        return memory
    found = (await store.get(memory.space, [memory.trunk])).get(memory.trunk)
    if found is None:
        raise NotFound(f"the memory of branch {memory.branch!r} is gone", memory_id=memory.trunk)
    return found


async def branches_of(
    store: RecordStore, memories: Sequence[Memory], *, states: Sequence[State] = (State.BRANCHED,)
) -> list[Memory]:
    """The records that are branches of some memories, by their names."""
    trunks = [memory.id for memory in memories if not memory.trunk]
    ids: list[str] = []
    for start in range(0, len(trunks), _PAGE):
        first, *others = trunks[start : start + _PAGE]
        also = {f"trunk={first}": tuple(f"trunk={other}" for other in others)}
        for state in states:
            ids += await _all_ids(store, Filter(trunk=first, also=also, state=state), space=memories[0].space)
    found = await store.get(memories[0].space, ids) if ids else {}
    return sorted(found.values(), key=lambda one: (one.trunk, one.branch))


def first_page(record: Memory, *, description: str, origin: Origin) -> Document:
    """What is filed when a branch is begun."""
    value: dict[str, Json] = {
        "start": record.version, "fork": record.forked, "description": description, "agent": origin.agent,
        "about": {"memory_id": record.id},
    }  # fmt: skip
    return Document(space=record.space, collection=LINES, key=record.id, value=value, at=origin.at)


async def line_of(store: RecordStore, record: Memory) -> Line:
    """Which versions a branch has: since it was last begun, for its name may have been used before."""
    if not record.trunk:
        return Line()
    document = await store.document(record.space, LINES, record.id)
    start, fork = (document.value.get(name) for name in ("start", "fork")) if document else (None, None)
    if isinstance(start, int) and isinstance(fork, int):
        return Line(start=start, fork=fork)
    # What came from elsewhere has come without its papers.
    begun = await _last_begun(store, record)
    return Line(start=begun.number, fork=begun.memory.forked) if begun else Line(fork=record.forked)


async def version_on(store: RecordStore, record: Memory, number: int) -> Version | None:
    """One version of a branch, which before it was begun is one of main."""
    # What was merged since moves `forked` on: only below that is there anything to find out.
    of_main = record.trunk and number <= record.forked and number <= (await line_of(store, record)).fork
    found = await store.version(record.space, record.trunk if of_main else record.id, number)
    return None if found is None else shown(found)


async def version_of(record: Memory, number: int, *, store: RecordStore) -> Version:
    """The same, or an error that says where it is, or which there are."""
    found = await version_on(store, record, require_integer(number, field="version"))
    if found is None:
        raise await _no_version(record, number, store=store)
    return found


def branch_of(record: Memory) -> str:
    """The name of the branch that a record stands for."""
    return record.branch if record.trunk else MAIN


def presented(memory: Memory) -> Memory:
    """A branch's record as callers know it: the memory itself, as it is on that branch."""
    if not memory.trunk:
        return memory
    return replace(memory, id=memory.trunk, state=State.LIVE if memory.state is State.BRANCHED else memory.state)


def shown(version: Version) -> Version:
    """A version as callers know it."""
    return replace(version, memory=presented(version.memory)) if version.memory.trunk else version


def too_fast(ref: str) -> StaleVersion:
    """The error for whoever was overtaken again and again."""
    return StaleVersion(f"{ref[:100]!r} is being changed too fast", hint="Try again", ref=ref[:200])


async def _no_version(record: Memory, number: int, *, store: RecordStore) -> NotFound:
    trunk = await trunk_of(store, record)
    branch = branch_of(record)
    for other in (trunk, *await branches_of(store, [trunk])):
        line = await line_of(store, other)
        if other.id != record.id and line.start <= number <= other.version:
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


async def _last_begun(store: RecordStore, record: Memory) -> Version | None:
    oldest: Version | None = None
    while page := await store.versions(record.space, record.id, limit=_PAGE, before=oldest and oldest.number):
        for version in page:
            if version.action == Action.BRANCHED:
                return version
        oldest = page[-1]
    return oldest


async def _all_ids(store: RecordStore, filter: Filter, *, space: str) -> list[str]:
    ids = page = await store.list_ids(space, filter, limit=_PAGE)
    while len(page) == _PAGE:
        page = await store.list_ids(space, filter, limit=_PAGE, after=page[-1])
        ids = [*ids, *page]
    return ids
