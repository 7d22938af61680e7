"""`recall`: the stages from a question to an answer that fits its token budget.

Understand the question, open each space with its overlay, read the pinned memories, search each space (gather
candidates, build their context, score words, fuse, collapse), merge the spaces, rerank, order the variants of a claim,
render, and fit the budget.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from functools import partial
from typing import Protocol

from scrubjay import telemetry
from scrubjay.lazy import dataclass
from scrubjay.model.draft import Limits
from scrubjay.model.memory import MAIN, Memory
from scrubjay.model.query import Filter
from scrubjay.model.ranking import Ranking
from scrubjay.model.requests import RecallRequest
from scrubjay.model.results import Hit, Recalled
from scrubjay.ports import Embedder, PassageSearcher, RecordStore, Reranker
from scrubjay.recalling.answer_cache import AnswerCache, cache_key, ends_of
from scrubjay.recalling.budget import fit
from scrubjay.recalling.candidates import (
    DENSE_LIMIT,
    Candidates,
    SpaceSearch,
    compare_passages,
    gather_candidates,
)
from scrubjay.recalling.changes import FiledChanges, load_changes
from scrubjay.recalling.collapse import PageRequest, RankedMemory, collapse, passes
from scrubjay.recalling.confidence import Judged, add_evidence, confidence_of, judge
from scrubjay.recalling.context_window import build_window
from scrubjay.recalling.fuse import fuse, score_words
from scrubjay.recalling.overlay.build import MAX_EXHAUSTIVE, open_reader
from scrubjay.recalling.overlay.overlay import OverlayReader
from scrubjay.recalling.paging import PagePosition, next_cursor, parse_cursor
from scrubjay.recalling.projects import ProjectOrder
from scrubjay.recalling.query_terms import expand_filter, is_about, report_names
from scrubjay.recalling.render import add_neighbours, best_passage_text, first_passage, render_hit, render_pinned
from scrubjay.recalling.rerank import READ, is_in_doubt, read_again, rerank
from scrubjay.recalling.substring import SubstringMatches, contains_text, find_containing
from scrubjay.recalling.text_cache import TextCaches
from scrubjay.recalling.understand import ParsedQuery, understand
from scrubjay.recalling.variants import Arranger, bring_along, join_arrangers
from scrubjay.text.claims.pairs import PastQuestion, asks_about_past

# If the candidates belong to too few memories, search so many times deeper.
_DEPTHS = (1, 10, 100)
# So many neighbours of candidates, those with the best words, are compared by meaning too.
_COMPARED_NEIGHBOURS = 24
_LISTING_PAGE = 2_000
# Kinds and projects change the order of what is read: read so many for the smallest page, so that pages agree.
_LEAST_READ = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """An answer, and the earliest moment at which one of the memories that it depends on ends."""

    answer: Recalled
    ends_at: datetime | None = None


class OtherProcesses(Protocol):
    """Other processes that answer questions from the same store."""

    async def answer(
        self, question: RecallRequest, *, spaces: Sequence[str], now: datetime, context: "RecallContext"
    ) -> Answered:
        """Return the answer to a question, of one of them or of this process."""
        ...

    async def close(self) -> None:
        """End them."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallContext:
    """The dependencies of the read path."""

    store: RecordStore
    embedder: Embedder
    index: PassageSearcher
    limits: Limits
    ranking: Ranking = field(default_factory=Ranking)
    text_caches: TextCaches = field(default_factory=TextCaches)
    answers: AnswerCache = field(default_factory=AnswerCache)
    reranker: Reranker | None = None
    rerank_top: int = 30
    reader: Reranker | None = None
    processes: "OtherProcesses | None" = None

    @property
    def active_reranker(self) -> Reranker | None:
        """The reranker, if the ranking uses one."""
        return self.reranker if self.ranking.uses("rerank") else None

    @property
    def active_reader(self) -> Reranker | None:
        """The reader, if the ranking uses it; a reranker takes its place."""
        return self.reader if self.active_reranker is None and self.ranking.uses("reader") else None

    @property
    def reread(self) -> int:
        """How many of the best matches may change their order once more."""
        return self.rerank_top if self.active_reranker else READ if self.active_reader else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    """A question on its way through the stages; `now` is the moment that it asks about."""

    query: ParsedQuery
    position: PagePosition
    spaces: Sequence[str]
    now: datetime
    context: RecallContext
    projects: ProjectOrder

    @property
    def question(self) -> RecallRequest:
        return self.query.question


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pinned:
    """All pinned memories, their hits on the first page, and those of them that are shown, with their cost."""

    memories: list[Memory]
    hits: list[Hit]
    shown: list[Hit] = field(default_factory=list[Hit])
    cost: int = 0

    @property
    def shown_memories(self) -> list[Memory]:
        shown = {hit.id for hit in self.shown}
        return [memory for memory in self.memories if memory.id in shown]


