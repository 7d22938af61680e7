"""The alerts of a daemon over time: an event when one begins, and one when it ends."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from datetime import datetime
from typing import Literal

from scrubjay.lazy import dataclass
from scrubjay.model.health import Alert
from scrubjay.model.memory import Json
from scrubjay.model.timestamps import to_iso


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertEvent:
    """An alert begins, or ends."""

    event: Literal["begins", "ends"]
    at: str
    alert: Alert

    @property
    def as_json(self) -> Mapping[str, Json]:
        """The event for a webhook."""
        return {"event": self.event, "at": self.at, "alert": asdict(self.alert)}


class AlertWatch:
    """Knows which alerts last, and since when."""

    def __init__(self) -> None:
        self._lasting: dict[tuple[str, str], Alert] = {}

    @property
    def lasting(self) -> tuple[Alert, ...]:
        """The alerts of all spaces when they were last looked at."""
        return tuple(self._lasting.values())

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
        return [
            *(AlertEvent(event="begins", at=at, alert=alert) for alert in begun),
            *(AlertEvent(event="ends", at=at, alert=alert) for alert in ended),
        ]


def _key(alert: Alert) -> tuple[str, str]:
    return alert.name, alert.space
