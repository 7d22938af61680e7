"""What a space does with what is written: its rules, tags, inbox and jobs."""

from collections.abc import Mapping, Sequence

from scrubjay.engine.dependencies import Dependencies
from scrubjay.model.draft import Caller, Selection
from scrubjay.model.job import Job
from scrubjay.model.memory import Json, Memory
from scrubjay.model.results import Outcome
from scrubjay.model.rules import Rules
from scrubjay.model.tags import TagPreview, TagTable
from scrubjay.writing import review, synonyms
from scrubjay.writing import rules as ruling


class SpaceAdmin(Dependencies):
    """What a space does with what is written: its rules, tags, inbox and jobs."""

    __slots__ = ()

    async def rules(self, *, who: Caller) -> Rules:
        """What becomes of what is written into a space."""
        return (await ruling.load_rules(who.space, default=self.default_rules, documents=self.store)).rules

    async def set_rules(self, changes: Mapping[str, Json], *, who: Caller) -> Rules:
        """Change rules of a space; null gives one back to the default."""
        return await ruling.set_rules(
            changes, space=who.space, now=self.clock.now(), default=self.default_rules, documents=self.store
        )

    async def tags(self, *, who: Caller, limit: int = 200) -> TagTable:
        """The tags of a space with how many memories have each, and what they stand for."""
        return await synonyms.table(who.space, store=self.store, limit=limit)

    async def add_synonyms(self, tag: str, variants: Sequence[str], *, who: Caller) -> TagTable:
        """Have other words stand for a tag from now on."""
        return await synonyms.add(tag, variants, space=who.space, store=self.store, now=self.clock.now())

    async def remove_synonyms(self, variants: Sequence[str], *, who: Caller) -> TagTable:
        """Have words stand for themselves again."""
        return await synonyms.remove(variants, space=who.space, store=self.store, now=self.clock.now())

    async def preview_tags(self, tags: Sequence[str], *, who: Caller, text: str = "") -> TagPreview:
        """What would become of tags, and which would be suggested for a text."""
        return await synonyms.preview(
            tags, text=text, space=who.space, rules=await self.rules(who=who), store=self.store, embedder=self.embedder
        )

    async def inbox(self, *, who: Caller, limit: int = 50) -> tuple[Memory, ...]:
        """What waits for a person's yes, the newest first."""
        return await review.inbox(who.space, store=self.store, limit=limit)

    async def approve(self, selection: Selection, *, who: Caller) -> Outcome:
        """Keep what waits."""
        done = await review.approve(
            selection,
            space=who.space,
            origin=self._origin(who),
            store=self.store,
            conflict_checker=self._conflict_checker,
        )
        await self.index.after_commit()
        return done

    async def decline(self, selection: Selection, *, who: Caller) -> Outcome:
        """Put what waits into the trash."""
        done = await review.decline(selection, space=who.space, origin=self._origin(who), store=self.store)
        await self.index.after_commit()
        return done

    async def jobs(self, *, who: Caller, limit: int = 50) -> tuple[Job, ...]:
        """The work that is left for later and what came of it, the newest first."""
        return await self._queue.listed(who.space, limit=limit)

    async def retry_job(self, job_id: str, *, who: Caller) -> Job:
        """Have a job done again that failed."""
        job = await self._queue.retry(who.space, job_id)
        if self.job_runner is not None:
            await self.job_runner.take((job,), waits=False)
        return job

    async def cancel_job(self, job_id: str, *, who: Caller) -> Job:
        """Have a job not done after all."""
        return await self._queue.cancel(who.space, job_id)
