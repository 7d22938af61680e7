"""The last stage of a write: store the draft as new records, or merge it into a memory."""

from collections.abc import Sequence
from dataclasses import replace

from scrubjay import telemetry
from scrubjay.errors import NameTaken
from scrubjay.model.change import Action
from scrubjay.model.draft import Draft, Limits
from scrubjay.model.job import Job
from scrubjay.model.memory import Flag, Memory, State
from scrubjay.model.results import Remembered
from scrubjay.ports import Commit, Embedded, RecordStore, Write
from scrubjay.text.slug import add_suffix
from scrubjay.workers import offload
from scrubjay.writing import results
from scrubjay.writing.context import PreparedWrite, Sliced, WriteContext, WriteOutcome
from scrubjay.writing.density import without_thin
from scrubjay.writing.embed import BegunEmbedding, begin_embedding, embedding_jobs, slice_memory
from scrubjay.writing.merge import as_one_statement, merge, not_merged
from scrubjay.writing.similarity import GateDecision

_NAME_ATTEMPTS = 3
_DIGITS = 4


async def free_names(memories: Sequence[Memory], draft: Draft, *, space: str, store: RecordStore) -> tuple[Memory, ...]:
    """Add a suffix to derived names that are taken; the commit refuses a name that the caller gave."""
    if draft.name:
        return tuple(memories)
    # Of the names that begin with one, the name itself comes first.
    names = [await store.labels(space, "name", prefix=memory.name, limit=1) for memory in memories]
    return tuple(
        replace(memory, name=add_suffix(memory.name, memory.id)) if memory.name in taken else memory
        for memory, taken in zip(memories, names, strict=True)
    )


async def create(write: PreparedWrite, decision: GateDecision, *, context: WriteContext) -> WriteOutcome:
    """Store the draft as new records."""
    draft, sliced = write.draft, write.sliced
    if draft.dry_run:
        answer = _created_answer(draft.with_decision("commit", "skipped", "dry run"), write, sliced, decision)
        return WriteOutcome(answer=answer, waits=write.waits_for_llm)
    draft = draft.with_decision("commit", "created")
    jobs = (
        *embedding_jobs(write.unfinished, space=write.space, origin=write.origin),
        *(_llm_jobs(write) if _leaves_work(write, context) else ()),
    )
    others, begun = await _change_others(write, context=context)
    jobs = (*jobs, *embedding_jobs(begun.unfinished, space=write.space, origin=write.origin))
    for attempt in range(_NAME_ATTEMPTS):
        answer = _created_answer(draft, write, sliced, decision)
        writes = tuple(
            Write(memory=memory, base=None, action=Action.CREATED, passages=passages) for memory, passages in sliced
        )
        try:
            return await _commit(
                write, (*writes, *others), answer, jobs=jobs, embedded=begun.embedded, store=context.store
            )
        except NameTaken as error:
            # Another write took a derived name after it was found to be free.
            if draft.name or attempt == _NAME_ATTEMPTS - 1:
                raise
            taken = str(error.fields.get("name"))
            sliced = tuple(
                (replace(memory, name=add_suffix(taken, memory.id)) if memory.name == taken else memory, passages)
                for memory, passages in sliced
            )
    raise AssertionError  # pragma: no cover - the last attempt returns or raises


async def merge_into(
    target: Memory, write: PreparedWrite, decision: GateDecision, *, context: WriteContext
) -> WriteOutcome:
    """Store the additions of the draft as the target's next version, and the draft itself as merged into it."""
    draft, (incoming, passages) = write.draft, write.sliced[0]
    max_tags = write.rules.most_tags
    size = target.characters + incoming.characters
    merged = await offload(size, merge, target, incoming, at=write.origin.at, max_tags=max_tags)
    if draft.intent == "auto" and not draft.session_hint:
        # The gate has found that both say the same; a caller who continues a session wants to add something.
        merged = await offload(size, as_one_statement, merged, target, incoming)
    if merged is target:
        earlier = await write.request.earlier_answer(context.store, space=write.space)
        if earlier is None:
            telemetry.count("writes", action="unchanged")
        similarity = _round(decision.similarity)
        answer = earlier or results.unchanged(draft, [target], similarity=1.0 if similarity is None else similarity)
        return WriteOutcome(answer=answer, waits=write.waits_for_llm)
    if not _fits(merged, limits=context.limits):
        # A memory over the limit could not be revised any more.
        draft = draft.with_warning(f"it was not merged into {target.name}, which would become too large")
        return await create(replace(write, draft=draft), replace(decision, target=None), context=context)
    write = replace(write, conflicts=write.conflicts.moved_to(target))
    if fields := await offload(size, not_merged, target, incoming, max_tags=max_tags):
        draft = draft.with_warning(
            f"{target.name} has no place for these, kept with the merged record: {', '.join(fields)}"
        )
    if draft.dry_run:
        answer = _merged_answer(
            draft.with_decision("commit", "skipped", "dry run"), write, merged, decision, target=target
        )
        return WriteOutcome(answer=answer, waits=write.waits_for_llm)
    part = replace(incoming, state=State.MERGED, merged_into=target.id)
    slices = await slice_memory(merged)
    begun = await begin_embedding(
        [(merged, slices), (part, passages)], space=write.space, context=context, made=write.embedded
    )
    if begun.warning and begun.warning not in draft.warnings:
        draft = draft.with_warning(begun.warning)
    answer = _merged_answer(draft.with_decision("commit", "merged"), write, merged, decision, target=target)
    writes = (
        Write(memory=part, base=None, action=Action.CREATED, passages=passages, message=f"merged into {target.name}"),
        Write(
            memory=merged, base=target.version, action=Action.MERGED, passages=slices,
            message=f"merged with a memory by {incoming.source.agent or 'an unknown agent'}",
        ),
    )  # fmt: skip
    jobs = (
        *embedding_jobs(begun.unfinished, space=write.space, origin=write.origin),
        *((_llm_job("polish", target.id, write),) if _leaves_work(write, context) else ()),
    )
    return await _commit(write, writes, answer, jobs=jobs, embedded=begun.embedded, store=context.store)


