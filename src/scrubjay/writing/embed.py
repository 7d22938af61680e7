"""The vectors a write needs: only for texts that the space has not embedded yet."""

from collections.abc import Sequence

from scrubjay import telemetry
from scrubjay.errors import EmbeddingUnavailable
from scrubjay.model.memory import Memory
from scrubjay.model.passage import Passage
from scrubjay.ports import Embedded, Embedder, VectorShelf
from scrubjay.text.passages import embedding_text

Sliced = tuple[Memory, tuple[Passage, ...]]


async def embed_new(
    sliced: Sequence[Sliced], *, space: str, shelf: VectorShelf, embedder: Embedder
) -> tuple[Embedded | None, str]:
    """The vectors that are missing, and a warning when none can be made: a write never fails for that."""
    try:
        with telemetry.stage("write.embed"):
            profile = await embedder.profile()
            wanted = {passage.hash: (memory, passage) for memory, passages in sliced for passage in passages}
            known = await shelf.embedded(space, profile.model, list(wanted))
            missing = {digest: pair for digest, pair in wanted.items() if digest not in known}
            if not missing:
                return None, ""
            vectors = await embedder.embed([_text(*pair) for pair in missing.values()])
    except EmbeddingUnavailable as error:
        return None, f"stored without vectors, found by its words only: {error.message}"
    made = Embedded(model=profile.model, dimension=profile.dimension, vectors=dict(zip(missing, vectors, strict=True)))
    return made, ""


def _text(memory: Memory, passage: Passage) -> str:
    return embedding_text(memory, passage.observation, passage.start, passage.end)
