"""Many writes at once, compared with the time that the model takes to embed their texts."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.figures import Bulk
from benchmarks.filling import open_engine_with, without_readers
from benchmarks.memories import CALLER
from scrubjay.engine import Engine
from scrubjay.graph.entity import Entity
from scrubjay.model.draft import Draft
from scrubjay.model.memory import Json
from scrubjay.model.requests import CreateEntitiesRequest, RememberManyRequest
from scrubjay.ports import Embedder
from scrubjay.settings import Settings

_ENTITIES = 10
_OBSERVATIONS = 2
_WARM_UP = 20


async def measure_bulk(embedder: Embedder, sentences: Sequence[str], *, folder: Path) -> Bulk:
    """Time each way on a store of its own, with the real model and the default rules."""
    texts, spare = sentences[:-_WARM_UP], sentences[-_WARM_UP:]
    drafts = [Draft(text=text) for text in texts]
    entities = _entities(texts)
    records = [_record(entity) for entity in entities]
    observations = [text for entity in entities for text in entity.observations]
    embedding = await _time_embedding(embedder, texts)

    async def remember_many(engine: Engine) -> None:
        await engine.remember_many(RememberManyRequest(items=tuple(drafts)), who=CALLER)

    async def gather(engine: Engine) -> None:
        await asyncio.gather(*(engine.remember(draft, who=CALLER) for draft in drafts))

    async def create_entities(engine: Engine) -> None:
        done = await engine.create_entities(CreateEntitiesRequest.of(entities=records), who=CALLER)
        if done["errors"]:
            raise SystemExit(f"create_entities: {done['errors']}")

    async def create_in_graph(engine: Engine) -> None:
        await engine.knowledge_graph(who=CALLER).create_entities(entities)

    async def time_on_new_store(name: str, write: Callable[[Engine], Awaitable[None]]) -> float:
        # Without the model that reads pairs, which is another model's time.
        settings = without_readers(
            Settings.load(environment={}, home=str(folder / name), space=CALLER.space, agent=CALLER.agent)
        )
        async with open_engine_with(settings, embedder) as engine:
            # Loads what the first writes of a process load.
            for text in spare:
                await engine.remember(Draft(text=text), who=replace(CALLER, space="warm-up"))
            began = time.perf_counter()
            await write(engine)
            return time.perf_counter() - began

    return Bulk(
        texts=len(texts),
        embedding=embedding,
        many=await time_on_new_store("many", remember_many),
        gathered=await time_on_new_store("gathered", gather),
        entities=await time_on_new_store("entities", create_entities),
        graph_entities=await time_on_new_store("graph", create_in_graph),
        entities_embedding=await _time_embedding(embedder, observations),
    )


def _entities(texts: Sequence[str]) -> list[Entity]:
    pairs = [texts[start : start + _OBSERVATIONS] for start in range(0, _ENTITIES * _OBSERVATIONS, _OBSERVATIONS)]
    return [
        Entity(name=f"Entity {number}", type="thing", observations=tuple(pair)) for number, pair in enumerate(pairs)
    ]


def _record(entity: Entity) -> dict[str, Json]:
    return {"name": entity.name, "entityType": entity.type, "observations": list(entity.observations)}


async def _time_embedding(embedder: Embedder, texts: Sequence[str]) -> float:
    await embedder.embed(texts[:8])
    began = time.perf_counter()
    await embedder.embed(texts)
    return time.perf_counter() - began
