"""Merging a branch: what each side has changed since they parted comes together, or is told as a clash."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import cast

from scrubjay import telemetry
from scrubjay.detection.report import ConflictReport
from scrubjay.errors import InvalidInput, NotFound, StaleVersion
from scrubjay.idempotency import IdempotentRequest, idempotent_request
from scrubjay.lookup.branches import branch_of, on_branch, require_live, too_fast, trunk_of
from scrubjay.lookup.references import resolve
from scrubjay.model.branch import BranchMerged, MergeConflict
from scrubjay.model.change import Action, Origin
from scrubjay.model.checks import require_remark
from scrubjay.model.memory import MAIN, Json, Memory
from scrubjay.ports import Commit, RecordStore, Write
from scrubjay.text.screening.secrets import redact
from scrubjay.versions.branches import require_named
from scrubjay.versions.merge_fields import combine, says_the_same, with_words_of
from scrubjay.writing import validate
from scrubjay.writing.context import WriteContext
from scrubjay.writing.embed import embed_new, slice_memory
from scrubjay.writing.recheck import ConflictChecker

PREFERENCES = ("", "ours", "theirs")
# Somebody else may be faster; each time what there is is looked at anew.
_TRIES = 20
# Texts this long take long enough to compare that the event loop should not do it.
_LONG_TEXT = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sides:
    """Main and the branch, the version of main they have in common, and which of the two takes the other in."""

    main: Memory
    branch: Memory
    base: Memory
    into_main: bool

    @property
    def ours(self) -> Memory:
        return self.main if self.into_main else self.branch

    @property
    def theirs(self) -> Memory:
        return self.branch if self.into_main else self.main


async def merge_branch(
    ref: str,
    name: str,
    *,
    into: str,
    prefer: str,
    message: str,
    space: str,
    origin: Origin,
    context: WriteContext,
    key: str,
) -> BranchMerged:
    """Bring what a branch has changed into main, or what main has changed into a branch."""
    name, into = _require_two(name, into)
    if prefer not in PREFERENCES:
        raise InvalidInput(
            f"prefer must be ours or theirs, not {str(prefer)[:40]!r}",
            hint="Leave it out to be told what clashes",
            field="prefer",
        )
    remark = redact(require_remark(message, field="message"))[0]
    asked: dict[str, Json] = {"ref": ref, "name": name, "into": into, "prefer": prefer, "message": message}
    ask = idempotent_request(key, {"verb": "merge_branch", **asked})
    for _ in range(_TRIES):
        if (known := await ask.find_answer(context.store, space=space)) is not None:
            return _joined(known)
        sides = await _sides(ref, name, into, space=space, store=context.store)
        if says_the_same(sides.theirs, sides.base):
            return _told(sides, "unchanged")
        merged, clashes = await _combined(sides, prefer=prefer)
        if clashes and not prefer:
            return _told(sides, "conflict", clashes=clashes)
        _require_storable(merged, sides, context=context)
        try:
            return await _join(sides, merged, message=remark, origin=origin, context=context, ask=ask)
        except StaleVersion:
            continue
    raise too_fast(ref)


def _require_two(name: str, into: str) -> tuple[str, str]:
    name, into = require_named(name), require_named(into, field="into")
    if name == into:
        raise InvalidInput(
            f"{name[:100]!r} cannot be merged into itself", hint="Name two branches, one of them main", field="into"
        )
    if MAIN not in (name, into):
        raise InvalidInput(
            "a branch is merged with main, not with another branch",
            hint=f"Merge {name[:100]!r} into main, then main into {into[:100]!r}",
            field="into",
        )
    return name, into


async def _sides(ref: str, name: str, into: str, *, space: str, store: RecordStore) -> _Sides:
    trunk = require_live(await trunk_of(store, await resolve(store, ref, space=space)))
    branch = await on_branch(store, trunk, name if into == MAIN else into)
    base = await store.version(space, trunk.id, branch.forked)
    if base is None:
        raise NotFound(
            f"version {branch.forked} of {trunk.name!r}, which both have in common, is gone",
            memory_id=trunk.id,
            version=branch.forked,
        )
    return _Sides(main=trunk, branch=branch, base=base.memory, into_main=into == MAIN)


async def _combined(sides: _Sides, *, prefer: str) -> tuple[Memory, tuple[MergeConflict, ...]]:
    work = partial(combine, sides.base, sides.ours, sides.theirs, prefer=prefer)
    size = sum(len(one.content) + 100 * len(one.observations) for one in (sides.main, sides.branch))
    return work() if size < _LONG_TEXT else await asyncio.to_thread(work)


def _require_storable(merged: Memory, sides: _Sides, *, context: WriteContext) -> None:
    """Both together may be more than a memory can hold."""
    limits = context.limits
    validate.text(merged.content, field="content", limit=limits.text_bytes)
    texts = [observation.text for observation in merged.observations]
    validate.texts(texts, field="observations", limit=limits.observations, limits=limits)
    validate.metadata(merged.metadata, limits=limits)
    if not _says_anything(merged) and _says_anything(sides.main) and _says_anything(sides.branch):
        raise InvalidInput(
            "what each side has taken out would together leave nothing of the memory",
            hint="Revise one of them first",
            field="branch",
        )


def _says_anything(memory: Memory) -> bool:
    return bool(memory.content.strip() or memory.observations)


async def _join(
    sides: _Sides, merged: Memory, *, message: str, origin: Origin, context: WriteContext, ask: IdempotentRequest
) -> BranchMerged:
    """Store what came of it. From here on both have the newest version of main in common."""
    changed = not says_the_same(merged, sides.ours)
    main = sides.main
    if sides.into_main and changed:
        at = max(origin.at, main.updated_at)
        main = replace(merged, version=main.version + 1, updated_at=at, last_confirmed=origin.at)
    branch = with_words_of(sides.branch, merged)
    at = max(origin.at, sides.branch.updated_at)
    branch = replace(branch, forked=main.version, version=branch.version + 1, updated_at=at)
    records = (main, branch) if sides.into_main and changed else (branch,)
    sliced = [(record, await slice_memory(record)) for record in records]
    embedded, warning = await embed_new(sliced, space=main.space, vector_store=context.store, embedder=context.embedder)
    message = message or f"{branch_of(sides.theirs)} merged into {branch_of(sides.ours)}"
    writes = tuple(
        Write(memory=one, base=one.version - 1, action=Action.JOINED, passages=passages, message=message)
        for one, passages in sliced
    )
    done = replace(sides, main=main, branch=branch)
    answer = _told(done, "merged" if changed else "unchanged", warnings=(warning,) if warning else ())
    found = ConflictReport()
    if main is not sides.main:
        found = await ConflictChecker(context).check(
            main, sliced[0][1], before=sides.main, embedded=embedded, origin=origin
        )
    commit = Commit(
        space=main.space, origin=origin, writes=writes, embedded=embedded, documents=found.documents(at=origin.at),
        once=ask.once(_kept(answer)),
    )  # fmt: skip
    with telemetry.stage("write.commit"):
        first = ask.first(await context.store.commit(commit))
    telemetry.count("writes", action="joined" if first is None else "repeated")
    return replace(answer, conflicts=found.details) if first is None else _joined(first)


def _told(
    sides: _Sides, action: str, *, clashes: tuple[MergeConflict, ...] = (), warnings: tuple[str, ...] = ()
) -> BranchMerged:
    return BranchMerged(
        action=action, id=sides.main.id, name=sides.main.name, branch=branch_of(sides.theirs),
        into=branch_of(sides.ours), version=sides.ours.version, clashes=clashes, warnings=warnings,
    )  # fmt: skip


def _kept(answer: BranchMerged) -> dict[str, Json]:
    """What is kept of a merge under an idempotency key; one that clashed is none."""
    return {
        "action": answer.action, "id": answer.id, "name": answer.name, "branch": answer.branch, "into": answer.into,
        "version": answer.version, "warnings": list(answer.warnings),
    }  # fmt: skip


def _joined(told: Mapping[str, Json]) -> BranchMerged:
    warnings = tuple(cast("list[str]", told["warnings"]))
    return BranchMerged(**{**told, "warnings": warnings})  # type: ignore[arg-type]
