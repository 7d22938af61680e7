"""The daemon looks at the health of all spaces now and then: it logs what begins and ends, and tells a webhook."""

import asyncio
import http.client
import json
import logging
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

from scrubjay.engine import Engine
from scrubjay.errors import InvalidInput
from scrubjay.health.watch import AlertEvent
from scrubjay.model.caller import Caller
from scrubjay.model.health import HealthReport
from scrubjay.model.requests import HealthRequest
from scrubjay.version import VERSION

_log = logging.getLogger(__name__)
_WEEK = 7
_TIMEOUT = 5.0


class Webhook:
    """Posts events to one address of the settings. It follows no redirect, and sends no token."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        try:
            port = parts.port
        except ValueError:
            port = -1
        if parts.scheme not in ("http", "https") or not parts.hostname or port == -1 or parts.username:
            raise InvalidInput(
                "SCRUBJAY_ALERT_WEBHOOK must be an http or https address, without a user",
                hint="Write it as https://example.org/hooks/memory",
                setting="SCRUBJAY_ALERT_WEBHOOK",
            )
        self._connect: Callable[[], http.client.HTTPConnection] = lambda: (
            http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        )(str(parts.hostname), port, timeout=_TIMEOUT)
        self._path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")

    async def post(self, events: Sequence[AlertEvent]) -> bool:
        """Post events; return whether the address took them."""
        body = json.dumps({"scrubjay": VERSION, "events": [event.as_json for event in events]}).encode()
        try:
            status = await asyncio.to_thread(self._send, body)
        except (OSError, http.client.HTTPException) as error:
            _log.warning("the alert webhook is not reached", extra={"fields": {"error": type(error).__name__}})
            return False
        if status >= http.client.BAD_REQUEST:
            _log.warning("the alert webhook refuses", extra={"fields": {"status": status}})
            return False
        return True

    def _send(self, body: bytes) -> int:
        connection = self._connect()
        try:
            headers = {"content-type": "application/json", "user-agent": f"scrubjay/{VERSION}"}
            connection.request("POST", self._path, body=body, headers=headers)
            return connection.getresponse().status
        finally:
            connection.close()


async def look_at_health(
    engine: Engine, *, webhook: Webhook | None, publish: Callable[[HealthReport], None]
) -> list[AlertEvent]:
    """Read the health of all spaces once; log and post the alerts that have begun and ended."""
    report = await engine.health(HealthRequest(days=_WEEK, all_spaces=True), who=Caller())
    publish(report)
    reporter = engine.reporter
    if reporter is None:
        return []
    watch, now = reporter.watch, engine.clock.now()
    # The last look may have been that of another server, or of this one before a restart.
    await watch.load(engine.documents)
    events = watch.update(report.alerts, now=now)
    for event in events:
        # The log names no space: `health` does.
        fields = {"alert": event.alert.name, "value": event.alert.value, "threshold": event.alert.threshold}
        if event.event == "begins":
            _log.warning("an alert begins", extra={"fields": fields})
        else:
            _log.info("an alert ends", extra={"fields": fields | {"since": event.alert.since}})
    # Before they are posted: if this process ends meanwhile, an event is rather posted twice than never.
    await watch.save(engine.documents, now=now)
    if watch.unposted and (webhook is None or await webhook.post(watch.unposted)):
        watch.forget_posted()
        await watch.save(engine.documents, now=now)
    return events
