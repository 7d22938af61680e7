"""Pages to look around: the labels of a space, its memories by time, and its trash."""

from itertools import groupby

from starlette.responses import Response

from scrubjay.model.memory import State
from scrubjay.model.requests import RecallRequest, StatusRequest
from scrubjay.surfaces.dashboard.memories import filter_of, find
from scrubjay.surfaces.dashboard.page import PageCall

__all__ = ["browse", "timeline", "trash"]

LABELS = {
    "kind": "Kinds", "tag": "Tags", "entity": "Entities", "project": "Projects", "category": "Categories",
    "tier": "Tiers", "agent": "Agents", "session": "Sessions",
}  # fmt: skip
"""The labels by which memories are listed."""
_VALUES = 40
_MORE_VALUES = 500
_DAY_HITS = 60


async def browse(page: PageCall) -> Response:
    """Show the most frequent labels of each sort, or more of one sort."""
    only = page.text("by")
    names = [only] if only in LABELS else [*LABELS]
    limit = _MORE_VALUES if only in LABELS else _VALUES
    reader, space = page.dependencies.engine.reader, page.context.who.space
    columns = [
        (name, LABELS[name], await page.context.read(
            "tags", reader.facet_values(space, name, state=State.LIVE, limit=limit + 1)
        ))
        for name in names
    ]  # fmt: skip
    status = await page.call(StatusRequest())
    return page.render("browse.html", columns=columns, limit=limit, only=only in LABELS, status_of=status)


async def timeline(page: PageCall) -> Response:
    """Show the memories by day, the latest first."""
    listed = await find(page, limit=_DAY_HITS)
    # Paging is by the order of recall, which is by time here.
    days = [(day, list(hits)) for day, hits in groupby(listed.answer.hits, key=lambda hit: hit.date.date())]
    return page.render("timeline.html", found=listed, days=days)


async def trash(page: PageCall) -> Response:
    """Show what was forgotten."""
    request = RecallRequest(filter=filter_of({"state": [State.TRASHED]}), limit=_DAY_HITS, cursor=page.text("cursor"))
    return page.render("trash.html", answer=await page.call(request))
