"""A clock that tests set."""

from datetime import UTC, datetime, timedelta


class FakeClock:
    """Tells a time of its own that moves on a step with every look, so that no two moments are the same."""

    def __init__(
        self,
        start: datetime = datetime(2026, 1, 1, 12, tzinfo=UTC),
        *,
        step: timedelta = timedelta(milliseconds=1),
    ) -> None:
        self._next = start.astimezone(UTC)
        self._step = step

    def now(self) -> datetime:
        """The time, which moves on."""
        told = self._next
        self._next += self._step
        return told

    def set(self, moment: datetime) -> None:
        """Make it the given time."""
        self._next = moment.astimezone(UTC)

    def advance(self, by: timedelta) -> None:
        """Let time pass."""
        self._next += by
