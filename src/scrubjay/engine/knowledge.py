"""Things, relations between them, and what does not go together."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import cast

from scrubjay.conflicts import listing as conflict_telling
from scrubjay.conflicts import scan
from scrubjay.conflicts.resolve import resolve_conflict
from scrubjay.engine.memories import Memories
from scrubjay.graph import network, records, search, status
from scrubjay.lookup.references import space_of
from scrubjay.model.checks import require_integer
from scrubjay.model.conflict import ConflictDetails, Resolved, Scan
from scrubjay.model.draft import Caller, Draft
from scrubjay.model.fact import Extracted
from scrubjay.model.job import CONFLICTS, Job, JobState
from scrubjay.model.memory import Json, Memory
from scrubjay.model.query import Question
from scrubjay.model.relation import Network
from scrubjay.model.results import Context, Recalled
from scrubjay.ports import Progress
from scrubjay.recalling import context as start
from scrubjay.recalling import pipeline as recalling
from scrubjay.versions.merge_fields import combine

# So many entities are looked for by meaning beside those that are found by name.
_MOST_MEANT = 100
_PLENTY = 1_000_000
# So many conflicts are looked at when a session begins, of which a few are told.
_MOST_CONFLICTS = 12

_MONTH = 30 * 24 * 60 * 60


class Knowledge(Memories):
    """Things, relations between them, and what does not go together."""

    __slots__ = ()

    async def graph(
        self,
        refs: Sequence[str],
        *,
        who: Caller,
        depth: int = 1,
        types: Sequence[str] = (),
        direction: str = "both",
        limit: int = 200,
        as_of: datetime | None = None,
    ) -> Network:
        """The memories that relations lead to from some."""
        space = await space_of(self.store, refs[0], spaces=who.spaces) if refs else who.space
        return await network.around(
            refs, depth=depth, types=types, direction=direction, limit=limit, as_of=as_of, space=space,
            store=self.store,
        )  # fmt: skip

    async def path(
        self,
        source: str,
        target: str,
        *,
        who: Caller,
        types: Sequence[str] = (),
        direction: str = "both",
        most: int = 6,
        as_of: datetime | None = None,
    ) -> Network:
        """A shortest way from one memory to another."""
        space = await space_of(self.store, source, spaces=who.spaces)
        return await network.path(
            source, target, types=types, direction=direction, most=most, as_of=as_of, space=space, store=self.store
        )

    async def conflicts(
        self, *, who: Caller, status: str = "pending", ref: str = "", limit: int = 50
    ) -> tuple[ConflictDetails, ...]:
        """The conflicts of a space, or of one memory."""
        return await conflict_telling.conflicts(
            status=status, ref=ref, limit=limit, now=self.clock.now(), space=who.space, store=self.store
        )

    async def probe_conflicts(
        self, drafts: Sequence[Draft], *, who: Caller, threshold: float = 0.5
    ) -> tuple[tuple[ConflictDetails, ...], ...]:
        """For each draft the conflicts that it would have if it were stored."""
        return await scan.probe(
            drafts, threshold=threshold, space=who.space, origin=self._origin(who), context=self._write_context
        )

    async def scan_conflicts(self, *, who: Caller, limit: int = 50, progress: Progress | None = None) -> Scan:
        """Look for conflicts in the whole space."""
        return await scan.scan(
            limit=limit, space=who.space, origin=self._origin(who), context=self._write_context, progress=progress
        )

    async def scan_memory(self, memory_id: str, *, who: Caller) -> int | None:
        """Look for conflicts of all that one memory says; tells how many are new, None where it is not there."""
        return await scan.scan_memory(memory_id, space=who.space, origin=self._origin(who), context=self._write_context)

    async def scan_later(self, *, who: Caller, after: int = 0) -> Job:
        """Have the whole space looked through after so many seconds; one look that waits already is enough."""
        due = self.clock.now() + timedelta(seconds=require_integer(after, field="after", least=0, most=_MONTH))
        for job in await self._queue.listed(who.space, limit=200):
            if job.kind == CONFLICTS and job.state is JobState.WAITING and not job.about:
                return job
        job = await self._queue.enqueue(CONFLICTS, {}, space=who.space, due=due)
        if self.job_runner is not None:
            await self.job_runner.take((job,), waits=False)
        return job

    async def resolve_conflict(
        self,
        conflict_id: str,
        *,
        who: Caller,
        strategy: str = "auto",
        notes: str = "",
        branch: str = "",
        idempotency_key: str = "",
    ) -> Resolved:
        """Settle a conflict, in a way that can be undone."""
        done = await resolve_conflict(
            conflict_id, strategy=strategy, notes=notes, branch=branch, space=who.space, origin=self._origin(who),
            context=self._write_context, combine=combine, key=idempotency_key,
        )  # fmt: skip
        await self.index.after_commit()
        return done

    async def entity(self, ref: str, *, who: Caller) -> Memory:
        """The entity of a name or id; what it was called before it was merged leads to it too."""
        return await records.entity_at(ref, space=who.space, store=self.store)

    async def entity_named(self, name: str, *, who: Caller) -> Memory | None:
        """The entity with exactly this name, or into which the one that had it was merged; None without one."""
        return await records.entity_named(name, space=who.space, store=self.store)

    async def entities(self, ids: Sequence[str], *, who: Caller) -> dict[str, Memory]:
        """The entities that there are, by id, whatever has become of them; nobody has read them for that."""
        return await self.store.get(who.space, list(dict.fromkeys(ids)))

    async def create_entities(self, entities: Sequence[Mapping[str, Json]], *, who: Caller) -> dict[str, Json]:
        """Create or update entities by name."""
        done = await records.create_entities(
            entities, space=who.space, origin=self._origin(who), context=self._write_context
        )
        await self.index.after_commit()
        return done

    async def update_entity(self, ref: str, changes: Mapping[str, Json], *, who: Caller) -> dict[str, Json]:
        """Change fields of an entity."""
        done = await records.update_entity(
            ref, changes, space=who.space, origin=self._origin(who), context=self._write_context
        )
        await self.index.after_commit()
        return done

    async def search_nodes(self, query: str, *, who: Caller, limit: int = 10) -> dict[str, Json]:
        """Entities by name, type and meaning; what is always included comes first."""
        meant = Recalled(hits=())
        if query.strip():
            question = Question(query=query, limit=min(max(1, limit), _MOST_MEANT), max_tokens=_PLENTY, detail="full")
            meant = await recalling.recall(
                question, cursor="", spaces=(who.space,), now=self.clock.now(), context=self._recall_context
            )
        found = await search.search_nodes(
            query, limit=limit, meant=meant, now=self.clock.now(), space=who.space, store=self.store,
            text_caches=self.text_caches,
        )  # fmt: skip
        self.access_log.note((who.space, str(one["id"])) for one in cast("list[dict[str, Json]]", found["results"]))
        return found

    async def get_memory_status(self, *, who: Caller) -> dict[str, Json]:
        """Counts by type and tier, sizes, versions."""
        return await status.memory_status(space=who.space, store=self.store)

    async def context(self, *, who: Caller, session: str = "", project: str = "", max_tokens: int = 1500) -> Context:
        """What an agent should know before it begins."""
        return await start.context(
            session=session, project=project, max_tokens=max_tokens,
            conflicts=await self.conflicts(who=who, limit=_MOST_CONFLICTS), now=self.clock.now(), space=who.space,
            store=self.store,
        )  # fmt: skip

    async def extract(
        self,
        text: str,
        *,
        who: Caller,
        session: str = "",
        store: bool = True,
        format: str = "auto",
        method: str = "auto",
        project: str = "",
        me: str = "",
        trusted: bool = True,
        progress: Progress | None = None,
    ) -> Extracted:
        """Find the facts of a conversation, and store them."""
        # Its patterns take a tenth of what a process needs to start, and few extract anything.
        from scrubjay.extraction.extract import extract  # noqa: PLC0415

        return await extract(
            text, session=session, store=store, format=format, method=method, project=project, me=me, trusted=trusted,
            space=who.space, origin=self._origin(who), context=self._write_context, llm=self.llm, hand_on=self._hand_on,
            progress=progress,
        )  # fmt: skip