@dataclass(frozen=True, slots=True, kw_only=True)
class _SpaceRequest:
    """A request for one space; `used_up` memories are shown elsewhere and take up places among the candidates."""

    request: _Request
    page: PageRequest
    used_up: int
    substring: SubstringMatches | None
    reader: OverlayReader

    @property
    def exhaustive_ids(self) -> tuple[str, ...] | None:
        """The only possible memories besides those of the overlay, if they are few."""
        unchanged = self.reader.overlay.unchanged_ids
        ids = unchanged if self.substring is None else self.substring.ids
        if self.substring is not None and unchanged is not None:
            unchanged_set = frozenset(unchanged)
            ids = tuple(memory_id for memory_id in self.substring.ids if memory_id in unchanged_set)
        return ids if ids is not None and len(ids) <= MAX_EXHAUSTIVE else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Matches:
    """Memories, best first, the terms and expansions of the question that found them, and what degraded the search."""

    memories: list[RankedMemory]
    terms: tuple[str, ...] = ()
    expansions: tuple[str, ...] = ()
    degraded: tuple[str, ...] = ()
    # The memories that others stand for on this page, and what arranged them.
    surplus: list[RankedMemory] = field(default_factory=list[RankedMemory])
    arranger: Arranger | None = None
    # Those that no longer hold, and the filed changes of all.
    outdated: list[RankedMemory] = field(default_factory=list[RankedMemory])
    changes: Mapping[str, FiledChanges] = field(default_factory=dict[str, FiledChanges])


async def recall(question: RecallRequest, *, spaces: Sequence[str], now: datetime, context: RecallContext) -> Recalled:
    """Return the memories of all spaces that answer a question best; without a question, the most recent."""
    key = cache_key(question, spaces=spaces)
    # Read before searching: a commit in the meantime must make the cached answer outdated.
    places = tuple([await context.store.last_place(space) for space in spaces])
    # A question with an answer was checked before.
    cached = None if key is None else context.answers.get(key, places=places, now=now)
    telemetry.count("recall_cache", result="miss" if cached is None else "hit")
    if cached is not None:
        return cached
    answer = answer_question if context.processes is None else context.processes.answer
    answered = await answer(question, spaces=spaces, now=now, context=context)
    if key is not None and not answered.answer.degraded:
        context.answers.put(key, answered.answer, places=places, now=now, ends_at=answered.ends_at)
    return answered.answer


async def answer_question(
    question: RecallRequest, *, spaces: Sequence[str], now: datetime, context: RecallContext
) -> Answered:
    """Return the memories of all spaces that answer a question best, as they are now."""
    with telemetry.stage("recall.understand"):
        moment = question.as_of or now
        query = understand(question, limits=context.limits, ranking=context.ranking, now=moment)
        position = parse_cursor(question.cursor, question, spaces=spaces)
    expanded = await expand_filter(question.filter, spaces=spaces, store=context.store)
    if expanded is not question.filter:
        query = replace(query, question=replace(question, filter=expanded))
    request = _Request(
        query=query, position=position, spaces=spaces, now=moment, context=context,
        projects=ProjectOrder.of(query.question),
    )  # fmt: skip
    answer, memories = await _answer(request)
    return Answered(answer=answer, ends_at=min((end for end in ends_of(memories) if end > now), default=None))


