"""Looking for conflicts in a whole space, and for those of something that is not stored."""

import asyncio
import time
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np

from scrubjay import telemetry
from scrubjay.conflicts.cleanup import sweep
from scrubjay.conflicts.listing import told
from scrubjay.conflicts.near_pairs import Matrix, near_pairs
from scrubjay.conflicts.scan_space import SpaceScan, near_by_number
from scrubjay.detection.describe import describe
from scrubjay.detection.detect import detect
from scrubjay.detection.neighbours import EmbeddedMemory, ReadCache
from scrubjay.detection.report import drop_known
from scrubjay.errors import EmbeddingUnavailable, InvalidInput
from scrubjay.model.change import Origin
from scrubjay.model.checks import require_fraction, require_integer
from scrubjay.model.conflict import Conflict, ConflictDetails, Scan
from scrubjay.model.draft import Draft
from scrubjay.model.memory import Memory, State
from scrubjay.model.passage import PASSAGES_PER_MEMORY
from scrubjay.model.query import Filter
from scrubjay.ports import Profile, Progress, RecordStore
from scrubjay.text.claims.statements import statements_of
from scrubjay.writing.compose import compose
from scrubjay.writing.context import WriteContext
from scrubjay.writing.embed import embed_new, load_vectors, slice_memory
from scrubjay.writing.validate import validate

__all__ = ["probe", "scan", "scan_memory", "survey_of"]

# What is further apart is about something else; each is compared with so many, the nearest.
_LEAST_COSINE = 0.6
_NEAREST = 8
_PAGE = 500
# So many memories are read at once, with those that they are near to.
_STRETCH = 200
# Of one memory so many statements, a few at a time.
_MOST_STATEMENTS = 200
_AT_ONCE = 8
# So many seconds are compared before others have their turn.
_A_TURN = 0.005
_MOST_DRAFTS = 1_000
_MOST_TOLD = 1_000


