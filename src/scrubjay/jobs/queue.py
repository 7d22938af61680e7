"""The queue: jobs on papers, claimed by whoever is first, and kept for a while when they are over."""

import logging
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from scrubjay.errors import InvalidInput, NotFound, StaleVersion, WrongState
from scrubjay.model.document import Document
from scrubjay.model.job import COLLECTION, Job, JobState
from scrubjay.model.memory import Json
from scrubjay.ports import Clock, DocumentStore

LEASE = timedelta(minutes=10)
"""So long a job is left to whoever has claimed it; then somebody else may."""
MOST_TRIES = 5
OLDEST = timedelta(days=7)
"""What could not be done for so long is given up, however often it was put off."""
_KEPT = {JobState.DONE: timedelta(days=1), JobState.FAILED: timedelta(days=7)}
_FIRST_WAIT = timedelta(seconds=30)
_LONGEST_WAIT = timedelta(hours=1)
_LONGEST_OUTCOME = 500
_PAGE = 500
_MOST_LISTED = 1_000
# So many papers are read to find jobs among what is over, and of that so many are thrown away while jobs wait.
_MOST_READ = 10_000
_MOST_SWEPT = 500
_SWEEPING = "thrown_away"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """What there is to do. Each step goes by the version of the paper, so that two runners never do the same."""

    documents: DocumentStore
    clock: Clock

    async def enqueue(self, kind: str, about: Mapping[str, Json], *, space: str, due: datetime | None = None) -> Job:
        """Put a job at the end; what belongs to a write goes into its commit instead."""
        now = self.clock.now()
        job = Job(space=space, kind=kind, about=about, created_at=now, due=due or now)
        return Job.from_document(await self.documents.put_document(job.document(at=now), base=None))

    async def due(self, *, limit: int) -> list[Job]:
        """What waits to be done, or was given up by whoever had it, the longest first; nothing is claimed yet.

        What was over long enough ago is thrown away on the way, and nobody waits for that.
        """
        while True:
            jobs, over, is_all = await self._look(limit=limit)
            for document in over[: _MOST_SWEPT if jobs else None]:
                await self._throw_away(document)
            if jobs or is_all:
                return jobs

    async def claim(self, job: Job) -> Job | None:
        """Have a job for as long as the lease; None when somebody was faster or it has been tried too often."""
        now = self.clock.now()
        if job.tries >= MOST_TRIES:
            await self._file(
                job, state=JobState.FAILED, outcome=job.outcome or "given up: it was begun and never ended"
            )
            return None
        return await self._file(job, state=JobState.RUNNING, tries=job.tries + 1, due=now + LEASE)

    async def finish(self, job: Job, outcome: str) -> Job | None:
        """It is done; it stays to be seen for a day."""
        return await self._file(job, state=JobState.DONE, outcome=outcome)

    async def fail(self, job: Job, why: str) -> Job | None:
        """It did not work: later again, each time later, until it was tried too often."""
        if job.tries >= MOST_TRIES:
            return await self._file(job, state=JobState.FAILED, outcome=why)
        wait = min(_FIRST_WAIT * 4 ** (job.tries - 1), _LONGEST_WAIT)
        return await self._file(job, state=JobState.WAITING, due=self.clock.now() + wait, outcome=why)

    async def put_off(self, job: Job, why: str, *, seconds: float) -> Job | None:
        """It could not be tried at all, which is no try; given up when that goes on for too long."""
        now = self.clock.now()
        tries = max(job.tries - (job.state is JobState.RUNNING), 0)
        if now - job.created_at > OLDEST:
            return await self._file(job, state=JobState.FAILED, tries=tries, outcome=why)
        due = now + timedelta(seconds=seconds)
        return await self._file(job, state=JobState.WAITING, tries=tries, due=due, outcome=why)

    async def listed(self, space: str, *, limit: int) -> tuple[Job, ...]:
        """The jobs of a space, newest first, whatever has become of them."""
        newest: deque[Document] = deque(maxlen=max(1, min(limit, _MOST_LISTED)))
        after = ""
        while page := await self.documents.documents(space, COLLECTION, after=after, limit=_PAGE):
            newest.extend(page)
            after = page[-1].key
        return tuple(job for job in map(_job, reversed(newest)) if job is not None)

    async def retry(self, space: str, job_id: str) -> Job:
        """Have a job done again, now and with all its tries; one that is running is left alone."""
        job = await self._found(space, job_id)
        if job.state is JobState.RUNNING:
            raise WrongState(f"job {job.id} is running", hint="Wait until it has ended", job_id=job.id)
        fresh = await self._file(job, state=JobState.WAITING, tries=0, due=self.clock.now(), outcome="")
        if fresh is None:
            raise WrongState(f"job {job.id} has just been begun", hint="Wait until it has ended", job_id=job.id)
        return fresh

    async def cancel(self, space: str, job_id: str) -> Job:
        """Throw a job away. One that is running may still end, but is not begun again."""
        job = await self._found(space, job_id)
        await self.documents.delete_document(space, COLLECTION, job.id)
        return job

    async def _found(self, space: str, job_id: str) -> Job:
        document = await self.documents.document(space, COLLECTION, job_id)
        job = _job(document) if document is not None and _SWEEPING not in document.value else None
        if job is None:
            raise NotFound(
                f"there is no job {job_id[:100]!r}", hint="`scrubjay jobs list` shows them", ref=job_id[:200]
            )
        return job

    async def _look(self, *, limit: int) -> tuple[list[Job], list[Document], bool]:
        """What is to be done, what is over, and whether that is all there is; reads on past what is over."""
        now, wanted = self.clock.now(), limit
        while True:
            page = await self.documents.due_documents(COLLECTION, now=now, limit=wanted)
            read = [(document, _job(document)) for document in page]
            over = [document for document, job in read if job is not None and job.state in _KEPT]
            jobs = [job for _, job in read if job is not None and job.state not in _KEPT]
            for document in (document for document, job in read if job is None):
                await self._put_aside(document)
            is_all = len(page) < wanted
            if is_all or len(jobs) >= limit or wanted >= _MOST_READ:
                return jobs[:limit], over, is_all
            wanted = min(wanted * 4, _MOST_READ)

    async def _throw_away(self, document: Document) -> None:
        """Throw away what is over, unless somebody wants it again: marked first, since only that goes by version."""
        marked = replace(document, value={**document.value, _SWEEPING: True}, due=self.clock.now() + LEASE)
        try:
            await self.documents.put_document(marked, base=document.version)
        except StaleVersion:
            return
        await self.documents.delete_document(document.space, COLLECTION, document.key)

    async def _put_aside(self, document: Document) -> None:
        """Whoever wrote what cannot be read may know what it says; it must not stand in the way of the others."""
        _log.warning("a job cannot be read", extra={"fields": {"job": document.key}})
        with suppress(StaleVersion):
            await self.documents.put_document(replace(document, due=None), base=document.version)

    async def _file(
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
            outcome=(job.outcome if outcome is None else outcome)[:_LONGEST_OUTCOME],
            tries=job.tries if tries is None else tries,
            due=now + _KEPT[state] if state in _KEPT else due,
        )
        try:
            return Job.from_document(await self.documents.put_document(changed.document(at=now), base=job.version))
        except StaleVersion:
            return None


def _job(document: Document) -> Job | None:
    try:
        job = Job.from_document(document)
    except (InvalidInput, KeyError, ValueError, TypeError):
        return None
    value = document.value
    sound = isinstance(value["about"], dict) and isinstance(value["kind"], str) and isinstance(value["outcome"], str)
    tries = value["tries"]
    return job if sound and isinstance(tries, int) and not isinstance(tries, bool) and tries >= 0 else None
