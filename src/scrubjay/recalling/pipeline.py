"""`recall`: a question goes through the stages and comes back as an answer that fits its budget."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial

from scrubjay import telemetry
from scrubjay.model.draft import Limits
from scrubjay.model.memory import Memory
from scrubjay.model.query import Filter, Question
from scrubjay.model.ranking import Ranking
from scrubjay.model.results import Hit, Recalled
from scrubjay.ports import Embedder, RecordStore, Reranker
from scrubjay.recalling.answer_cache import AnswerCache, key_of
from scrubjay.recalling.budget import fit
from scrubjay.recalling.candidates import Candidates, Library, compare, gather_candidates
from scrubjay.recalling.collapse import Found, Wanted, collapse, passes
from scrubjay.recalling.context_window import lay_out
from scrubjay.recalling.fuse import fuse, weigh_words
from scrubjay.recalling.overlay.overlay import Overlay, OverlayReader
from scrubjay.recalling.overlay.reader import FEW, open_reader
from scrubjay.recalling.paging import Page, cursor_after, page_of
from scrubjay.recalling.render import hit_of, passage_of, pinned_hits, unasked, with_neighbours
from scrubjay.recalling.rerank import rerank
from scrubjay.recalling.search import Searcher
from scrubjay.recalling.spellings import with_spellings
from scrubjay.recalling.substring import Contained, contained, stands_in
from scrubjay.recalling.text_cache import TextCaches
from scrubjay.recalling.understand import Understood, understand

# How much deeper each further look goes when candidates turn out to be few memories.
_DEPTHS = (1, 10, 100)
# So many neighbours of candidates are compared by meaning too: those that words speak for most.
_COMPARED = 24
_PAGE = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallContext:
    """What the read path works with."""

    store: RecordStore
    embedder: Embedder
    index: Searcher
    limits: Limits
    ranking: Ranking = field(default_factory=Ranking)
    text_caches: TextCaches = field(default_factory=TextCaches)
    answers: AnswerCache = field(default_factory=AnswerCache)
    reranker: Reranker | None = None
    rerank_top: int = 30

    @property
    def second(self) -> Reranker | None:
        """Who is asked for a second opinion, if anybody."""
        return self.reranker if self.ranking.uses("rerank") else None


async def recall(
    question: Question, *, cursor: str, spaces: Sequence[str], now: datetime, context: RecallContext
) -> Recalled:
    """The memories that answer a question best, of all the spaces; without a question, the most recent."""
    with telemetry.stage("recall.understand"):
        moment = question.as_of or now
        asked = understand(question, limits=context.limits, ranking=context.ranking, now=moment)
        page = page_of(cursor, question, spaces=spaces)
        # Asked before anything is looked up: what is committed meanwhile makes the answer one of the past.
        places = tuple([await context.store.last_place(space) for space in spaces])
    key = key_of(question, spaces=spaces, cursor=cursor)
    known = None if key is None else context.answers.get(key, places=places, now=now)
    telemetry.count("recall_cache", result="miss" if known is None else "hit")
    if known is not None:
        return known
    wanted = await with_spellings(question.filter, spaces=spaces, store=context.store)
    asked = replace(asked, question=replace(question, filter=wanted))
    answer, told = await _answer(_Asking(asked=asked, page=page, now=moment, context=context), spaces=spaces)
    if key is not None and not answer.degraded:
        context.answers.put(key, answer, places=places, now=now, told=told)
    return answer


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asking:
    """One question on its way through the stages; `now` is the moment it is asked for."""

    asked: Understood
    page: Page
    now: datetime
    context: RecallContext


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """What one space has, best first, by which terms, what was added to the question, and what could not be used."""

    found: list[Found]
    terms: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    degraded: tuple[str, ...] = ()


async def _answer(asking: _Asking, *, spaces: Sequence[str]) -> tuple[Recalled, list[Memory]]:
    """The answer, and the memories that it tells of."""
    question, is_first = asking.asked.question, asking.page.since is None
    store, asides = asking.context.store, asking.context.answers.asides
    readers = [await open_reader(question, space=space, store=store, now=asking.now, asides=asides) for space in spaces]
    with telemetry.stage("recall.pinned"):
        pinned = [memory for reader in readers for memory in await _pinned(now=asking.now, reader=reader)]
        # Pinned memories come with the first page, up to half of what the answer may cost, and are told once.
        shown = pinned_hits(pinned, question, now=asking.now) if is_first else []
        first, spent = fit(shown, max_tokens=max(1, question.max_tokens // 2))
        kept = {hit.id for hit in first}
    # Later pages go by what the cursor tells: what is pinned or unpinned meanwhile stays where it was.
    skip = frozenset(memory.group or memory.id for memory in pinned if memory.id in kept)
    part = _merged([await _look(asking, skip=skip, reader=reader) for reader in readers])
    part = await _reranked(part, asking)
    with telemetry.stage("recall.budget"):
        page = [
            hit_of(one, question, now=asking.now, terms=part.terms, added=part.added)
            for one in part.found[: question.limit]
        ]
        page = await _with_neighbours(page, each=question.around, now=asking.now, readers=readers)
        hits, cost = fit(page, max_tokens=question.max_tokens - spent)
    if not page:
        first, spent = fit(shown, max_tokens=question.max_tokens)
    degraded = part.degraded
    if page and not hits:
        degraded = (*degraded, "max_tokens leaves no room for a hit: ask with more")
    if len(first) < len(shown):
        degraded = (*degraded, f"max_tokens leaves no room for {len(shown) - len(first)} pinned memories")
    if all(reader.aside.lacks for reader in readers):
        degraded = (*degraded, f"no memory has a branch {question.branch[:100]!r}: all are told as on main")
    told = [*(one for one in pinned if one.id in kept), *(one.memory for one in part.found[: len(hits)])]
    is_more = len(part.found) > len(hits) > 0
    answer = Recalled(
        hits=tuple(hits),
        pinned=tuple(first),
        cursor=cursor_after(asking.page, told, question, spaces=spaces, now=asking.now) if is_more else "",
        tokens=spent + cost,
        degraded=(
            *degraded,
            *(why for reader in readers for why in (*reader.aside.degraded, *reader.problems.values())),
        ),
    )
    return answer, [*pinned, *(one.memory for one in part.found)]


async def _look(asking: _Asking, *, skip: frozenset[str], reader: OverlayReader) -> _Part:
    """What one space has for a page and one memory more, so that it is known whether there is another page."""
    question, page = asking.asked.question, asking.page
    within: Contained | None = None
    if question.contains:
        within = await contained(
            question.contains, state=question.filter.state, space=reader.space, store=reader.store,
            text_caches=asking.context.text_caches,
        )  # fmt: skip
    wanted = Wanted(
        filter=question.filter,
        count=max(question.limit, asking.context.rerank_top if asking.context.second else 0) + 1,
        now=asking.now,
        is_there=lambda memory_id: memory_id in skip or page.has_id(memory_id),
        admits=lambda memory: (
            (memory.group or memory.id) not in skip
            and not page.has(memory)
            and stands_in(question.contains, memory, now=asking.now)
        ),
    )
    used_up = len(skip) + len(page.shown)
    part = await (_search if asking.asked.text else _recent)(asking, wanted, within, used_up=used_up, reader=reader)
    if within is not None and within.degraded:
        part = replace(part, degraded=(*part.degraded, within.degraded))
    return part


def _merged(parts: Sequence[_Part]) -> _Part:
    """What several spaces have, best first: by score, and without a question by when it was last changed."""
    if len(parts) == 1:
        return parts[0]
    found = [one for part in parts for one in part.found]
    found.sort(key=lambda one: (one.best.score, one.memory.updated_at), reverse=True)
    return _Part(
        found=found,
        terms=tuple(dict.fromkeys(term for part in parts for term in part.terms)),
        added=tuple(dict.fromkeys(one for part in parts for one in part.added)),
        degraded=tuple(dict.fromkeys(why for part in parts for why in part.degraded)),
    )


async def _reranked(part: _Part, asking: _Asking) -> _Part:
    """The best in the order of a second opinion, if there is one."""
    context = asking.context
    text_of = partial(passage_of, now=asking.now)
    done = await rerank(asking.asked.text, part.found, text_of=text_of, reranker=context.second, top=context.rerank_top)
    scored = [
        replace(one, best=one.best._replace(rerank=score)) for one, score in zip(done.found, done.scores, strict=False)
    ]
    found = [*scored, *done.found[len(scored) :]]
    return replace(part, found=found, degraded=(*part.degraded, *done.degraded))


async def _search(
    asking: _Asking, wanted: Wanted, within: Contained | None, *, used_up: int, reader: OverlayReader
) -> _Part:
    context = asking.context
    library = Library(
        space=reader.space, store=context.store, embedder=context.embedder, index=context.index,
        ranking=context.ranking,
        aside=reader.aside,
    )  # fmt: skip
    few = _few(within, reader.aside)
    if few is not None:
        return await _among(asking, wanted, few, library=library, reader=reader)
    part = _Part(found=[])
    # Long texts, groups, pinned memories and earlier pages use up candidates: ask for so many more, and for many
    # more still if that was not enough.
    for deeper in (step * (2 * wanted.count + used_up) for step in _DEPTHS):
        candidates = await gather_candidates(asking.asked, library=library, deeper=deeper)
        part = await _ranked(candidates, asking, wanted, library=library, reader=reader)
        if len(part.found) >= wanted.count or candidates.complete:
            return part
    # Few of those who come first contain the text: all who do are ranked.
    if within is not None:
        return await _among(asking, wanted, within.ids, library=library, reader=reader)
    return replace(part, degraded=(*part.degraded, "a few long memories fill what was searched: there may be others"))


def _few(within: Contained | None, aside: Overlay) -> tuple[str, ...] | None:
    """The only memories in question, besides those told otherwise, if they are few."""
    ids = aside.among if within is None else within.ids
    if within is not None and aside.among is not None:
        there = frozenset(aside.among)
        ids = tuple(id_ for id_ in within.ids if id_ in there)
    return ids if ids is not None and len(ids) <= FEW else None


async def _among(
    asking: _Asking, wanted: Wanted, ids: Sequence[str], *, library: Library, reader: OverlayReader
) -> _Part:
    numbers = await library.store.passage_numbers(library.space, ids)
    candidates = await gather_candidates(asking.asked, library=library, among=numbers)
    return await _ranked(candidates, asking, wanted, library=library, reader=reader)


async def _ranked(
    candidates: Candidates, asking: _Asking, wanted: Wanted, *, library: Library, reader: OverlayReader
) -> _Part:
    asked, ranking = asking.asked, library.ranking
    with telemetry.stage("recall.fuse"):
        scene = lay_out(candidates.passages, candidates.beside, is_asked=asked.is_question)
        worded = weigh_words(scene, candidates.sought, asked, ranking)
        others = [*worded.best_neighbours(_COMPARED), *scene.questions]
        near = await compare(candidates.near, others, library=library)
        scored = fuse(worded, near.cosines, weight=near.weight, asked=asked, ranking=ranking, now=asking.now)
    with telemetry.stage("recall.collapse"):
        found = await collapse(scored, wanted=wanted, reader=reader)
    sought = candidates.sought
    return _Part(found=found, terms=sought.terms, added=sought.added, degraded=near.degraded)


async def _recent(
    asking: _Asking, wanted: Wanted, within: Contained | None, *, used_up: int, reader: OverlayReader
) -> _Part:
    del asking
    told = reader.aside.told
    aside = [memory for memory in told.values() if memory is not None]
    few = _few(within, reader.aside)
    if few is not None:
        memories = _newest_first([*aside, *await reader.get(few)])
        return _Part(found=await collapse(map(unasked, memories), wanted=wanted, reader=reader))
    limit = 2 * wanted.count + used_up if within is None else _PAGE
    among = None if within is None else frozenset(within.ids)
    memories = list[Memory]()
    found = list[Found]()
    after = reader.aside.after
    while len(found) < wanted.count:
        ids = await reader.store.list_ids(reader.space, wanted.filter, limit=limit, after=after)
        if not ids:
            break
        memories += await reader.get([id_ for id_ in ids if id_ not in told and (among is None or id_ in among)])
        found = await collapse(map(unasked, memories), wanted=wanted, reader=reader)
        after = ids[-1]
    if aside:
        # There are enough of the others already, so whoever is newer than the last of them has been seen.
        found = await collapse(map(unasked, _newest_first([*aside, *memories])), wanted=wanted, reader=reader)
    return _Part(found=found)


def _newest_first(memories: Sequence[Memory]) -> list[Memory]:
    return sorted(
        {memory.id: memory for memory in memories}.values(), key=lambda one: (one.updated_at, one.id), reverse=True
    )


async def _pinned(*, now: datetime, reader: OverlayReader) -> list[Memory]:
    """Oldest first."""
    ids = await reader.store.pinned(reader.space)
    aside = [one for one, memory in reader.aside.told.items() if memory is not None and memory.pinned]
    memories = [memory for memory in await reader.get([*ids, *aside]) if memory.pinned]
    if aside:
        memories.sort(key=lambda one: (one.created_at, one.id))
    return [memory for memory in memories if passes(memory, Filter(), now=now)]


async def _with_neighbours(
    hits: Sequence[Hit], *, each: int, now: datetime, readers: Sequence[OverlayReader]
) -> list[Hit]:
    if not each or not hits:
        return list(hits)
    told: dict[str, Hit] = {}
    for reader in readers:
        here = [hit for hit in hits if hit.space == reader.space]
        told |= {hit.id: hit for hit in await with_neighbours(here, each=each, now=now, reader=reader)}
    return [told[hit.id] for hit in hits]
