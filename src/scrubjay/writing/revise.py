"""`revise`: an edit becomes the next version, unless somebody else was faster."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from datetime import datetime
from enum import StrEnum
from typing import cast

from scrubjay import telemetry
from scrubjay.detection.report import ConflictReport, look_for
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
from scrubjay.model.draft import Edit, Limits
from scrubjay.model.memory import Json, Memory, Method, Observation, Source, State, Tier
from scrubjay.model.passage import Passage
from scrubjay.model.results import Written
from scrubjay.model.rules import Rules
from scrubjay.model.timestamps import parse_moment
from scrubjay.ports import Commit, Embedded, Write
from scrubjay.writing import validate
from scrubjay.writing.deny import require_allowed_edit
from scrubjay.writing.embed import embed_first, left_to_embed, vectors_of
from scrubjay.writing.passages import slice_memory
from scrubjay.writing.pipeline import WriteContext
from scrubjay.writing.rules import effective_rules_of
from scrubjay.writing.screen import mark, screen_edit
from scrubjay.writing.trust import rewritten

# Without `expected_version` the edit is applied to whatever is newest; under contention that takes a few tries.
_TRIES = 100


async def revise(ref: str, edit: Edit, *, space: str, origin: Origin, context: WriteContext) -> Written:
    """Apply an edit to the newest version; a stale `expected_version` is refused."""
    require_remark(edit.message, field="message")
    require_moment(edit.at, field="at")
    if edit.expected_version is not None:
        require_integer(edit.expected_version, field="expected_version")
    ask = idempotent_request(edit.idempotency_key, {"verb": "revise", "ref": ref, "edit": _asked(edit)})
    if (first := await _first(ask, space=space, context=context)) is not None:
        return first
    memory = await standing(ref, branch=edit.branch, space=space, context=context)
    rules = (await effective_rules_of(space, default=context.rules, documents=context.store)).rules
    # What is to be flagged is seen in the memory after the edit.
    clean, screened, _ = screen_edit(edit, rules=rules)
    for _ in range(_TRIES):
        if edit.expected_version not in (None, memory.version):
            # It may be stale because the same request was done a moment ago.
            if (first := await _first(ask, space=space, context=context)) is not None:
                return first
            raise _stale(memory, edit.expected_version)
        edited, warnings = apply_edit(memory, clean, now=origin.at, limits=context.limits)
        require_allowed_edit(memory, edited, rules=rules)
        marked, refused = mark(memory, edited, rules=rules) if edited != memory else (edited, ())
        edited, warnings = marked, (*screened, *warnings, *refused)
        if edited == memory:
            if (first := await _first(ask, space=space, context=context)) is not None:
                return first
            telemetry.count("writes", action="unchanged")
            return _told(memory, "unchanged", warnings)
        at = _made_at(memory, edit, now=origin.at)
        edited = replace(edited, version=memory.version + 1, updated_at=at, last_confirmed=origin.at)
        try:
            return await commit_version(
                edited,
                action=Action.REVISED,
                message=clean.message,
                warnings=warnings,
                origin=origin,
                context=context,
                ask=ask,
                looks=(memory, rules),
            )
        except StaleVersion:
            memory = await standing(memory.trunk or memory.id, branch=branch_of(memory), space=space, context=context)
    raise StaleVersion(
        f"memory {memory.name!r} is being changed too fast",
        hint="Try again",
        memory_id=memory.trunk or memory.id,
        current=memory.version,
    )


async def standing(ref: str, *, branch: str, space: str, context: WriteContext) -> Memory:
    """The record of a branch that is to have a further version: the memory itself on main."""
    memory = await resolve(context.store, ref, space=space)
    if memory.state is State.MERGED:
        raise WrongState(
            f"{memory.name!r} is part of another memory now",
            hint=f"Revise {memory.merged_into}",
            memory_id=memory.id,
            merged_into=memory.merged_into,
        )
    return await require_open(context.store, await on_branch(context.store, memory, branch))


async def _first(ask: IdempotentRequest, *, space: str, context: WriteContext) -> Written | None:
    """What the same request was answered before."""
    known = await ask.find_answer(context.store, space=space)
    return None if known is None else Written.from_json(known)


async def commit_version(
    memory: Memory,
    *,
    action: Action,
    message: str,
    origin: Origin,
    context: WriteContext,
    warnings: tuple[str, ...] = (),
    ask: IdempotentRequest,
    told: str = "updated",
    looks: tuple[Memory, Rules] | None = None,
) -> Written:
    """Store a memory as the version after the one it was made from.

    `looks`: what is new in it against how it was before may not go with what is stored, and is then told and filed.
    """
    passages = await slice_memory(memory)
    begun = await embed_first(
        [(memory, passages)],
        space=memory.space,
        vector_store=context.store,
        embedder=context.embedder,
        defers=context.defers,
    )
    write = Write(memory=memory, base=memory.version - 1, action=action, passages=passages, message=message)
    conflict_report = await _conflict_report(
        memory, passages, begun.embedded, looks=looks, origin=origin, context=context
    )
    answer = _told(memory, told, (*warnings, begun.warning) if begun.warning else warnings)
    later = left_to_embed(begun.lacking, space=memory.space, origin=origin)
    documents = (*(job.document(at=origin.at) for job in later), *conflict_report.documents(at=origin.at))
    commit = Commit(
        space=memory.space, origin=origin, writes=(write,), embedded=begun.embedded, documents=documents,
        once=ask.once(answer.as_json),
    )  # fmt: skip
    with telemetry.stage("write.commit"):
        first = ask.first(await context.store.commit(commit))
    telemetry.count("writes", action=told if first is None else "repeated")
    return replace(answer, conflicts=conflict_report.told) if first is None else Written.from_json(first)


async def _conflict_report(
    memory: Memory,
    passages: tuple[Passage, ...],
    embedded: Embedded | None,
    *,
    looks: tuple[Memory, Rules] | None,
    origin: Origin,
    context: WriteContext,
) -> ConflictReport:
    if looks is None:
        return ConflictReport()
    before, rules = looks
    profile, vectors = await vectors_of(
        passages, embedded, space=memory.space, vector_store=context.store, embedder=context.embedder
    )  # fmt: skip
    return await look_for(
        memory, passages, vectors, before=before, rules=rules, origin=origin, profile=profile, store=context.store,
        index=context.index,
    )  # fmt: skip


def apply_edit(memory: Memory, edit: Edit, *, now: datetime, limits: Limits) -> tuple[Memory, tuple[str, ...]]:
    """The memory after an edit, and what could not be done as asked."""
    changes = {_field(name): _READ[_field(name)](name, value, limits, now) for name, value in edit.fields.items()}
    edited = cast("Memory", replace(memory, **changes))  # type: ignore[arg-type]
    # Whose word it is stands beside what is new, unless that is whoever told the memory.
    source = None if edit.source == memory.source else edit.source
    edited = _with_what_was_known(memory, edited, source=source, now=now)
    added = validate.texts(edit.add_observations, field="add_observations", limit=limits.observations, limits=limits)
    removed = set(require_texts(edit.remove_observations, field="remove_observations"))
    unknown = removed - {observation.text for observation in edited.observations}
    # What no longer holds is the past, unless that is all there is of it.
    holding = {observation.text for observation in edited.observations if observation.holds(now)}
    kept = [
        observation
        for observation in edited.observations
        if observation.text not in removed or (observation.text in holding and not observation.holds(now))
    ]  # fmt: skip
    # What no longer holds can be said again.
    present = {one.text for one in kept if one.holds(now)}
    fresh = [fromkey for fromkey in dict.fromkeys(added) if fromkey.strip() and fromkey not in present]
    # What was said already is from now on the word of who says it again, if that one is trusted more.
    again = set(added)
    kept = [_theirs(one, memory, edit.source, at=now) if one.text in again and one.holds(now) else one for one in kept]
    kept += [Observation(text=one, recorded_at=now, source=source) for one in fresh]
    validate.texts([one.text for one in kept], field="observations", limit=limits.observations, limits=limits)
    edited = rewritten(memory, _with_what_is_still_said(replace(edited, observations=tuple(kept))), edit.source)
    if edited != memory and edit.source is not None and edit.source.method is Method.FILE:
        # What somebody edits in a file comes from there, whoever said it first.
        edited = replace(edited, source=replace(edited.source, method=Method.FILE))
    if not edited.content.strip() and not edited.observations and not edit.may_empty:
        raise InvalidInput(
            "the edit would leave nothing of the memory", hint="Use `forget` to drop it", field="content"
        )
    return edited, tuple(f"there was no observation {one[:80]!r} to remove" for one in sorted(unknown))


def _theirs(observation: Observation, memory: Memory, source: Source | None, *, at: datetime) -> Observation:
    if source is None or not source.trust.outranks((observation.source or memory.source).trust):
        return observation
    return replace(observation, source=replace(source, at=source.at or at))


def _with_what_is_still_said(memory: Memory) -> Memory:
    """What was taken out of the text is not kept as what others brought into it either."""
    said = {observation.text for observation in memory.observations}
    merged = tuple(
        replace(
            part,
            statements=tuple(
                statement for statement in part.statements if statement in said or statement in memory.content
            ),
        )
        for part in memory.merged
    )
    return replace(memory, merged=merged) if merged != memory.merged else memory


def _with_what_was_known(before: Memory, after: Memory, *, source: Source | None, now: datetime) -> Memory:
    """Observations in place of others: those that stay are what they were, and what once held is kept."""
    if after.observations is before.observations:
        return after
    known = {one.text: one for one in sorted(before.observations, key=lambda one: one.holds(now))}
    given = [known.get(observation.text, replace(observation, source=source)) for observation in after.observations]
    stated = set(given)
    past = [
        observation for observation in before.observations if not observation.holds(now) and observation not in stated
    ]
    return replace(after, observations=(*past, *given))


def _made_at(memory: Memory, edit: Edit, *, now: datetime) -> datetime:
    """When an edit counts as made. A clock may have been set back; what is newer is never older.

    A branch is begun when a file is read, which may be long after it was saved: there the save counts.
    """
    if edit.at is not None and memory.trunk:
        return max(min(edit.at, now), memory.created_at)
    return max(now, memory.updated_at)


def _asked(edit: Edit) -> dict[str, Json]:
    """All that an edit asks for. What nobody gave is left out, so that earlier requests are still known."""
    asked: dict[str, Json] = {**asdict(edit), "at": str(edit.at or "")}
    return {name: value for name, value in asked.items() if value or name not in ("branch", "source", "at")}


def _told(memory: Memory, action: str, warnings: tuple[str, ...]) -> Written:
    return Written(
        action=action, id=memory.trunk or memory.id, name=memory.name, version=memory.version, warnings=warnings,
        branch=branch_of(memory),
    )  # fmt: skip


def _stale(memory: Memory, expected: int) -> StaleVersion:
    return StaleVersion(
        f"memory {memory.name!r} is at version {memory.version}, not {expected}",
        hint="Read it again and apply your change to what you find",
        memory_id=memory.trunk or memory.id,
        expected=expected,
        current=memory.version,
    )


def _field(name: str) -> str:
    field = "content" if name == "text" else name
    if field not in _READ:
        raise InvalidInput(f"{name!r} cannot be revised", hint=f"One of: {', '.join(sorted(_READ))}", field=name)
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


_READ: dict[str, _Reader] = {
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
