"""`revise`: an edit becomes the next version of a memory, unless another writer was faster."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from datetime import datetime
from enum import StrEnum
from typing import cast

from scrubjay import telemetry
from scrubjay.detection.neighbours import ReadCache
from scrubjay.detection.report import ConflictReport, find_conflicts
from scrubjay.errors import InvalidInput, StaleVersion, WrongState
from scrubjay.idempotency import IdempotentRequest, idempotent_request
from scrubjay.lookup.branches import branch_of, on_branch, require_open
from scrubjay.lookup.references import resolve
from scrubjay.model.change import Action, Origin
from scrubjay.model.checks import (
    require_flag,
    require_fraction,
    require_integer,
    require_moment,
    require_remark,
    require_texts,
)
from scrubjay.model.draft import Limits
from scrubjay.model.health import WriteNote
from scrubjay.model.memory import Json, Memory, Method, Observation, Source, State, Tier
from scrubjay.model.requests import Edit
from scrubjay.model.results import Written
from scrubjay.model.rules import Rules
from scrubjay.model.timestamps import parse_moment
from scrubjay.ports import Commit, Write
from scrubjay.workers import offload
from scrubjay.writing import validate
from scrubjay.writing.context import WriteContext
from scrubjay.writing.deny import require_allowed_edit
from scrubjay.writing.embed import begin_embedding, embedding_jobs, load_vectors, slice_memory
from scrubjay.writing.merge import rewrite_source
from scrubjay.writing.rules import load_rules
from scrubjay.writing.screen import hold_edited_pin, screen_edit, update_flags

# Without `expected_version` the edit applies to the newest version; under contention that takes a few attempts.
_MAX_ATTEMPTS = 100


async def revise(ref: str, edit: Edit, *, space: str, origin: Origin, context: WriteContext) -> Written:
    """Apply an edit to the newest version; a stale `expected_version` is refused."""
    require_remark(edit.message, field="message")
    require_moment(edit.at, field="at")
    if edit.expected_version is not None:
        require_integer(edit.expected_version, field="expected_version")
    request = idempotent_request(edit.idempotency_key, {"verb": "revise", "ref": ref, "edit": _edit_json(edit)})
    if (earlier := await _earlier_answer(request, space=space, context=context)) is not None:
        return earlier
    memory = await open_record(ref, branch=edit.branch, space=space, context=context)
    rules = (await load_rules(space, default=context.rules, documents=context.store)).rules
    # The flags depend on the memory after the edit.
    size = memory.characters + _edited_characters(edit)
    screened, screen_warnings, _ = await offload(size, screen_edit, limit_source(edit, origin), rules=rules)
    for _ in range(_MAX_ATTEMPTS):
        if edit.expected_version not in (None, memory.version):
            # The same request may have made the newer version a moment ago.
            if (earlier := await _earlier_answer(request, space=space, context=context)) is not None:
                return earlier
            raise _stale(memory, edit.expected_version)
        edited, edit_warnings = await offload(
            size, _edited, memory, screened, origin=origin, limits=context.limits, rules=rules
        )
        warnings = (*screen_warnings, *edit_warnings)
        if edited == memory:
            if (earlier := await _earlier_answer(request, space=space, context=context)) is not None:
                return earlier
            telemetry.count("writes", action="unchanged")
            context.note(WriteNote(space=space, agent=origin.agent, at=origin.at, action="unchanged"))
            return _written_result(memory, "unchanged", warnings)
        at = _edit_time(memory, edit, now=origin.at)
        edited = replace(edited, version=memory.version + 1, updated_at=at, last_confirmed=origin.at)
        try:
            return await commit_version(
                edited, action=Action.REVISED, message=screened.message, warnings=warnings, origin=origin,
                context=context, request=request, compare_with=(memory, rules),
            )  # fmt: skip
        except StaleVersion:
            ref, branch = memory.trunk or memory.id, branch_of(memory)
            memory = await open_record(ref, branch=branch, space=space, context=context)
    raise StaleVersion(
        f"memory {memory.name!r} keeps changing",
        hint="Try again",
        memory_id=memory.trunk or memory.id,
        current=memory.version,
    )


def _edited(
    memory: Memory, edit: Edit, *, origin: Origin, limits: Limits, rules: Rules
) -> tuple[Memory, tuple[str, ...]]:
    """Return the memory after an edit that the rules allow, with the flags of its new text, and warnings."""
    edited, warnings = apply_edit(memory, edit, now=origin.at, limits=limits, by_agent=origin.is_agent)
    require_allowed_edit(memory, edited, rules=rules)
    edited, flag_warnings = update_flags(memory, edited, rules=rules) if edited != memory else (edited, ())
    edited, pin_warnings = hold_edited_pin(memory, edited, edit)
    expiry = validate.past_expiry(edited.expires_at, now=origin.at) if edited.expires_at != memory.expires_at else ""
    return edited, (*warnings, *flag_warnings, *pin_warnings, *([expiry] if expiry else []))


def _edited_characters(edit: Edit) -> int:
    lists = (edit.fields.get("observations"), edit.add_observations)
    texts = (value for value in edit.fields.values() if isinstance(value, str))
    # What is not a text is refused later.
    listed = (text for items in lists if isinstance(items, list | tuple) for text in items if isinstance(text, str))
    return sum(map(len, texts)) + sum(map(len, listed))


async def open_record(ref: str, *, branch: str, space: str, context: WriteContext) -> Memory:
    """Return the record of a branch that gets a new version; on main it is the memory itself."""
    memory = await resolve(context.store, ref, space=space)
    if memory.state is State.MERGED:
        raise WrongState(
            f"{memory.name!r} is part of another memory now",
            hint=f"Revise {memory.merged_into}",
            memory_id=memory.id,
            merged_into=memory.merged_into,
        )
    return await require_open(context.store, await on_branch(context.store, memory, branch))


async def commit_version(
    memory: Memory,
    *,
    action: Action,
    message: str,
    origin: Origin,
    context: WriteContext,
    warnings: tuple[str, ...] = (),
    request: IdempotentRequest,
    reported_action: str = "updated",
    compare_with: tuple[Memory, Rules] | None = None,
) -> Written:
    """Store a memory as the version after the one it was made from.

    `compare_with`: the former version and the rules, by which new statements are checked for conflicts.
    """
    passages = await slice_memory(memory)
    begun = await begin_embedding([(memory, passages)], space=memory.space, context=context)
    report = ConflictReport()
    if compare_with is not None:
        before, rules = compare_with
        written = await load_vectors(
            memory, passages, begun.embedded, vector_store=context.store, embedder=context.embedder
        )
        cache = ReadCache(store=context.store, index=context.index, pairs=context.pairs)
        report = await find_conflicts(written, before=before, rules=rules, origin=origin, cache=cache)
    answer = _written_result(memory, reported_action, (*warnings, begun.warning) if begun.warning else warnings)
    jobs = embedding_jobs(begun.unfinished, space=memory.space, origin=origin)
    commit = Commit(
        space=memory.space,
        origin=origin,
        writes=(Write(memory=memory, base=memory.version - 1, action=action, passages=passages, message=message),),
        embedded=begun.embedded,
        documents=(*(job.document(at=origin.at) for job in jobs), *report.documents(at=origin.at)),
        once=request.record(answer.as_json),
    )
    with telemetry.stage("write.commit"):
        earlier = request.earlier_answer(await context.store.commit(commit))
    telemetry.count("writes", action=reported_action if earlier is None else "repeated")
    if earlier is None:
        context.note(WriteNote(
            space=memory.space, agent=origin.agent, at=origin.at, action=reported_action, conflicts=len(report.details)
        ))  # fmt: skip
    return replace(answer, conflicts=report.details) if earlier is None else Written.from_json(earlier)


def limit_source(edit: Edit, origin: Origin) -> Edit:
    """Return an edit with a source that its origin may claim."""
    return replace(edit, source=origin.limit(edit.source or Source())) if origin.is_agent else edit


def apply_edit(
    memory: Memory, edit: Edit, *, now: datetime, limits: Limits, by_agent: bool = False
) -> tuple[Memory, tuple[str, ...]]:
    """Return the memory after an edit, and warnings of changes that could not be made.

    `by_agent`: it is made with an agent's token.
    """
    changes = {_field(name): _READERS[_field(name)](name, value, limits, now) for name, value in edit.fields.items()}
    edited = cast("Memory", replace(memory, **changes))  # type: ignore[arg-type]
    # An observation without a source has the memory's.
    source = None if edit.source == memory.source else edit.source
    edited = _restore_observations(memory, edited, source=source, now=now)
    added = validate.texts(edit.add_observations, field="add_observations", limit=limits.observations, limits=limits)
    removed = set(require_texts(edit.remove_observations, field="remove_observations"))
    unknown = removed - {observation.text for observation in edited.observations}
    # A former observation is removed only if there is no current one of the same text.
    current = {observation.text for observation in edited.observations if observation.holds(now)}
    observations = [
        observation
        for observation in edited.observations
        if observation.text not in removed or (observation.text in current and not observation.holds(now))
    ]
    # A former observation can be added again.
    present = {observation.text for observation in observations if observation.holds(now)}
    repeated = present.intersection(added)
    observations = [
        _take_over(observation, memory, edit.source, at=now)
        if observation.text in repeated and observation.holds(now)
        else observation
        for observation in observations
    ]
    new = [text for text in dict.fromkeys(added) if text.strip() and text not in present]
    observations += [Observation(text=text, recorded_at=now, source=source) for text in new]
    texts = [observation.text for observation in observations]
    validate.texts(texts, field="observations", limit=limits.observations, limits=limits)
    edited = _drop_removed_statements(replace(edited, observations=tuple(observations)))
    edited = rewrite_source(memory, edited, edit.source, by_agent=by_agent)
    if edited != memory and edit.source is not None and edit.source.method is Method.FILE:
        # A text that is edited in a file has that as its method.
        edited = replace(edited, source=replace(edited.source, method=Method.FILE))
    if not edited.content.strip() and not edited.observations and not edit.may_empty:
        raise InvalidInput(
            "the edit would leave nothing of the memory", hint="Use `forget` to drop it", field="content"
        )
    return edited, tuple(f"there was no observation {text[:80]!r} to remove" for text in sorted(unknown))


async def _earlier_answer(request: IdempotentRequest, *, space: str, context: WriteContext) -> Written | None:
    """Return the answer that the same request got before."""
    answer = await request.find_answer(context.store, space=space)
    return None if answer is None else Written.from_json(answer)


def _take_over(observation: Observation, memory: Memory, source: Source | None, *, at: datetime) -> Observation:
    """Give an observation the source of the edit, if that is trusted more."""
    if source is None or not source.trust.outranks((observation.source or memory.source).trust):
        return observation
    return replace(observation, source=replace(source, at=source.at or at))


def _drop_removed_statements(memory: Memory) -> Memory:
    """Drop the statements of merged records that the text no longer has."""
    texts = {observation.text for observation in memory.observations}
    merged = tuple(
        replace(
            part,
            statements=tuple(
                statement for statement in part.statements if statement in texts or statement in memory.content
            ),
        )
        for part in memory.merged
    )
    return replace(memory, merged=merged) if merged != memory.merged else memory


def _restore_observations(before: Memory, after: Memory, *, source: Source | None, now: datetime) -> Memory:
    """Where an edit replaces the list of observations, keep those that stay as they were, and all former ones."""
    if after.observations is before.observations:
        return after
    # Of the same text the current one wins.
    by_text = {
        observation.text: observation
        for observation in sorted(before.observations, key=lambda observation: observation.holds(now))
    }
    observations = [
        by_text.get(observation.text, replace(observation, source=source)) for observation in after.observations
    ]
    listed = set(observations)
    former = [
        observation for observation in before.observations if not observation.holds(now) and observation not in listed
    ]
    return replace(after, observations=(*former, *observations))


def _edit_time(memory: Memory, edit: Edit, *, now: datetime) -> datetime:
    """Return the time of an edit, which is never before the version it replaces, even if the clock was set back.

    A branch is begun when a file is read, which may be long after it was saved: there the time of the save counts.
    """
    if edit.at is not None and memory.trunk:
        return max(min(edit.at, now), memory.created_at)
    return max(now, memory.updated_at)


def _edit_json(edit: Edit) -> dict[str, Json]:
    """Return the JSON of an edit; unset fields are left out, so that earlier requests keep their digest."""
    fields: dict[str, Json] = {**asdict(edit), "at": str(edit.at or "")}
    return {name: value for name, value in fields.items() if value or name not in ("branch", "source", "at")}


def _written_result(memory: Memory, action: str, warnings: tuple[str, ...]) -> Written:
    return Written(
        action=action, id=memory.trunk or memory.id, name=memory.name, version=memory.version, warnings=warnings,
        branch=branch_of(memory),
    )  # fmt: skip


def _stale(memory: Memory, expected: int) -> StaleVersion:
    return StaleVersion(
        f"memory {memory.name!r} is at version {memory.version}, not {expected}",
        hint="Read it again and apply your change to that version",
        memory_id=memory.trunk or memory.id,
        expected=expected,
        current=memory.version,
    )


def _field(name: str) -> str:
    field = "content" if name == "text" else name
    if field not in _READERS:
        raise InvalidInput(f"{name!r} cannot be revised", hint=f"One of: {', '.join(sorted(_READERS))}", field=name)
    return field


_Reader = Callable[[str, Json | datetime, Limits, datetime], object]


def _content(name: str, value: object, limits: Limits, _: datetime) -> str:
    return validate.text(value, field=name, limit=limits.text_bytes)


def _label(name: str, value: object, limits: Limits, _: datetime) -> str:
    return validate.label(value, field=name, limits=limits)


def _name(name: str, value: object, limits: Limits, now: datetime) -> str:
    tidy = _label(name, value, limits, now)
    if not tidy:
        raise InvalidInput("a memory needs a name", field=name)
    return tidy


def _tags(_: str, value: object, limits: Limits, __: datetime) -> tuple[str, ...]:
    return validate.tags(value, limits=limits)


def _metadata(_: str, value: object, limits: Limits, __: datetime) -> Mapping[str, Json]:
    return validate.metadata(value, limits=limits)


def _observations(name: str, value: object, limits: Limits, now: datetime) -> tuple[Observation, ...]:
    texts = validate.texts(value, field=name, limit=limits.observations, limits=limits)
    return tuple(Observation(text=text, recorded_at=now) for text in texts if text.strip())


def _flag(name: str, value: object, _: Limits, __: datetime) -> bool:
    return require_flag(value, field=name)


def _share(name: str, value: object, _: Limits, __: datetime) -> float:
    return require_fraction(value, field=name)


def _moment(name: str, value: object, _: Limits, __: datetime) -> datetime | None:
    if isinstance(value, str):
        return parse_moment(value, field=name) if value else None
    require_moment(value, field=name)
    return cast("datetime | None", value)


def _choice(choices: type[StrEnum]) -> _Reader:
    def choose(name: str, value: object, _: Limits, __: datetime) -> StrEnum:
        try:
            return choices(str(value))
        except ValueError:
            raise InvalidInput(f"{name} must be one of {', '.join(choices)}", field=name) from None

    return choose


_READERS: dict[str, _Reader] = {
    **dict.fromkeys(("title", "kind", "category", "project", "scope", "entity"), _label),
    **dict.fromkeys(("expires_at", "remind_at", "last_reviewed"), _moment),
    "name": _name,
    "content": _content,
    "observations": _observations,
    "tags": _tags,
    "tier": _choice(Tier),
    "pinned": _flag,
    "relevance": _share,
    "metadata": _metadata,
}
