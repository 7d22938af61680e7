"""Store facts as memories, each once, with their source."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from scrubjay.extraction.speakers import Speakers
from scrubjay.model.change import Origin
from scrubjay.model.draft import Draft
from scrubjay.model.fact import EXTRACTION, Fact, StoredFact
from scrubjay.model.memory import Flag, Method, Source, State
from scrubjay.model.query import Filter
from scrubjay.model.results import Remembered
from scrubjay.ports import RecordStore
from scrubjay.writing.context import WriteContext, WriteOutcome
from scrubjay.writing.many import CHUNK, HandOn, embed_drafts, write_together
from scrubjay.writing.pipeline import remember

__all__ = ["FactStore", "HandOn"]

_MAX_MERGED = 5_000
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
        for first in range(0, len(facts), CHUNK):
            chunk = facts[first : first + CHUNK]
            drafts = [self._draft(fact, session) for fact in chunk]
            embedded = await embed_drafts(drafts, space=self.space, origin=self.origin, context=self.context)
            outcomes: list[WriteOutcome] = []
            async with write_together(embedded, space=self.space, context=self.context) as context:
                for fact, draft, screened in zip(chunk, drafts, embedded.screened, strict=True):
                    existing = await self._find_existing(fact, session=session, store=context.store)
                    if existing:
                        stored.append(StoredFact(fact=fact, action="unchanged", id=existing))
                    else:
                        outcomes.append(
                            await remember(
                                draft, space=self.space, origin=self.origin, context=context, screened=screened
                            )
                        )
                        stored.append(self._stored_fact(fact, outcomes[-1].answer))
                    on_progress(len(stored))
                    # Let other requests read meanwhile.
                    await asyncio.sleep(0)
            for outcome in outcomes:
                await self.hand_on(outcome)
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
                tool=EXTRACTION,
                trust=self.speakers.trust(fact.speaker),
            ),
            metadata={"turn": fact.turn, "confidence": fact.confidence, "extracted_by": fact.method},
        )

    def _stored_fact(self, fact: Fact, answer: Remembered) -> StoredFact:
        # Facts are single sentences: a warning about short texts says nothing here.
        if Flag.THIN not in answer.flags:
            self.warnings += answer.warnings
        return StoredFact(fact=fact, action=answer.action, id=answer.id, conflicts=answer.conflicts)

    async def _find_existing(self, fact: Fact, *, session: str, store: RecordStore) -> str:
        """Return the id of a memory with the same statement, of any time, unless from a less trusted source."""
        merged = (await self._merged_in(session, store=store)).get(_key(fact.subject, fact.statement))
        if merged:
            return merged
        ids = await store.same_content(self.space, fact.statement)
        memories = (await store.get(self.space, ids)).values() if ids else ()
        key, trust = _key(fact.subject, fact.statement), self.speakers.trust(fact.speaker)
        same = (
            memory
            for memory in memories
            if _key(memory.entity, memory.content) == key and self.project in ("", memory.project)
        )
        return next((memory.id for memory in same if not trust.outranks(memory.source.trust)), "")

    async def _merged_in(self, session: str, *, store: RecordStore) -> dict[_Key, str]:
        """Return the facts of a session that became part of other memories, with the id of each."""
        if session not in self._merged:
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
