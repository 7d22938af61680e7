"""Conflicts of what comes back, or comes together: looked for as those of what is written anew."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from scrubjay.model.change import Origin
from scrubjay.model.memory import Memory, State
from scrubjay.model.passage import Passage
from scrubjay.model.rules import Rules
from scrubjay.ports import Embedded, Embedder, RecordStore
from scrubjay.writing.detection import says_more
from scrubjay.writing.embed import vectors_of
from scrubjay.writing.frictions import Friction, left_for_later, look_for
from scrubjay.writing.rules import statutes_of
from scrubjay.writing.vicinity import Searcher

# Whoever goes back to a version may be trying things out.
_SETTLED = timedelta(minutes=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookout:
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
    ) -> Friction:
        """What a memory that is about to be stored does not go with; `before` is what stood in its place."""
        rules = await self._rules_for(memory)
        if rules is None:
            return Friction()
        store, space = self.store, memory.space
        profile, vectors = await vectors_of(passages, embedded, space=space, shelf=store, embedder=self.embedder)
        return await look_for(
            memory, passages, vectors, before=before, rules=rules, origin=origin, profile=profile, store=store,
            index=self.index,
        )  # fmt: skip

    async def look_later(
        self, memory: Memory, passages: Sequence[Passage], *, before: Memory, origin: Origin
    ) -> Friction:  # fmt: skip
        """The same where nobody is to wait for it: what is new in a memory is left to a job."""
        is_new = says_more(memory, passages, before=before, now=origin.at, than=0)
        if not is_new or await self._rules_for(memory) is None:
            return Friction()
        return Friction(jobs=left_for_later(memory, origin, after=_SETTLED))

    async def _rules_for(self, memory: Memory) -> Rules | None:
        """The rules of the space, unless they or the memory's state say that nobody is to look."""
        if memory.state is not State.LIVE:
            return None
        rules = (await statutes_of(memory.space, default=self.rules, papers=self.store)).rules
        return None if rules.conflicts == "off" else rules
