"""The alerts of a store over time: an event when one begins, and one when it ends, whichever daemon looks."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields, replace
from datetime import datetime
from typing import Literal, cast

from scrubjay.errors import StaleVersion, StoreError
from scrubjay.lazy import dataclass
from scrubjay.model.document import ALERTS, Document
from scrubjay.model.health import Alert
from scrubjay.model.memory import Json
from scrubjay.model.timestamps import to_iso
from scrubjay.ports import DocumentStore

_log = logging.getLogger(__name__)
# The state of the whole store.
_SPACE, _KEY = "", "state"
# So much of it is stored: of a store with more alerts, those beyond begin again after a restart.
_MAX_STORED = 500
# What a webhook that is away has missed; older events are dropped.
_MAX_UNPOSTED = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertEvent:
    """An alert begins, or ends."""

    event: Literal["begins", "ends"]
    at: str
    alert: Alert

    @property
    def as_json(self) -> Mapping[str, Json]:
        """The event for a webhook, and as it is stored."""
        return {"event": self.event, "at": self.at, "alert": asdict(self.alert)}


class AlertWatch:
    """Knows which alerts last and since when, and which events no webhook has taken yet.

    Both are stored, so that a restart repeats no event and loses none. While the store cannot be written, as on a full
    disk, the watch goes on in memory.
    """

    def __init__(self) -> None:
        self._lasting: dict[tuple[str, str], Alert] = {}
        self._unposted: list[AlertEvent] = []
        # The stored state that this one continues; its value tells whether there is something to store.
        self._stored: Document | None = None

    @property
    def lasting(self) -> tuple[Alert, ...]:
        """The alerts of all spaces when they were last looked at."""
        return tuple(self._lasting.values())

    @property
    def unposted(self) -> Sequence[AlertEvent]:
        """The events that no webhook has taken."""
        return tuple(self._unposted)

    def dated(self, alerts: Iterable[Alert]) -> tuple[Alert, ...]:
        """Return alerts with the times at which they began, as far as they were watched."""
        return tuple(
            replace(alert, since=self._lasting[_key(alert)].since) if _key(alert) in self._lasting else alert
            for alert in alerts
        )

    def update(self, alerts: Iterable[Alert], *, now: datetime) -> list[AlertEvent]:
        """Take note of the alerts of all spaces; return what has begun and ended since the last time."""
        at, before = to_iso(now), self._lasting
        self._lasting = {_key(alert): replace(alert, since=alert.since or at) for alert in self.dated(alerts)}
        begun = [alert for key, alert in self._lasting.items() if key not in before]
        ended = [alert for key, alert in before.items() if key not in self._lasting]
        events = [
            *(AlertEvent(event="begins", at=at, alert=alert) for alert in begun),
            *(AlertEvent(event="ends", at=at, alert=alert) for alert in ended),
        ]
        self._unposted = [*self._unposted, *events][-_MAX_UNPOSTED:]
        return events

    def forget_posted(self) -> None:
        """Forget the events: a webhook has taken them, or there is none."""
        self._unposted = []

    async def load(self, documents: DocumentStore) -> None:
        """Continue from the stored state, unless this watch has stored it itself."""
        try:
            stored = await documents.document(_SPACE, ALERTS, _KEY)
        except StoreError as error:
            _log.warning("the state of the alerts was not read", extra={"fields": {"error": error.code}})
            return
        if stored is None or (self._stored is not None and stored.version == self._stored.version):
            return
        self._stored = stored
        alerts = map(_read_alert, _objects(stored.value.get("lasting")))
        self._lasting = {_key(alert): alert for alert in alerts if alert is not None}
        events = map(_read_event, _objects(stored.value.get("unposted")))
        self._unposted = [event for event in events if event is not None]

    async def save(self, documents: DocumentStore, *, now: datetime) -> None:
        """Store the state if it has changed. If another server was faster, its state holds at the next look."""
        value: dict[str, Json] = {
            "lasting": [asdict(alert) for alert in self.lasting[:_MAX_STORED]],
            "unposted": [dict(event.as_json) for event in self._unposted],
        }
        if value == (self._stored.value if self._stored else {"lasting": [], "unposted": []}):
            return
        base = self._stored.version if self._stored else None
        try:
            self._stored = await documents.put_document(
                Document(space=_SPACE, collection=ALERTS, key=_KEY, value=value, at=now), base=base
            )
        except (StaleVersion, StoreError) as error:
            _log.warning("the state of the alerts was not stored", extra={"fields": {"error": error.code}})


def _key(alert: Alert) -> tuple[str, str]:
    return alert.name, alert.space


def _objects(value: Json) -> list[Mapping[str, Json]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _read_event(value: Mapping[str, Json]) -> AlertEvent | None:
    """Read a stored event; None if it is damaged."""
    event, at, alert = (value.get(name) for name in ("event", "at", "alert"))
    read = _read_alert(alert) if isinstance(alert, dict) else None
    if event not in ("begins", "ends") or not isinstance(at, str) or read is None:
        return None
    return AlertEvent(event="begins" if event == "begins" else "ends", at=at, alert=read)


def _read_alert(value: Mapping[str, Json]) -> Alert | None:
    """Read a stored alert; None if it is damaged."""
    numbers = ("value", "threshold")
    for field in fields(Alert):
        expected = int | float if field.name in numbers else str
        if not isinstance(value.get(field.name), expected):
            return None
    return Alert(**cast("dict[str, str]", {field.name: value[field.name] for field in fields(Alert)}))  # type: ignore[arg-type]
