"""`forget`, `restore` and `purge`: move memories to the trash, take them out, and destroy them."""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from dataclasses import field, replace
from datetime import datetime
from enum import Enum

from scrubjay import telemetry
from scrubjay.detection.report import ConflictReport
from scrubjay.errors import BodyDamaged, InvalidInput, NameTaken, StaleVersion, WrongState
from scrubjay.lazy import dataclass
from scrubjay.lookup.branches import branch_id, branch_of, branches_of, no_branch, require_live, trunk_of
from scrubjay.lookup.references import TolerantReader, resolve_ids
from scrubjay.model.change import Action, Origin
from scrubjay.model.checks import require_flag, require_remark, require_text, wrong_type
from scrubjay.model.memory import MAIN, Flag, Memory, State
from scrubjay.model.query import Filter, category_path, facet
from scrubjay.model.relation import SOURCE
from scrubjay.model.requests import Selection
from scrubjay.model.results import Missing, Outcome, Written
from scrubjay.ports import Commit, RecordStore, Write
from scrubjay.text.screening.secrets import redact
from scrubjay.text.slug import add_suffix
from scrubjay.writing.embed import slice_memory
from scrubjay.writing.recheck import ConflictChecker

_PAGE = 200
_MAX_ATTEMPTS = 20
_DAMAGED = "The text of this memory was damaged on the disk and could not be read."


class StateChange(Enum):
    """A change of state: where a filter looks for memories, where they end, and the action in the change log."""

    FORGET = (State.LIVE, State.TRASHED, Action.TRASHED)
    RESTORE = (State.TRASHED, State.LIVE, Action.RESTORED)
    APPROVE = (State.WAITING, State.LIVE, Action.APPROVED)
    DECLINE = (State.WAITING, State.TRASHED, Action.TRASHED)

    @property
    def start(self) -> State:
        """The state in which a filter looks for memories."""
        return self.value[0]

    @property
    def end(self) -> State:
        """The state in which they end."""
        return self.value[1]

    @property
    def action(self) -> Action:
        """The action in the change log."""
        return self.value[2]

    def end_of(self, memory: Memory) -> State:
        """Return the state in which a memory ends; a branch never becomes a memory of its own."""
        return State.BRANCHED if memory.trunk and self.end is State.LIVE else self.end


async def forget(selection: Selection, *, space: str, origin: Origin, store: RecordStore) -> Outcome:
    """Move memories to the trash, from which they can be restored."""
    return await move(selection, StateChange.FORGET, space=space, origin=origin, store=store)


async def restore(
    selection: Selection,
    *,
    space: str,
    origin: Origin,
    store: RecordStore,
    conflict_checker: ConflictChecker | None = None,
) -> Outcome:
    """Take memories out of the trash or the archive; one that was never approved waits again."""
    return await move(
        selection, StateChange.RESTORE, space=space, origin=origin, store=store, conflict_checker=conflict_checker
    )


