"""The vectors of a PostgreSQL database, searched where they are: what is committed is found at once."""

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
from scrubjay.vectors.pgvector_plan import STANDING, Layout, Tuning, require_known, standing_of
from scrubjay.vectors.sound import require_sound

_NEAREST = "SELECT id, cosine FROM scrubjay.nearest_1(%s, %s, %s, %s::jsonb, %s::jsonb)"
_PLACE = "SELECT scrubjay.place_1(%s, %s)"
_WORK = "vector index"


class Craftsman(Protocol):
    """The owner of the tables, at work."""

    async def run(self, statement: str) -> Sequence[Sequence[object]]:
        """Run a statement by itself, however long it takes; raises StoreError."""
        ...

    async def require_owner(self) -> None:
        """Raise StoreError unless this login may make indexes."""
        ...


class Tables(Protocol):
    """What is needed of the store whose vectors are searched."""

    async def rows(
        self, statement: str, *values: object, space: str | None = None, keeper: bool = False
    ) -> Sequence[Sequence[object]]:
        """The rows of a question about one space, or by the keeper about all."""
        ...

    def asked(self, space: str, wanted: Filter) -> dict[str, Json]:
        """A filter as the database understands it."""
        ...

    def crafting(self, name: str) -> AbstractAsyncContextManager[Craftsman | None]:
        """The owner of the tables; nobody while another process is at the same work."""
        ...


class PgvectorIndex:
    """The engine's index over the table of vectors itself: it has no copy, and so nothing to follow.

    Few points are looked through; many have an index of the extension, made in the background by whichever server comes
    first. While it is missing every search is exact.
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
        """See what there is, and begin what is missing; raises EmbeddingUnavailable without a model."""
        await self._look()

    async def search(self, space: str, vector: Vector, wanted: Filter, *, limit: int) -> list[tuple[int, float]]:
        """(passage number, cosine), best first; never fewer than pass the filter, up to the limit."""
        layout = await self._current()
        require_sound(vector, dimension=layout.standing.dimension)
        if limit < 1 or layout.standing.model_no is None:
            return []
        asked = json.dumps(self._tables.asked(space, wanted))
        rows = await self._tables.rows(
            _NEAREST, layout.standing.model_no, _written(vector), limit, asked, self.way, space=space
        )
        found = [(int(str(number)), float(str(cosine))) for number, cosine in rows]
        return sorted(found, key=lambda hit: (-hit[1], hit[0]))

    async def after_commit(self) -> None:
        """Nothing is late; only have it put into the index, and see now and then whether one is due. Never fails."""
        self._place_soon()
        if self._layout is None or not self._is_time:
            return
        # Others need not look at the same time.
        self._looked = time.monotonic()
        try:
            await self._look()
        except ScrubjayError:
            # The commit is done, whatever ails the database now.
            return

    async def after_purge(self) -> None:
        """Nothing: the rows are gone, and the database cleans its indexes when it cleans its tables."""

    async def rebuild(self) -> None:
        """Make the index anew, and drop those of other kinds; waits for it, but not for ever."""
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
        """Wait until nothing is being made or put into an index, or so long."""
        if busy := {job for job in (self._job, self._placing) if job is not None and not job.done()}:
            await asyncio.wait(busy, timeout=seconds)

    async def lag(self) -> int:
        """It is never behind."""
        return 0

    async def describe(self) -> dict[str, str | int | bool]:
        """What is in use, for `status`; `problem` says why it is not what it should be."""
        layout = self._layout
        if layout is not None:
            layout = await self._look()
        is_used = layout is not None and "type" in self.way
        half_made = layout is not None and any(not one.valid for one in layout.standing.indexes)
        return {
            "kind": "none" if layout is None else self._kind if is_used else "exact",
            "precision": self._precision,
            "points": layout.standing.points if layout else 0,
            "lag": 0,
            "building": self._is_building or (half_made and not self._problem),
            "problem": self._problem,
        }

    async def close(self) -> None:
        """Let go; an index that is being made is left to the next who comes."""
        for job in (self._job, self._placing):
            if job is not None:
                job.cancel()
                await asyncio.gather(job, return_exceptions=True)

    # ---- seeing what there is ---------------------------------------------------------------------

    @property
    def _is_time(self) -> bool:
        return time.monotonic() - self._looked >= self._tuning.look_again

    @property
    def _is_building(self) -> bool:
        return self._job is not None and not self._job.done()

    async def _current(self) -> Layout:
        layout = self._layout
        # Before the first memory is embedded nobody knows the model.
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
        # What a server has left waiting that is no more.
        self._place_soon()
        return layout

    async def _seen(self) -> Layout:
        profile = await self._profile()
        (row,) = await self._tables.rows(STANDING, profile.model, keeper=True)
        standing = standing_of(row, model=profile.model, dimension=profile.dimension)
        self._layout = Layout(kind=self._kind, precision=self._precision, standing=standing, tuning=self._tuning)
        self.way = json.dumps(self._layout.way())
        self._looked = time.monotonic()
        return self._layout

    # ---- putting into an index --------------------------------------------------------------------

    def _place_soon(self) -> None:
        is_busy = self._placing is not None and not self._placing.done()
        if self._layout is not None and self._layout.is_whole and not is_busy:
            self._placing = asyncio.create_task(self._place(self._layout, after=self._tuning.placed_after))

    async def _place(self, layout: Layout, *, after: float) -> None:
        # Whatever ails the database, what waits is found, and the next to look tries again.
        with suppress(ScrubjayError):
            await asyncio.sleep(after)
            with telemetry.stage("index.place"):
                await self._place_all(layout, at_once=self._tuning.placed_at_once)

    async def _place_all(self, layout: Layout, *, at_once: int) -> None:
        placed = at_once
        while placed == at_once:
            ((placed,),) = await self._tables.rows(_PLACE, layout.standing.model_no, at_once, keeper=True)

    # ---- making indexes ---------------------------------------------------------------------------

    def _begin(self, layout: Layout, *, anew: bool) -> None:
        if not self._is_building:
            self._job = asyncio.create_task(self._make(layout, anew=anew))

    async def _make(self, layout: Layout, *, anew: bool) -> None:
        try:
            async with self._tables.crafting(_WORK) as craftsman:
                # Whoever has it will do it.
                if craftsman is not None:
                    with telemetry.stage("index.build"):
                        await self._craft(craftsman, layout, anew=anew)
            await self._seen()
        except ScrubjayError as error:
            self._failures += 1
            command = "; ".join(layout.makes(table) for table in layout.standing.tables[:1])
            self._problem = f"the index was not made: {error} Or run as their owner: {command}"
        else:
            self._failures, self._problem = 0, ""

    async def _craft(self, craftsman: Craftsman, layout: Layout, *, anew: bool) -> None:
        await craftsman.require_owner()
        # Another may have made it while we waited for our turn.
        layout = await self._seen()
        statements = [layout.memory(), *layout.drops(others=anew)]
        there = {one.name for one in layout.standing.indexes if one.valid}
        if not there:
            # Without an index it is quick, and what is placed is taken in when one is made.
            await self._place_all(layout, at_once=self._tuning.placed_before)
        for table in layout.standing.tables:
            if layout.name(table) not in there:
                statements.append(layout.makes(table))
            elif anew:
                statements += layout.makes_anew(table)
        # A pooler may give the connection to others afterwards.
        for statement in [*statements, "RESET maintenance_work_mem"]:
            await craftsman.run(statement)


def _written(vector: Vector) -> str:
    # No more digits than the numbers have: the text is what takes long.
    return f"[{','.join(map('%.7g'.__mod__, vector.tolist()))}]"
