"""`remember`: a draft goes through the stages and is committed, and the answer says what happened."""

import asyncio
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from scrubjay import telemetry
from scrubjay.errors import NameTaken
from scrubjay.model.change import Action, Origin
from scrubjay.model.draft import Draft, Limits
from scrubjay.model.memory import Memory, State
from scrubjay.model.passage import Passage
from scrubjay.model.results import Decision, Remembered
from scrubjay.model.snapshot import source_to_json
from scrubjay.ports import Commit, Embedder, Once, RecordStore, Write
from scrubjay.text.passages import passages_of
from scrubjay.text.slug import suffixed
from scrubjay.writing.compose import compose
from scrubjay.writing.duplicate import exact_duplicates
from scrubjay.writing.embed import embed_new
from scrubjay.writing.validate import validate

# A text this long takes long enough to slice that the event loop should not do it.
_LONG_TEXT = 20_000
_NAME_TRIES = 3
# What makes a request the same one, besides its source, metadata and times.
_REQUEST = (
    "text", "title", "kind", "name", "entities", "observations", "tags", "category", "project", "scope",
    "session_hint", "intent", "pinned",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """What the write path works with."""

    store: RecordStore
    embedder: Embedder
    limits: Limits


async def remember(draft: Draft, *, space: str, origin: Origin, desk: Desk) -> Remembered:
    """Take a draft through the whole write path."""
    with telemetry.stage("write.validate"):
        draft = validate(draft, limits=desk.limits)
    if (first := await _first(draft, space=space, store=desk.store)) is not None:
        return first
    composed = compose(draft, space=space, now=origin.at)
    with telemetry.stage("write.duplicate"):
        # Both at once: where the store is far away, each is a journey.
        known, memories = await asyncio.gather(
            exact_duplicates(draft, space=space, records=desk.store),
            _free_names(composed, draft, space=space, store=desk.store),
        )
    if known:
        # The duplicate may be what the same request made a moment ago.
        if (first := await _first(draft, space=space, store=desk.store)) is not None:
            return first
        telemetry.count("writes", len(known), action="unchanged")
        return _unchanged(draft, known)
    draft = _decided(draft, "duplicate", "none")
    if draft.dry_run:
        return _created(_decided(draft, "commit", "skipped", "dry run"), memories)
    sliced = [(memory, await slice_memory(memory)) for memory in memories]
    embedded, warning = await embed_new(sliced, space=space, shelf=desk.store, embedder=desk.embedder)
    if warning:
        draft = replace(draft, warnings=(*draft.warnings, warning))
    draft = _decided(draft, "embed", f"{len(embedded.vectors) if embedded else 0} new vectors")
    commit = Commit(space=space, origin=origin, embedded=embedded)
    return await _commit(draft, sliced, commit, store=desk.store)


async def _first(draft: Draft, *, space: str, store: RecordStore) -> Remembered | None:
    """What the same request was answered before."""
    if not draft.idempotency_key:
        return None
    answer = await store.answered(space, draft.idempotency_key, _digest(draft))
    if answer is None:
        return None
    telemetry.count("writes", action="repeated")
    return _from_text(answer)


async def slice_memory(memory: Memory) -> tuple[Passage, ...]:
    """The passages of a memory, made in a thread when that takes a while."""
    with telemetry.stage("write.slice"):
        if len(memory.content) < _LONG_TEXT and len(memory.observations) < _LONG_TEXT // 100:
            return passages_of(memory)
        return await asyncio.to_thread(passages_of, memory)


async def _free_names(
    memories: Sequence[Memory], draft: Draft, *, space: str, store: RecordStore
) -> tuple[Memory, ...]:
    """Derived names that are taken get a suffix; a given name is left to the commit to refuse."""
    if draft.name:
        return tuple(memories)
    found = [await store.find(space, memory.name, state=State.LIVE) for memory in memories]
    return tuple(
        replace(memory, name=suffixed(memory.name, memory.id))
        if any(handle.name == memory.name for handle in handles)
        else memory
        for memory, handles in zip(memories, found, strict=True)
    )


async def _commit(
    draft: Draft, sliced: Sequence[tuple[Memory, tuple[Passage, ...]]], commit: Commit, *, store: RecordStore
) -> Remembered:
    for attempt in range(_NAME_TRIES):
        answer = _created(_decided(draft, "commit", "created"), [memory for memory, _ in sliced])
        writes = tuple(
            Write(memory=memory, base=None, action=Action.CREATED, passages=passages) for memory, passages in sliced
        )
        try:
            with telemetry.stage("write.commit"):
                done = await store.commit(replace(commit, writes=writes, once=_once(draft, answer)))
        except NameTaken as error:
            # Somebody took a derived name between our look and the commit.
            if draft.name or attempt == _NAME_TRIES - 1:
                raise
            name = str(error.fields.get("name"))
            sliced = [_renamed(memory, passages, name) for memory, passages in sliced]
        else:
            telemetry.count("writes", len(writes), action="created" if done.answer is None else "repeated")
            return answer if done.answer is None else _from_text(done.answer)
    raise AssertionError  # pragma: no cover - the last attempt returns or raises


def _renamed(memory: Memory, passages: tuple[Passage, ...], taken: str) -> tuple[Memory, tuple[Passage, ...]]:
    return (replace(memory, name=suffixed(taken, memory.id)), passages) if memory.name == taken else (memory, passages)


def _created(draft: Draft, memories: Sequence[Memory]) -> Remembered:
    first = memories[0]
    return Remembered(
        action="created",
        id="" if draft.dry_run else first.id,
        ids=() if draft.dry_run else tuple(memory.id for memory in memories),
        name=first.name,
        version=first.version,
        tags=first.tags,
        warnings=draft.warnings,
        trace=draft.trace,
    )


def _unchanged(draft: Draft, known: Sequence[Memory]) -> Remembered:
    draft = _decided(draft, "duplicate", "unchanged", f"{known[0].id} already says exactly this")
    return Remembered(
        action="unchanged",
        id=known[0].id,
        ids=tuple(memory.id for memory in known),
        name=known[0].name,
        version=known[0].version,
        similarity=1.0,
        tags=known[0].tags,
        warnings=draft.warnings,
        trace=draft.trace,
    )


def _decided(draft: Draft, stage: str, outcome: str, why: str = "") -> Draft:
    return replace(draft, trace=(*draft.trace, Decision(stage=stage, outcome=outcome, why=why)))


def _once(draft: Draft, answer: Remembered) -> Once | None:
    if not draft.idempotency_key:
        return None
    told = {name: getattr(answer, name) for name in ("action", "id", "ids", "name", "version", "tags", "warnings")}
    return Once(key=draft.idempotency_key, digest=_digest(draft), answer=json.dumps(told))


def _digest(draft: Draft) -> bytes:
    request = {name: getattr(draft, name) for name in _REQUEST}
    request |= {"metadata": dict(draft.metadata), "source": source_to_json(draft.source)}
    request |= {name: str(getattr(draft, name)) for name in ("expires_at", "remind_at")}
    return hashlib.sha256(json.dumps(request, sort_keys=True).encode()).digest()


def _from_text(answer: str) -> Remembered:
    told = json.loads(answer)
    return Remembered(
        action=told["action"],
        id=told["id"],
        ids=tuple(told["ids"]),
        name=told["name"],
        version=told["version"],
        tags=tuple(told["tags"]),
        warnings=tuple(told["warnings"]),
        trace=(Decision(stage="once", outcome="repeated", why="this idempotency key was used before"),),
    )