async def purge(
    selection: Selection,
    *,
    space: str,
    origin: Origin,
    store: RecordStore,
    derived: bool = False,
    forget_traces: Callable[[Sequence[Memory]], Awaitable[None]] | None = None,
) -> Outcome:
    """Destroy memories in the trash; nothing else is ever destroyed, except, with `derived`, what was made of them.

    `forget_traces` removes what else tells of them; it comes first, so that the store cleans up after both.
    """
    selection = check_selection(selection, state=State.TRASHED)
    reader = _DamageReader(store=store, space=space, at=origin.at)
    done: list[Written] = []
    missing: list[Missing] = []
    ids: list[str] = []
    archived: list[str] = []
    async for memories, unknown in selected_pages(selection, space=space, store=store, read=reader.get):
        missing += unknown
        made = await _made_of(memories, space=space, store=store)
        others = [other for results in made.values() for other in results] if derived else []
        _require_trashed(memories, but={other.id for other in others})
        memories = list({memory.id: memory for memory in (*memories, *others)}.values())  # noqa: PLW2901
        purged = {memory.id for memory in memories}
        parts = await _parts_of(memories, space=space, store=store)
        wholes = {memory.id: await _whole_of(memory, store=store) for memory in memories}
        branches = await branches_of(store, (*memories, *parts), states=tuple(State))
        ids += [memory.id for memory in (*memories, *parts, *branches)]
        if not selection.dry_run:
            archived += await _trash(others, origin=origin, store=store)
            if forget_traces is not None:
                await forget_traces((*memories, *parts, *branches))
        for memory in (*memories, *parts):
            whole, warnings = wholes.get(memory.id), list[str]()
            if names := [branch.branch for branch in branches if branch.trunk == memory.id]:
                warnings.append(f"its branches go with it: {', '.join(names)}")
            if whole is not None and whole.id not in purged:
                warnings.append(_still_in(whole))
            warnings += [_shared_with(other) for other in made.get(memory.id, ()) if other.id not in purged]
            # By its own id, also for a branch: the memory that it belongs to may live on.
            done.append(replace(written_result("purged", memory, warnings=tuple(warnings)), id=memory.id))
    if not selection.dry_run and done:
        with telemetry.stage("write.commit"):
            await store.purge(space, list(dict.fromkeys(ids)), origin=origin)
        telemetry.count("writes", len(done), action="purged")
        if returning := [memory_id for memory_id in dict.fromkeys(archived) if memory_id not in ids]:
            # Recall found them by what was made of them.
            await restore(Selection(ids=tuple(returning)), space=space, origin=origin, store=store)
    return Outcome(done=tuple(done), missing=tuple(missing), dry_run=selection.dry_run, run=origin.run)


async def move(
    selection: Selection,
    change: StateChange,
    *,
    space: str,
    origin: Origin,
    store: RecordStore,
    conflict_checker: ConflictChecker | None = None,
) -> Outcome:
    """Change the state of memories, each as a new version; report conflicts of those that return."""
    selection = check_selection(selection, state=change.start)
    done: list[Written] = []
    missing: list[Missing] = []
    # A live memory may have the name of one in the inbox.
    state = change.start if change.start is State.WAITING else None
    reader = _DamageReader(store=store, space=space, at=origin.at)
    read = reader.get if change is StateChange.FORGET else None
    async for memories, unknown in selected_pages(selection, space=space, store=store, state=state, read=read):
        missing += unknown
        for memory in memories:
            # A filter selects memories: a dropped branch returns by its own id only.
            if selection.filter is None or not memory.trunk:
                written = await _move_memory(
                    memory, change, selection=selection, origin=origin, store=store, conflict_checker=conflict_checker
                )
                done.append(replace(written, warnings=(*written.warnings, *reader.remarks.get(memory.id, ()))))
    return Outcome(done=tuple(done), missing=tuple(missing), dry_run=selection.dry_run, run=origin.run)


