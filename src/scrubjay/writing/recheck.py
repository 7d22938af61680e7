"""The conflict check of a memory that returns or is joined: restored, approved, reverted, merged from a branch."""

from collections.abc import Sequence
from datetime import timedelta

from scrubjay.detection.detect import count_exceeds
from scrubjay.detection.neighbours import ReadCache
from scrubjay.detection.report import ConflictReport, find_conflicts, later_check
from scrubjay.lazy import dataclass
from scrubjay.model.change import Origin
from scrubjay.model.memory import Memory, State
from scrubjay.model.passage import Passage
from scrubjay.model.rules import Rules
from scrubjay.ports import Embedded
from scrubjay.writing.context import WriteContext
from scrubjay.writing.embed import load_vectors
from scrubjay.writing.rules import load_rules

# A caller that reverts may still be trying versions out.
_REVERT_DELAY = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class ConflictChecker:
    """Checks memories for conflicts by the rules of their space."""

    context: WriteContext

    async def check(
        self,
        memory: Memory,
        passages: Sequence[Passage],
        *,
        before: Memory | None = None,
        embedded: Embedded | None = None,
        origin: Origin,
    ) -> ConflictReport:
        """Find the conflicts of a memory that is about to be stored; `before` is its former version."""
        rules = await self._rules_for(memory)
        if rules is None:
            return ConflictReport()
        store, embedder = self.context.store, self.context.embedder
        written = await load_vectors(memory, passages, embedded, vector_store=store, embedder=embedder)
        cache = ReadCache(store=store, index=self.context.index, pairs=self.context.pairs)
        return await find_conflicts(written, before=before, rules=rules, origin=origin, cache=cache)

    async def check_later(
        self, memory: Memory, passages: Sequence[Passage], *, before: Memory, origin: Origin
    ) -> ConflictReport:
        """Leave the new statements of a memory to a job, so that the caller need not wait."""
        has_new = count_exceeds(0, memory=memory, passages=passages, before=before, now=origin.at)
        if not has_new or await self._rules_for(memory) is None:
            return ConflictReport()
        return ConflictReport(jobs=(later_check(memory, origin, delay=_REVERT_DELAY),))

    async def _rules_for(self, memory: Memory) -> Rules | None:
        """Return the rules of the space, unless conflicts are off or the memory is not live."""
        if memory.state is not State.LIVE:
            return None
        effective = await load_rules(memory.space, default=self.context.rules, documents=self.context.store)
        return None if effective.rules.conflicts == "off" else effective.rules
