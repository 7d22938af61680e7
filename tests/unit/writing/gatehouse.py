"""A store behind the similarity gate: what is written is merged or kept as the gate says, and nothing else happens."""

from dataclasses import dataclass, field, replace

from tests.fakes import FakeEmbedder
from tests.fakes.build import a_commit, a_write, an_origin

from scrubjay.model.change import Action
from scrubjay.model.memory import Memory, State
from scrubjay.model.query import Filter
from scrubjay.model.rules import Rules
from scrubjay.ports import Embedder, RecordStore, Write
from scrubjay.text.passages import passages_of
from scrubjay.vectors.scan import ScanIndex
from scrubjay.writing.embed import embed_new
from scrubjay.writing.merge import merge
from scrubjay.writing.similarity import GateDecision, look_around

SPACE = "default"


@dataclass(kw_only=True)
class Gatehouse:
    """Takes memories in, one after the other."""

    store: RecordStore
    embedder: Embedder = field(default_factory=FakeEmbedder)
    rules: Rules = field(default_factory=Rules)

    async def look(self, memory: Memory, *, intent: str = "auto", session: str = "") -> GateDecision:
        """What the gate says of a memory."""
        profile = await self.embedder.profile()
        passages = passages_of(memory)
        made, _ = await embed_new([(memory, passages)], space=SPACE, vector_store=self.store, embedder=self.embedder)
        index = ScanIndex(self.store, profile.model, dimension=profile.dimension)
        return await look_around(
            memory, passages, made.vectors if made else {}, rules=self.rules, intent=intent, session_hint=session,
            space=SPACE, store=self.store, index=index, profile=profile,
        )  # fmt: skip

    async def take(self, memory: Memory, *, intent: str = "auto", session: str = "") -> GateDecision:
        """Do what the gate says."""
        decision = await self.look(memory, intent=intent, session=session)
        if decision.into is None:
            await self.keep(memory)
            return decision
        merged = merge(decision.into, memory, at=memory.created_at)
        # A version that adds nothing is none.
        if merged is not decision.into:
            away = replace(memory, state=State.MERGED, merged_into=merged.id)
            await self._commit(
                a_write(merged, base=decision.into.version, action=Action.MERGED), a_write(away, action=Action.CREATED)
            )
        return decision

    async def keep(self, *memories: Memory) -> None:
        """Store memories without asking."""
        await self._commit(*(a_write(memory) for memory in memories))

    async def live(self) -> list[Memory]:
        """All live memories, the latest first."""
        ids = await self.store.list_ids(SPACE, Filter(), limit=100)
        found = await self.store.get(SPACE, ids)
        return [found[id_] for id_ in ids]

    async def _commit(self, *writes: Write) -> None:
        sliced = [(write.memory, tuple(write.passages)) for write in writes]
        made, _ = await embed_new(sliced, space=SPACE, vector_store=self.store, embedder=self.embedder)
        origin = an_origin(at=max(write.memory.updated_at for write in writes))
        await self.store.commit(a_commit(*writes, origin=origin, embedded=made))