async def _move_memory(
    memory: Memory,
    change: StateChange,
    *,
    selection: Selection,
    origin: Origin,
    store: RecordStore,
    conflict_checker: ConflictChecker | None,
) -> Written:
    action = change.action
    for _ in range(_MAX_ATTEMPTS):
        if memory.state is change.end_of(memory):
            return written_result("unchanged", memory)
        _require_possible(memory, change)
        memory = await _detach_orphan(memory, change, store=store)
        warnings = _merge_warnings(memory, await _whole_of(memory, store=store), change)
        at = max(origin.at, memory.updated_at)
        moved = replace(_move(memory, change), version=memory.version + 1, updated_at=at)
        if moved.state is State.WAITING:
            warnings = (*warnings, "it waits for approval, as it did before")
        if selection.dry_run:
            return written_result(action.value, memory, warnings=warnings)
        passages = await slice_memory(moved)
        write = Write(memory=moved, base=memory.version, action=action, passages=passages, message=selection.reason)
        report = ConflictReport()
        if conflict_checker is not None:
            report = await conflict_checker.check(moved, passages, origin=origin)
        commit = Commit(space=memory.space, origin=origin, writes=(write,), documents=report.documents(at=origin.at))
        try:
            with telemetry.stage("write.commit"):
                await store.commit(commit)
        except NameTaken:
            # Another memory took the name meanwhile: this one returns under a name of its own.
            memory = replace(memory, name=add_suffix(memory.name, memory.id))
        except StaleVersion:
            memory = (await store.get(memory.space, [memory.id])).get(memory.id, memory)
        else:
            telemetry.count("writes", action=action.value)
            return replace(written_result(action.value, moved, warnings=warnings), conflicts=report.details)
    raise StaleVersion(f"{memory.name!r} keeps changing", hint="Try again", memory_id=memory.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class _DamageReader:
    """Reads memories, and stands in for those whose body is damaged: they must be forgotten and purged like others."""

    store: RecordStore
    space: str
    at: datetime
    # By the ids of damaged memories, what became of their text.
    remarks: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])

    async def get(self, ids: Sequence[str]) -> list[Memory]:
        try:
            return list((await self.store.get(self.space, ids)).values())
        except BodyDamaged:
            return [memory for memory_id in ids for memory in await self._get_one(memory_id)]

    async def _get_one(self, memory_id: str) -> list[Memory]:
        try:
            return list((await self.store.get(self.space, [memory_id])).values())
        except BodyDamaged as error:
            (handle, *_) = await self.store.find(self.space, memory_id)
            last_good, number = error.fields.get("last_good_version"), error.fields["version"]
            assert isinstance(number, int)
            if isinstance(last_good, int):
                version = await self.store.version(self.space, memory_id, last_good)
                assert version is not None
                self.remarks[memory_id] = (f"version {number} was damaged; its text is that of version {last_good}",)
                return [replace(version.memory, name=handle.name, state=handle.state, version=number)]
            self.remarks[memory_id] = ("its text was damaged, and no version of it can be read",)
            return [
                Memory(
                    id=memory_id, space=self.space, name=handle.name, title=handle.title, state=handle.state,
                    version=number, created_at=self.at, updated_at=self.at, content=_DAMAGED,
                )
            ]  # fmt: skip


async def _detach_orphan(memory: Memory, change: StateChange, *, store: RecordStore) -> Memory:
    """Make a branch whose memory is gone a memory of its own: as a branch it could not be found."""
    if change is not StateChange.RESTORE or not memory.trunk or await store.get(memory.space, [memory.trunk]):
        return memory
    return replace(memory, trunk="", branch=MAIN, forked=0)


def _move(memory: Memory, change: StateChange) -> Memory:
    """Return a memory in its new state; one that left the inbox unapproved returns there, and no further."""
    if memory.state is State.WAITING and change.end is not State.LIVE:
        flags = tuple(dict.fromkeys((*memory.flags, Flag.UNAPPROVED)))
    elif change is StateChange.RESTORE and Flag.UNAPPROVED in memory.flags:
        return replace(memory, state=State.WAITING)
    else:
        flags = tuple(flag for flag in memory.flags if flag != Flag.UNAPPROVED)
    # A live memory is part of no other.
    merged_into = "" if change.end is State.LIVE else memory.merged_into
    return replace(memory, state=change.end_of(memory), flags=flags, merged_into=merged_into)


