"""Tells whoever listens which memories have changed. It follows the log, and so hears of other processes too."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from scrubjay.errors import Busy, StoreError, TooManyRequests
from scrubjay.model.change import Action, Change
from scrubjay.ports import ChangeLog
from scrubjay.ports.cluster import ClusterStore, settled_position

_SECONDS = 1.0
_PAGE = 500
_MOST_LISTENERS = 1_024
_MOST_OF_ONE = 64
_RETRY_AFTER = 30
# These leave every memory as it was, and where it was in the list.
_UNSEEN = frozenset({Action.EMBEDDED})
_UNLISTED = frozenset({Action.RELATED, Action.UNRELATED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """What happened in a space: to which memories, and whether the list of them is another now."""

    ids: frozenset[str]
    listed: bool


Hear = Callable[[Changed], None]


@dataclass(frozen=True, slots=True, eq=False)
class _Listener:
    space: str
    hear: Hear
    leave: Callable[[], None]
    caller: str = ""


class ChangeBroadcaster:
    """The broadcaster of one store. Use it as an async context manager; it looks at the log while somebody listens."""

    def __init__(self, log: ChangeLog, *, seconds: float = _SECONDS, purged: Callable[[], None] = lambda: None) -> None:
        self._log = log
        self._seconds = seconds
        self._purged = purged
        self._ears = AsyncExitStack()
        self._after = 0
        self._looking = asyncio.Lock()
        self._stir = asyncio.Event()
        self._listeners: set[_Listener] = set()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        if isinstance(self._log, ClusterStore):
            await self._ears.enter_async_context(self._log.listening(self.nudge, purged=self._purged))
        self._task = asyncio.create_task(self._follow())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self._ears.aclose()

    @asynccontextmanager
    async def listening(
        self, space: str, hear: Hear, *, leave: Callable[[], None] = lambda: None, caller: str = ""
    ) -> AsyncGenerator[None]:
        """Hear of what changes in a space from now on; `leave` is called when there will be nothing more to hear.

        A `caller` that is named may listen so many times at once and no more: others want to hear, too.
        """
        if len(self._listeners) >= _MOST_LISTENERS:
            raise Busy(
                f"{_MOST_LISTENERS:,} clients listen already",
                hint="Retry later, or ask now and then",
                retry_after=_RETRY_AFTER,
            )
        if caller and sum(listener.caller == caller for listener in self._listeners) >= _MOST_OF_ONE:
            raise TooManyRequests(
                f"{_MOST_OF_ONE} streams are open already", hint="Close some", retry_after=_RETRY_AFTER
            )
        listener = _Listener(space, hear, leave, caller)
        async with self._looking:
            if not self._listeners:
                self._after = await settled_position(self._log)
            self._listeners.add(listener)
        try:
            yield
        finally:
            self._listeners.discard(listener)

    def nudge(self) -> None:
        """Something was written, here or by another server: look at once."""
        self._stir.set()

    def publish(self, space: str, changed: Changed) -> None:
        """Tell all who listen to a space."""
        for listener in [listener for listener in self._listeners if listener.space == space]:
            listener.hear(changed)

    async def look(self) -> None:
        """Read what is new in the log and tell of it."""
        async with self._looking:
            while self._listeners:
                page = await self._log.changes(after=self._after, limit=_PAGE)
                if not page:
                    return
                self._after = page[-1].seq
                for space in dict.fromkeys(change.space for change in page):
                    self._tell(space, [change for change in page if change.space == space])

    def close(self) -> None:
        """Let all who listen go: there will be nothing more to hear."""
        for listener in list(self._listeners):
            listener.leave()

    def _tell(self, space: str, changes: Iterable[Change]) -> None:
        seen = [change for change in changes if change.action not in _UNSEEN]
        if not seen:
            return
        ids = {change.memory_id for change in seen}
        ids |= {end for one in seen if one.relation for end in (one.relation.source, one.relation.target)}
        listed = any(change.action not in _UNLISTED for change in seen)
        self.publish(space, Changed(ids=frozenset(ids), listed=listed))

    async def _follow(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._seconds):
                    await self._stir.wait()
            self._stir.clear()
            # A store that cannot be read now is read at the next look; who listens loses nothing but time.
            with suppress(StoreError):
                await self.look()
