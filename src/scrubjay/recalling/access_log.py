"""Counts accesses in the background, so that reading never waits for a write."""

import asyncio
from collections.abc import Iterable, Sequence

from scrubjay.cancelling import cancel
from scrubjay.errors import StoreError
from scrubjay.ports import Clock, Records
from scrubjay.recalling.usage import UsageLog

_DELAY = 2.0
# Of a question that finds thousands, so many are counted: the others were hardly read.
_MAX_HITS = 50

Access = tuple[str, str]
"""A memory that was read, as its space and its id."""


class AccessLog:
    """Collects which memories were read and writes the counts a little later; without records it counts nothing.

    `usage` counts what was asked for too.
    """

    def __init__(self, records: Records | None, *, clock: Clock, usage: UsageLog | None = None) -> None:
        self.usage = usage
        self._records = records
        self._clock = clock
        self._pending: dict[str, set[str]] = {}
        self._task: asyncio.Task[None] | None = None
        self._writing = asyncio.Lock()

    def note(self, accesses: Iterable[Access]) -> None:
        """Record that memories were shown."""
        if self._records is None:
            return
        for space, memory_id in accesses:
            self._pending.setdefault(space, set()).add(memory_id)
        if self._pending and self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._flush_later())

    def note_question(self, question: str, hits: Sequence[Access], *, space: str, is_answered: bool) -> None:
        """Record a question and the best of the memories that it found."""
        hits = hits[:_MAX_HITS]
        self.note(hits)
        if self.usage is not None and question.strip():
            self.usage.note_question(question, space=space, hits=hits, is_answered=is_answered)

    def note_reads(self, memories: Sequence[Access]) -> None:
        """Record that memories were read by name."""
        self.note(memories)
        if self.usage is not None:
            self.usage.note_reads(memories)

    def pending(self, space: str) -> frozenset[str]:
        """Return the memories of a space whose accesses are not written yet."""
        return frozenset(self._pending.get(space, ()))

    async def flush(self) -> None:
        """Write the pending counts, after those being written; a store that fails now loses a count, never a fact."""
        if self._records is None:
            return
        async with self._writing:
            pending, self._pending = self._pending, {}
            for space, ids in pending.items():
                try:
                    await self._records.touch(space, sorted(ids), at=self._clock.now())
                except StoreError:
                    continue

    async def close(self) -> None:
        """Write the rest and stop."""
        if self._task is not None:
            await cancel(self._task)
        await self.flush()
        if self.usage is not None:
            await self.usage.close()

    async def _flush_later(self) -> None:
        await asyncio.sleep(_DELAY)
        self._task = None
        await self.flush()
