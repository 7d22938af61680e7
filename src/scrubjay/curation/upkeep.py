"""The jobs `bodies` and `vectors`: they find what the disk has damaged, make vectors again, and drop useless ones."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from datetime import timedelta
from random import Random
from typing import NamedTuple

import numpy as np

from scrubjay.curation.plan import DAILY, CurationContext, PlannedChange
from scrubjay.engine.scrub import known_damage, scrub
from scrubjay.errors import EmbeddingUnavailable
from scrubjay.indexing.backfill import embed_memories, texts_by_memory
from scrubjay.model.passage import Vector, is_valid_vector
from scrubjay.text.passages import picture_hash

_MONTHLY = timedelta(days=30)
# A week of nights reads every body; a small space is read every night.
_NIGHTS = 7
_MIN_BODIES = 20_000
_PAGE = 1_000
_DROPPED = 200
# Vectors have unit length. Quantized ones are a little off, and a flipped bit that matters is off by far more.
_TOLERANCE = 0.1
# So many texts a month are embedded again. The same text and model give the same direction, but for rounding.
_SAMPLE = 64
_LEAST_COSINE = 0.9
# If so large a part of the sample differs, the model is another one under the same name.
_OTHER_MODEL = 0.5


class _Sampled(NamedTuple):
    """A text whose vector is compared with one that is made again."""

    text: str
    vector: Vector
    memory_id: str
    version: int


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

    A vector is damaged if its length, its dimension or its numbers are wrong. That one belongs to another text shows
    only when the text is embedded again, so that each run does this with a sample.

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
        damaged, stored = await self._scan(context, profile.model, profile.dimension)
        sample: dict[bytes, _Sampled] = {}
        async for memories in context.walk(state=None):
            texts = await asyncio.to_thread(texts_by_memory, memories)
            every = dict.fromkeys(digest for own in texts.values() for digest in own)
            present = await context.store.embedded(context.space, profile.model, list(every))
            for memory in memories:
                own = texts[memory.id]
                missing = sum(digest not in present for digest in own)
                broken = [digest for digest in own if digest in damaged]
                if missing or broken:
                    why = f"{missing} passages without a vector, {len(broken)} with a damaged one"
                    yield self._embed(memory.id, memory.version, why, model=profile.model, damaged=broken)
                    continue
                for digest in own.keys() & stored.keys() - {picture_hash(memory)}:
                    sample[digest] = _Sampled(own[digest], stored[digest], memory.id, memory.version)
        async for change in self._of_other_texts(sample, context, profile.model):
            yield change
        for model in await self._former_models(context, profile.model):
            why = f"{model} has not been in use for {_MONTHLY.days} days"
            yield PlannedChange(job=self.name, action="drop", ids=(), versions=(), why=why, details={"model": model})

    def _embed(self, memory_id: str, version: int, why: str, *, model: str, damaged: list[bytes]) -> PlannedChange:
        return PlannedChange(
            job=self.name, action="embed", ids=(memory_id,), versions=(version,), why=why,
            details={"model": model, "damaged": [digest.hex() for digest in damaged]},
        )  # fmt: skip

    async def _of_other_texts(
        self, sample: Mapping[bytes, _Sampled], context: CurationContext, model: str
    ) -> AsyncIterator[PlannedChange]:
        """Embed a sample again, and yield a change for each memory with a vector that is not of its text."""
        try:
            made = await context.engine.model.embedder.embed([item.text for item in sample.values()])
        except EmbeddingUnavailable:
            return
        other = {
            digest: item
            for (digest, item), vector in zip(sample.items(), made, strict=True)
            if float(vector @ item.vector) < _LEAST_COSINE
        }
        if len(other) > 1 and len(other) > _OTHER_MODEL * len(sample):
            # Replaced one by one, two sorts of vectors would be mixed for hours; and a server may want to be paid.
            context.notes.append(
                f"{self.name}: {model} gives other vectors than those stored, for {len(other)} of {len(sample)} texts: "
                "give the changed model another name, and run `scrubjay reembed --model NAME`"
            )
            return
        for digest, item in other.items():
            why = "its vector is not that of its text"
            yield self._embed(item.memory_id, item.version, why, model=model, damaged=[digest])

    async def apply(self, change: PlannedChange, context: CurationContext) -> str:
        """Embed the texts of a memory without a vector or with a damaged one; or drop the vectors of a former model."""
        await context.read(change)
        current = context.engine.model
        model = (await current.embedder.profile()).model
        if change.action == "drop":
            return await self._drop(str(change.details.get("model")), context, current=model)
        if model != change.details.get("model"):
            return "another embedding model is in use"
        broken = change.details.get("damaged")
        await embed_memories(
            context.space, change.ids, store=context.store, embedder=current.embedder, clock=context.engine.clock,
            media_source=current.media_source,
            replaced=[bytes.fromhex(str(digest)) for digest in broken] if isinstance(broken, list) else (),
        )  # fmt: skip
        return ""

    async def _former_models(self, context: CurationContext, current: str) -> list[str]:
        """Return the models whose vectors only take room."""
        since = await context.engine.models.settled_since() if context.engine.models else None
        if since is None or context.now - since < _MONTHLY:
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

    async def _scan(
        self, context: CurationContext, model: str, dimension: int
    ) -> tuple[set[bytes], dict[bytes, Vector]]:
        """Return the texts whose vector is damaged, and the vectors of a sample of the others, each month another."""
        damaged, sample, count = set[bytes](), list[tuple[bytes, Vector]](), 0
        chance = Random(f"{context.space} {context.now:%Y-%m}")  # noqa: S311 - no secret
        after = b""
        while page := await context.store.stored_vectors(context.space, model, after=after, limit=_PAGE):
            damaged |= {
                digest
                for digest, vector in page.items()
                if not is_valid_vector(vector, dimension=dimension)
                or abs(float(np.linalg.norm(vector)) - 1) > _TOLERANCE
            }
            for digest in (each for each in page if each not in damaged):
                count += 1
                place = len(sample) if len(sample) < _SAMPLE else chance.randrange(count)
                if place < _SAMPLE:
                    # A copy: a view would hold the memory of the whole page.
                    sample[place : place + 1] = [(digest, page[digest].copy())]
            after = max(page)
            await context.pause()
        return damaged, dict(sample)
