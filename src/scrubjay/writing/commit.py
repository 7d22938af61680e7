"""The end of the write path: a draft is stored as records of its own, or as part of a memory that is there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from scrubjay import telemetry
from scrubjay.detection.report import ConflictReport
from scrubjay.errors import NameTaken
from scrubjay.model.change import Action, Origin
from scrubjay.model.draft import Draft, Limits
from scrubjay.model.job import Job
from scrubjay.model.memory import Flag, Memory, State
from scrubjay.model.passage import Passage, Vector
from scrubjay.model.results import Remembered
from scrubjay.model.rules import Rules
from scrubjay.ports import Commit, Embedded, Embedder, Profile, RecordStore, Write
from scrubjay.text.slug import add_suffix
from scrubjay.writing import results
from scrubjay.writing.embed import embed_first, left_to_embed
from scrubjay.writing.merge import kept_apart, merge
from scrubjay.writing.passages import slice_memory
from scrubjay.writing.results import RememberRequest
from scrubjay.writing.similarity import GateDecision

_NAME_TRIES = 3
_DIGITS = 4
_NOBODY = Origin(at=datetime.min.replace(tzinfo=UTC), run="")

Sliced = tuple[Memory, tuple[Passage, ...]]
Stored = tuple[Remembered, tuple[Job, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedWrite:
    """A draft that is ready to be stored: its records with their passages, and the vectors of the first."""

    draft: Draft
    space: str
    rules: Rules
    sliced: tuple[Sliced, ...]
    embedded: Embedded | None
    profile: Profile | None
    vectors: Mapping[bytes, Vector]
    has_llm: bool
    limits: Limits
    # Whether the end of a long text may be embedded later, and which of the records lack some of their vectors.
    defers: bool = False
    lacking: tuple[str, ...] = ()
    origin: Origin = _NOBODY
    conflict_report: ConflictReport = field(default_factory=ConflictReport)
    once: RememberRequest = field(default_factory=lambda: RememberRequest(key="", digest=b""))

    @property
    def vector(self) -> Vector | None:
        """What the text as a whole is near to: the vector of its first passage."""
        _, passages = self.sliced[0]
        return self.vectors.get(passages[0].hash) if passages else None

    @property
    def leaves_work(self) -> bool:
        """Whether a language model is to improve what is stored."""
        return self.has_llm and self.rules.llm != "off"


async def free_names(memories: Sequence[Memory], draft: Draft, *, space: str, store: RecordStore) -> tuple[Memory, ...]:
    """Derived names that are taken get a suffix; a given name is left to the commit to refuse."""
    if draft.name:
        return tuple(memories)
    found = [await store.find(space, memory.name, state=State.LIVE) for memory in memories]
    return tuple(
        replace(memory, name=add_suffix(memory.name, memory.id))
        if any(handle.name == memory.name for handle in handles)
        else memory
        for memory, handles in zip(memories, found, strict=True)
    )


async def create(prepared: PreparedWrite, decision: GateDecision, *, store: RecordStore) -> Stored:
    """Store the draft as new records."""
    draft, sliced = prepared.draft, prepared.sliced
    if draft.dry_run:
        return _created(draft.with_decision("commit", "skipped", "dry run"), prepared, sliced, decision), ()
    later = left_to_embed(prepared.lacking, space=prepared.space, origin=prepared.origin)
    jobs = (*later, *_jobs_after_creation(prepared))
    for attempt in range(_NAME_TRIES):
        answer = _created(draft.with_decision("commit", "created"), prepared, sliced, decision)
        writes = tuple(
            Write(memory=memory, base=None, action=Action.CREATED, passages=passages) for memory, passages in sliced
        )
        try:
            return await _commit(prepared, writes, answer, jobs=jobs, embedded=prepared.embedded, store=store)
        except NameTaken as error:
            # Somebody took a derived name between our look and the commit.
            if draft.name or attempt == _NAME_TRIES - 1:
                raise
            name = str(error.fields.get("name"))
            sliced = tuple(_renamed(memory, passages, name) for memory, passages in sliced)
    raise AssertionError  # pragma: no cover - the last attempt returns or raises


async def merge_into(
    target: Memory, prepared: PreparedWrite, decision: GateDecision, *, store: RecordStore, embedder: Embedder
) -> Stored:
    """Store what the draft adds to a memory as its next version, and the draft itself as merged into it."""
    draft, at = prepared.draft, prepared.origin.at
    incoming, passages = prepared.sliced[0]
    merged = merge(target, incoming, at=at, most_tags=prepared.rules.most_tags)
    if merged is target:
        answer = results.unchanged(draft, [target], similarity=_rounded(decision.similarity, default=1.0))
        if (first := await prepared.once.first(store, space=prepared.space)) is not None:
            return first, ()
        telemetry.count("writes", action="unchanged")
        return answer, ()
    if not _fits(merged, limits=prepared.limits):
        # What nobody could revise any more is no help.
        told = draft.with_warning(f"it would be merged into {target.name}, which would be too large then")
        return await create(replace(prepared, draft=told), replace(decision, into=None), store=store)
    prepared = replace(prepared, conflict_report=prepared.conflict_report.within(target))
    if apart := kept_apart(target, incoming, most_tags=prepared.rules.most_tags):
        draft = draft.with_warning(
            f"kept with its own record only, {target.name} having no place for it: {', '.join(apart)}"
        )
    if draft.dry_run:
        return _merged(draft.with_decision("commit", "skipped", "dry run"), prepared, target, merged, decision), ()
    part = replace(incoming, state=State.MERGED, merged_into=target.id)
    slices = await slice_memory(merged)
    begun = await embed_first(
        [(merged, slices), (part, passages)], space=prepared.space, vector_store=store, embedder=embedder,
        defers=prepared.defers,
        made=prepared.embedded,
    )  # fmt: skip
    draft = draft.with_warning(begun.warning) if begun.warning and begun.warning not in draft.warnings else draft
    answer = _merged(draft.with_decision("commit", "merged"), prepared, target, merged, decision)
    writes = (
        Write(memory=part, base=None, action=Action.CREATED, passages=passages, message=f"merged into {target.name}"),
        Write(
            memory=merged, base=target.version, action=Action.MERGED, passages=slices,
            message=f"merged with what {incoming.source.agent or 'somebody'} wrote",
        ),
    )  # fmt: skip
    later = left_to_embed(begun.lacking, space=prepared.space, origin=prepared.origin)
    jobs = (*later, _job("polish", target.id, prepared)) if prepared.leaves_work else later
    return await _commit(prepared, writes, answer, jobs=jobs, embedded=begun.embedded, store=store)


async def _commit(
    prepared: PreparedWrite,
    writes: tuple[Write, ...],
    answer: Remembered,
    *,
    jobs: tuple[Job, ...],
    embedded: Embedded | None,
    store: RecordStore,
) -> Stored:
    commit = Commit(
        space=prepared.space, origin=prepared.origin, writes=writes, embedded=embedded,
        once=prepared.once.once(answer),
        documents=(
            *(job.document(at=prepared.origin.at) for job in jobs),
            *prepared.conflict_report.documents(at=prepared.origin.at),
        ),
    )  # fmt: skip
    with telemetry.stage("write.commit"):
        done = await store.commit(commit)
    if done.answer is not None:
        telemetry.count("writes", len(writes), action="repeated")
        return results.repeated(done.answer), ()
    telemetry.count("writes", 1 if answer.action == "merged" else len(writes), action=answer.action)
    return answer, (*jobs, *prepared.conflict_report.jobs)


def _jobs_after_creation(prepared: PreparedWrite) -> tuple[Job, ...]:
    if not prepared.leaves_work:
        return ()
    is_thin = prepared.rules.density == "reconstruct" and Flag.THIN in prepared.draft.flags
    lacks_tags = len(prepared.sliced[0][0].tags) < prepared.rules.least_tags and prepared.rules.tags != "off"
    kinds = [*(["reconstruct"] if is_thin else []), *(["tags"] if lacks_tags else [])]
    return tuple(_job(kind, memory.id, prepared) for kind in kinds for memory, _ in prepared.sliced)


def _job(kind: str, memory_id: str, prepared: PreparedWrite) -> Job:
    at = prepared.origin.at
    return Job(space=prepared.space, kind=kind, about={"memory_id": memory_id}, created_at=at, due=at)


def _created(draft: Draft, prepared: PreparedWrite, sliced: Sequence[Sliced], decision: GateDecision) -> Remembered:
    first = sliced[0][0]
    return Remembered(
        action="created",
        id="" if draft.dry_run else first.id,
        ids=() if draft.dry_run else tuple(memory.id for memory, _ in sliced),
        name=first.name,
        version=first.version,
        tags=first.tags,
        similar=decision.similar,
        conflicts=prepared.conflict_report.told,
        suggested_entities=draft.suggested_entities,
        flags=draft.flags,
        warnings=draft.warnings,
        trace=draft.trace,
    )


def _merged(
    draft: Draft, prepared: PreparedWrite, target: Memory, merged: Memory, decision: GateDecision
) -> Remembered:
    return Remembered(
        action="merged",
        id=target.id,
        ids=(target.id,),
        name=merged.name,
        version=target.version if draft.dry_run else merged.version,
        tags=merged.tags,
        merged_into=target.id,
        similarity=_rounded(decision.similarity),
        similar=decision.similar,
        conflicts=prepared.conflict_report.told,
        suggested_entities=draft.suggested_entities,
        flags=merged.flags,
        warnings=draft.warnings,
        trace=draft.trace,
    )


def _fits(memory: Memory, *, limits: Limits) -> bool:
    sizes = [len(observation.text.encode()) for observation in memory.observations]
    return (
        len(memory.content.encode()) <= limits.text_bytes
        and len(sizes) <= limits.observations
        and sum(sizes) <= limits.list_bytes
    )


def _rounded(similarity: float | None, *, default: float | None = None) -> float | None:
    return default if similarity is None else round(similarity, _DIGITS)


def _renamed(memory: Memory, passages: tuple[Passage, ...], taken: str) -> Sliced:
    return (
        (replace(memory, name=add_suffix(taken, memory.id)), passages) if memory.name == taken else (memory, passages)
    )
