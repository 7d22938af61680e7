"""The job `reconstruct`: a thin note is put into order with the help of its session."""

import asyncio

from scrubjay.curation.lossless import unfaithful
from scrubjay.curation.prompts import reconstruct as task
from scrubjay.curation.target import JobTarget
from scrubjay.model.memory import Flag, Json
from scrubjay.model.query import Filter

ORIGINAL = "original"
_BESIDE = 5
_LONGEST_BESIDE = 500


async def reconstruct(subject: JobTarget) -> str:
    """Make a version that can be understood by itself; the text before stays in the history and in the metadata."""
    memory = subject.memory
    if ORIGINAL in memory.metadata:
        return "skipped: done before"
    if not memory.content.strip():
        return "skipped: it has no text"
    beside = await _beside(subject)
    answer = await subject.ask(task.render(memory.content, beside), task=task)
    if answer is None:
        return "kept as it was: the model gave no such answer"
    told = "\n".join(task.told(answer))
    if why := await asyncio.to_thread(unfaithful, [memory.content], told, beside=beside):
        return f"kept as it was: {why}"
    metadata: dict[str, Json] = {**memory.metadata, ORIGINAL: memory.content}
    return await subject.write({"content": task.written(answer), "metadata": metadata}, message="reconstructed")


async def _beside(subject: JobTarget) -> list[str]:
    """What else was noted in the session, the most recent first."""
    memory, store = subject.memory, subject.engine.store
    if not memory.source.session:
        return []
    ids = await store.list_ids(memory.space, Filter(session=memory.source.session), limit=_BESIDE + 1)
    others = await store.get(memory.space, [id_ for id_ in ids if id_ != memory.id][:_BESIDE])
    return [
        other.content[:_LONGEST_BESIDE]
        for other in others.values()
        if other.content and Flag.SUSPICIOUS not in other.flags
    ]