async def selected_pages(
    selection: Selection,
    *,
    space: str,
    store: RecordStore,
    state: State | None = None,
    read: Callable[[Sequence[str]], Awaitable[list[Memory]]] | None = None,
) -> AsyncIterator[tuple[Sequence[Memory], list[Missing]]]:
    """Return the selected memories, page by page, with the references that match none; `read` reads them."""

    async def get(ids: Sequence[str]) -> list[Memory]:
        return list((await store.get(space, ids)).values())

    read = read or get
    if selection.filter is None:
        found_ids, missing = await resolve_ids(store, selection.ids, space=space, state=state)
        if state is not None and missing:
            # A memory in another state is reported as such, not as missing.
            others, missing = await resolve_ids(store, [reference.ref for reference in missing], space=space)
            found_ids += others
        memories = await read(found_ids)
        if selection.group:
            memories = await _with_siblings(memories, space=space, store=store)
        if selection.branch:
            memories = [await _find_branch(memory, selection.branch, store=store) for memory in memories]
        yield memories, missing
        return
    # All ids first: each change of state changes what the filter matches.
    ids: list[str] = []
    while page := await store.list_ids(space, selection.filter, limit=_PAGE, after=ids[-1] if ids else None):
        ids += page
    for start in range(0, len(ids), _PAGE):
        memories = await read(ids[start : start + _PAGE])
        yield [memory for memory in memories if _has_category(memory, selection.filter)], []


def _has_category(memory: Memory, filter: Filter) -> bool:
    """Check for the very category of a filter: subcategories match it in searches, but are never changed by it."""
    if not filter.category:
        return True
    own, named = (facet("category", category_path(category)) for category in (memory.category, filter.category))
    return own == named


async def _find_branch(memory: Memory, name: str, *, store: RecordStore) -> Memory:
    """Return the branch of a memory by name, also a dropped one."""
    trunk = require_live(await trunk_of(store, memory))
    record_id = branch_id(trunk.id, name)
    branch = (await store.get(trunk.space, [record_id])).get(record_id)
    if branch is None:
        raise await no_branch(store, trunk, name, states=(State.BRANCHED, State.TRASHED))
    return branch


async def _parts_of(memories: Sequence[Memory], *, space: str, store: RecordStore) -> list[Memory]:
    """Return the records that were merged into memories and are still part of them: they are purged too."""
    ids = [part.id for memory in memories for part in memory.merged]
    parts = (await store.get(space, ids)).values() if ids else ()
    owners = {memory.id for memory in memories}
    return [part for part in parts if part.state is State.MERGED and part.merged_into in owners]


async def _made_of(memories: Sequence[Memory], *, space: str, store: RecordStore) -> dict[str, list[Memory]]:
    """Return the memories that curation made of episodes, by the ids of these."""
    relations = await store.relations(space, [memory.id for memory in memories])
    makers = [relation for relation in relations if relation.type == SOURCE]
    made = await TolerantReader(store, space=space).get(list(dict.fromkeys(relation.source for relation in makers)))
    # Anybody may relate two memories so; only curation notes the source of each statement.
    by_id = {memory.id: memory for memory in made if "sources" in memory.metadata}
    results: dict[str, list[Memory]] = {}
    for relation in makers:
        if relation.source in by_id:
            results.setdefault(relation.target, []).append(by_id[relation.source])
    return results


async def _trash(derived: Sequence[Memory], *, origin: Origin, store: RecordStore) -> list[str]:
    """Move consolidated memories to the trash; return the archived episodes that they were made of."""
    archived: list[str] = []
    selection = Selection(reason="made of a memory that is purged")
    for memory in {memory.id: memory for memory in derived}.values():
        relations = await store.relations(memory.space, [memory.id])
        episodes = [relation.target for relation in relations if relation.type == SOURCE]
        sources = await TolerantReader(store, space=memory.space).get(episodes)
        archived += [source.id for source in sources if source.state is State.ARCHIVED]
        await _move_memory(
            memory, StateChange.FORGET, selection=selection, origin=origin, store=store, conflict_checker=None
        )
    return archived


async def _whole_of(memory: Memory, *, store: RecordStore) -> Memory | None:
    """Return the memory that one was merged into and is still part of."""
    if not memory.merged_into:
        return None
    whole = (await store.get(memory.space, [memory.merged_into])).get(memory.merged_into)
    return whole if whole is not None and any(part.id == memory.id for part in whole.merged) else None


