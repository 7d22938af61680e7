"""`forget`, `restore` and `purge`: to the trash, back again, and gone for good."""

from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import replace
from enum import Enum

from scrubjay import telemetry
from scrubjay.detection.report import ConflictReport
from scrubjay.errors import InvalidInput, NameTaken, StaleVersion, WrongState
from scrubjay.lookup.branches import branch_id, branch_of, branches_of, no_branch, require_live, trunk_of
from scrubjay.lookup.references import resolve_all
from scrubjay.model.change import Action, Origin
from scrubjay.model.checks import require_flag, require_remark, require_text, wrong_type
from scrubjay.model.draft import Selection
from scrubjay.model.memory import MAIN, Flag, Memory, State
from scrubjay.model.query import Filter, category_path, facet
from scrubjay.model.results import Missing, Outcome, Written
from scrubjay.ports import Commit, RecordStore, Write
from scrubjay.text.screening.secrets import redact
from scrubjay.text.slug import add_suffix
from scrubjay.writing.passages import slice_memory
from scrubjay.writing.recheck import ConflictChecker

_PAGE = 200
_TRIES = 20


class StateChange(Enum):
    """A way from one state into another: where it starts when a filter chooses, where it ends, what the log says."""

    FORGET = (State.LIVE, State.TRASHED, Action.TRASHED)
    RESTORE = (State.TRASHED, State.LIVE, Action.RESTORED)
    APPROVE = (State.WAITING, State.LIVE, Action.APPROVED)
    DECLINE = (State.WAITING, State.TRASHED, Action.TRASHED)

    @property
    def start(self) -> State:
        """In which state a filter looks for memories."""
        return self.value[0]

    @property
    def target(self) -> State:
        """In which state they end."""
        return self.value[1]

    @property
    def action(self) -> Action:
        """What the log says of it."""
        return self.value[2]


async def forget(selection: Selection, *, space: str, origin: Origin, store: RecordStore) -> Outcome:
    """Put memories into the trash, from where they can be restored."""
    return await move(selection, StateChange.FORGET, space=space, origin=origin, store=store)


async def restore(
    selection: Selection,
    *,
    space: str,
    origin: Origin,
    store: RecordStore,
    conflict_checker: ConflictChecker | None = None,
) -> Outcome:
    """Take memories out of the trash or the archive; what nobody has approved waits again."""
    return await move(
        selection, StateChange.RESTORE, space=space, origin=origin, store=store, conflict_checker=conflict_checker
    )


async def purge(selection: Selection, *, space: str, origin: Origin, store: RecordStore) -> Outcome:
    """Destroy memories that are in the trash; nothing else is ever destroyed."""
    selection = _in_state(selection, State.TRASHED)
    done: list[Written] = []
    missing: list[Missing] = []
    gone_for_good: list[str] = []
    async for memories, unknown in _pages(selection, space=space, store=store):
        missing += unknown
        _require_trashed(memories)
        parts = await _parts_of(memories, space=space, store=store)
        wholes = {memory.id: await _whole_of(memory, store=store) for memory in memories}
        gone = {memory.id for memory in memories}
        branches = await branches_of(store, (*memories, *parts), states=tuple(State))
        gone_for_good += [one.id for one in (*memories, *parts, *branches)]
        told = [
            (memory, (*_told_of_branches(memory, branches), *_still_said(wholes.get(memory.id), gone)))
            for memory in (*memories, *parts)
        ]
        # By its own id, also a branch: the memory that it was one of may live on.
        done += [replace(_told("purged", memory, warnings=why), id=memory.id) for memory, why in told]
    if not selection.dry_run and done:
        with telemetry.stage("write.commit"):
            await store.purge(space, list(dict.fromkeys(gone_for_good)), origin=origin)
        telemetry.count("writes", len(done), action="purged")
    return Outcome(done=tuple(done), missing=tuple(missing), dry_run=selection.dry_run, run=origin.run)


async def move(
    selection: Selection,
    way: StateChange,
    *,
    space: str,
    origin: Origin,
    store: RecordStore,
    conflict_checker: ConflictChecker | None = None,
) -> Outcome:
    """Take memories from one state into another, each as a new version; conflicts of what comes back are told."""
    selection = _in_state(selection, way.start)
    done: list[Written] = []
    missing: list[Missing] = []
    # A live memory may have the name of one that waits.
    state = way.start if way.start is State.WAITING else None
    async for memories, unknown in _pages(selection, space=space, store=store, state=state):
        missing += unknown
        # A filter chooses memories: a branch that was dropped comes back by its own id alone.
        chosen = [memory for memory in memories if selection.filter is None or not memory.trunk]
        done += [
            await _move_one(
                memory, way, selection=selection, origin=origin, store=store, conflict_checker=conflict_checker
            )
            for memory in chosen
        ]
    return Outcome(done=tuple(done), missing=tuple(missing), dry_run=selection.dry_run, run=origin.run)


