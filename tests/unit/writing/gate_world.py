"""A store behind the similarity gate: each memory is merged or stored as the gate decides, and no other stage runs."""

from dataclasses import dataclass, field, replace

from tests.fakes import FakeEmbedder
from tests.fakes.build import a_commit, a_write, an_origin

from scrubjay.detection.neighbours import ReadCache
from scrubjay.model.change import Action
from scrubjay.model.memory import Memory, State
from scrubjay.model.query import Filter
from scrubjay.model.rules import Rules
from scrubjay.ports import Embedder, RecordStore, Write
from scrubjay.text.passages import passages_of
from scrubjay.vectors.scan import ScanIndex
from scrubjay.writing.embed import embed_new, load_vectors
from scrubjay.writing.merge import merge
from scrubjay.writing.similarity import GateDecision, decide

SPACE = "default"


@dataclass(kw_only=True)
class GateWorld:
    """Passes memories through the gate, one after the other."""

    store: RecordStore
    embedder: Embedder = field(default_factory=FakeEmbedder)
    rules: Rules = field(default_factory=Rules)

    async def decide(self, memory: Memory, *, intent: str = "auto", session: str = "") -> GateDecision:
        """Return the gate's decision about a memory."""
        profile = await self.embedder.profile()
        passages = passages_of(memory)
        embedded, _ = await embed_new(
            [(memory, passages)], space=SPACE, vector_store=self.store, embedder=self.embedder
        )
        written = await load_vectors(memory, passages, embedded, vector_store=self.store, embedder=self.embedder)
        index = ScanIndex(self.store, profile.model, dimension=profile.dimension)
        cache = ReadCache(store=self.store, index=index)
        return await decide(written, rules=self.rules, intent=intent, session=session, cache=cache)

    async def write(self, memory: Memory, *, intent: str = "auto", session: str = "") -> GateDecision:
        """Carry out the gate's decision."""
        decision = await self.decide(memory, intent=intent, session=session)
        if decision.target is None:
            await self.store_all(memory)
            return decision
        merged = merge(decision.target, memory, at=memory.created_at)
        # A merge that adds nothing makes no version.
        if merged is not decision.target:
            part = replace(memory, state=State.MERGED, merged_into=merged.id)
            await self._commit(
                a_write(merged, base=decision.target.version, action=Action.MERGED),
                a_write(part, action=Action.CREATED),
            )
        return decision

    async def store_all(self, *memories: Memory) -> None:
        """Store memories past the gate."""
        await self._commit(*(a_write(memory) for memory in memories))

    async def live(self) -> list[Memory]:
        """Return all live memories, the latest first."""
        ids = await self.store.list_ids(SPACE, Filter(), limit=100)
        memories = await self.store.get(SPACE, ids)
        return [memories[memory_id] for memory_id in ids]

    async def _commit(self, *writes: Write) -> None:
        sliced = [(write.memory, tuple(write.passages)) for write in writes]
        embedded, _ = await embed_new(sliced, space=SPACE, vector_store=self.store, embedder=self.embedder)
        origin = an_origin(at=max(write.memory.updated_at for write in writes))
        await self.store.commit(a_commit(*writes, origin=origin, embedded=embedded))
