"""Conflicts of what comes back, or comes together: looked for as those of what is written anew."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from scrubjay.detection.detect import says_more
from scrubjay.detection.neighbours import Searcher
from scrubjay.detection.report import ConflictReport, left_for_later, look_for
from scrubjay.model.change import Origin
from scrubjay.model.memory import Memory, State
from scrubjay.model.passage import Passage
from scrubjay.model.rules import Rules
from scrubjay.ports import Embedded, Embedder, RecordStore
from scrubjay.writing.embed import vectors_of
from scrubjay.writing.rules import effective_rules_of

# Whoever goes back to a version may be trying things out.
_SETTLED = timedelta(minutes=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictChecker:
    """Whoever looks, by the rules of the space."""

    store: RecordStore
    embedder: Embedder
    index: Searcher
    rules: Rules

    async def look(
        self,
        memory: Memory,
        passages: Sequence[Passage],
        *,
        before: Memory | None = None,
        embedded: Embedded | None = None,
        origin: Origin,
    ) -> ConflictReport:
        """What a memory that is about to be stored does not go with; `before` is what stood in its place."""
        rules = await self._rules_for(memory)
        if rules is None:
            return ConflictReport()
        store, space = self.store, memory.space
        profile, vectors = await vectors_of(passages, embedded, space=space, vector_store=store, embedder=self.embedder)
        return await look_for(
            memory, passages, vectors, before=before, rules=rules, origin=origin, profile=profile, store=store,
            index=self.index,
        )  # fmt: skip

    async def look_later(
        self, memory: Memory, passages: Sequence[Passage], *, before: Memory, origin: Origin
    ) -> ConflictReport:  # fmt: skip
        """The same where nobody is to wait for it: what is new in a memory is left to a job."""
        is_new = says_more(memory, passages, before=before, now=origin.at, than=0)
        if not is_new or await self._rules_for(memory) is None:
            return ConflictReport()
        return ConflictReport(jobs=left_for_later(memory, origin, after=_SETTLED))

    async def _rules_for(self, memory: Memory) -> Rules | None:
        """The rules of the space, unless they or the memory's state say that nobody is to look."""
        if memory.state is not State.LIVE:
            return None
        rules = (await effective_rules_of(memory.space, default=self.rules, documents=self.store)).rules
        return None if rules.conflicts == "off" else rules