async def _move_one(
    memory: Memory,
    way: StateChange,
    *,
    selection: Selection,
    origin: Origin,
    store: RecordStore,
    conflict_checker: ConflictChecker | None,
) -> Written:
    action = way.action
    for _ in range(_TRIES):
        if memory.state is _target(memory, way):
            return _told("unchanged", memory)
        _require_open(memory, way)
        memory = await _alone(memory, way, store=store)
        warnings = _told_of_whole(memory, await _whole_of(memory, store=store), way)
        at = max(origin.at, memory.updated_at)
        moved = replace(_moved(memory, way), version=memory.version + 1, updated_at=at)
        if selection.dry_run:
            return _told(action.value, memory, waits=moved.state is State.WAITING, warnings=warnings)
        passages = await slice_memory(moved)
        write = Write(memory=moved, base=memory.version, action=action, passages=passages, message=selection.reason)
        found = (
            ConflictReport()
            if conflict_checker is None
            else await conflict_checker.look(moved, passages, origin=origin)
        )
        commit = Commit(space=memory.space, origin=origin, writes=(write,), documents=found.documents(at=origin.at))
        try:
            with telemetry.stage("write.commit"):
                await store.commit(commit)
        except NameTaken:
            # Another memory took the name meanwhile: this one comes back under a name of its own.
            memory = replace(memory, name=add_suffix(memory.name, memory.id))
        except StaleVersion:
            memory = (await store.get(memory.space, [memory.id])).get(memory.id, memory)
        else:
            telemetry.count("writes", action=action.value)
            told = _told(action.value, moved, waits=moved.state is State.WAITING, warnings=warnings)
            return replace(told, conflicts=found.told)
    raise StaleVersion(f"{memory.name!r} is being changed too fast", hint="Try again", memory_id=memory.id)


async def _alone(memory: Memory, way: StateChange, *, store: RecordStore) -> Memory:
    """A branch whose memory is gone comes back as a memory of its own: as a branch nobody would find it."""
    if way is not StateChange.RESTORE or not memory.trunk or await store.get(memory.space, [memory.trunk]):
        return memory
    return replace(memory, trunk="", branch=MAIN, forked=0)


def _moved(memory: Memory, way: StateChange) -> Memory:
    """A memory in the state it goes to. What left the inbox without a yes goes back there, and no further."""
    if memory.state is State.WAITING and way.target is not State.LIVE:
        flags = tuple(dict.fromkeys((*memory.flags, Flag.UNAPPROVED)))
    elif way is StateChange.RESTORE and Flag.UNAPPROVED in memory.flags:
        return replace(memory, state=State.WAITING)
    else:
        flags = tuple(flag for flag in memory.flags if flag != Flag.UNAPPROVED)
    # What is alive by itself is part of nothing.
    merged_into = "" if way.target is State.LIVE else memory.merged_into
    return replace(memory, state=_target(memory, way), flags=flags, merged_into=merged_into)


def _target(memory: Memory, way: StateChange) -> State:
    """Where a memory ends. A branch never becomes a memory of its own."""
    return State.BRANCHED if memory.trunk and way.target is State.LIVE else way.target


async def _pages(
    selection: Selection, *, space: str, store: RecordStore, state: State | None = None
) -> AsyncIterator[tuple[Sequence[Memory], list[Missing]]]:
    if selection.filter is None:
        memories, missing = await resolve_all(store, selection.refs, space=space, state=state)
        if state is not None and missing:
            # Nobody there answers to it; it may be the name of one that is elsewhere, and that is told.
            others, missing = await resolve_all(store, [one.ref for one in missing], space=space)
            memories += others
        if selection.group:
            memories = await _with_siblings(memories, space=space, store=store)
        if selection.branch:
            memories = [await _branch_of(memory, selection.branch, store=store) for memory in memories]
        yield memories, missing
        return
    # The ids first, since each move changes what the filter would find next.
    ids: list[str] = []
    while page := await store.list_ids(space, selection.filter, limit=_PAGE, after=ids[-1] if ids else None):
        ids += page
    for start in range(0, len(ids), _PAGE):
        found = await store.get(space, ids[start : start + _PAGE])
        yield [memory for memory in found.values() if _is_of(memory, selection.filter)], []


def _is_of(memory: Memory, filter: Filter) -> bool:
    """Whether a memory is of the very category that was named: what is below it is found by it, never changed by it."""
    if not filter.category:
        return True
    own, named = (facet("category", category_path(one)) for one in (memory.category, filter.category))
    return own == named


async def _branch_of(memory: Memory, name: str, *, store: RecordStore) -> Memory:
    """The branch of a memory by its name, also one that was dropped."""
    trunk = require_live(await trunk_of(store, memory))
    shadow = branch_id(trunk.id, name)
    found = (await store.get(trunk.space, [shadow])).get(shadow)
    if found is None:
        raise await no_branch(store, trunk, name, states=(State.BRANCHED, State.TRASHED))
    return found


