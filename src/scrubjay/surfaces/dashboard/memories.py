"""Pages of memories: search, one memory, and its history."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from markupsafe import Markup
from starlette.responses import Response

from scrubjay.lazy import dataclass
from scrubjay.model.branch import Branches
from scrubjay.model.memory import Memory, State
from scrubjay.model.query import Filter
from scrubjay.model.relation import Network
from scrubjay.model.requests import BranchesRequest, HistoryRequest, ReadRequest, RecallRequest, RelatedRequest
from scrubjay.model.results import Hit, Recalled
from scrubjay.model.version import FieldDiff, Version
from scrubjay.recalling.collapse import passes
from scrubjay.surfaces.dashboard.markdown import MAX_RENDERED, render_markdown
from scrubjay.surfaces.dashboard.page import PageCall

__all__ = ["FILTERS", "Found", "filter_of", "find", "history", "memory", "read_memory", "results", "search"]

FILTERS = (
    "tag",
    "kind",
    "tier",
    "entity",
    "project",
    "session",
    "agent",
    "category",
    "flag",
    "trust",
    "since",
    "until",
)
"""The conditions that an address may have."""
_HITS = 20
_VERSIONS = 30
_RECENT_VERSIONS = 5
# In other states a memory has neither links nor branches.
_CURRENT_STATES = (State.LIVE, State.BRANCHED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a search shows: the hits, what was asked, and the conditions."""

    query: str
    conditions: dict[str, list[str]]
    answer: Recalled


async def search(page: PageCall) -> Response:
    """Show the search: hits with the reasons for each, or the latest memories."""
    return page.render("search.html", found=await find(page), filters=FILTERS)


async def results(page: PageCall) -> Response:
    """Show only the hits, for a page that searches while the user types."""
    return page.render("results.html", found=await find(page))


async def memory(page: PageCall) -> Response:
    """Show one memory with its links and its latest versions."""
    shown = await read_memory(page)
    links, branches = Network(nodes=(), edges=()), Branches(id=shown.id, name=shown.name)
    if shown.state in _CURRENT_STATES:
        links = await page.call(RelatedRequest(id=shown.id, limit=100))
        branches = await page.call(BranchesRequest(id=shown.id))
    versions = await page.call(HistoryRequest(id=shown.id, limit=_RECENT_VERSIONS))
    names = {node.id: node for node in links.nodes}
    is_whole = len(shown.content) <= MAX_RENDERED
    return page.render(
        "memory.html",
        memory=shown,
        text=await _rendered(page, shown.content) if is_whole else shown.content,
        is_rendered=is_whole,
        links=[
            (edge, names[other], edge.source == shown.id)
            for edge in links.edges
            if (other := edge.target if edge.source == shown.id else edge.source) in names
        ],
        suggested=links.suggested,
        versions=versions.versions,
        branches=branches,
    )


async def history(page: PageCall) -> Response:
    """Show the versions of a memory, and the difference of two of them."""
    shown = await read_memory(page)
    listed = await page.call(HistoryRequest(id=shown.id, limit=_VERSIONS, before=page.number("before")))
    pair = (page.number("a"), page.number("b"))
    diff: Sequence[FieldDiff] = ()
    if all(number is not None for number in pair):
        diff = (await page.call(HistoryRequest.of(id=shown.id, diff=pair))).diff
    versions: Sequence[Version] = listed.versions
    older = versions[-1].number if len(versions) == _VERSIONS and versions[-1].number > 1 else None
    return page.render("history.html", memory=shown, versions=versions, older=older, diff=diff, pair=pair)


async def read_memory(page: PageCall) -> Memory:
    """Return the memory that the address names; raises NotFound."""
    result = await page.call(ReadRequest(ids=(page.text("id"),), format="plain"))
    for missing in result.missing:
        raise missing.error
    return result.memories[0]


async def find(page: PageCall, *, limit: int = _HITS) -> Found:
    """Carry out the search of an address."""
    query, conditions = page.text("q"), {name: page.texts(name) for name in FILTERS if page.texts(name)}
    request = RecallRequest(
        query=query, filter=filter_of(conditions), limit=limit, explain=bool(query.strip()), cursor=page.text("cursor"),
        detail="full" if conditions else "concise",
    )  # fmt: skip
    answer = await page.call(request)
    if answer.pinned and conditions:
        answer = replace(answer, pinned=_passing(answer.pinned, request.filter, now=datetime.now(UTC)))
    return Found(query=query, conditions=conditions, answer=answer)


def filter_of(conditions: dict[str, list[str]]) -> Filter:
    """Return the filter of the conditions of an address."""
    values: dict[str, object] = {name: texts[0] for name, texts in conditions.items() if name != "tag"}
    return Filter.of(**values, tags=tuple(conditions.get("tag", ())))


def _passing(pinned: Sequence[Hit], condition: Filter, *, now: datetime) -> tuple[Hit, ...]:
    """Return the pinned memories that meet the conditions of an address: an answer has the others, too."""
    # It has none about another entity, by whatever name, but those about none.
    others = replace(condition, entity="")
    return tuple(
        hit
        for hit in pinned
        if hit.memory is not None
        and (hit.memory.entity or not condition.entity)
        and passes(hit.memory, others, now=now)
    )


async def _rendered(page: PageCall, text: str) -> Markup:
    return await asyncio.to_thread(render_markdown, text, space=page.space)