async def _with_siblings(memories: Sequence[Memory], *, space: str, store: RecordStore) -> list[Memory]:
    ids = [memory.id for memory in memories]
    for group in dict.fromkeys(memory.group for memory in memories if memory.group):
        ids += await store.members(space, group)
    return list((await store.get(space, ids)).values())


def _require_trashed(memories: Sequence[Memory], *, but: Collection[str]) -> None:
    for memory in memories:
        if memory.state is not State.TRASHED and memory.id not in but:
            raise WrongState(
                f"{memory.name!r} is {memory.state}; only memories in the trash can be purged",
                hint=f"Run `forget {memory.id if memory.trunk else memory.name}` first",
                memory_id=memory.id,
            )


def _require_possible(memory: Memory, change: StateChange) -> None:
    """Raise WrongState for a change that would evade the approval, or take a merged memory apart."""
    is_waiting = memory.state is State.WAITING
    if change in (StateChange.APPROVE, StateChange.DECLINE) and not is_waiting:
        raise WrongState(f"{memory.name!r} is {memory.state}; it does not wait for approval", memory_id=memory.id)
    if change is StateChange.RESTORE and is_waiting:
        raise WrongState(
            f"{memory.name!r} waits for approval", hint=f"Run `inbox approve {memory.name}`", memory_id=memory.id
        )
    if change is StateChange.RESTORE and memory.state is State.MERGED:
        raise WrongState(
            f"{memory.name!r} is part of another memory now",
            hint=f"`revert {memory.merged_into}` to the version before",
            memory_id=memory.id,
            merged_into=memory.merged_into,
        )


def _merge_warnings(memory: Memory, whole: Memory | None, change: StateChange) -> tuple[str, ...]:
    """Warn that a forgotten part remains in the whole; refuse to restore a part beside it."""
    if whole is None:
        return ()
    if change is StateChange.RESTORE and whole.state is State.LIVE:
        raise WrongState(
            f"{memory.name!r} is still part of {whole.name!r}",
            hint=f"`revert {whole.id}` to the version before they were merged, then `restore` it",
            memory_id=memory.id,
            merged_into=whole.id,
        )
    return (_still_in(whole),) if change is StateChange.FORGET else ()


def _shared_with(made: Memory) -> str:
    return f"statements of it are in {made.name!r} ({made.id}) too, which curation made of it: `derived` purges both"


def _still_in(whole: Memory) -> str:
    return f"its text is still part of {whole.name!r}, into which it was merged"


def check_selection(selection: Selection, *, state: State) -> Selection:
    """Validate a selection; a filter looks for memories of a state."""
    for name in ("group", "dry_run"):
        require_flag(getattr(selection, name), field=name)
    require_remark(selection.reason, field="reason")
    require_text(selection.branch, field="branch")
    selection = replace(selection, reason=redact(selection.reason)[0])
    if selection.filter is not None and not isinstance(selection.filter, Filter):
        raise wrong_type("filter", "a Filter", selection.filter)
    if selection.filter is None:
        if not selection.ids:
            raise InvalidInput("name the memories: by id, name or title, or by a filter", field="ids")
        return selection
    if selection.ids:
        raise InvalidInput("give ids or a filter, not both", field="ids")
    if selection.branch:
        raise InvalidInput("a branch needs the ids of its memories", hint="Give their ids", field="branch")
    if selection.filter.is_empty:
        raise InvalidInput(
            "an empty filter would match every memory", hint="Name at least one field, or give ids", field="filter"
        )
    return replace(selection, filter=replace(selection.filter, state=state))


def written_result(action: str, memory: Memory, *, warnings: tuple[str, ...] = ()) -> Written:
    """Return what was done to a memory."""
    return Written(
        action=action, id=memory.trunk or memory.id, name=memory.name, version=memory.version, warnings=warnings,
        branch=branch_of(memory),
    )  # fmt: skip
