"""The vector index of a PostgreSQL database: it searches the stored vectors, so a commit is found at once."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from typing import Protocol

from scrubjay import telemetry
from scrubjay.cancelling import cancel
from scrubjay.errors import EmbeddingUnavailable, ScrubjayError
from scrubjay.model.memory import Json
from scrubjay.model.passage import Vector, require_valid_vector
from scrubjay.model.query import Filter
from scrubjay.ports import Profile
from scrubjay.vectors.pgvector_indexes import STATE_QUERY, PgvectorLayout, PgvectorTuning, require_known, state_of

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
    """The vector index over the table of vectors itself, without a copy.

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
        tuning: PgvectorTuning | None = None,
    ) -> None:
        require_known(kind, precision)
        self._tables = tables
        self._profile = profile
        self._kind = kind
        self._precision = precision
        self._tuning = tuning or PgvectorTuning()
        self._layout: PgvectorLayout | None = None
        self.search_plan = ""
        self._refreshed = 0.0
        self._job: asyncio.Task[None] | None = None
        self._indexing: asyncio.Task[None] | None = None
        self._failures = 0
        self._problem = ""

    async def open(self) -> None:
        """Read the state of the database, and start a missing build; raises EmbeddingUnavailable without a model."""
        await self._refresh()

    async def search(self, space: str, vector: Vector, filter: Filter, *, limit: int) -> list[tuple[int, float]]:
        """Return (passage number, cosine), best first; never fewer than pass the filter, up to the limit."""
        layout = await self._current_layout()
        require_valid_vector(vector, dimension=layout.state.dimension)
        if limit < 1 or layout.state.model_no is None:
            return []
        filters = json.dumps(self._tables.filter_json(space, filter))
        rows = await self._tables.rows(
            _NEAREST, layout.state.model_no, _vector_text(vector), limit, filters, self.search_plan, space=space
        )
        hits = [(int(str(number)), float(str(cosine))) for number, cosine in rows]
        return sorted(hits, key=lambda hit: (-hit[1], hit[0]))

    async def after_commit(self) -> None:
        """Index new vectors in the background, and sometimes check whether a build is due; never fails."""
        self._index_soon()
        if self._layout is None or not self._is_time:
            return
        # Concurrent calls need not check too.
        self._refreshed = time.monotonic()
        try:
            await self._refresh()
        except ScrubjayError:
            # The commit has succeeded, whatever is wrong with the database now.
            return

    async def after_purge(self) -> None:
        """Do nothing: the rows are deleted, and vacuum cleans the indexes."""

    async def rebuild(self) -> None:
        """Rebuild the index, and drop those of other kinds; waits for a limited time."""
        await self.settle()
        try:
            layout = await self._refresh()
        except EmbeddingUnavailable:
            return
        await self.settle()
        if layout.state.indexes:
            self._failures, self._problem = 0, ""
            self._start_build(layout, rebuild=True)
            await self.settle(self._tuning.rebuild_wait)

    async def settle(self, seconds: float | None = None) -> None:
        """Wait for the background work, at most so many seconds."""
        if busy := {job for job in (self._job, self._indexing) if job is not None and not job.done()}:
            await asyncio.wait(busy, timeout=seconds)

    async def lag(self) -> int:
        """Return 0: it has no copy that could be behind."""
        return 0

    async def describe(self) -> dict[str, str | int | bool]:
        """Return the state for `status`; `problem` says why the index is not the configured one."""
        layout = self._layout
        if layout is not None:
            layout = await self._refresh()
        is_used = layout is not None and "type" in self.search_plan
        is_incomplete = layout is not None and any(not index.valid for index in layout.state.indexes)
        return {
            "kind": "none" if layout is None else self._kind if is_used else "exact",
            "precision": self._precision,
            "points": layout.state.points if layout else 0,
            "lag": 0,
            "building": self._is_building or (is_incomplete and not self._problem),
            "problem": self._problem,
        }

    async def discard(self) -> None:
        """Stop: it has no copy of the vectors, and the tables keep those of every model."""
        await self.close()

    async def close(self) -> None:
        """Stop; the next server continues an unfinished build."""
        for job in (self._job, self._indexing):
            if job is not None:
                await cancel(job)

    # ---- the state of the database ---------------------------------------------------------------------

    @property
    def _is_time(self) -> bool:
        return time.monotonic() - self._refreshed >= self._tuning.refresh_after

    @property
    def _is_building(self) -> bool:
        return self._job is not None and not self._job.done()

    async def _current_layout(self) -> PgvectorLayout:
        layout = self._layout
        # The model has no number before the first memory is embedded.
        if layout is None or layout.state.model_no is None or self._is_time:
            self._refreshed = time.monotonic()
            return await self._refresh()
        return layout

    async def _refresh(self) -> PgvectorLayout:
        layout = await self._read_layout()
        if layout.state.model_no is not None and layout.points >= self._tuning.index_from:
            self._problem = layout.problem or ("" if layout.is_complete else self._problem)
            is_due = not layout.is_complete or layout.is_outgrown
            if is_due and not layout.problem and self._failures < self._tuning.attempts:
                self._start_build(layout, rebuild=layout.is_outgrown)
        # A server that has ended may have left unindexed vectors.
        self._index_soon()
        return layout

    async def _read_layout(self) -> PgvectorLayout:
        profile = await self._profile()
        (row,) = await self._tables.rows(STATE_QUERY, profile.model, unrestricted=True)
        state = state_of(row, model=profile.model, dimension=profile.dimension)
        self._layout = PgvectorLayout(kind=self._kind, precision=self._precision, state=state, tuning=self._tuning)
        self.search_plan = json.dumps(self._layout.search_plan())
        self._refreshed = time.monotonic()
        return self._layout

    # ---- indexing new vectors --------------------------------------------------------------------

    def _index_soon(self) -> None:
        is_busy = self._indexing is not None and not self._indexing.done()
        if self._layout is not None and self._layout.is_complete and not is_busy:
            self._indexing = asyncio.create_task(self._index_later(self._layout, after=self._tuning.index_after))

    async def _index_later(self, layout: PgvectorLayout, *, after: float) -> None:
        # A search finds unindexed vectors too, so the next check may retry.
        with suppress(ScrubjayError):
            await asyncio.sleep(after)
            with telemetry.stage("index.place"):
                await self._index_new(layout, at_once=self._tuning.index_at_once)

    async def _index_new(self, layout: PgvectorLayout, *, at_once: int) -> None:
        indexed = at_once
        while indexed == at_once:
            ((indexed,),) = await self._tables.rows(_INDEX_VECTORS, layout.state.model_no, at_once, unrestricted=True)

    # ---- building indexes ---------------------------------------------------------------------------

    def _start_build(self, layout: PgvectorLayout, *, rebuild: bool) -> None:
        if not self._is_building:
            self._job = asyncio.create_task(self._run_build(layout, rebuild=rebuild))

    async def _run_build(self, layout: PgvectorLayout, *, rebuild: bool) -> None:
        try:
            async with self._tables.owner_connection(_WORK) as owner:
                # Another server holds the lock and does the work.
                if owner is not None:
                    with telemetry.stage("index.build"):
                        await self._build(owner, layout, rebuild=rebuild)
            await self._read_layout()
        except ScrubjayError as error:
            self._failures += 1
            command = "; ".join(layout.create_statement(table) for table in layout.state.tables[:1])
            self._problem = f"the index could not be built: {error} Or run as the owner of the tables: {command}"
        else:
            self._failures, self._problem = 0, ""

    async def _build(self, owner: TableOwner, layout: PgvectorLayout, *, rebuild: bool) -> None:
        await owner.require_owner()
        # Another server may have built it while this one waited for the lock.
        layout = await self._read_layout()
        statements = [layout.memory_statement(), *layout.drop_statements(others=rebuild)]
        existing = {index.name for index in layout.state.indexes if index.valid}
        if not existing:
            # Without an index this is fast, and the build includes these vectors.
            await self._index_new(layout, at_once=self._tuning.index_before_build)
        for table in layout.state.tables:
            if layout.name(table) not in existing:
                statements.append(layout.create_statement(table))
            elif rebuild:
                statements += layout.rebuild_statements(table)
        # A pooler may give the connection to another client afterwards.
        for statement in [*statements, "RESET maintenance_work_mem"]:
            await owner.run(statement)


def _vector_text(vector: Vector) -> str:
    # No more digits than the precision: the length of the text is what takes time.
    return f"[{','.join(map('%.7g'.__mod__, vector.tolist()))}]"
