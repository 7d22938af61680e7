"""The job `polish`: a text that was merged sentence by sentence becomes one coherent text."""

import asyncio
from collections.abc import Sequence
from hashlib import sha256

from scrubjay.curation.lossless import find_unfaithful
from scrubjay.curation.target import NO_ANSWER, JobTarget, Prompt
from scrubjay.errors import LlmUnavailable
from scrubjay.model.memory import Json, Tier
from scrubjay.ports import Llm

PROMPT = Prompt(
    instructions="""You make one coherent text of notes that were joined one behind the other.
Answer with one field, text. Say everything that the notes say, once: leave out only what they say twice.
Keep every number, date, name, address, identifier, quotation and every "not" exactly as it is written.
Keep the words of each sentence, in their order and language; you may join sentences, and change their order.
Add nothing: no introduction, no conclusion, nothing of your own.""",
    schema={
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
        "additionalProperties": False,
    },
)
# The metadata field with the digest of the polished text.
_POLISHED = "polished"


async def join_statements(statements: Sequence[str], *, llm: Llm) -> str:
    """Return statements as one coherent text; raise LlmUnavailable if the model gives none that says just that."""
    answer = await llm.ask(PROMPT.instructions, "\n".join(statements), schema=PROMPT.schema)
    text = str(answer["text"]).strip()
    if reason := await asyncio.to_thread(find_unfaithful, statements, text):
        raise LlmUnavailable(f"the answer of the model was refused: {reason}", reason="answer")
    return text


async def polish(target: JobTarget) -> str:
    """Write a coherent version; the history keeps the merged memories."""
    memory = target.memory
    # The steps of a procedure keep their order.
    is_consolidated = memory.tier is Tier.SEMANTIC and "sources" in memory.metadata
    if not memory.merged and not is_consolidated:
        return "skipped: nothing is merged into it"
    if memory.metadata.get(_POLISHED) == _digest(memory.content):
        return "skipped: done before"
    answer = await target.ask(PROMPT, memory.content)
    if answer is None:
        return NO_ANSWER
    text = str(answer["text"]).strip()
    if reason := await asyncio.to_thread(find_unfaithful, [memory.content], text):
        return f"unchanged: {reason}"
    metadata: dict[str, Json] = {**memory.metadata, _POLISHED: _digest(text)}
    return await target.write({"content": text, "metadata": metadata}, message="polished")


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
