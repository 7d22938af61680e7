"""`revise`: an edit becomes the next version, unless somebody else was faster."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from datetime import datetime
from enum import StrEnum
from typing import cast

from scrubjay import telemetry
from scrubjay.errors import InvalidInput, StaleVersion, WrongState
from scrubjay.model.change import Action, Origin
from scrubjay.model.draft import Edit, Limits
from scrubjay.model.given import (
    require_flag,
    require_moment,
    require_remark,
    require_share,
    require_texts,
    require_whole,
)
from scrubjay.model.memory import Json, Memory, Observation, State, Tier
from scrubjay.model.moment import parse_moment
from scrubjay.model.results import Written
from scrubjay.once import Ask, asking
from scrubjay.ports import Commit, Write
from scrubjay.references import resolve
from scrubjay.writing import validate
from scrubjay.writing.embed import embed_new
from scrubjay.writing.pipeline import Desk
from scrubjay.writing.refuse import require_allowed_edit
from scrubjay.writing.rules import statutes_of
from scrubjay.writing.screen import mark, screen_edit
from scrubjay.writing.slicing import slice_memory

# Without `expected_version` the edit is applied to whatever is newest; under contention that takes a few tries.
_TRIES = 100


async def revise(ref: str, edit: Edit, *, space: str, origin: Origin, desk: Desk) -> Written:
    """Apply an edit to the newest version; a stale `expected_version` is refused."""
    require_remark(edit.message, field="message")
    if edit.expected_version is not None:
        require_whole(edit.expected_version, field="expected_version")
    ask = asking(edit.idempotency_key, {"verb": "revise", "ref": ref, "edit": asdict(edit)})
    if (first := await _first(ask, space=space, desk=desk)) is not None:
        return first
    memory = await resolve(desk.store, ref, space=space)
    if memory.state is State.MERGED:
        raise WrongState(
            f"{memory.name!r} is part of another memory now",
            hint=f"Revise {memory.merged_into}",
            memory_id=memory.id,
            merged_into=memory.merged_into,
        )
    rules = (await statutes_of(space, default=desk.rules, papers=desk.store)).rules
    # What is to be flagged is seen in the memory after the edit.
    clean, screened, _ = screen_edit(edit, rules=rules)
    for _ in range(_TRIES):
        if edit.expected_version not in (None, memory.version):
            # It may be stale because the same request was done a moment ago.
            if (first := await _first(ask, space=space, desk=desk)) is not None:
                return first
            raise _stale(memory, edit.expected_version)
        edited, warnings = apply_edit(memory, clean, now=origin.at, limits=desk.limits)
        require_allowed_edit(memory, edited, rules=rules)
        marked, refused = mark(memory, edited, rules=rules) if edited != memory else (edited, ())
        edited, warnings = marked, (*screened, *warnings, *refused)
        if edited == memory:
            if (first := await _first(ask, space=space, desk=desk)) is not None:
                return first
            telemetry.count("writes", action="unchanged")
            return Written(
                action="unchanged", id=memory.id, name=memory.name, version=memory.version, warnings=warnings
            )
        edited = replace(edited, version=memory.version + 1, updated_at=origin.at, last_confirmed=origin.at)
        try:
            return await commit_version(
                edited,
                action=Action.REVISED,
                message=clean.message,
                warnings=warnings,
                origin=origin,
                desk=desk,
                ask=ask,
            )
        except StaleVersion:
            memory = await resolve(desk.store, memory.id, space=space)
    raise StaleVersion(
        f"memory {memory.name!r} is being changed too fast",
        hint="Try again",
        memory_id=memory.id,
        current=memory.version,
    )


async def _first(ask: Ask, *, space: str, desk: Desk) -> Written | None:
    """What the same request was answered before."""
    known = await ask.answered(desk.store, space=space)
    return None if known is None else Written.from_json(known)


async def commit_version(
    memory: Memory,
    *,
    action: Action,
    message: str,
    origin: Origin,
    desk: Desk,
    warnings: tuple[str, ...],
    ask: Ask,
) -> Written:
    """Store a memory as the version after the one it was made from."""
    passages = await slice_memory(memory)
    embedded, warning = await embed_new(
        [(memory, passages)], space=memory.space, shelf=desk.store, embedder=desk.embedder
    )
    write = Write(memory=memory, base=memory.version - 1, action=action, passages=passages, message=message)
    told = (*warnings, warning) if warning else warnings
    answer = Written(action="updated", id=memory.id, name=memory.name, version=memory.version, warnings=told)
    once = ask.once(answer.as_json)
    commit = Commit(space=memory.space, origin=origin, writes=(write,), embedded=embedded, once=once)
    with telemetry.stage("write.commit"):
        first = ask.first(await desk.store.commit(commit))
    telemetry.count("writes", action="updated" if first is None else "repeated")
    return answer if first is None else Written.from_json(first)


def apply_edit(memory: Memory, edit: Edit, *, now: datetime, limits: Limits) -> tuple[Memory, tuple[str, ...]]:
    """The memory after an edit, and what could not be done as asked."""
    changes = {_field(name): _READ[_field(name)](name, value, limits, now) for name, value in edit.fields.items()}
    edited = cast("Memory", replace(memory, **changes))  # type: ignore[arg-type]
    edited = _keep_recording_times(memory, edited)
    added = validate.texts(edit.add_observations, field="add_observations", limit=limits.observations, limits=limits)
    removed = set(require_texts(edit.remove_observations, field="remove_observations"))
    unknown = removed - {one.text for one in edited.observations}
    kept = [one for one in edited.observations if one.text not in removed]
    present = {one.text for one in kept}
    fresh = [one for one in dict.fromkeys(added) if one.strip() and one not in present]
    kept += [Observation(text=one, recorded_at=now) for one in fresh]
    validate.texts([one.text for one in kept], field="observations", limit=limits.observations, limits=limits)
    edited = _with_what_is_still_said(replace(edited, observations=tuple(kept)))
    if not edited.content.strip() and not edited.observations and not edit.may_empty:
        raise InvalidInput(
            "the edit would leave nothing of the memory", hint="Use `forget` to drop it", field="content"
        )
    return edited, tuple(f"there was no observation {one[:80]!r} to remove" for one in sorted(unknown))


def _with_what_is_still_said(memory: Memory) -> Memory:
    """What was taken out of the text is not kept as what others brought into it either."""
    said = {one.text for one in memory.observations}
    merged = tuple(
        replace(part, statements=tuple(one for one in part.statements if one in said or one in memory.content))
        for part in memory.merged
    )
    return replace(memory, merged=merged) if merged != memory.merged else memory


def _keep_recording_times(before: Memory, after: Memory) -> Memory:
    if after.observations is before.observations:
        return after
    known = {one.text: one for one in before.observations}
    return replace(after, observations=tuple(known.get(one.text, one) for one in after.observations))


def _stale(memory: Memory, expected: int) -> StaleVersion:
    return StaleVersion(
        f"memory {memory.name!r} is at version {memory.version}, not {expected}",
        hint="Read it again and apply your change to what you find",
        memory_id=memory.id,
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
    return tuple(Observation(text=one, recorded_at=now) for one in texts if one.strip())


def _flag(name: str, value: object, _: Limits, __: datetime) -> bool:
    return require_flag(value, field=name)


def _share(name: str, value: object, _: Limits, __: datetime) -> float:
    return require_share(value, field=name)


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
    **dict.fromkeys(("expires_at", "remind_at"), _moment),
    "name": _name,
    "content": _content,
    "observations": _observations,
    "tags": _tags,
    "tier": _choice(Tier),
    "pinned": _flag,
    "relevance": _share,
    "metadata": _metadata,
}
