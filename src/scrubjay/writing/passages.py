"""The passages of a memory, made where they hold nobody up."""

import asyncio

from scrubjay import telemetry
from scrubjay.model.memory import Memory
from scrubjay.model.passage import Passage
from scrubjay.text.passages import passages_of

# A text this long takes long enough to slice that the event loop should not do it.
_LONG_TEXT = 20_000


async def slice_memory(memory: Memory) -> tuple[Passage, ...]:
    """The passages of a memory, made in a thread when that takes a while."""
    with telemetry.stage("write.slice"):
        if len(memory.content) < _LONG_TEXT and len(memory.observations) < _LONG_TEXT // 100:
            return passages_of(memory)
        return await asyncio.to_thread(passages_of, memory)
