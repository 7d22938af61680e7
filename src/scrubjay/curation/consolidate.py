"""The job `consolidate`: what three or more similar episodes share becomes one semantic or procedural memory.

It is made of their own statements, each traced to the episodes that make it, and linked to them by the relation
`source`. An episode that says nothing else leaves recall for the archive; one that says more stays, because what only
it says would be found no longer.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from scrubjay.conflicts.clusters import group_pairs, load_vectors, near_memories
from scrubjay.curation.plan import DAILY, CurationContext, PlannedChange, Turns
from scrubjay.curation.shared_statements import ENOUGH, Shared, find_shared, is_covered
from scrubjay.errors import EmbeddingUnavailable
from scrubjay.model.change import Action
from scrubjay.model.conflict import statement_key
from scrubjay.model.decay import LASTING, rate_of_kind
from scrubjay.model.identity import new_id
from scrubjay.model.job import Job
from scrubjay.model.memory import Flag, Json, Memory, Method, Source, State, Tier
from scrubjay.model.passage import PASSAGES_PER_MEMORY
from scrubjay.model.query import Filter
from scrubjay.model.relation import SOURCE, Relation
from scrubjay.ports import Commit, Edge, Profile, Write
from scrubjay.text.passages import passages_of
from scrubjay.text.slug import add_suffix, slug_of_subject
from scrubjay.workers import offload
from scrubjay.writing.embed import embed_new

__all__ = ["ConsolidateJob"]

_POLISH = "polish"
# Each episode is grouped with its nearest few; a longer text is a document, which is no episode.
_NEAREST = 8
_MAX_GROUP = 24
_MAX_LENGTH = 8_000
# Episodes are similar from halfway between related and the same.
_BETWEEN = 0.5
_SHARED_FIELDS = ("project", "scope", "entity", "kind", "category")


class ConsolidateJob:
    """Makes a semantic memory of what similar episodes share, or a procedural one of the steps that they repeat."""

    name = "consolidate"
    summary = "make one semantic or procedural memory of what three or more similar episodes share"
    every = DAILY

    async def plan(self, context: CurationContext) -> AsyncIterator[PlannedChange]:
        """Yield a new memory for each group of episodes that share something."""
        profile: Profile | None = None
        with suppress(EmbeddingUnavailable):
            profile = await context.engine.embedder.profile()
        if profile is None:
            return
        turns = Turns(context.pause)
        for group in await _groups(context, profile):
            await turns.end_step()
            memories = await _episodes(group, context)
            if len(memories) < ENOUGH:
                continue
            shared = await offload(sum([memory.characters for memory in memories]), find_shared, memories)
            used = [memory for memory in memories if memory.id in shared.ids]
            if len(used) < ENOUGH:
                continue
            tier = Tier.PROCEDURAL if shared.steps else Tier.SEMANTIC
            what = f"{len(shared.steps)} steps" if shared.steps else f"{len(shared.statements)} statements"
            covered = sum(is_covered(memory, shared.sources) for memory in used)
            yield PlannedChange(
                job=self.name, action="create", ids=tuple(memory.id for memory in used),
                versions=tuple(memory.version for memory in used), why=f"{len(used)} episodes share {what}",
                before=f"{len(used)} episodes", after=f"1 {tier.value} memory, {covered} archived",
            )  # fmt: skip

    async def apply(self, change: PlannedChange, context: CurationContext) -> Commit | str:
        """Store what the episodes share, link it to them, and archive those that say nothing else."""
        memories = await context.read(change)
        if any(not _is_episode(memory, context.now) for memory in memories):
            return "one of them is no episode any more"
        shared = find_shared(memories)
        if len(shared.ids) < ENOUGH:
            return "they share nothing by now"
        made, now = _compose(memories, shared, context), context.now
        passages = passages_of(made)
        writes = (
            Write(memory=made, base=None, action=Action.CREATED, passages=passages, message=change.why),
            # Each gets a version, so that a person who takes it back need not do so every day.
            *(
                context.revise(memory, message=f"consolidated into {made.name}", state=_state_after(memory, shared))
                for memory in memories
            ),
        )
        embedded, _ = await embed_new(
            [(made, passages)], space=context.space, vector_store=context.store, embedder=context.engine.model.embedder
        )
        edges = [
            Edge(relation=Relation(source=made.id, target=memory_id, type=SOURCE, created_at=now), present=True)
            for memory_id in shared.ids
        ]
        jobs = [Job(space=context.space, kind=_POLISH, about={"memory_id": made.id}, created_at=now, due=now)]
        # One statement needs no polish, and the steps of a procedure keep their order.
        has_llm = context.engine.llm is not None and context.rules.llm != "off"
        needs_polish = has_llm and made.tier is Tier.SEMANTIC and len(shared.statements) > 1
        return replace(
            context.commit(*writes), edges=tuple(edges), embedded=embedded,
            expected=tuple(zip(change.ids, change.versions, strict=True)),
            documents=tuple(job.document(at=now) for job in jobs) if needs_polish else (),
        )  # fmt: skip


def _state_after(memory: Memory, shared: Shared) -> State:
    return State.ARCHIVED if is_covered(memory, shared.sources) else memory.state


async def _groups(context: CurationContext, profile: Profile) -> list[tuple[int, ...]]:
    """Return groups of similar episodes, by their numbers in the store."""
    vectors = await load_vectors(
        context.space, Filter(tier="episodic"), profile=profile, store=context.store, pause=context.pause
    )
    least = profile.related + _BETWEEN * (profile.same - profile.related)
    pairs = await near_memories(vectors, least=least, most=_NEAREST)
    groups = await asyncio.to_thread(group_pairs, [(pair.first, pair.second) for pair in pairs], most=_MAX_GROUP)
    return [group for group in groups if len(group) >= ENOUGH]


async def _episodes(numbers: Sequence[int], context: CurationContext) -> list[Memory]:
    """Return the episodes of a group that nothing was made of yet, those of the first one's place, the oldest first."""
    firsts = await context.store.stored_passages(
        context.space, [number * PASSAGES_PER_MEMORY for number in numbers]
    )  # fmt: skip
    ids = sorted({passage.memory_id for passage in firsts})
    relations = await context.store.relations(context.space, ids)
    used = {relation.target for relation in relations if relation.type == SOURCE}
    memories = await context.readable(ids)
    episodes = sorted(
        (memory for memory in memories if memory.id not in used and _is_episode(memory, context.now)),
        key=lambda memory: (memory.date, memory.id),
    )
    return [memory for memory in episodes if _place(memory) == _place(episodes[0])]


