"""The changes of a space, as a stream for the pages that are open."""

from starlette.responses import Response

from scrubjay.errors import InvalidInput
from scrubjay.surfaces.dashboard.page import PageCall
from scrubjay.surfaces.rest.changes import ChangeFeed, EventStream, StreamLimiter

__all__ = ["changes"]


async def changes(page: PageCall) -> Response:
    """Send each change with its number; a page that connects again continues after its last one."""
    last = page.request.headers.get("last-event-id", "")
    if last and not (last.isascii() and last.isdecimal()):
        raise InvalidInput(f"Last-Event-ID must be a number, not {last[:30]!r}", field="Last-Event-ID")
    limiter: StreamLimiter = page.request.app.state.streams
    feed = await ChangeFeed.start(page.context, limiter, after=int(last) if last else None)
    return EventStream(feed, send_seconds=page.dependencies.send_seconds)
