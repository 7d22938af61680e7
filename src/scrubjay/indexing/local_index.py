"""The index on disk as the engine uses it: always available and up to date, even if its files are damaged."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path

from scrubjay import telemetry
from scrubjay.errors import EmbeddingUnavailable, IndexUnavailable, ScrubjayError
from scrubjay.indexing.build import build_generation
from scrubjay.indexing.generations import Generations, LocalIndexPolicy, OpenGeneration
from scrubjay.indexing.protocol import IndexKind, IndexSource
from scrubjay.lazy import dataclass
from scrubjay.model.passage import Vector
from scrubjay.model.query import Filter
from scrubjay.ports import Profile, VectorIndex


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalIndexParts:
    """The backends of a local index. `build` fills a new folder in a child process."""

    profile: Callable[[], Awaitable[Profile]]
    kind: IndexKind
    scan: Callable[[Profile], VectorIndex]
    build: Callable[[Path], Awaitable[None]]


class LocalIndex:
    """Searches the index if this process holds it and it is usable; otherwise scans the stored vectors.

    Without a folder, as for an encrypted store, nothing is written and every search is a scan.
    """

    def __init__(
        self,
        store: IndexSource,
        parts: LocalIndexParts,
        *,
        folder: Path | None,
        policy: LocalIndexPolicy | None = None,
        others: Sequence[Path] = (),
    ) -> None:
        self._store = store
        self._parts = parts
        self._policy = policy or LocalIndexPolicy()
        self._generations = Generations(folder) if folder else None
        # The folders of other models; what they hold is of no use, and may be of purged texts.
        self._others = [Generations(other) for other in others]
        self._opening = asyncio.Lock()
        self._profile: Profile | None = None
        self._scan: VectorIndex | None = None
        self._live: OpenGeneration | None = None
        self._job: asyncio.Task[None] | None = None
        self._problem = ""
        self._failures = 0

    async def open(self) -> None:
        """Claim the index if no other process has it, and start a missing build. `search` calls it."""
        await self._ensure_open()

    async def search(self, space: str, vector: Vector, filter: Filter, *, limit: int) -> list[tuple[int, float]]:
        """Return (passage number, cosine), best first, including everything committed before the call."""
        scan = await self._ensure_open()
        while live := self._live:
            try:
                await live.follower.catch_up(at_most=self._policy.rebuild_when_behind)
                # Another generation may have replaced it meanwhile.
                if live is self._live:
                    self._build_if_due(live)
                    return await live.index.search(space, vector, filter, limit=limit)
            except IndexUnavailable as error:
                self._retire(live, error)
        self._start_build()
        return await scan.search(space, vector, filter, limit=limit)

    async def search_many(
        self, space: str, vectors: Sequence[Vector], filter: Filter, *, limit: int
    ) -> list[list[tuple[int, float]]]:
        """Return the same for each of several vectors."""
        await self._ensure_open()
        if live := self._live:
            try:
                await live.follower.catch_up(at_most=self._policy.rebuild_when_behind)
                if live is self._live:
                    return await live.index.search_many(space, vectors, filter, limit=limit)
            except IndexUnavailable as error:
                self._retire(live, error)
        return [await self.search(space, vector, filter, limit=limit) for vector in vectors]

    async def after_commit(self) -> None:
        """Bring an open index up to date, so that the next search need not. Never fails."""
        live = self._live
        if live is None:
            return
        try:
            with telemetry.stage("write.index"):
                await live.follower.follow(at_most=self._policy.rebuild_when_behind)
            self._build_if_due(live)
        except IndexUnavailable as error:
            self._retire(live, error)
        except ScrubjayError:
            # The commit has succeeded, whatever is wrong with the store now; the next search catches up.
            return

    async def after_purge(self) -> None:
        """Replace the index: on disk, deleted points are only hidden."""
        await self.rebuild()

    async def rebuild(self) -> None:
        """Replace the index by a new one and remove all its files, if this process holds it."""
        if self._generations is None:
            return
        await self.settle()
        before = self._generations.current()
        try:
            await self._ensure_open()
        except EmbeddingUnavailable as error:
            self._drop_everything(self._generations, error)
            return
        await self.settle()
        # Opening may have built a new index already.
        if self._generations.is_held and (self._live is None or self._live.folder == before):
            self._failures = 0
            self._problem = ""
            self._start_build()
            await self.settle()
            if self._problem:
                self._drop_everything(self._generations, IndexUnavailable(self._problem))

    async def settle(self) -> None:
        """Wait for a running build."""
        while self._job is not None and not self._job.done():
            await asyncio.wait({self._job})

    async def lag(self) -> int:
        """Return how many changes the index is behind; a scan never is."""
        live = self._live
        return 0 if live is None else await live.follower.lag()

    async def describe(self) -> dict[str, str | int | bool]:
        """Return the state for `status`; `problem` says why searches do not use an index."""
        live, scan, profile = self._live, self._scan, self._profile
        cursor = live.index.cursor if live else scan.cursor if scan else 0
        points = live.index.points if live else await self._store.point_count(profile.model) if profile else 0
        return {
            "kind": self._parts.kind.name if live else "scan" if scan else "none",
            "generation": live.folder.name if live else "",
            "points": points,
            "cursor": cursor,
            # A scan reads new changes at every search.
            "lag": 0 if scan and not live else await self._store.last_seq() - cursor,
            "holder": self._generations is not None and self._generations.is_held,
            "building": self._is_building,
            "problem": self._problem,
        }

    async def discard(self) -> None:
        """Close it and remove its files; a search that is still under way scans the stored vectors."""
        generations, self._generations = self._generations, None
        await self.close()
        if generations is not None:
            generations.release()
            generations.empty()

    async def close(self) -> None:
        """Make the applied changes durable and release the index for other processes."""
        async with self._opening:
            if self._job is not None:
                self._job.cancel()
                await self.settle()
            live, self._live = self._live, None
            if live is not None:
                with suppress(IndexUnavailable):
                    await live.follower.close()
            if self._scan is not None:
                await self._scan.close()
                self._scan = None
            if self._generations is not None:
                self._generations.release()

    # ---- opening ----------------------------------------------------------------------------------

    async def _ensure_open(self) -> VectorIndex:
        async with self._opening:
            self._profile = self._profile or await self._parts.profile()
            self._scan = self._scan or self._parts.scan(self._profile)
            # Every search tries to claim the index: the process that held it may have ended.
            if self._generations and not self._generations.is_held and self._generations.claim():
                for other in self._others:
                    other.empty()
                try:
                    await self._open_current(self._generations, self._profile)
                except BaseException:
                    if not self._is_building:
                        self._generations.release()
                    raise
            return self._scan

    async def _open_current(self, generations: Generations, profile: Profile) -> None:
        current = generations.current()
        if current is not None:
            try:
                self._live = await self._load_complete(current, profile)
            except IndexUnavailable as error:
                self._problem = str(error)
            else:
                self._build_if_due(self._live)
                return
        self._start_build()
        if await self._is_small(profile):
            await self.settle()

    async def _load_complete(self, generation: Path, profile: Profile) -> OpenGeneration:
        live = self._load(generation, profile)
        try:
            await live.follower.catch_up(at_most=self._policy.rebuild_when_behind)
            await live.require_complete(self._store, profile.model)
        except BaseException:
            live.index.abandon()
            raise
        return live

    def _load(self, generation: Path, profile: Profile) -> OpenGeneration:
        return OpenGeneration.load(generation, store=self._store, kind=self._parts.kind, profile=profile)

    async def _is_small(self, profile: Profile) -> bool:
        return await self._store.point_count(profile.model) <= self._policy.inline_up_to

    # ---- dropping an index ------------------------------------------------------------------------

    def _retire(self, live: OpenGeneration, error: IndexUnavailable) -> None:
        if live is not self._live:
            return
        self._live = None
        self._problem = str(error)
        # An index that is only far behind has not failed.
        self._failures += "lag" not in error.fields
        live.index.abandon()
        self._start_build()

    def _drop_everything(self, generations: Generations, error: ScrubjayError) -> None:
        self._problem = str(error)
        if self._live is not None:
            self._live.index.abandon()
            self._live = None
        if generations.claim():
            generations.remove_all()

    # ---- building ---------------------------------------------------------------------------------

    @property
    def _is_building(self) -> bool:
        return self._job is not None and not self._job.done()

    def _build_if_due(self, live: OpenGeneration) -> None:
        if live is self._live and live.is_due(self._policy):
            self._start_build()

    def _start_build(self) -> None:
        generations, profile = self._generations, self._profile
        if generations is None or profile is None or not generations.is_held or self._is_building:
            return
        if self._failures < self._policy.attempts:
            self._job = asyncio.create_task(self._run_build(generations, profile))

    async def _run_build(self, generations: Generations, profile: Profile) -> None:
        try:
            draft = generations.draft()
            try:
                with telemetry.stage("index.build"):
                    await self._build(draft, profile)
                await self._swap(generations.adopt(draft), generations, profile)
            finally:
                generations.discard(draft)
        except Exception as error:  # noqa: BLE001 - the edge of a background task: after any error searches scan
            self._failures += 1
            self._problem = str(error) or type(error).__name__
        else:
            self._problem = ""

    async def _build(self, draft: Path, profile: Profile) -> None:
        if await self._is_small(profile):
            kind, model, dimension = self._parts.kind, profile.model, profile.dimension
            await build_generation(self._store, kind, draft, model=model, dimension=dimension)
        else:
            await self._parts.build(draft)

    async def _swap(self, generation: Path, generations: Generations, profile: Profile) -> None:
        try:
            new = self._load(generation, profile)
            try:
                await new.follower.catch_up()
                new.index.flush()
                generations.make_current(generation)
            except BaseException:
                new.index.abandon()
                raise
        except BaseException:
            generations.discard(generation)
            raise
        old, self._live = self._live, new
        if old is not None:
            old.index.abandon()
        generations.remove_others()
