"""An index that several servers share: all search it, one of them keeps it in step with the change log.

What the index has not applied yet is read from the log by whoever searches, and so every caller finds at once what it
has written, on whichever server. Without the index there is no search by meaning, and everything else goes on.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial

from scrubjay.errors import EmbeddingUnavailable, IndexUnavailable
from scrubjay.indexing.protocol import Source
from scrubjay.indexing.shared_breaker import Breaker
from scrubjay.indexing.shared_leader import Keeping
from scrubjay.indexing.shared_protocol import Leader, Listening, RemoteIndex
from scrubjay.indexing.shared_upkeep import SharedPolicy, Upkeep
from scrubjay.indexing.unapplied import Hits, Touched, UnappliedChanges, hidden_in, overlay
from scrubjay.model.passage import Vector
from scrubjay.model.query import Filter
from scrubjay.ports import Profile


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedIndexParts:
    """What a shared index is given by who knows the backends. `leader` stands for some work by its name."""

    profile: Callable[[], Awaitable[Profile]]
    index: Callable[[Profile], RemoteIndex]
    leader: Callable[[str], Leader]
    listening: Listening | None = None
    clock: Callable[[], float] = time.monotonic


@dataclass(frozen=True, slots=True, kw_only=True)
class _Context:
    """All that is there once the model is known: one side to read by, one to write by."""

    profile: Profile
    reader: RemoteIndex
    writer: RemoteIndex
    tail: UnappliedChanges
    keeping: Keeping


class SharedIndex:
    """The engine's index, kept elsewhere."""

    def __init__(self, store: Source, means: SharedIndexParts, *, policy: SharedPolicy | None = None) -> None:
        self._store = store
        self._means = means
        self._policy = policy or SharedPolicy()
        self._breaker = Breaker(first=self._policy.first_rest, longest=self._policy.longest_rest, clock=means.clock)
        self._opening = asyncio.Lock()
        self._context: _Context | None = None
        self._seen: int | None = None
        self._counted: tuple[int, int] | None = None

    async def open(self) -> None:
        """Stand for the leadership, and do its work once elected; raises EmbeddingUnavailable without a model."""
        await self._opened()

    async def search(self, space: str, vector: Vector, filter: Filter, *, limit: int) -> list[tuple[int, float]]:
        """(passage number, cosine), best first, of all that was committed before the call."""
        context = await self._opened()
        try:
            return await self._search(context, space, vector, filter, limit=limit)
        except IndexUnavailable as error:
            if error.fields.get("reason") != "missing" or not await self._is_soon_built(context):
                raise
        await context.keeping.settle()
        return await self._search(context, space, vector, filter, limit=limit)

    async def after_commit(self) -> None:
        """Have it taken in soon. Nobody waits for that: until then it is found in the log."""
        # A server that never searches may be the one that leads.
        with suppress(EmbeddingUnavailable):
            (await self._opened()).keeping.ring()

    async def rebuild(self) -> None:
        """Have the index built anew by whoever leads, and wait if that is this server. Never fails; see `describe`."""
        with suppress(EmbeddingUnavailable):
            context = await self._opened()
            # What is missing needs no wish, and who cannot be reached gets none.
            with suppress(IndexUnavailable):
                async with self._asking():
                    await context.reader.wish()
            self._counted = None
            await context.keeping.settle()

    async def after_purge(self) -> None:
        """Have what was purged removed, and wait for that if this server leads; the rest of the index stays."""
        with suppress(EmbeddingUnavailable):
            await (await self._opened()).keeping.settle()

    async def settle(self) -> None:
        """Wait until what was committed is applied, or has failed to be, if this server leads."""
        if self._context is not None:
            await self._context.keeping.settle()

    async def lag(self) -> int:
        """How many changes the index is behind, as far as is known."""
        context = self._context
        if context is None:
            return 0
        with suppress(IndexUnavailable):
            async with self._asking():
                await self._look(context)
        return max(0, await self._store.last_seq() - (self._seen or 0))

    async def describe(self) -> dict[str, str | int | bool]:
        """What there is and how far it has come, for `status`; `problem` says why it is not what it should be."""
        context = self._context
        if context is None:
            return {"kind": "none", "points": 0, "cursor": 0, "lag": 0, "problem": ""}
        points, problem = 0, context.keeping.problem
        try:
            async with self._asking():
                place = await self._look(context)
            # Who cannot count in time can search all the same.
            with suppress(IndexUnavailable):
                points = await self._count(context, place)
        except IndexUnavailable as error:
            problem = str(error)
        cursor = self._seen or 0
        lag = max(0, await self._store.last_seq() - cursor)
        if lag > self._policy.longest_tail:
            problem = problem or f"the vector index is {lag} changes behind. It catches up by itself"
        return {
            "kind": context.reader.name,
            **context.reader.labels,
            "points": points,
            "cursor": cursor,
            "lag": lag,
            "leads": context.keeping.leads,
            "building": context.keeping.is_building,
            "problem": problem,
        }

    async def close(self) -> None:
        """Let another server lead, and let go."""
        async with self._opening:
            context, self._context = self._context, None
            if context is not None:
                await context.keeping.close()
                await context.reader.close()
                await context.writer.close()

    async def _opened(self) -> _Context:
        async with self._opening:
            if self._context is None:
                self._context = self._furnished(await self._means.profile())
            return self._context

    def _furnished(self, profile: Profile) -> _Context:
        reader, writer = self._means.index(profile), self._means.index(profile)
        keeping = Keeping(
            partial(Upkeep, self._store, writer, profile, policy=self._policy),
            self._means.leader(f"{reader.name} {reader.title}"),
            listening=self._means.listening,
            policy=self._policy,
            worked=self._breaker.worked,
        )
        tail = UnappliedChanges(self._store, profile.model, longest=self._policy.longest_tail)
        return _Context(profile=profile, reader=reader, writer=writer, tail=tail, keeping=keeping)

    async def _search(self, context: _Context, space: str, vector: Vector, filter: Filter, *, limit: int) -> Hits:
        async with self._asking():
            touched = await self._touched(context)
            results = await context.reader.search(space, vector, filter, limit=limit + hidden_in(touched, space))
            # What it said of itself with this answer is true of the next one too, and answers may overtake each other.
            self._seen = max(context.reader.cursor, self._seen or 0)
        return overlay(results, touched, space=space, vector=vector, filter=filter, limit=limit)

    async def _touched(self, context: _Context) -> dict[int, Touched]:
        """What was changed since a place in the log that the index has surely reached."""
        if self._seen is not None:
            with suppress(IndexUnavailable):
                touched = await context.tail.since(self._seen)
                if len(touched) < self._policy.refresh_from:
                    return touched
        # It may have come further meanwhile.
        return await context.tail.since(await self._look(context))

    async def _look(self, context: _Context) -> int:
        current = await context.reader.look()
        self._seen = current.cursor
        if current.cursor is None:
            raise IndexUnavailable(current.why, hint="Whichever server leads builds it by itself", reason="missing")
        return current.cursor

    async def _count(self, context: _Context, cursor: int) -> int:
        """How many points there are; counted once for each place in the log, since that takes the server a while."""
        if self._counted is None or self._counted[0] != cursor:
            self._counted = cursor, await context.reader.count()
        return self._counted[1]

    async def _is_soon_built(self, context: _Context) -> bool:
        """Whether this server builds it, and has few points to put there. Many would take long to count."""
        most = self._policy.await_up_to
        return (
            context.keeping.leads
            and len(await self._store.points(context.profile.model, after=-1, limit=most + 1)) <= most
        )

    @asynccontextmanager
    async def _asking(self) -> AsyncGenerator[None]:
        self._breaker.require()
        has_failed = bool(self._breaker.problem)
        try:
            yield
        except IndexUnavailable as error:
            # Who says that there is no index, or an old one, does answer.
            if error.fields.get("reason") in ("missing", "behind"):
                self._breaker.worked()
            else:
                self._breaker.failed(error)
            self._seen = None
            self._tell(Keeping.ring)
            raise
        self._breaker.worked()
        if has_failed:
            self._tell(Keeping.call)

    def _tell(self, deed: Callable[[Keeping], None]) -> None:
        if self._context is not None:
            deed(self._context.keeping)
