"""An index that several servers share: all of them search it, and the leading one applies the change log to it.

A search reads the changes that the index has not applied yet from the log, so every server finds every commit at once.
Without the index, search by meaning is unavailable, and everything else works.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial

from scrubjay.errors import EmbeddingUnavailable, IndexUnavailable
from scrubjay.indexing.protocol import Candidacy, CommitListener, IndexSource, RemoteIndex
from scrubjay.indexing.shared_leader import SharedIndexLeader
from scrubjay.indexing.shared_updater import SharedIndexPolicy, SharedIndexUpdater
from scrubjay.indexing.unapplied import (
    ChangedMemory,
    Hits,
    UnappliedChanges,
    count_hidden,
    overlay,
)
from scrubjay.lazy import dataclass
from scrubjay.model.passage import Vector
from scrubjay.model.query import Filter
from scrubjay.ports import Profile


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedIndexParts:
    """The backends of a shared index. `candidacy` runs for the leadership of some work, by its name."""

    profile: Callable[[], Awaitable[Profile]]
    index: Callable[[Profile], RemoteIndex]
    candidacy: Callable[[str], Candidacy]
    listen: CommitListener | None = None
    clock: Callable[[], float] = time.monotonic


@dataclass(frozen=True, slots=True, kw_only=True)
class _Context:
    """The objects that depend on the model, with one connection to read and one to write."""

    profile: Profile
    reader: RemoteIndex
    writer: RemoteIndex
    unapplied: UnappliedChanges
    leader: SharedIndexLeader


class SharedIndex:
    """The index of the engine on a server that several processes share."""

    def __init__(self, store: IndexSource, parts: SharedIndexParts, *, policy: SharedIndexPolicy | None = None) -> None:
        self._store = store
        self._parts = parts
        self._policy = policy or SharedIndexPolicy()
        self._breaker = IndexBreaker(
            first_pause=self._policy.first_pause, max_pause=self._policy.max_pause, clock=parts.clock
        )
        self._opening = asyncio.Lock()
        self._context: _Context | None = None
        self._cursor: int | None = None
        self._count_at: tuple[int, int] | None = None

    async def open(self) -> None:
        """Run for the leadership, and work once elected; raises EmbeddingUnavailable without a model."""
        await self._ensure_open()

    async def search(self, space: str, vector: Vector, filter: Filter, *, limit: int) -> list[tuple[int, float]]:
        """Return (passage number, cosine), best first, including everything committed before the call."""
        context = await self._ensure_open()
        try:
            return await self._search(context, space, vector, filter, limit=limit)
        except IndexUnavailable as error:
            if error.fields.get("reason") != "missing" or not await self._is_soon_built(context):
                raise
        await context.leader.settle()
        return await self._search(context, space, vector, filter, limit=limit)

    async def after_commit(self) -> None:
        """Notify the leader, without waiting: until the commit is applied, searches find it in the log."""
        # A server that never searches may still be the leader.
        with suppress(EmbeddingUnavailable):
            (await self._ensure_open()).leader.notify()

    async def rebuild(self) -> None:
        """Have the leader rebuild the index, and wait if this server leads. Never fails; see `describe`."""
        with suppress(EmbeddingUnavailable):
            context = await self._ensure_open()
            # A missing index is built anyway, and an unreachable server takes no request.
            with suppress(IndexUnavailable):
                async with self._guard():
                    await context.reader.request_rebuild()
            self._count_at = None
            await context.leader.settle()

    async def after_purge(self) -> None:
        """Have the purged points removed, and wait for that if this server leads."""
        with suppress(EmbeddingUnavailable):
            await (await self._ensure_open()).leader.settle()

    async def settle(self) -> None:
        """Wait until the commits are applied, or applying them has failed, if this server leads."""
        if self._context is not None:
            await self._context.leader.settle()

    async def lag(self) -> int:
        """Return how many changes the index is behind, as far as this server knows."""
        context = self._context
        if context is None:
            return 0
        with suppress(IndexUnavailable):
            async with self._guard():
                await self._read_cursor(context)
        return max(0, await self._store.last_seq() - (self._cursor or 0))

    async def describe(self) -> dict[str, str | int | bool]:
        """Return the state for `status`; `problem` says why searches do not use the index, or why it is behind."""
        context = self._context
        if context is None:
            return {"kind": "none", "points": 0, "cursor": 0, "lag": 0, "problem": ""}
        points, problem = 0, context.leader.problem
        try:
            async with self._guard():
                position = await self._read_cursor(context)
            # A server that cannot count in time can still search.
            with suppress(IndexUnavailable):
                points = await self._count(context, position)
        except IndexUnavailable as error:
            problem = str(error)
        cursor = self._cursor or 0
        lag = max(0, await self._store.last_seq() - cursor)
        if lag > self._policy.max_unapplied:
            problem = problem or f"the vector index is {lag} changes behind. It catches up by itself"
        return {
            "kind": context.reader.name,
            **context.reader.labels,
            "points": points,
            "cursor": cursor,
            "lag": lag,
            "leads": context.leader.leads,
            "building": context.leader.is_building,
            "problem": problem,
        }

    async def discard(self) -> None:
        """Stop, and remove the points from the server."""
        context = self._context
        if context is not None:
            await context.leader.close()
            await context.writer.clear()
        await self.close()

    async def close(self) -> None:
        """Let another server lead, and close the connections."""
        async with self._opening:
            context, self._context = self._context, None
            if context is not None:
                await context.leader.close()
                await context.reader.close()
                await context.writer.close()

    async def _ensure_open(self) -> _Context:
        async with self._opening:
            if self._context is None:
                self._context = self._make_context(await self._parts.profile())
            return self._context

    def _make_context(self, profile: Profile) -> _Context:
        reader, writer = self._parts.index(profile), self._parts.index(profile)
        leader = SharedIndexLeader(
            partial(SharedIndexUpdater, self._store, writer, profile, policy=self._policy),
            self._parts.candidacy(f"{reader.name} {reader.full_name}"),
            listen=self._parts.listen,
            policy=self._policy,
            on_success=self._breaker.record_success,
        )
        unapplied = UnappliedChanges(self._store, profile.model, max_changes=self._policy.max_unapplied)
        return _Context(profile=profile, reader=reader, writer=writer, unapplied=unapplied, leader=leader)

    async def _search(self, context: _Context, space: str, vector: Vector, filter: Filter, *, limit: int) -> Hits:
        async with self._guard():
            changed = await self._changed_memories(context)
            hits = await context.reader.search(space, vector, filter, limit=limit + count_hidden(changed, space))
            # The cursor only moves forward: answers of concurrent searches may arrive out of order.
            self._cursor = max(context.reader.cursor, self._cursor or 0)
        return overlay(hits, changed, space=space, vector=vector, filter=filter, limit=limit)

    async def _changed_memories(self, context: _Context) -> dict[int, ChangedMemory]:
        """Return the memories that have changed since a position that the index has certainly reached."""
        if self._cursor is not None:
            with suppress(IndexUnavailable):
                changed = await context.unapplied.since(self._cursor)
                if len(changed) < self._policy.refresh_from:
                    return changed
        # The index may have advanced meanwhile.
        return await context.unapplied.since(await self._read_cursor(context))

    async def _read_cursor(self, context: _Context) -> int:
        current = await context.reader.read_state()
        self._cursor = current.cursor
        if current.cursor is None:
            raise IndexUnavailable(current.problem, hint="The leading server builds it by itself", reason="missing")
        return current.cursor

    async def _count(self, context: _Context, cursor: int) -> int:
        """Return the number of points, counted once for each position in the log, because counting is slow."""
        if self._count_at is None or self._count_at[0] != cursor:
            self._count_at = cursor, await context.reader.count()
        return self._count_at[1]

    async def _is_soon_built(self, context: _Context) -> bool:
        """Whether this server builds the index, and has few points to add; reads a page, because counting is slow."""
        limit = self._policy.await_up_to
        return (
            context.leader.leads
            and len(await self._store.points(context.profile.model, after=-1, limit=limit + 1)) <= limit
        )

    @asynccontextmanager
    async def _guard(self) -> AsyncGenerator[None]:
        """Run a request under the circuit breaker."""
        self._breaker.check()
        has_failed = bool(self._breaker.problem)
        try:
            yield
        except IndexUnavailable as error:
            # The server does answer when it reports a missing or outdated index.
            if error.fields.get("reason") in ("missing", "behind"):
                self._breaker.record_success()
            else:
                self._breaker.record_failure(error)
            self._cursor = None
            if self._context is not None:
                self._context.leader.notify()
            raise
        self._breaker.record_success()
        if has_failed and self._context is not None:
            self._context.leader.retry_now()


class IndexBreaker:
    """A circuit breaker: after a failure, calls fail at once for a while; then one call tries, and decides.

    The pause doubles with each further failure.
    """

    def __init__(self, *, first_pause: float, max_pause: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._first_pause = first_pause
        self._max_pause = max_pause
        self._clock = clock
        self._pause = first_pause
        self._until = 0.0
        self._error: IndexUnavailable | None = None

    @property
    def problem(self) -> str:
        """The last failure; empty after a success."""
        return str(self._error) if self._error else ""

    def check(self) -> None:
        """Raise the last failure again, unless it is time to try."""
        error = self._error
        if error is None:
            return
        if self._clock() < self._until:
            raise IndexUnavailable(error.message, hint=error.hint, **error.fields)
        # This caller tries; the others fail at once meanwhile.
        self._until = self._clock() + self._max_pause

    def record_failure(self, error: IndexUnavailable) -> None:
        """Pause, longer than the last time."""
        self._pause = min(2 * self._pause, self._max_pause) if self._error else self._first_pause
        self._error = error
        self._until = self._clock() + self._pause

    def record_success(self) -> None:
        """Let all calls through."""
        self._error = None
        self._until = 0.0
