"""The vector index of a PostgreSQL database: it searches the stored vectors, so a commit is found at once."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from typing import Protocol

from scrubjay import telemetry
from scrubjay.errors import EmbeddingUnavailable, ScrubjayError
from scrubjay.model.memory import Json
from scrubjay.model.passage import Vector
from scrubjay.model.query import Filter
from scrubjay.ports import Profile
from scrubjay.vectors.pgvector_indexes import STANDING, Layout, Tuning, require_known, standing_of
from scrubjay.vectors.validate import require_sound

_NEAREST = "SELECT id, cosine FROM scrubjay.nearest_passages(%s, %s, %s, %s::jsonb, %s::jsonb)"
_INDEX_VECTORS = "SELECT scrubjay.index_vectors(%s, %s)"
_WORK = "vector index"


class TableOwner(Protocol):
    """A connection of the owner of the tables."""

    async def run(self, statement: str) -> Sequence[Sequence[object]]:
        """Run a statement outside of a transaction, without a time limit; raises StoreError."""
        ...

    async def require_owner(self) -> None:
        """Raise StoreError unless this login may create indexes."""
        ...


class Tables(Protocol):
    """The queries that the index needs from the store."""

    async def rows(
        self, statement: str, *values: object, space: str | None = None, unrestricted: bool = False
    ) -> Sequence[Sequence[object]]:
        """Return the rows of a query, in one space or, unrestricted, in all."""
        ...

    def filter_json(self, space: str, filter: Filter) -> dict[str, Json]:
        """Return a filter as the database takes it."""
        ...

    def owner_connection(self, name: str) -> AbstractAsyncContextManager[TableOwner | None]:
        """Open a connection of the owner; None while another process does the same work."""
        ...


class PgvectorIndex:
    """The vector index over the table of vectors itself: it keeps no copy.

    A search compares a few points directly. For many points the first server to notice builds an index of the extension
    in the background. Until it is complete every search is exact.
    """

    def __init__(
        self,
        tables: Tables,
        profile: Callable[[], Awaitable[Profile]],
        *,
        kind: str = "hnsw",
        precision: str = "half",
        tuning: Tuning | None = None,
    ) -> None:
        require_known(kind, precision)
        self._tables = tables
        self._profile = profile
        self._kind = kind
        self._precision = precision
        self._tuning = tuning or Tuning()
        self._layout: Layout | None = None
        self.way = ""
        self._looked = 0.0
        self._job: asyncio.Task[None] | None = None
        self._placing: asyncio.Task[None] | None = None
        self._failures = 0
        self._problem = ""

    async def open(self) -> None:
        """Read the state of the database, and start a missing build; raises EmbeddingUnavailable without a model."""
        await self._look()

    async def search(self, space: str, vector: Vector, filter: Filter, *, limit: int) -> list[tuple[int, float]]:
        """Return (passage number, cosine), best first; never fewer than pass the filter, up to the limit."""
        layout = await self._current()
        require_sound(vector, dimension=layout.standing.dimension)
        if limit < 1 or layout.standing.model_no is None:
            return []
        filters = json.dumps(self._tables.filter_json(space, filter))
        rows = await self._tables.rows(
            _NEAREST, layout.standing.model_no, _written(vector), limit, filters, self.way, space=space
        )
        hits = [(int(str(number)), float(str(cosine))) for number, cosine in rows]
        return sorted(hits, key=lambda hit: (-hit[1], hit[0]))

    async def after_commit(self) -> None:
        """Index new vectors in the background, and sometimes check whether a build is due; never fails."""
        self._place_soon()
        if self._layout is None or not self._is_time:
            return
        # Concurrent calls need not check too.
        self._looked = time.monotonic()
        try:
            await self._look()
        except ScrubjayError:
            # The commit has succeeded, whatever is wrong with the database now.
            return

    async def after_purge(self) -> None:
        """Do nothing: the rows are deleted, and vacuum cleans the indexes."""

    async def rebuild(self) -> None:
        """Rebuild the index, and drop those of other kinds; waits for a limited time."""
        await self.settle()
        try:
            layout = await self._look()
        except EmbeddingUnavailable:
            return
        await self.settle()
        if layout.standing.indexes:
            self._failures, self._problem = 0, ""
            self._begin(layout, anew=True)
            await self.settle(self._tuning.patience)

    async def settle(self, seconds: float | None = None) -> None:
        """Wait for the background work, at most so many seconds."""
        if busy := {job for job in (self._job, self._placing) if job is not None and not job.done()}:
            await asyncio.wait(busy, timeout=seconds)

    async def lag(self) -> int:
        """Return 0: it has no copy that could be behind."""
        return 0

    async def describe(self) -> dict[str, str | int | bool]:
        """Return the state for `status`; `problem` says why the index is not the configured one."""
        layout = self._layout
        if layout is not None:
            layout = await self._look()
        is_used = layout is not None and "type" in self.way
        is_incomplete = layout is not None and any(not index.valid for index in layout.standing.indexes)
        return {
            "kind": "none" if layout is None else self._kind if is_used else "exact",
            "precision": self._precision,
            "points": layout.standing.points if layout else 0,
            "lag": 0,
            "building": self._is_building or (is_incomplete and not self._problem),
            "problem": self._problem,
        }

    async def close(self) -> None:
        """Stop; the next server continues an unfinished build."""
        for job in (self._job, self._placing):
            if job is not None:
                job.cancel()
                await asyncio.gather(job, return_exceptions=True)

    # ---- the state of the database ---------------------------------------------------------------------

    @property
    def _is_time(self) -> bool:
        return time.monotonic() - self._looked >= self._tuning.look_again

    @property
    def _is_building(self) -> bool:
        return self._job is not None and not self._job.done()

    async def _current(self) -> Layout:
        layout = self._layout
        # The model has no number before the first memory is embedded.
        if layout is None or layout.standing.model_no is None or self._is_time:
            self._looked = time.monotonic()
            return await self._look()
        return layout

    async def _look(self) -> Layout:
        layout = await self._seen()
        if layout.standing.model_no is not None and layout.points >= self._tuning.index_from:
            self._problem = layout.problem or ("" if layout.is_whole else self._problem)
            is_due = not layout.is_whole or layout.is_outgrown
            if is_due and not layout.problem and self._failures < self._tuning.attempts:
                self._begin(layout, anew=layout.is_outgrown)
        # A server that has ended may have left unindexed vectors.
        self._place_soon()
        return layout

    async def _seen(self) -> Layout:
        profile = await self._profile()
        (row,) = await self._tables.rows(STANDING, profile.model, unrestricted=True)
        standing = standing_of(row, model=profile.model, dimension=profile.dimension)
        self._layout = Layout(kind=self._kind, precision=self._precision, standing=standing, tuning=self._tuning)
        self.way = json.dumps(self._layout.way())
        self._looked = time.monotonic()
        return self._layout

    # ---- indexing new vectors --------------------------------------------------------------------

    def _place_soon(self) -> None:
        is_busy = self._placing is not None and not self._placing.done()
        if self._layout is not None and self._layout.is_whole and not is_busy:
            self._placing = asyncio.create_task(self._place(self._layout, after=self._tuning.placed_after))

    async def _place(self, layout: Layout, *, after: float) -> None:
        # A search finds unindexed vectors too, so the next check may retry.
        with suppress(ScrubjayError):
            await asyncio.sleep(after)
            with telemetry.stage("index.place"):
                await self._place_all(layout, at_once=self._tuning.placed_at_once)

    async def _place_all(self, layout: Layout, *, at_once: int) -> None:
        placed = at_once
        while placed == at_once:
            ((placed,),) = await self._tables.rows(_INDEX_VECTORS, layout.standing.model_no, at_once, unrestricted=True)

    # ---- building indexes ---------------------------------------------------------------------------

    def _begin(self, layout: Layout, *, anew: bool) -> None:
        if not self._is_building:
            self._job = asyncio.create_task(self._make(layout, anew=anew))

    async def _make(self, layout: Layout, *, anew: bool) -> None:
        try:
            async with self._tables.owner_connection(_WORK) as owner:
                # Another server holds the lock and does the work.
                if owner is not None:
                    with telemetry.stage("index.build"):
                        await self._build(owner, layout, anew=anew)
            await self._seen()
        except ScrubjayError as error:
            self._failures += 1
            command = "; ".join(layout.makes(table) for table in layout.standing.tables[:1])
            self._problem = f"the index could not be built: {error} Or run as the owner of the tables: {command}"
        else:
            self._failures, self._problem = 0, ""

    async def _build(self, owner: TableOwner, layout: Layout, *, anew: bool) -> None:
        await owner.require_owner()
        # Another server may have built it while this one waited for the lock.
        layout = await self._seen()
        statements = [layout.memory(), *layout.drops(others=anew)]
        existing = {index.name for index in layout.standing.indexes if index.valid}
        if not existing:
            # Without an index this is fast, and the build includes these vectors.
            await self._place_all(layout, at_once=self._tuning.placed_before)
        for table in layout.standing.tables:
            if layout.name(table) not in existing:
                statements.append(layout.makes(table))
            elif anew:
                statements += layout.makes_anew(table)
        # A pooler may give the connection to another client afterwards.
        for statement in [*statements, "RESET maintenance_work_mem"]:
            await owner.run(statement)


def _written(vector: Vector) -> str:
    # No more digits than the precision: the length of the text is what takes time.
    return f"[{','.join(map('%.7g'.__mod__, vector.tolist()))}]"
