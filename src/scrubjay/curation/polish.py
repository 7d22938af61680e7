"""The job `polish`: what was merged sentence by sentence becomes one text."""

import asyncio
from hashlib import sha256

from scrubjay.curation.lossless import unfaithful
from scrubjay.curation.prompts import merge as task
from scrubjay.curation.target import JobTarget
from scrubjay.model.memory import Json

_POLISHED = "polished"


async def polish(subject: JobTarget) -> str:
    """Make a version that reads as one; what was merged stays in the history, each memory by itself."""
    memory = subject.memory
    if not memory.merged:
        return "skipped: nothing is merged into it"
    if memory.metadata.get(_POLISHED) == _digest(memory.content):
        return "skipped: done before"
    answer = await subject.ask(task.render(memory.content), task=task)
    if answer is None:
        return "kept as it was: the model gave no such answer"
    text = task.told(answer)
    if why := await asyncio.to_thread(unfaithful, [memory.content], text):
        return f"kept as it was: {why}"
    metadata: dict[str, Json] = {**memory.metadata, _POLISHED: _digest(text)}
    return await subject.write({"content": text, "metadata": metadata}, message="polished")


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
