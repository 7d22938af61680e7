"""The queue: jobs as documents, claimed by one runner at a time, and listed for a while after their end."""

import logging
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta

from scrubjay.errors import InvalidInput, NotFound, StaleVersion, WrongState
from scrubjay.lazy import dataclass
from scrubjay.model.document import Document
from scrubjay.model.job import COLLECTION, Job, JobState
from scrubjay.model.memory import Json
from scrubjay.ports import Clock, DocumentStore

LEASE = timedelta(minutes=10)
"""A claimed job belongs to its runner for so long; then another runner may claim it."""
MAX_TRIES = 5
MAX_AGE = timedelta(days=7)
"""A job that could not be tried for so long fails, however often it was postponed."""
_RETENTION = {JobState.DONE: timedelta(days=1), JobState.FAILED: timedelta(days=7)}
_FIRST_WAIT = timedelta(seconds=30)
_MAX_WAIT = timedelta(hours=1)
_MAX_OUTCOME = 500
_PAGE = 500
_MAX_LISTED = 1_000
# So many documents are read to find jobs among ended ones, of which so many are deleted while jobs wait.
_MAX_READ = 10_000
_MAX_DELETED = 500
_DELETING = "deleting"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """The jobs to run. Each step checks the version of the document, so that two runners never run the same job."""

    documents: DocumentStore
    clock: Clock

    async def enqueue(self, kind: str, about: Mapping[str, Json], *, space: str, due: datetime | None = None) -> Job:
        """Add a job at the end; jobs of a write are part of its commit instead."""
        now = self.clock.now()
        job = Job(space=space, kind=kind, about=about, created_at=now, due=due or now)
        return Job.from_document(await self.documents.put_document(job.document(at=now), base=None))

    async def due(self, *, limit: int) -> list[Job]:
        """Return the jobs that wait or whose lease has ended, the longest due first, without claiming them.

        Jobs that ended long enough ago are deleted on the way.
        """
        while True:
            jobs, ended, is_complete = await self._read_due(limit=limit)
            for document in ended[: _MAX_DELETED if jobs else None]:
                await self._delete(document)
            if jobs or is_complete:
                return jobs

    async def claim(self, job: Job) -> Job | None:
        """Claim a job for the time of the lease; None if another runner was faster or it was tried too often."""
        now = self.clock.now()
        if job.tries >= MAX_TRIES:
            await self._update(
                job, state=JobState.FAILED, outcome=job.outcome or "given up: it was started and never ended"
            )
            return None
        return await self._update(job, state=JobState.RUNNING, tries=job.tries + 1, due=now + LEASE)

    async def finish(self, job: Job, outcome: str) -> Job | None:
        """Mark a job as done; it stays listed for a day."""
        return await self._update(job, state=JobState.DONE, outcome=outcome)

    async def fail(self, job: Job, reason: str) -> Job | None:
        """Retry a failed job later, after growing delays, until it was tried too often."""
        if job.tries >= MAX_TRIES:
            return await self._update(job, state=JobState.FAILED, outcome=reason)
        wait = min(_FIRST_WAIT * 4 ** (job.tries - 1), _MAX_WAIT)
        return await self._update(job, state=JobState.WAITING, due=self.clock.now() + wait, outcome=reason)

    async def postpone(self, job: Job, reason: str, *, seconds: float) -> Job | None:
        """Postpone a job that could not be tried, without counting a try; it fails if that goes on for too long."""
        now = self.clock.now()
        tries = max(job.tries - (job.state is JobState.RUNNING), 0)
        if now - job.created_at > MAX_AGE:
            return await self._update(job, state=JobState.FAILED, tries=tries, outcome=reason)
        due = now + timedelta(seconds=seconds)
        return await self._update(job, state=JobState.WAITING, tries=tries, due=due, outcome=reason)

    async def list_jobs(self, space: str, *, limit: int) -> tuple[Job, ...]:
        """Return the jobs of a space in any state, newest first."""
        newest: deque[Document] = deque(maxlen=max(1, min(limit, _MAX_LISTED)))
        after = ""
        while page := await self.documents.documents(space, COLLECTION, after=after, limit=_PAGE):
            newest.extend(page)
            after = page[-1].key
        return tuple(job for job in map(_parse, reversed(newest)) if job is not None)

    async def retry(self, space: str, job_id: str) -> Job:
        """Make a job due again, now and with all its tries; a running one is refused."""
        job = await self._get(space, job_id)
        if job.state is JobState.RUNNING:
            raise WrongState(f"job {job.id} is running", hint="Wait until it has ended", job_id=job.id)
        waiting = await self._update(job, state=JobState.WAITING, tries=0, due=self.clock.now(), outcome="")
        if waiting is None:
            raise WrongState(f"job {job.id} has just started", hint="Wait until it has ended", job_id=job.id)
        return waiting

    async def cancel(self, space: str, job_id: str) -> Job:
        """Delete a job. A running one may still end, but is not started again."""
        job = await self._get(space, job_id)
        await self.documents.delete_document(space, COLLECTION, job.id)
        return job

    async def _get(self, space: str, job_id: str) -> Job:
        document = await self.documents.document(space, COLLECTION, job_id)
        job = _parse(document) if document is not None and _DELETING not in document.value else None
        if job is None:
            raise NotFound(
                f"there is no job {job_id[:100]!r}", hint="`scrubjay jobs list` shows them", ref=job_id[:200]
            )
        return job

    async def _read_due(self, *, limit: int) -> tuple[list[Job], list[Document], bool]:
        """Return due jobs, ended jobs, and whether these are all; it reads on past ended ones."""
        now, count = self.clock.now(), limit
        while True:
            page = await self.documents.due_documents(COLLECTION, now=now, limit=count)
            parsed = [(document, _parse(document)) for document in page]
            ended = [document for document, job in parsed if job is not None and job.state in _RETENTION]
            jobs = [job for _, job in parsed if job is not None and job.state not in _RETENTION]
            for document in (document for document, job in parsed if job is None):
                await self._unschedule(document)
            is_complete = len(page) < count
            if is_complete or len(jobs) >= limit or count >= _MAX_READ:
                return jobs[:limit], ended, is_complete
            count = min(count * 4, _MAX_READ)

    async def _delete(self, document: Document) -> None:
        """Delete an ended job unless it is retried meanwhile: mark it first, since only updates check the version."""
        marked = replace(document, value={**document.value, _DELETING: True}, due=self.clock.now() + LEASE)
        try:
            await self.documents.put_document(marked, base=document.version)
        except StaleVersion:
            return
        await self.documents.delete_document(document.space, COLLECTION, document.key)

    async def _unschedule(self, document: Document) -> None:
        """Take an unreadable job out of the queue but keep it: the version that wrote it may be able to read it."""
        _log.warning("a job cannot be read", extra={"fields": {"job": document.key}})
        with suppress(StaleVersion):
            await self.documents.put_document(replace(document, due=None), base=document.version)

    async def _update(
        self,
        job: Job,
        *,
        state: JobState,
        outcome: str | None = None,
        tries: int | None = None,
        due: datetime | None = None,
    ) -> Job | None:
        now = self.clock.now()
        changed = replace(
            job,
            state=state,
            outcome=(job.outcome if outcome is None else outcome)[:_MAX_OUTCOME],
            tries=job.tries if tries is None else tries,
            due=now + _RETENTION[state] if state in _RETENTION else due,
        )
        try:
            return Job.from_document(await self.documents.put_document(changed.document(at=now), base=job.version))
        except StaleVersion:
            return None


def _parse(document: Document) -> Job | None:
    try:
        job = Job.from_document(document)
    except (InvalidInput, KeyError, ValueError, TypeError):
        return None
    value = document.value
    is_valid = isinstance(value["about"], dict) and isinstance(value["kind"], str) and isinstance(value["outcome"], str)
    tries = value["tries"]
    return job if is_valid and isinstance(tries, int) and not isinstance(tries, bool) and tries >= 0 else None
