"""Store facts as memories, each once, with their source."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from scrubjay.extraction.speakers import Speakers
from scrubjay.model.change import Origin
from scrubjay.model.draft import Draft
from scrubjay.model.fact import Fact, StoredFact
from scrubjay.model.memory import Flag, Method, Source, State
from scrubjay.model.query import Filter
from scrubjay.writing.context import WriteContext, WriteOutcome
from scrubjay.writing.pipeline import remember
from scrubjay.writing.prefetch import MAX_PREFETCHED, prefetch_vectors

__all__ = ["FactStore", "HandOn"]

_MAX_MERGED = 5_000
# Takes the work that a write leaves for later.
HandOn = Callable[[WriteOutcome], Awaitable[None]]
_Key = tuple[str, str]


@dataclass(slots=True, kw_only=True)
class FactStore:
    """Stores each fact once: a fact that is stored already, alone or merged into another memory, does not change."""

    space: str
    project: str
    speakers: Speakers
    origin: Origin
    context: WriteContext
    hand_on: HandOn
    warnings: list[str] = field(default_factory=list[str])
    _merged: dict[str, dict[_Key, str]] = field(default_factory=dict[str, dict[_Key, str]])

    async def store(
        self, facts: Sequence[Fact], *, session: str, on_progress: Callable[[int], None]
    ) -> list[StoredFact]:
        """Store the facts of a conversation; call `on_progress` with the number that is done."""
        stored: list[StoredFact] = []
        for first in range(0, len(facts), MAX_PREFETCHED):
            batch = facts[first : first + MAX_PREFETCHED]
            drafts = [self._draft(fact, session) for fact in batch]
            async with prefetch_vectors(drafts, space=self.space, origin=self.origin, context=self.context) as context:
                for fact, draft in zip(batch, drafts, strict=True):
                    key = _key(fact.subject, fact.statement)
                    existing = (await self._merged_in(session)).get(key) or await self._find_existing(fact)
                    stored.append(
                        StoredFact(fact=fact, action="unchanged", id=existing)
                        if existing
                        else await self._remember(fact, draft, context=context)
                    )
                    on_progress(len(stored))
                    # Let other requests write, too.
                    await asyncio.sleep(0)
        return stored

    def _draft(self, fact: Fact, session: str) -> Draft:
        return Draft(
            text=fact.statement,
            kind=fact.type.value,
            entities=(fact.subject,) if fact.subject else (),
            project=self.project,
            source=Source(
                session=session,
                at=fact.at,
                method=Method.AUTO,
                agent=self.origin.agent,
                tool="extract",
                trust=self.speakers.trust(fact.speaker),
            ),
            metadata={"turn": fact.turn, "confidence": fact.confidence, "extracted_by": fact.method},
        )

    async def _remember(self, fact: Fact, draft: Draft, *, context: WriteContext) -> StoredFact:
        outcome = await remember(draft, space=self.space, origin=self.origin, context=context)
        await self.hand_on(outcome)
        answer = outcome.answer
        # Facts are single sentences: a warning about short texts says nothing here.
        if Flag.THIN not in answer.flags:
            self.warnings += answer.warnings
        return StoredFact(fact=fact, action=answer.action, id=answer.id, conflicts=answer.conflicts)

    async def _find_existing(self, fact: Fact) -> str:
        """Return the id of a memory with the same statement, of any time, unless from a less trusted source."""
        store = self.context.store
        ids = await store.same_content(self.space, fact.statement)
        memories = (await store.get(self.space, ids)).values() if ids else ()
        key, trust = _key(fact.subject, fact.statement), self.speakers.trust(fact.speaker)
        same = (
            memory
            for memory in memories
            if _key(memory.entity, memory.content) == key and self.project in ("", memory.project)
        )
        return next((memory.id for memory in same if not trust.outranks(memory.source.trust)), "")

    async def _merged_in(self, session: str) -> dict[_Key, str]:
        """Return the facts of a session that became part of other memories, with the id of each."""
        if session not in self._merged:
            store = self.context.store
            merged = Filter(session=session, state=State.MERGED)
            ids = await store.list_ids(self.space, merged, limit=_MAX_MERGED)
            parts = (await store.get(self.space, ids)).values() if ids else ()
            wholes = await store.get(self.space, list({part.merged_into for part in parts})) if parts else {}
            live = {memory.id for memory in wholes.values() if memory.state is State.LIVE}
            self._merged[session] = {
                _key(part.entity, part.content): part.merged_into for part in parts if part.merged_into in live
            }
        return self._merged[session]


def _key(subject: str, statement: str) -> _Key:
    return subject.casefold(), statement
