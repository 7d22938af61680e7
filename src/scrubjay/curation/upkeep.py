"""The jobs `bodies` and `vectors`: they find what the disk has damaged, make vectors again, and drop useless ones."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta

import numpy as np

from scrubjay.curation.plan import DAILY, CurationContext, PlannedChange
from scrubjay.engine.model_switch import read_chosen_model
from scrubjay.engine.scrub import known_damage, scrub
from scrubjay.errors import EmbeddingUnavailable
from scrubjay.model.memory import Memory
from scrubjay.model.passage import is_valid_vector
from scrubjay.text.passages import passages_of

_MONTHLY = timedelta(days=30)
# A week of nights reads every body; a small space is read every night.
_NIGHTS = 7
_MIN_BODIES = 20_000
_PAGE = 1_000
_DROPPED = 200
# Vectors have unit length. Quantized ones are a little off, and a flipped bit that matters is off by far more.
_TOLERANCE = 0.1


class BodiesJob:
    """Reads stored bodies in turn, and reports those that are damaged; `status` and `doctor` name them too."""

    name = "bodies"
    summary = "read the stored texts in turn, and report damage on the disk"
    every = DAILY

    async def plan(self, context: CurationContext) -> AsyncIterator[PlannedChange]:
        """Yield a report for each damaged body that was not known; a real run notes the place to go on."""
        store, space = context.store, context.space
        earlier = {str(body) for body in await known_damage(space, store=store)}
        versions = (await store.statistics(space)).versions
        part = await scrub(
            space, bodies=max(_MIN_BODIES, versions // _NIGHTS + 1), store=store, clock=context.engine.clock,
            pause=context.pause, dry_run=context.is_dry_run,
        )  # fmt: skip
        for body in part.damaged:
            if str(body) not in earlier:
                yield PlannedChange(
                    job=self.name, action="report", ids=(body.memory_id,), versions=(body.version,),
                    why=f"version {body.version} is damaged: {body.why}",
                )  # fmt: skip

    async def apply(self, change: PlannedChange, context: CurationContext) -> str:
        """Do nothing more: a report is all that can be done without a person."""
        del change, context
        return ""


class VectorsJob:
    """Embeds texts without a vector of the model in use, and those whose vector is damaged.

    The vectors of a model that `reembed` has replaced are for the way back, and are dropped after a month.
    """

    name = "vectors"
    summary = "embed texts whose vector is missing or damaged, and drop vectors of a former model"
    every = _MONTHLY

    async def plan(self, context: CurationContext) -> AsyncIterator[PlannedChange]:
        """Yield a change for each memory with a text to embed, in the trash and the archive too: both are searched."""
        try:
            profile = await context.engine.model.embedder.profile()
        except EmbeddingUnavailable:
            return
        damaged = await self._damaged(context, profile.model, profile.dimension)
        async for memories in context.walk(state=None):
            hashes = await asyncio.to_thread(_hashes, memories)
            every = dict.fromkeys(digest for own in hashes for digest in own)
            present = await context.store.embedded(context.space, profile.model, list(every))
            for memory, own in zip(memories, hashes, strict=True):
                missing = sum(digest not in present for digest in own)
                broken = [digest.hex() for digest in own if digest in damaged]
                if missing or broken:
                    yield PlannedChange(
                        job=self.name, action="embed", ids=(memory.id,), versions=(memory.version,),
                        why=f"{missing} passages without a vector, {len(broken)} with a damaged one",
                        details={"model": profile.model, "damaged": [*broken]},
                    )  # fmt: skip
        for model in await self._former_models(context, profile.model):
            why = f"{model} has not been in use for {_MONTHLY.days} days"
            yield PlannedChange(job=self.name, action="drop", ids=(), versions=(), why=why, details={"model": model})

    async def apply(self, change: PlannedChange, context: CurationContext) -> str:
        """Embed the texts of a memory, after its damaged vectors are deleted; or drop the vectors of a former model."""
        await context.read(change)
        model = (await context.engine.model.embedder.profile()).model
        if change.action == "drop":
            return await self._drop(str(change.details.get("model")), context, current=model)
        if model != change.details.get("model"):
            return "another embedding model is in use"
        broken = change.details.get("damaged")
        if isinstance(broken, list) and broken:
            await context.store.drop_vectors(context.space, model, [bytes.fromhex(str(digest)) for digest in broken])
        await context.engine.embed_memories(change.ids, who=context.caller)
        return ""

    async def _former_models(self, context: CurationContext, current: str) -> list[str]:
        """Return the models whose vectors only take room."""
        chosen = await read_chosen_model(context.store)
        if chosen is None or chosen.at is None or context.now - chosen.at < _MONTHLY:
            return []
        others = [model for model in await context.store.models() if model != current]
        return [model for model in others if await context.store.stored_vectors(context.space, model, limit=1)]

    async def _drop(self, model: str, context: CurationContext, *, current: str) -> str:
        if model == current:
            return "it is in use again"
        while page := await context.store.stored_vectors(context.space, model, limit=_DROPPED):
            await context.store.drop_vectors(context.space, model, list(page))
            await context.pause()
        return ""

    async def _damaged(self, context: CurationContext, model: str, dimension: int) -> set[bytes]:
        damaged: set[bytes] = set()
        after = b""
        while page := await context.store.stored_vectors(context.space, model, after=after, limit=_PAGE):
            damaged |= {
                digest
                for digest, vector in page.items()
                if not is_valid_vector(vector, dimension=dimension)
                or abs(float(np.linalg.norm(vector)) - 1) > _TOLERANCE
            }
            after = max(page)
            await context.pause()
        return damaged


def _hashes(memories: Sequence[Memory]) -> list[list[bytes]]:
    return [[passage.hash for passage in passages_of(memory, with_terms=False)] for memory in memories]