async def _commit(
    write: PreparedWrite,
    writes: tuple[Write, ...],
    answer: Remembered,
    *,
    jobs: tuple[Job, ...],
    embedded: Embedded | None,
    store: RecordStore,
) -> WriteOutcome:
    at = write.origin.at
    commit = Commit(
        space=write.space, origin=write.origin, writes=writes, embedded=embedded, once=write.request.record(answer),
        documents=(*(job.document(at=at) for job in jobs), *write.conflicts.documents(at=at)),
    )  # fmt: skip
    with telemetry.stage("write.commit"):
        done = await store.commit(commit)
    if done.answer is not None:
        telemetry.count("writes", len(writes), action="repeated")
        return WriteOutcome(answer=results.repeated(done.answer), waits=write.waits_for_llm)
    telemetry.count("writes", 1 if answer.action == "merged" else len(write.sliced), action=answer.action)
    return WriteOutcome(answer=answer, jobs=(*jobs, *write.conflicts.jobs), waits=write.waits_for_llm)


async def _change_others(write: PreparedWrite, *, context: WriteContext) -> tuple[tuple[Write, ...], BegunEmbedding]:
    """Return the next versions of the memories that the write supersedes or joins, with the vectors of all."""
    first = write.first.memory
    changed = [(memory, Action.RESOLVED, f"superseded by {first.name}") for memory in write.conflicts.superseded]
    for memory in (await context.store.get(write.space, write.joined)).values() if write.joined else ():
        if not memory.group:
            at = max(write.origin.at, memory.updated_at)
            after = replace(memory, group=first.group, version=memory.version + 1, updated_at=at)
            changed.append((after, Action.REVISED, f"in one group with {first.name}"))
    if not changed:
        return (), BegunEmbedding(embedded=write.embedded)
    writes = tuple(
        [
            Write(
                memory=memory, base=memory.version - 1, action=action, passages=await slice_memory(memory), message=why
            )
            for memory, action, why in changed
        ]
    )
    sliced = [(each.memory, each.passages) for each in writes]
    return writes, await begin_embedding(sliced, space=write.space, context=context, made=write.embedded)


def _leaves_work(write: PreparedWrite, context: WriteContext) -> bool:
    """Check whether a language model improves the memory later."""
    return context.has_llm and write.rules.llm != "off"


def _llm_jobs(write: PreparedWrite) -> tuple[Job, ...]:
    rules = write.rules
    is_thin = rules.density == "reconstruct" and Flag.THIN in write.draft.flags
    lacks_tags = len(write.first.memory.tags) < rules.least_tags and rules.tags != "off"
    kinds = [*(["reconstruct"] if is_thin else []), *(["tags"] if lacks_tags else [])]
    return tuple(_llm_job(kind, memory.id, write) for kind in kinds for memory, _ in write.sliced)


def _llm_job(kind: str, memory_id: str, write: PreparedWrite) -> Job:
    at = write.origin.at
    return Job(space=write.space, kind=kind, about={"memory_id": memory_id}, created_at=at, due=at)


def _created_answer(draft: Draft, write: PreparedWrite, sliced: Sequence[Sliced], decision: GateDecision) -> Remembered:
    first = sliced[0][0]
    return Remembered(
        action="created",
        id="" if draft.dry_run else first.id,
        ids=() if draft.dry_run else (*write.joined, *(memory.id for memory, _ in sliced)),
        name=first.name,
        version=first.version,
        tags=first.tags,
        # What it joins is the same text, and in `ids`.
        similar=tuple(similar for similar in decision.similar if similar.id not in write.joined),
        conflicts=write.conflicts.details,
        suggested_entities=draft.suggested_entities,
        flags=draft.flags,
        warnings=draft.warnings,
        trace=draft.trace,
    )


def _merged_answer(
    draft: Draft, write: PreparedWrite, merged: Memory, decision: GateDecision, *, target: Memory
) -> Remembered:
    return Remembered(
        action="merged",
        id=target.id,
        ids=(target.id,),
        name=merged.name,
        version=target.version if draft.dry_run else merged.version,
        tags=merged.tags,
        merged_into=target.id,
        similarity=_round(decision.similarity),
        similar=decision.similar,
        conflicts=write.conflicts.details,
        suggested_entities=draft.suggested_entities,
        flags=merged.flags,
        warnings=without_thin(draft.warnings),
        trace=draft.trace,
    )


def _fits(memory: Memory, *, limits: Limits) -> bool:
    sizes = [len(observation.text.encode()) for observation in memory.observations]
    return (
        len(memory.content.encode()) <= limits.text_bytes
        and len(sizes) <= limits.observations
        and sum(sizes) <= limits.list_bytes
    )


def _round(similarity: float | None) -> float | None:
    return None if similarity is None else round(similarity, _DIGITS)
