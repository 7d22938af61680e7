"""The job `reconstruct`: a thin note becomes one that is understood without its session."""

import asyncio

from scrubjay.curation.lossless import find_unfaithful
from scrubjay.curation.target import NO_ANSWER, JobTarget, Prompt
from scrubjay.model.memory import Flag, Json
from scrubjay.model.query import Filter

_PARTS = ("what", "context", "outcome", "next")
PROMPT = Prompt(
    instructions="""You put a short note into order, for a memory that is read months later.
The material is the note, and other notes of the same session, which may say what it is about.
Answer with four fields, each a plain sentence or an empty text:
what: the note itself, complete. context: where and why, from the other notes. outcome: what came of it.
next: what is still to be done.
Keep every number, date, name, address, identifier, quotation and every "not" exactly as it is written.
Use whole sentences of the material, with their words in their order. Do not mix the other notes into the note.
Leave a field empty rather than guess: nothing may be invented.""",
    schema={
        "type": "object",
        "properties": {part: {"type": "string"} for part in _PARTS},
        "required": list(_PARTS),
        "additionalProperties": False,
    },
)
# The metadata field with the original text.
_ORIGINAL = "original"
_MAX_OTHERS = 5
_MAX_OTHER_LENGTH = 500


async def reconstruct(target: JobTarget) -> str:
    """Write a self-contained version; the history and the metadata keep the original text."""
    memory = target.memory
    if _ORIGINAL in memory.metadata:
        return "skipped: done before"
    if not memory.content.strip():
        return "skipped: it has no text"
    others = await _session_notes(target)
    listed = "".join(f"\n- {' '.join(other.split())}" for other in others) or " none"
    answer = await target.ask(PROMPT, f"The note:\n{memory.content}\n\nOther notes of the session:{listed}\n")
    if answer is None:
        return NO_ANSWER
    parts = {part: " ".join(str(answer[part]).split()) for part in _PARTS}
    text = "\n".join(filter(None, parts.values()))
    if reason := await asyncio.to_thread(find_unfaithful, [memory.content], text, context=others):
        return f"unchanged: {reason}"
    metadata: dict[str, Json] = {**memory.metadata, _ORIGINAL: memory.content}
    content = "\n".join(f"{part.capitalize()}: {text}" for part, text in parts.items() if text)
    return await target.write({"content": content, "metadata": metadata}, message="reconstructed")


async def _session_notes(target: JobTarget) -> list[str]:
    """Return other notes of the session, the most recent first."""
    memory, reader = target.memory, target.engine.reader
    if not memory.source.session:
        return []
    ids = await reader.list_ids(memory.space, Filter(session=memory.source.session), limit=_MAX_OTHERS + 1)
    others = await reader.get(memory.space, [id_ for id_ in ids if id_ != memory.id][:_MAX_OTHERS])
    return [
        other.content[:_MAX_OTHER_LENGTH]
        for other in others.values()
        if other.content and Flag.SUSPICIOUS not in other.flags
    ]
