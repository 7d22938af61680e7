"""When the curation of a space is due, and who does it: one document a space, which only one runner can change."""

import zlib
from collections.abc import Mapping
from dataclasses import field, replace
from datetime import datetime, time, timedelta
from typing import Self, cast

from scrubjay.curation.plan import DAILY
from scrubjay.curation.registry import JOBS
from scrubjay.errors import InvalidInput
from scrubjay.lazy import dataclass
from scrubjay.model.curation import SCHEDULE, SCHEDULE_KEY
from scrubjay.model.document import Document
from scrubjay.model.memory import Json
from scrubjay.model.timestamps import parse_moment, to_iso

LEASE = timedelta(minutes=2)
"""A run belongs to its runner for so long after its last sign of life; then another runner may go on with it."""
# So much later than planned may a run start, so that many spaces do not start together.
_JITTER = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """The schedule of the daemon: `hours` between two runs, none if 0, and hours of the day without any."""

    hours: int = 24
    quiet: tuple[time, time] | None = None

    @classmethod
    def parse(cls, *, hours: int, quiet: str) -> Self:
        """Read the settings; quiet hours are written as `8:00-18:30`, by the clock of the machine."""
        if not quiet.strip():
            return cls(hours=hours)
        try:
            start, end = (_parse_time(part) for part in quiet.split("-"))
        except ValueError:
            raise InvalidInput(
                f"SCRUBJAY_CURATION_QUIET: {quiet[:80]!r} are not hours of the day",
                hint="Write them as 8:00-18:30",
                setting="SCRUBJAY_CURATION_QUIET",
            ) from None
        return cls(hours=hours, quiet=(start, end))

    def is_quiet(self, now: datetime) -> bool:
        """Return whether no run may start or go on now."""
        if self.quiet is None:
            return False
        start, end = self.quiet
        clock = now.astimezone().time()
        return start <= clock < end if start <= end else clock >= start or clock < end

    def every(self, job: str) -> timedelta:
        """Return the time between two runs of a job: the setting is for those that run every day."""
        every = JOBS[job].every
        return timedelta(hours=self.hours) if every == DAILY else every

    def next_due(self, record: "SpaceRecord") -> datetime:
        """Return when the next job of a space is due."""
        return min(self.due_of(job, record) for job in JOBS)

    def due_of(self, job: str, record: "SpaceRecord") -> datetime:
        """Return when a job is due, a little later in some spaces than in others."""
        every = self.every(job)
        fraction = zlib.crc32(f"{record.space}/{job}".encode()) / 2**32
        return record.last.get(job, record.since) + every + min(every, DAILY) * _JITTER * fraction

    def due_jobs(self, record: "SpaceRecord", now: datetime) -> tuple[str, ...]:
        """Return the jobs that are due, or will be so soon that one run can do them together."""
        soon = now + timedelta(hours=self.hours) * _JITTER
        return tuple(job for job in JOBS if self.due_of(job, record) <= soon)

    def is_unreachable(self, record: "SpaceRecord", now: datetime) -> bool:
        """Return whether a clock that was ahead has put off the next run for longer than one should wait."""
        return any(moment > now + LEASE for moment in (record.since, *record.last.values()))


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceRecord:
    """The curation of a space: since when it is known, when each job ended last, and the run that is not finished.

    `until` is the end of the lease of that run's runner. Its document is due when there is something to do.
    """

    space: str
    since: datetime
    last: Mapping[str, datetime] = field(default_factory=dict[str, datetime])
    run: str = ""
    until: datetime | None = None
    due: datetime | None = None
    version: int = 0

    def is_held(self, now: datetime) -> bool:
        """Return whether a runner is at work; a lease from a clock that was far ahead does not count."""
        # The clocks of two servers differ a little.
        return self.until is not None and now < self.until <= now + 2 * LEASE

    def forgetting_future(self, now: datetime) -> Self:
        """Return the record without times that have not come yet."""
        last = {job: min(moment, now) for job, moment in self.last.items()}
        return replace(self, since=min(self.since, now), last=last)

    def document(self, *, at: datetime) -> Document:
        """Return the document that stores it."""
        value: dict[str, Json] = {
            "since": to_iso(self.since), "last": {job: to_iso(moment) for job, moment in self.last.items()},
            "run": self.run, "until": None if self.until is None else to_iso(self.until),
        }  # fmt: skip
        return Document(
            space=self.space, collection=SCHEDULE, key=SCHEDULE_KEY, value=value, version=self.version or 1, at=at,
            due=self.due,
        )  # fmt: skip

    @classmethod
    def from_document(cls, document: Document) -> Self:
        """Read a stored record."""
        value, until = document.value, document.value["until"]
        last = cast("dict[str, str]", value["last"])
        return cls(
            space=document.space, since=parse_moment(str(value["since"]), field="since"),
            last={job: parse_moment(moment, field="last") for job, moment in last.items()}, run=str(value["run"]),
            until=None if until is None else parse_moment(str(until), field="until"), due=document.due,
            version=document.version,
        )  # fmt: skip


def _parse_time(text: str) -> time:
    hour, _, minute = text.strip().partition(":")
    return time(int(hour), int(minute or 0))
