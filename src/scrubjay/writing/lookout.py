"""Conflicts of what comes back, or comes together: looked for as those of what is written anew."""

from collections.abc import Sequence
from dataclasses import dataclass

from scrubjay.model.change import Origin
from scrubjay.model.memory import Memory, State
from scrubjay.model.passage import Passage
from scrubjay.model.rules import Rules
from scrubjay.ports import Embedded, Embedder, RecordStore
from scrubjay.writing.embed import vectors_of
from scrubjay.writing.frictions import Friction, look_for
from scrubjay.writing.rules import statutes_of
from scrubjay.writing.vicinity import Searcher


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
        if memory.state is not State.LIVE:
            return Friction()
        store, space = self.store, memory.space
        rules = (await statutes_of(space, default=self.rules, papers=store)).rules
        if rules.conflicts == "off":
            return Friction()
        profile, vectors = await vectors_of(passages, embedded, space=space, shelf=store, embedder=self.embedder)
        return await look_for(
            memory, passages, vectors, before=before, rules=rules, origin=origin, profile=profile, store=store,
            index=self.index,
        )  # fmt: skip
