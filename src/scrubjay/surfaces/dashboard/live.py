"""The changes of a space, as a stream for the pages that are open."""

from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.responses import Response

from scrubjay.errors import InvalidInput
from scrubjay.surfaces.dashboard.page import PageCall
from scrubjay.surfaces.rest.changes import ChangeFeed, EventStream, StreamLimiter

__all__ = ["changes"]
_MAX_DIGITS = 30


async def changes(page: PageCall) -> Response:
    """Send each change with its number; a page that connects again continues after its last one."""
    if page.request.method != "GET":
        # The answer to HEAD would never end.
        raise HTTPException(HTTPStatus.METHOD_NOT_ALLOWED, headers={"allow": "GET"})
    last = page.request.headers.get("last-event-id", "")
    if last and not (last.isascii() and last.isdecimal() and len(last) <= _MAX_DIGITS):
        raise InvalidInput(f"Last-Event-ID must be a number, not {last[:30]!r}", field="Last-Event-ID")
    limiter: StreamLimiter = page.request.app.state.streams
    feed = await ChangeFeed.start(page.context, limiter, after=int(last) if last else None)
    return EventStream(feed, send_seconds=page.dependencies.send_seconds)
