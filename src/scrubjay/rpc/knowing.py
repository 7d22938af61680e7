"""Versions, branches, relations and conflicts, asked of a daemon."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import cast

from scrubjay.model.branch import Branches, BranchMerged
from scrubjay.model.conflict import ConflictDetails, Resolved, Scan
from scrubjay.model.draft import Caller, Draft
from scrubjay.model.fact import Extracted
from scrubjay.model.job import Job
from scrubjay.model.memory import MAIN, Json
from scrubjay.model.relation import Network
from scrubjay.model.results import Context, History, Written
from scrubjay.model.transfer import Progress
from scrubjay.rpc.client import RpcClient
from scrubjay.rpc.codec import from_json


class Knowing(RpcClient):
    """The verbs of the past, of the graph and of what does not go together."""

    async def history(
        self, ref: str, *, who: Caller, limit: int = 20, before: int | None = None, branch: str = ""
    ) -> History:
        """The versions of a memory."""
        return await self._read("history", History, who, ref=ref, limit=limit, before=before, branch=branch)

    async def diff(self, ref: str, *, who: Caller, versions: Sequence[int | str], branch: str = "") -> History:
        """How one version became another."""
        return await self._read("diff", History, who, ref=ref, versions=versions, branch=branch)

    async def revert(
        self, ref: str, *, who: Caller, to: int, message: str = "", branch: str = "", idempotency_key: str = ""
    ) -> Written:
        """Go back to a version, as a new one."""
        return await self._write(
            "revert", Written, who, ref=ref, to=to, message=message, branch=branch, idempotency_key=idempotency_key
        )

    async def commit(
        self, ref: str, *, who: Caller, message: str, branch: str = "", idempotency_key: str = ""
    ) -> Written:
        """A new version that says the same, with a message."""
        return await self._write(
            "commit", Written, who, ref=ref, message=message, branch=branch, idempotency_key=idempotency_key
        )

    async def branch(
        self, ref: str, name: str, *, who: Caller, description: str = "", at: int | None = None, switch: bool = False
    ) -> Branches:
        """Begin another line of versions of a memory."""
        return await self._write(
            "branch", Branches, who, ref=ref, name=name, description=description, at=at, switch=switch
        )

    async def branches(self, ref: str, *, who: Caller) -> Branches:
        """The branches of a memory."""
        return await self._told("branches", Branches, who, ref=ref)

    async def switch(self, ref: str, name: str, *, who: Caller) -> Branches:
        """Have a memory stand on another branch for whoever names none."""
        # Done twice it is still done.
        return await self._told("switch", Branches, who, ref=ref, name=name)

    async def drop_branch(self, ref: str, name: str, *, who: Caller) -> Branches:
        """Put a branch into the trash."""
        return await self._write("drop_branch", Branches, who, ref=ref, name=name)

    async def merge_branch(
        self,
        ref: str,
        name: str,
        *,
        who: Caller,
        into: str = MAIN,
        prefer: str = "",
        message: str = "",
        idempotency_key: str = "",
    ) -> BranchMerged:
        """Bring what a branch has changed into another."""
        return await self._write(
            "merge_branch", BranchMerged, who, ref=ref, name=name, into=into, prefer=prefer, message=message,
            idempotency_key=idempotency_key,
        )  # fmt: skip

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
        return await self._told(
            "graph", Network, who, refs=refs, depth=depth, types=types, direction=direction, limit=limit, as_of=as_of
        )

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
        return await self._told(
            "path", Network, who, source=source, target=target, types=types, direction=direction, most=most,
            as_of=as_of,
        )  # fmt: skip

    async def conflicts(
        self, *, who: Caller, status: str = "pending", ref: str = "", limit: int = 50
    ) -> tuple[ConflictDetails, ...]:
        """The conflicts of a space, or of one memory."""
        return await self._told("conflicts", tuple[ConflictDetails, ...], who, status=status, ref=ref, limit=limit)

    async def probe_conflicts(
        self, drafts: Sequence[Draft], *, who: Caller, threshold: float = 0.5
    ) -> tuple[tuple[ConflictDetails, ...], ...]:
        """For each draft the conflicts that it would have if it were stored."""
        kind = tuple[tuple[ConflictDetails, ...], ...]
        return await self._told("probe_conflicts", kind, who, drafts=drafts, threshold=threshold)

    async def scan_conflicts(self, *, who: Caller, limit: int = 50, progress: Progress | None = None) -> Scan:
        """Look for conflicts in the whole space."""
        told = await self._try("scan_conflicts", {"limit": limit}, who, is_write=True, progress=progress)
        return cast("Scan", from_json(Scan, told))

    async def scan_later(self, *, who: Caller, after: int = 0) -> Job:
        """Have the whole space looked through after so many seconds."""
        return await self._told("scan_later", Job, who, after=after)

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
        return await self._write(
            "resolve_conflict", Resolved, who, conflict_id=conflict_id, strategy=strategy, notes=notes, branch=branch,
            idempotency_key=idempotency_key,
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
        return await self._write(
            "extract", Extracted, who, progress=progress, text=text, session=session, store=store, format=format,
            method=method, project=project, me=me, trusted=trusted,
        )  # fmt: skip

    async def context(self, *, who: Caller, session: str = "", project: str = "", max_tokens: int = 1500) -> Context:
        """What an agent should know before it begins."""
        return await self._told("context", Context, who, session=session, project=project, max_tokens=max_tokens)

    async def create_entities(self, entities: Sequence[Mapping[str, Json]], *, who: Caller) -> dict[str, Json]:
        """Create or update entities by name."""
        return await self._write("create_entities", dict[str, Json], who, entities=entities)

    async def update_entity(self, ref: str, changes: Mapping[str, Json], *, who: Caller) -> dict[str, Json]:
        """Change fields of an entity."""
        return await self._write("update_entity", dict[str, Json], who, ref=ref, changes=changes)

    async def search_nodes(self, query: str, *, who: Caller, limit: int = 10) -> dict[str, Json]:
        """Entities by name, type and meaning."""
        return await self._told("search_nodes", dict[str, Json], who, query=query, limit=limit)

    async def get_memory_status(self, *, who: Caller) -> dict[str, Json]:
        """Counts by type and tier, sizes, versions."""
        return await self._told("get_memory_status", dict[str, Json], who)