async def _answer(request: _Request) -> tuple[Recalled, list[Memory]]:
    """Run the stages; return the answer and all memories that it depends on."""
    question = request.question
    store, cache = request.context.store, request.context.answers.overlays
    readers = [
        await open_reader(request.question, space=space, store=store, now=request.now, cache=cache)
        for space in request.spaces
    ]
    # A list has its pinned memories where their time puts them.
    pinned = await _read_pinned(request, readers) if request.query.text else _Pinned(memories=[], hits=[])
    matches = _merge_spaces([await _search_space(request, pinned, reader) for reader in readers])
    matches = await _rerank(matches, request)
    matches = await _arrange(matches, request, readers)
    matches = await _add_changes(matches, request, readers)
    judged = _judge(matches, request)
    matches = replace(matches, memories=judged.memories)
    with telemetry.stage("recall.budget"):
        page = await _render_page(matches, judged, request, readers)
        hits, cost = fit(page, max_tokens=question.token_budget - pinned.cost)
    if not page:
        shown, pinned_cost = fit(pinned.hits, max_tokens=question.token_budget)
        pinned = replace(pinned, shown=shown, cost=pinned_cost)
    cursor = ""
    if len(matches.memories) + len(matches.surplus) > len(hits) > 0 and not judged.nothing_relevant:
        shown_memories = [*pinned.shown_memories, *(match.memory for match in matches.memories[: len(hits)])]
        cursor = next_cursor(
            request.position, shown_memories, question, spaces=request.spaces, now=request.now
        )  # fmt: skip
    answer = Recalled(
        hits=tuple(hits),
        pinned=tuple(pinned.shown),
        cursor=cursor,
        tokens=pinned.cost + cost,
        nothing_relevant=judged.nothing_relevant,
        degraded=(
            *matches.degraded,
            *(["max_tokens leaves no room for a hit: ask with more"] if page and not hits else []),
            *_report_degraded(request, pinned, readers),
        ),
        notes=tuple(report_names(question.filter, [*pinned.shown, *hits])),
    )
    return answer, [*pinned.memories, *(match.memory for match in matches.memories)]