async def scan(
    *, limit: int, space: str, origin: Origin, context: WriteContext, progress: Progress | None = None
) -> Scan:
    """Look at every memory of a space; what is found is filed."""
    require_integer(limit, field="limit", least=0, most=_MOST_TOLD)
    profile = await _profile(context)
    await sweep(space=space, store=context.store)
    with telemetry.stage("conflicts.survey"):
        survey = await survey_of(space, profile=profile, store=context.store)
    numbers = sorted({passage // PASSAGES_PER_MEMORY for passage in survey.passages})
    fresh: list[Conflict] = []
    kinds: Counter[str] = Counter()
    for start in range(0, len(numbers), _STRETCH):
        stretch = numbers[start : start + _STRETCH]
        with telemetry.stage("conflicts.compare"):
            found = await _compared(stretch, survey, profile=profile, origin=origin)
        new = await drop_known(found, space=space, store=context.store)
        if new:
            await context.store.import_documents(space, [one.document(at=origin.at) for one in new], renew=False)
        kinds.update(one.type.value for one in new)
        fresh += new[: max(0, limit - len(fresh))]
        if progress is not None:
            progress(start + len(stretch), len(numbers))
    return Scan(
        memories=len(numbers),
        found=(await told(fresh, now=origin.at, space=space, store=context.store))[:limit],
        count=kinds.total(),
        by_type=dict(kinds),
    )


async def scan_memory(memory_id: str, *, space: str, origin: Origin, context: WriteContext) -> int | None:
    """Look at all that one live memory says, also where that is much; what is found is filed, and counted.

    None when there is no such memory.
    """
    memory = (await context.store.get(space, [memory_id])).get(memory_id)
    if memory is None or memory.state is not State.LIVE:
        return None
    profile, passages = await _profile(context), await slice_memory(memory)
    hashes = [passage.hash for passage in passages]
    vectors = await context.store.vectors(space, profile.model, hashes) if profile else {}
    written = EmbeddedMemory(memory=memory, passages=passages, vectors=vectors, profile=profile)
    cache = ReadCache(store=context.store, index=context.index)
    found: dict[str, Conflict] = {}
    with telemetry.stage("conflicts.compare"):
        for before in _before_each(memory):
            some = await detect(written, before=before, source=cache, origin=origin)
            found |= {one.id: one for one in some}
    new = await drop_known(tuple(found.values()), space=space, store=context.store)
    if new:
        await context.store.import_documents(space, [one.document(at=origin.at) for one in new], renew=False)
    return len(new)


async def probe(
    drafts: Sequence[Draft], *, threshold: float, space: str, origin: Origin, context: WriteContext
) -> tuple[tuple[ConflictDetails, ...], ...]:
    """For each draft the conflicts that it would have if it were stored; nothing is kept."""
    require_fraction(threshold, field="threshold")
    if len(drafts) > _MOST_DRAFTS:
        raise InvalidInput(f"{len(drafts):,} drafts at once; the limit is {_MOST_DRAFTS:,}", field="drafts")
    return tuple(
        [await _probe(draft, threshold=threshold, space=space, origin=origin, context=context) for draft in drafts]
    )


async def _probe(
    draft: Draft, *, threshold: float, space: str, origin: Origin, context: WriteContext
) -> tuple[ConflictDetails, ...]:
    shown: dict[tuple[str, str], ConflictDetails] = {}
    for memory in compose(validate(draft, limits=context.limits), space=space, now=origin.at):
        passages = await slice_memory(memory)
        made, _ = await embed_new(
            [(memory, passages)], space=space, vector_store=context.store, embedder=context.embedder
        )
        written = await load_vectors(
            memory, passages, made, vector_store=context.store, embedder=context.embedder
        )  # fmt: skip
        cache = ReadCache(store=context.store, index=context.index)
        found = await detect(written, source=cache, origin=origin)
        others = await cache.get(space, [one.other for one in found])
        for one in found:
            words = describe(one, memory, others.get(one.other, memory))
            if words is not None and words.confidence >= threshold:
                # One text under several entities has each conflict once.
                shown.setdefault((one.other, one.against or one.statement), words)
    return tuple(shown.values())


async def _profile(context: WriteContext) -> Profile | None:
    with suppress(EmbeddingUnavailable):
        return await context.embedder.profile()
    return None


async def survey_of(space: str, *, profile: Profile | None, store: RecordStore) -> SpaceScan:
    """Read what there is to be compared, and find out what is near to what."""
    numbers = sorted(await store.matching_passages(space, Filter()))
    passages = {
        passage.id: passage
        for start in range(0, len(numbers), _PAGE)
        for passage in await store.stored_passages(space, numbers[start : start + _PAGE])
    }
    rows, vectors = await _embedded(passages, profile=profile, store=store)

    def arranged() -> SpaceScan:
        pairs = near_pairs(vectors, least=_LEAST_COSINE, most=_NEAREST)
        return SpaceScan(
            space=space,
            store=store,
            passages=passages,
            rows={number: row for row, number in enumerate(rows)},
            embeddings=vectors,
            near=near_by_number(pairs, rows),
        )

    # That takes a while, and is nothing but counting.
    return await asyncio.to_thread(arranged)


async def _embedded(
    numbers: Collection[int], *, profile: Profile | None, store: RecordStore
) -> tuple[list[int], Matrix]:
    """The passages that have a vector, and their vectors."""
    memories = sorted({number // PASSAGES_PER_MEMORY for number in numbers}) if profile else []
    rows: list[int] = []
    pages: list[Matrix] = [np.empty((0, profile.dimension if profile else 1), np.float32)]
    for start in range(0, len(memories), _PAGE):
        page = await store.points_of(profile.model if profile else "", memories[start : start + _PAGE])
        found = [point for point in page if point.id in numbers]
        rows += [point.id for point in found]
        pages += [np.stack([point.vector for point in found])] if found else []
    return rows, np.concatenate(pages)


async def _compared(
    stretch: Sequence[int], survey: SpaceScan, *, profile: Profile | None, origin: Origin
) -> list[Conflict]:
    """The conflicts of some memories with those that are older."""
    own = {number: next(survey.of_memory(number)).memory_id for number in stretch}
    partners = {partner for number in stretch for partner in survey.partners(number)}
    survey.memories = await survey.store.get(survey.space, [*own.values(), *(partners - set(own.values()))])
    looked_at = [(number, memory) for number, one in own.items() if (memory := _live(survey.memories.get(one)))]
    # What is found by what it tells of is read at once, too, and not one by one.
    await survey.get(
        survey.space,
        list(dict.fromkeys(one for each in looked_at for one in survey.partners_by_slot(*each, now=origin.at))),
    )
    found: list[Conflict] = []
    began = time.monotonic()
    for number, memory in looked_at:
        found += await _conflicts_of(memory, number, survey, profile=profile, origin=origin)
        if time.monotonic() - began > _A_TURN:
            # Others want a turn, too.
            await asyncio.sleep(0)
            began = time.monotonic()
    return list({one.id: one for one in found}.values())


async def _conflicts_of(
    memory: Memory, number: int, survey: SpaceScan, *, profile: Profile | None, origin: Origin
) -> list[Conflict]:
    passages, vectors = survey.look_at(number)
    written = EmbeddedMemory(memory=memory, passages=passages, vectors=vectors, profile=profile)
    found: list[Conflict] = []
    for before in _before_each(memory):
        found += await detect(written, before=before, source=survey, origin=origin)
    survey.note_slots(number, memory, now=origin.at)
    return found


def _live(memory: Memory | None) -> Memory | None:
    return memory if memory is not None and memory.state is State.LIVE else None


def _before_each(memory: Memory) -> Iterator[Memory | None]:
    """A memory that says much, as it was before each few of its statements: only so many new ones are looked at."""
    said = statements_of(memory.content)
    count = len(said) + len(memory.observations)
    if count <= _AT_ONCE:
        yield None
        return
    # Of very many the latest.
    for start in range(max(0, count - _MOST_STATEMENTS), count, _AT_ONCE):
        end, observed = start + _AT_ONCE, (max(0, start - len(said)), max(0, start + _AT_ONCE - len(said)))
        yield replace(
            memory,
            content="\n\n".join((*said[:start], *said[end:])),
            observations=(*memory.observations[: observed[0]], *memory.observations[observed[1] :]),
        )
