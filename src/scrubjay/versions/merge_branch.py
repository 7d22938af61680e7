"""Merge a branch: the changes of both sides since their common version, or the clashes between them."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import cast

from scrubjay import telemetry
from scrubjay.detection.report import ConflictReport
from scrubjay.errors import InvalidInput, NotFound, StaleVersion
from scrubjay.idempotency import IdempotentRequest, idempotent_request
from scrubjay.lazy import dataclass
from scrubjay.lookup.branches import branch_of, keeps_changing, on_branch, require_live, trunk_of
from scrubjay.lookup.references import resolve
from scrubjay.model.branch import BranchMerged, MergeConflict
from scrubjay.model.change import Action, Origin
from scrubjay.model.checks import require_remark
from scrubjay.model.memory import MAIN, Json, Memory
from scrubjay.ports import Commit, RecordStore, Write
from scrubjay.text.screening.secrets import redact
from scrubjay.versions.branches import require_branch
from scrubjay.versions.merge_fields import has_same_content, merge_records, with_content_of
from scrubjay.writing import validate
from scrubjay.writing.context import WriteContext
from scrubjay.writing.embed import embed_new, slice_memory
from scrubjay.writing.recheck import ConflictChecker

PREFERENCES = ("", "ours", "theirs")
_MAX_ATTEMPTS = 20
# The event loop is free while longer texts are compared in a thread.
_LONG_TEXT = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _MergeSides:
    """Main and the branch, their common version of main, and whether the merge goes into main."""

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
    """Merge the changes of a branch into main, or those of main into a branch."""
    name, into = _require_branches(name, into)
    if prefer not in PREFERENCES:
        raise InvalidInput(
            f"prefer must be ours or theirs, not {str(prefer)[:40]!r}",
            hint="Leave it out to see the clashes",
            field="prefer",
        )
    remark = redact(require_remark(message, field="message"))[0]
    arguments: dict[str, Json] = {"ref": ref, "name": name, "into": into, "prefer": prefer, "message": message}
    request = idempotent_request(key, {"verb": "merge_branch", **arguments})
    for _ in range(_MAX_ATTEMPTS):
        if (earlier := await request.find_answer(context.store, space=space)) is not None:
            return _from_json(earlier)
        sides = await _load_sides(ref, name, into, space=space, store=context.store)
        if has_same_content(sides.theirs, sides.base):
            return _answer(sides, "unchanged")
        merged, clashes = await _merge_sides(sides, prefer=prefer)
        if clashes and not prefer:
            return _answer(sides, "conflict", clashes=clashes)
        _require_storable(merged, sides, context=context)
        try:
            return await _commit(sides, merged, message=remark, origin=origin, context=context, request=request)
        except StaleVersion:
            continue
    raise keeps_changing(ref)


def _require_branches(name: str, into: str) -> tuple[str, str]:
    name, into = require_branch(name), require_branch(into, field="into")
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


async def _load_sides(ref: str, name: str, into: str, *, space: str, store: RecordStore) -> _MergeSides:
    trunk = require_live(await trunk_of(store, await resolve(store, ref, space=space)))
    branch = await on_branch(store, trunk, name if into == MAIN else into)
    base = await store.version(space, trunk.id, branch.forked)
    if base is None:
        raise NotFound(
            f"version {branch.forked} of {trunk.name!r}, which both have in common, is gone",
            memory_id=trunk.id,
            version=branch.forked,
        )
    return _MergeSides(main=trunk, branch=branch, base=base.memory, into_main=into == MAIN)


async def _merge_sides(sides: _MergeSides, *, prefer: str) -> tuple[Memory, tuple[MergeConflict, ...]]:
    work = partial(merge_records, sides.base, sides.ours, sides.theirs, prefer=prefer)
    size = sum(len(side.content) + 100 * len(side.observations) for side in (sides.main, sides.branch))
    return work() if size < _LONG_TEXT else await asyncio.to_thread(work)


def _require_storable(merged: Memory, sides: _MergeSides, *, context: WriteContext) -> None:
    """Check the limits of a memory, which both sides together may exceed."""
    limits = context.limits
    validate.text(merged.content, field="content", limit=limits.text_bytes)
    texts = [observation.text for observation in merged.observations]
    validate.texts(texts, field="observations", limit=limits.observations, limits=limits)
    validate.metadata(merged.metadata, limits=limits)
    if not _has_text(merged) and _has_text(sides.main) and _has_text(sides.branch):
        raise InvalidInput(
            "the removals of both sides together would leave nothing of the memory",
            hint="Revise one of them first",
            field="branch",
        )


def _has_text(memory: Memory) -> bool:
    return bool(memory.content.strip() or memory.observations)


async def _commit(
    sides: _MergeSides,
    merged: Memory,
    *,
    message: str,
    origin: Origin,
    context: WriteContext,
    request: IdempotentRequest,
) -> BranchMerged:
    """Store the result of a merge. From now on the newest version of main is the common one."""
    changed = not has_same_content(merged, sides.ours)
    main = sides.main
    if sides.into_main and changed:
        at = max(origin.at, main.updated_at)
        main = replace(merged, version=main.version + 1, updated_at=at, last_confirmed=origin.at)
    branch = with_content_of(sides.branch, merged)
    at = max(origin.at, sides.branch.updated_at)
    branch = replace(branch, forked=main.version, version=branch.version + 1, updated_at=at)
    records = (main, branch) if sides.into_main and changed else (branch,)
    sliced = [(record, await slice_memory(record)) for record in records]
    embedded, warning = await embed_new(sliced, space=main.space, vector_store=context.store, embedder=context.embedder)
    message = message or f"{branch_of(sides.theirs)} merged into {branch_of(sides.ours)}"
    writes = tuple(
        Write(memory=record, base=record.version - 1, action=Action.JOINED, passages=passages, message=message)
        for record, passages in sliced
    )
    done = replace(sides, main=main, branch=branch)
    answer = _answer(done, "merged" if changed else "unchanged", warnings=(warning,) if warning else ())
    report = ConflictReport()
    if main is not sides.main:
        report = await ConflictChecker(context).check(
            main, sliced[0][1], before=sides.main, embedded=embedded, origin=origin
        )
    commit = Commit(
        space=main.space, origin=origin, writes=writes, embedded=embedded, documents=report.documents(at=origin.at),
        once=request.record(_to_json(answer)),
    )  # fmt: skip
    with telemetry.stage("write.commit"):
        earlier = request.earlier_answer(await context.store.commit(commit))
    telemetry.count("writes", action="joined" if earlier is None else "repeated")
    return replace(answer, conflicts=report.details) if earlier is None else _from_json(earlier)


def _answer(
    sides: _MergeSides, action: str, *, clashes: tuple[MergeConflict, ...] = (), warnings: tuple[str, ...] = ()
) -> BranchMerged:
    return BranchMerged(
        action=action, id=sides.main.id, name=sides.main.name, branch=branch_of(sides.theirs),
        into=branch_of(sides.ours), version=sides.ours.version, clashes=clashes, warnings=warnings,
    )  # fmt: skip


def _to_json(answer: BranchMerged) -> dict[str, Json]:
    """Return what an idempotency key stores of a merge; one that clashed is not stored."""
    return {
        "action": answer.action, "id": answer.id, "name": answer.name, "branch": answer.branch, "into": answer.into,
        "version": answer.version, "warnings": list(answer.warnings),
    }  # fmt: skip


def _from_json(answer: Mapping[str, Json]) -> BranchMerged:
    warnings = tuple(cast("list[str]", answer["warnings"]))
    return BranchMerged(**{**answer, "warnings": warnings})  # type: ignore[arg-type]
