"""Things, relations between them, and what does not go together."""

from collections.abc import Mapping, Sequence

from scrubjay.client.coerce import Moment, as_moment, as_refs, as_tuple
from scrubjay.client.connection import Connection
from scrubjay.model.conflict import ConflictDetails, Resolved, Scan
from scrubjay.model.draft import Draft
from scrubjay.model.fact import Extracted
from scrubjay.model.job import Job
from scrubjay.model.memory import Json
from scrubjay.model.relation import Network
from scrubjay.model.results import Context
from scrubjay.model.transfer import Progress


class ClientKnowledge(Connection):
    """Things, relations between them, and what does not go together."""

    async def related(
        self, id: str, *, types: Sequence[str] = (), direction: str = "both", limit: int = 200, as_of: Moment = None
    ) -> Network:
        """The memories that relations of one lead to."""
        return await self.graph(id, depth=1, types=types, direction=direction, limit=limit, as_of=as_of)

    async def graph(
        self,
        ids: str | Sequence[str],
        *,
        depth: int = 1,
        types: Sequence[str] = (),
        direction: str = "both",
        limit: int = 200,
        as_of: Moment = None,
    ) -> Network:
        """The memories that relations lead to from some, up to so many steps away."""
        return await self._open.graph(
            as_refs(ids), who=self._who, depth=depth, types=as_tuple(types), direction=direction, limit=limit,
            as_of=as_moment(as_of, "as_of"),
        )  # fmt: skip

    async def path(
        self,
        source: str,
        target: str,
        *,
        types: Sequence[str] = (),
        direction: str = "both",
        most: int = 6,
        as_of: Moment = None,
    ) -> Network:
        """A shortest way from one memory to another, of at most so many steps."""
        return await self._open.path(
            source, target, who=self._who, types=as_tuple(types), direction=direction, most=most,
            as_of=as_moment(as_of, "as_of"),
        )  # fmt: skip

    async def conflicts(self, *, status: str = "pending", id: str = "", limit: int = 50) -> tuple[ConflictDetails, ...]:
        """The conflicts of the space, or of one memory."""
        return await self._open.conflicts(who=self._who, status=status, ref=id, limit=limit)

    async def probe_conflicts(
        self, drafts: Sequence[Draft], *, threshold: float = 0.5
    ) -> tuple[tuple[ConflictDetails, ...], ...]:
        """For each draft the conflicts that it would have if it were stored."""
        return await self._open.probe_conflicts(drafts, who=self._who, threshold=threshold)

    async def scan_conflicts(self, *, limit: int = 50, progress: Progress | None = None) -> Scan:
        """Look for conflicts in the whole space."""
        return await self._open.scan_conflicts(who=self._who, limit=limit, progress=progress)

    async def scan_later(self, *, after: int = 0) -> Job:
        """Have the whole space looked through by the daemon, after so many seconds."""
        return await self._open.scan_later(who=self._who, after=after)

    async def resolve_conflict(
        self, id: str, *, strategy: str = "auto", notes: str = "", branch: str = "", idempotency_key: str = ""
    ) -> Resolved:
        """Settle a conflict, in a way that `undo` takes back."""
        return await self._open.resolve_conflict(
            id, who=self._who, strategy=strategy, notes=notes, branch=branch, idempotency_key=idempotency_key
        )

    async def extract(
        self,
        text: str,
        *,
        session: str = "",
        store: bool = True,
        format: str = "auto",
        method: str = "auto",
        project: str = "",
        me: str = "",
        trusted: bool = True,
        progress: Progress | None = None,
    ) -> Extracted:
        """Find the facts of a conversation, and store them.

        `me` is the speaker who is the user, where the log does not call anybody so. What others say counts as read
        somewhere, and unless it is `trusted`, nobody's words in it count as the user's own.
        """
        return await self._open.extract(
            text,
            who=self._who,
            session=session,
            store=store,
            format=format,
            method=method,
            project=project,
            me=me,
            trusted=trusted,
            progress=progress,
        )

    async def context(self, *, session: str = "", project: str = "", max_tokens: int = 1500) -> Context:
        """What an agent should know before it begins."""
        return await self._open.context(who=self._who, session=session, project=project, max_tokens=max_tokens)

    async def create_entities(self, entities: Sequence[Mapping[str, Json]]) -> dict[str, Json]:
        """Create or update entities by name; what is wrong with one does not keep the others."""
        return await self._open.create_entities(entities, who=self._who)

    async def update_entity(self, id: str, changes: Mapping[str, Json]) -> dict[str, Json]:
        """Change fields of an entity."""
        return await self._open.update_entity(id, changes, who=self._who)

    async def search_nodes(self, query: str, *, limit: int = 10) -> dict[str, Json]:
        """Entities by name, type and meaning; what is always included comes first."""
        return await self._open.search_nodes(query, who=self._who, limit=limit)

    async def get_memory_status(self) -> dict[str, Json]:
        """Counts by type and tier, sizes, versions."""
        return await self._open.get_memory_status(who=self._who)