async def _parts_of(memories: Sequence[Memory], *, space: str, store: RecordStore) -> list[Memory]:
    """What was merged into memories and stands in them still: their texts go with them."""
    ids = [part.id for memory in memories for part in memory.merged]
    found = (await store.get(space, ids)).values() if ids else ()
    owners = {memory.id for memory in memories}
    return [part for part in found if part.state is State.MERGED and part.merged_into in owners]


async def _whole_of(memory: Memory, *, store: RecordStore) -> Memory | None:
    """The memory that one was merged into and whose text has it still."""
    if not memory.merged_into:
        return None
    whole = (await store.get(memory.space, [memory.merged_into])).get(memory.merged_into)
    return whole if whole is not None and any(part.id == memory.id for part in whole.merged) else None


async def _with_siblings(memories: Sequence[Memory], *, space: str, store: RecordStore) -> list[Memory]:
    ids = [memory.id for memory in memories]
    for group in dict.fromkeys(memory.group for memory in memories if memory.group):
        ids += await store.members(space, group)
    return list((await store.get(space, ids)).values())


def _require_trashed(memories: Sequence[Memory]) -> None:
    for memory in memories:
        if memory.state is not State.TRASHED:
            raise WrongState(
                f"{memory.name!r} is {memory.state}; only what is in the trash can be purged",
                hint=f"Run `forget {memory.id if memory.trunk else memory.name}` first",
                memory_id=memory.id,
            )


def _require_open(memory: Memory, way: StateChange) -> None:
    """Refuse the ways that would go past a person's yes, or take apart what was merged."""
    waits = memory.state is State.WAITING
    if way in (StateChange.APPROVE, StateChange.DECLINE) and not waits:
        raise WrongState(f"{memory.name!r} is {memory.state}; it waits for nobody", memory_id=memory.id)
    if way is StateChange.RESTORE and waits:
        raise WrongState(
            f"{memory.name!r} waits for a yes", hint=f"Run `inbox approve {memory.name}`", memory_id=memory.id
        )
    if way is StateChange.RESTORE and memory.state is State.MERGED:
        raise WrongState(
            f"{memory.name!r} is part of another memory now",
            hint=f"`revert` {memory.merged_into} to the version before",
            memory_id=memory.id,
            merged_into=memory.merged_into,
        )


def _told_of_whole(memory: Memory, whole: Memory | None, way: StateChange) -> tuple[str, ...]:
    """What is to be known of a part that goes away alone; beside what it is part of it does not come back."""
    if whole is None:
        return ()
    if way is StateChange.RESTORE and whole.state is State.LIVE:
        raise WrongState(
            f"{memory.name!r} stands in {whole.name!r} still",
            hint=f"`revert` {whole.id} to the version before they were merged, then restore",
            memory_id=memory.id,
            merged_into=whole.id,
        )
    return (_said_in(whole),) if way is StateChange.FORGET else ()


def _told_of_branches(memory: Memory, branches: Sequence[Memory]) -> tuple[str, ...]:
    names = [branch.branch for branch in branches if branch.trunk == memory.id]
    return (f"its branches go with it: {', '.join(names)}",) if names else ()


def _still_said(whole: Memory | None, gone: Collection[str]) -> tuple[str, ...]:
    return () if whole is None or whole.id in gone else (_said_in(whole),)


def _said_in(whole: Memory) -> str:
    return f"what it says stands in {whole.name!r} still, into which it was merged"


def _in_state(selection: Selection, state: State) -> Selection:
    for name in ("group", "dry_run"):
        require_flag(getattr(selection, name), field=name)
    require_remark(selection.reason, field="reason")
    require_text(selection.branch, field="branch")
    selection = replace(selection, reason=redact(selection.reason)[0])
    if selection.filter is not None and not isinstance(selection.filter, Filter):
        raise wrong_type("filter", "a Filter", selection.filter)
    if selection.filter is None:
        if not selection.refs:
            raise InvalidInput("say which memories: by id, name or title, or by a filter", field="ids")
        return selection
    if selection.refs:
        raise InvalidInput("give ids or a filter, not both", field="ids")
    if selection.branch:
        raise InvalidInput("a branch is one of memories that are named", hint="Give their ids", field="branch")
    if selection.filter.is_empty:
        raise InvalidInput(
            "an empty filter would take everything", hint="Name at least one field, or give ids", field="filter"
        )
    return replace(selection, filter=replace(selection.filter, state=state))


def _told(action: str, memory: Memory, *, waits: bool = False, warnings: tuple[str, ...] = ()) -> Written:
    if waits:
        warnings = (*warnings, "it waits for a person's yes, as it did before")
    return Written(
        action=action, id=memory.trunk or memory.id, name=memory.name, version=memory.version, warnings=warnings,
        branch=branch_of(memory),
    )  # fmt: skip