async def _read_pinned(request: _Request, readers: Sequence[OverlayReader]) -> _Pinned:
    """Read the pinned memories, oldest first; they come with the first page, for up to half of its budget."""
    with telemetry.stage("recall.pinned"):
        memories: list[Memory] = []
        for reader in readers:
            ids = await reader.store.pinned(reader.space)
            overlaid = [id_ for id_, memory in reader.overlay.memories.items() if memory is not None and memory.pinned]
            pinned = [memory for memory in await reader.get([*ids, *overlaid]) if memory.pinned]
            if overlaid:
                pinned.sort(key=lambda memory: (memory.created_at, memory.id))
            # What is pinned for another project, or about another entity than the one asked for, is no answer.
            memories += [
                memory
                for memory in pinned
                if passes(memory, Filter(), now=request.now)
                and not request.projects.is_foreign(memory)
                and is_about(memory, request.question.filter)
            ]
        is_first_page = request.position.since is None
        hits = (
            render_pinned(memories, request.question, now=request.now, projects=request.projects)
            if is_first_page
            else []
        )
        shown, cost = fit(hits, max_tokens=max(1, request.question.token_budget // 2))
    return _Pinned(memories=memories, hits=hits, shown=shown, cost=cost)


async def _search_space(request: _Request, pinned: _Pinned, reader: OverlayReader) -> _Matches:
    """Return the matches of one space for a page, and one more if there is another page."""
    question, position, context = request.question, request.position, request.context
    substring: SubstringMatches | None = None
    if question.contains:
        substring = await find_containing(
            question.contains, state=question.filter.state, space=reader.space, store=reader.store,
            text_caches=context.text_caches,
        )  # fmt: skip
    # Later pages exclude what the cursor records, so that a memory pinned or unpinned meanwhile keeps its place.
    excluded = frozenset(memory.group or memory.id for memory in pinned.shown_memories)
    page = PageRequest(
        filter=question.filter,
        count=_page_size(question, context),
        now=request.now,
        projects=request.projects if request.query.text else ProjectOrder(),
        weights=context.ranking.weights,
        excludes_id=lambda memory_id: memory_id in excluded or position.excludes_id(memory_id),
        admits=lambda memory: (
            (memory.group or memory.id) not in excluded
            and not position.excludes(memory)
            and contains_text(question.contains, memory, now=request.now)
        ),
    )
    used_up = len(excluded) + len(position.shown)
    space_request = _SpaceRequest(request=request, page=page, used_up=used_up, substring=substring, reader=reader)
    matches = await (_search(space_request) if request.query.text else _list_recent(space_request))
    if substring is not None and substring.degraded:
        matches = replace(matches, degraded=(*matches.degraded, substring.degraded))
    return matches


def nearest_limit(question: RecallRequest, context: RecallContext) -> int:
    """Return how many passages near to a question its first search asks for, unless pinned ones use up some."""
    return DENSE_LIMIT + 2 * _page_size(question, context)


def _page_size(question: RecallRequest, context: RecallContext) -> int:
    """Return how many matches to find: those of a page, and one more if there is another page."""
    return max(question.limit, context.reread, _LEAST_READ) + 1


async def _search(space_request: _SpaceRequest) -> _Matches:
    """Search one space for a question, deeper until the page is full."""
    context, page, reader = space_request.request.context, space_request.page, space_request.reader
    search = SpaceSearch(
        space=reader.space, store=context.store, embedder=context.embedder, index=context.index,
        ranking=context.ranking, overlay=reader.overlay,
    )  # fmt: skip
    ids = space_request.exhaustive_ids
    if ids is not None:
        return await _rank_all(ids, space_request, search)
    matches = _Matches(memories=[])
    # Long texts, groups, pinned memories and earlier pages use up candidates: search for as many more.
    for depth in (step * (2 * page.count + space_request.used_up) for step in _DEPTHS):
        candidates = await gather_candidates(space_request.request.query, search=search, deeper=depth)
        matches = await _rank(candidates, space_request, search)
        if len(matches.memories) + len(matches.surplus) >= page.count or candidates.is_complete:
            return matches
    if space_request.substring is not None:
        # Few of the best candidates contain the text: rank all memories that do.
        return await _rank_all(space_request.substring.ids, space_request, search)
    return replace(
        matches, degraded=(*matches.degraded, "a few long memories fill the search: there may be more matches")
    )


async def _rank_all(ids: Sequence[str], space_request: _SpaceRequest, search: SpaceSearch) -> _Matches:
    """Rank all passages of some memories."""
    numbers = await search.store.passage_numbers(search.space, ids)
    candidates = await gather_candidates(space_request.request.query, search=search, numbers=numbers)
    return await _rank(candidates, space_request, search)


async def _rank(candidates: Candidates, space_request: _SpaceRequest, search: SpaceSearch) -> _Matches:
    """Score candidates and collapse them into memories."""
    query, terms, ranking = space_request.request.query, candidates.terms, search.ranking
    with telemetry.stage("recall.fuse"):
        window = build_window(
            candidates.passages, candidates.neighbours, columns=candidates.columns, is_question=query.is_question
        )
        word_scores = score_words(window, terms, query, ranking)
        others = [*word_scores.best_neighbours(_COMPARED_NEIGHBOURS), *window.questions]
        dense = await compare_passages(candidates.dense, [*candidates.passages, *others], search=search)
        scored = fuse(word_scores, dense, query=query, ranking=ranking, now=space_request.request.now)
    profile = None if dense.vector is None else await search.embedder.profile()
    arranger = Arranger(
        limit=space_request.request.question.limit,
        profile=profile,
        reads=query.is_english or profile is None or not profile.is_english,
        load=partial(search.store.vectors, search.space, dense.model),
    )
    with telemetry.stage("recall.collapse"):
        arranged = await collapse(
            scored, request=space_request.page, reader=space_request.reader,
            arrange=arranger.arrange if ranking.uses("variants") else None,
        )  # fmt: skip
    memories, outdated = (
        add_evidence(matches, terms, language=query.language, profile=profile)
        for matches in (arranged.shown, arranged.outdated)
    )
    return _Matches(
        memories=memories, terms=terms.search_terms, expansions=terms.expansions, degraded=dense.degraded,
        surplus=arranged.surplus, arranger=arranger, outdated=outdated,
    )  # fmt: skip


async def _list_recent(space_request: _SpaceRequest) -> _Matches:
    """Return the most recently changed memories of one space, for a request without a question."""
    page, reader, substring = space_request.page, space_request.reader, space_request.substring
    overlay = reader.overlay
    overlaid = [memory for memory in overlay.memories.values() if memory is not None]
    ids = space_request.exhaustive_ids
    if ids is not None:
        return _Matches(memories=await _collapse_recent([*overlaid, *await reader.get(ids)], space_request))
    limit = 2 * page.count + space_request.used_up if substring is None else _LISTING_PAGE
    containing = None if substring is None else frozenset(substring.ids)
    listed, matches = list[Memory](), list[RankedMemory]()
    after = overlay.unchanged_after
    while len(matches) < page.count:
        page_ids = await reader.store.list_ids(reader.space, page.filter, limit=limit, after=after)
        if not page_ids:
            break
        listed += await reader.get(
            [id_ for id_ in page_ids if id_ not in overlay.memories and (containing is None or id_ in containing)]
        )
        matches = (await collapse(map(first_passage, listed), request=page, reader=reader)).shown
        after = page_ids[-1]
    if overlaid:
        # The page is full of unchanged memories, so all that are newer than its last one have been listed.
        matches = await _collapse_recent([*overlaid, *listed], space_request)
    return _Matches(memories=matches)


async def _collapse_recent(memories: Sequence[Memory], space_request: _SpaceRequest) -> list[RankedMemory]:
    unique = {memory.id: memory for memory in memories}.values()
    newest_first = sorted(unique, key=lambda memory: (memory.updated_at, memory.id), reverse=True)
    arranged = await collapse(map(first_passage, newest_first), request=space_request.page, reader=space_request.reader)
    return arranged.shown


def _merge_spaces(spaces: Sequence[_Matches]) -> _Matches:
    """Merge the matches of several spaces by score; without a question, by the time of their last change."""
    if len(spaces) == 1:
        return spaces[0]
    memories = [match for matches in spaces for match in matches.memories]
    memories.sort(key=lambda match: (match.best.score, match.memory.updated_at), reverse=True)
    return _Matches(
        memories=memories,
        terms=tuple(dict.fromkeys(term for matches in spaces for term in matches.terms)),
        expansions=tuple(dict.fromkeys(expansion for matches in spaces for expansion in matches.expansions)),
        degraded=tuple(dict.fromkeys(reason for matches in spaces for reason in matches.degraded)),
        surplus=[match for matches in spaces for match in matches.surplus],
        outdated=[match for matches in spaces for match in matches.outdated],
        arranger=join_arrangers([matches.arranger for matches in spaces if matches.arranger is not None]),
    )


async def _rerank(matches: _Matches, request: _Request) -> _Matches:
    context = request.context
    if context.active_reader is not None:
        return await _read_again(matches, request, context.active_reader)
    if context.active_reranker is None:
        return matches
    reranked = await rerank(
        request.query.text, matches.memories, text_of=partial(best_passage_text, now=request.now),
        reranker=context.active_reranker, top=context.rerank_top,
    )  # fmt: skip
    scored = [
        match._replace(best=match.best._replace(rerank=score))
        for match, score in zip(reranked.matches, reranked.scores, strict=False)
    ]
    return replace(
        matches,
        memories=[*scored, *reranked.matches[len(scored) :]],
        degraded=(*matches.degraded, *reranked.degraded),
    )


async def _read_again(matches: _Matches, request: _Request, reader: Reranker) -> _Matches:
    """Let the reader judge the first matches where their order is in doubt; it reads English."""
    query, ranked = request.query, matches.memories
    if not query.text or not query.is_question or not query.is_english or not ranked:
        return matches
    best = max(match.best.score for match in ranked)
    if not is_in_doubt(ranked, confidence_of(ranked[0], best=best, projects=request.projects)):
        return matches
    read = await read_again(
        query.text, ranked, matches.outdated, reader=reader, weight=request.context.ranking.weights.reader,
        now=request.question.today or request.now,
    )  # fmt: skip
    return replace(
        matches, memories=read.matches, outdated=read.former, degraded=(*matches.degraded, *read.degraded)
    )  # fmt: skip


async def _arrange(matches: _Matches, request: _Request, readers: Sequence[OverlayReader]) -> _Matches:
    """Order the variants of a claim once more, if the order has changed, and add what the first hits contradict."""
    arranger = matches.arranger
    if arranger is None or not request.context.ranking.uses("variants"):
        return matches
    memories, surplus = matches.memories, matches.surplus
    if len(readers) > 1 or request.context.reread:
        arranged = await arranger.arrange(memories)
        memories, surplus = arranged.shown, [*surplus, *arranged.surplus]
    # What others stand for stays behind.
    behind = {match.memory.id for match in surplus}
    for reader in readers:
        memories = await bring_along(
            memories,
            reader=reader,
            admits=lambda memory: memory.id not in behind and _is_admitted(memory, request=request),
        )
    return replace(matches, memories=memories, surplus=surplus)


async def _add_changes(matches: _Matches, request: _Request, readers: Sequence[OverlayReader]) -> _Matches:
    """Put what holds now in the place of what no longer does, and read what was filed about the hits of the page.

    A question about a moment or a branch sees the memories as they are there.
    """
    question = request.question
    if question.as_of is not None or question.branch != MAIN or not request.query.text:
        return matches
    page = matches.memories[: question.limit]
    # What scores less than the page could not be in it.
    lowest = page[-1].best.score if len(page) == question.limit else -math.inf
    outdated = [match for match in matches.outdated if match.best.score >= lowest][: question.limit]
    hits = [match.memory for match in (*page, *outdated)]
    changes = {reader.space: await load_changes(hits, reader=reader, now=request.now) for reader in readers}
    memories, past = matches.memories, asks_about_past(request.query.text)
    if past is not PastQuestion.FORMER:
        for filed in changes.values():
            if filed.updated:
                memories = filed.weightier_first(memories, admits=partial(_is_admitted, request=request))
    if outdated or past is PastQuestion.FORMER:
        admits = partial(_is_admitted, request=request)
        for reader in readers:
            in_space = [match for match in outdated if match.memory.space == reader.space]
            memories = changes[reader.space].order(memories, in_space, past=past, admits=admits)
    return replace(matches, memories=memories, changes=changes)


def _is_admitted(memory: Memory, *, request: _Request) -> bool:
    return passes(memory, request.question.filter, now=request.now) and not request.position.excludes(memory)


def _judge(matches: _Matches, request: _Request) -> Judged:
    """Leave out what hardly answers; a list, a later page and what contains a given text were asked for as they are."""
    question = request.question
    least = question.min_score
    if not request.query.text:
        return Judged(memories=matches.memories, confidences=[0.0] * len(matches.memories))
    if least is None and (question.contains or request.position.since is not None):
        least = 0.0
    return judge(matches.memories, projects=request.projects, least=least)


async def _render_page(
    matches: _Matches, judged: Judged, request: _Request, readers: Sequence[OverlayReader]
) -> list[Hit]:
    """Render the hits of a page, with their neighbours if the question asks for them."""
    question, now = request.question, request.now
    hits = [
        render_hit(
            match,
            question,
            now=now,
            projects=request.projects,
            terms=matches.terms,
            expansions=matches.expansions,
            score=round(confidence, 3),
            weak=judged.nothing_relevant,
        )
        for match, confidence in zip(judged.memories[: question.limit], judged.confidences, strict=False)
    ]
    hits = [
        changes.mark(hit, match) if (changes := matches.changes.get(hit.space)) is not None else hit
        for hit, match in zip(hits, judged.memories, strict=False)
    ]
    if not question.around or not hits:
        return hits
    complete: dict[str, Hit] = {}
    for reader in readers:
        in_space = [hit for hit in hits if hit.space == reader.space]
        complete |= {
            hit.id: hit for hit in await add_neighbours(in_space, each=question.around, now=now, reader=reader)
        }
    return [complete[hit.id] for hit in hits]


def _report_degraded(request: _Request, pinned: _Pinned, readers: Sequence[OverlayReader]) -> list[str]:
    """Return what is missing from the answer besides what the searches report."""
    reasons: list[str] = []
    if len(pinned.shown) < len(pinned.hits):
        reasons.append(f"max_tokens leaves no room for {len(pinned.hits) - len(pinned.shown)} pinned memories")
    if all(reader.overlay.missing_branch for reader in readers):
        reasons.append(f"no memory has a branch {request.question.branch[:100]!r}: all are shown as on main")
    for reader in readers:
        reasons += [*reader.overlay.degraded, *reader.problems.values()]
    return reasons
