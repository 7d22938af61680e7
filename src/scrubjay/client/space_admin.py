"""What a space does with what is written: its rules, tags, inbox and jobs."""

from collections.abc import Sequence

from scrubjay.client.coerce import as_refs, as_tuple
from scrubjay.client.connection import Connection
from scrubjay.model.draft import Selection
from scrubjay.model.job import Job
from scrubjay.model.memory import Json, Memory
from scrubjay.model.results import Outcome
from scrubjay.model.rules import Rules
from scrubjay.model.tags import TagPreview, TagTable


class ClientSpaceAdmin(Connection):
    """What a space does with what is written: its rules, tags, inbox and jobs."""

    async def rules(self) -> Rules:
        """What becomes of what is written into the space."""
        return await self._open.rules(who=self._who)

    async def set_rules(self, **changes: Json) -> Rules:
        """Change rules of the space, such as `gate="report"`; None gives one back to the default."""
        return await self._open.set_rules(changes, who=self._who)

    async def tags(self, *, limit: int = 200) -> TagTable:
        """The tags of the space, and what stands for what."""
        return await self._open.tags(who=self._who, limit=limit)

    async def add_synonyms(self, tag: str, variants: Sequence[str]) -> TagTable:
        """Have other words stand for a tag from now on."""
        return await self._open.add_synonyms(tag, as_tuple(variants), who=self._who)

    async def remove_synonyms(self, variants: Sequence[str]) -> TagTable:
        """Have words stand for themselves again."""
        return await self._open.remove_synonyms(as_tuple(variants), who=self._who)

    async def preview_tags(self, tags: Sequence[str], *, text: str = "") -> TagPreview:
        """What would become of tags, and which would be suggested for a text."""
        return await self._open.preview_tags(as_tuple(tags), who=self._who, text=text)

    async def inbox(self, *, limit: int = 50) -> tuple[Memory, ...]:
        """What waits for a person's yes."""
        return await self._open.inbox(who=self._who, limit=limit)

    async def approve(self, ids: str | Sequence[str], *, reason: str = "", dry_run: bool = False) -> Outcome:
        """Keep what waits."""
        chosen = Selection(refs=as_refs(ids), reason=reason, dry_run=dry_run)
        return await self._open.approve(chosen, who=self._who)

    async def decline(self, ids: str | Sequence[str], *, reason: str = "", dry_run: bool = False) -> Outcome:
        """Put what waits into the trash."""
        chosen = Selection(refs=as_refs(ids), reason=reason, dry_run=dry_run)
        return await self._open.decline(chosen, who=self._who)

    async def jobs(self, *, limit: int = 50) -> tuple[Job, ...]:
        """The work that is left for later, and what came of it."""
        return await self._open.jobs(who=self._who, limit=limit)

    async def retry_job(self, job_id: str) -> Job:
        """Have a job done again that failed."""
        return await self._open.retry_job(job_id, who=self._who)

    async def cancel_job(self, job_id: str) -> Job:
        """Have a job not done after all."""
        return await self._open.cancel_job(job_id, who=self._who)