def _place(memory: Memory) -> tuple[str, str, str]:
    return memory.project.casefold(), memory.scope.casefold(), memory.entity.casefold()


def _is_episode(memory: Memory, now: datetime) -> bool:
    """Check that a memory is an episode that may be archived: in force, and not chosen by a person to stay."""
    is_chosen = memory.pinned or bool(memory.group) or memory.source.method is Method.FILE
    is_usable = memory.state is State.LIVE and memory.tier is Tier.EPISODIC and memory.holds(now)
    return is_usable and not is_chosen and Flag.SUSPICIOUS not in memory.flags and memory.characters <= _MAX_LENGTH


def _compose(memories: Sequence[Memory], shared: Shared, context: CurationContext) -> Memory:
    """Return the memory of what episodes share, in their words; it is trusted as much as the least trusted of them."""
    sources = [memory for memory in memories if memory.id in shared.ids]
    numbered = (f"{number}. {step}" for number, step in enumerate(shared.steps, 1))
    steps = "\n".join((*shared.heading, *numbered))
    content = "\n\n".join((*([steps] if steps else []), *shared.statements))
    memory_id, now = new_id(), context.now
    same = {
        name: getattr(sources[0], name)
        for name in _SHARED_FIELDS
        if len({getattr(memory, name) for memory in sources}) == 1
    }
    if rate_of_kind(str(same.get("kind", "note"))) > LASTING:
        # What several episodes share does not pass with them.
        same["kind"] = "procedure" if shared.steps else "fact"
    trust = next(
        memory.source.trust
        for memory in sources
        if not any(memory.source.trust.outranks(other.source.trust) for other in sources)
    )
    # What ends with every episode must not outlive them here.
    ends = [memory.expires_at for memory in sources if memory.expires_at is not None]
    tags = [tag for tag in sources[0].tags if all(tag in memory.tags for memory in sources)]
    traced: dict[str, Json] = {statement_key(text): list(ids) for text, ids in shared.sources.items()}
    made = Memory(
        id=memory_id, space=context.space, name=add_suffix(slug_of_subject(next(iter(shared.sources))), memory_id),
        created_at=now, updated_at=now, content=content, tags=tuple(tags), last_confirmed=now,
        tier=Tier.PROCEDURAL if shared.steps else Tier.SEMANTIC, relevance=max(memory.relevance for memory in sources),
        source=Source(
            method=Method.AUTO, agent=context.origin.agent, trust=trust, at=max(memory.date for memory in sources)
        ),
        metadata={"sources": traced}, expires_at=max(ends) if len(ends) == len(sources) else None,
    )  # fmt: skip
    return replace(made, **same)
