"""A clock that tests set."""

from datetime import UTC, datetime, timedelta


class FakeClock:
    """Shows a time that advances a step with every call, so that no two times are the same."""

    def __init__(
        self,
        start: datetime = datetime(2026, 1, 1, 12, tzinfo=UTC),
        *,
        step: timedelta = timedelta(milliseconds=1),
    ) -> None:
        self._next = start.astimezone(UTC)
        self._step = step

    def now(self) -> datetime:
        """Return the time, and advance it."""
        moment = self._next
        self._next += self._step
        return moment

    def set(self, moment: datetime) -> None:
        """Set the time."""
        self._next = moment.astimezone(UTC)

    def advance(self, by: timedelta) -> None:
        """Advance the time."""
        self._next += by
