"""Facts become memories, each once, with all that is known of where they come from."""

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

_MOST_MERGED = 5_000
# Whoever does what a write leaves for later.
HandOn = Callable[[WriteOutcome], Awaitable[None]]
_Key = tuple[str, str]


@dataclass(slots=True, kw_only=True)
class FactStore:
    """Stores facts one by one, each once: those that are there already, alone or merged into others, are left alone."""

    space: str
    project: str
    speakers: Speakers
    origin: Origin
    context: WriteContext
    hand_on: HandOn
    warnings: list[str] = field(default_factory=list[str])
    _merged: dict[str, dict[_Key, str]] = field(default_factory=dict[str, dict[_Key, str]])

    async def store(self, facts: Sequence[Fact], *, session: str, told: Callable[[int], None]) -> list[StoredFact]:
        """Store what a conversation says; `told` hears how many are done."""
        stored: list[StoredFact] = []
        for first in range(0, len(facts), MAX_PREFETCHED):
            some = facts[first : first + MAX_PREFETCHED]
            drafts = [self._draft(fact, session) for fact in some]
            async with prefetch_vectors(drafts, space=self.space, origin=self.origin, context=self.context) as context:
                for fact, draft in zip(some, drafts, strict=True):
                    same = _key(fact.subject, fact.statement)
                    known = (await self._merged_in(session)).get(same) or await self._known(fact)
                    stored.append(
                        StoredFact(fact=fact, action="unchanged", id=known)
                        if known
                        else await self._kept(fact, draft, context=context)
                    )
                    told(len(stored))
                    # Others may want to write, too.
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

    async def _kept(self, fact: Fact, draft: Draft, *, context: WriteContext) -> StoredFact:
        kept = await remember(draft, space=self.space, origin=self.origin, context=context)
        await self.hand_on(kept)
        answer = kept.answer
        # That a sentence is short is no news of what was asked for sentence by sentence.
        if Flag.THIN not in answer.flags:
            self.warnings += answer.warnings
        return StoredFact(fact=fact, action=answer.action, id=answer.id, conflicts=answer.conflicts)

    async def _known(self, fact: Fact) -> str:
        """The memory that says just this, whenever and wherever it was said, unless by somebody who is trusted less."""
        store = self.context.store
        ids = await store.same_content(self.space, fact.statement)
        found = (await store.get(self.space, ids)).values() if ids else ()
        same, trust = _key(fact.subject, fact.statement), self.speakers.trust(fact.speaker)
        known = (one for one in found if _key(one.entity, one.content) == same and self.project in ("", one.project))
        return next((one.id for one in known if not trust.outranks(one.source.trust)), "")

    async def _merged_in(self, session: str) -> dict[_Key, str]:
        """What of the session had become part of other memories before, and of which."""
        if session not in self._merged:
            store = self.context.store
            wanted = Filter(session=session, state=State.MERGED)
            ids = await store.list_ids(self.space, wanted, limit=_MOST_MERGED)
            parts = (await store.get(self.space, ids)).values() if ids else ()
            wholes = await store.get(self.space, list({part.merged_into for part in parts})) if parts else {}
            live = {memory.id for memory in wholes.values() if memory.state is State.LIVE}
            self._merged[session] = {
                _key(part.entity, part.content): part.merged_into for part in parts if part.merged_into in live
            }
        return self._merged[session]


def _key(subject: str, statement: str) -> _Key:
    return subject.casefold(), statement
