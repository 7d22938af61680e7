"""The vectors a write needs: only for texts that the space has not embedded yet."""

from collections.abc import Mapping, Sequence

from scrubjay import telemetry
from scrubjay.errors import EmbeddingUnavailable
from scrubjay.model.memory import Memory
from scrubjay.model.passage import Passage, Vector
from scrubjay.ports import Embedded, Embedder, Profile, VectorShelf
from scrubjay.text.passages import embedding_text, picture_hash

Sliced = tuple[Memory, tuple[Passage, ...]]


async def embed_new(
    sliced: Sequence[Sliced], *, space: str, shelf: VectorShelf, embedder: Embedder, made: Embedded | None = None
) -> tuple[Embedded | None, str]:
    """The vectors that are missing, and a warning when none can be made: a write never fails for that.

    Those that were `made` a moment ago and are not stored yet are not made again, and are among what is returned.
    Pictures are left to whoever has them, where the model sees pictures; where it does not, they go by their names.
    """
    ready = dict(made.vectors) if made else {}
    try:
        with telemetry.stage("write.embed"):
            profile = await embedder.profile()
            sees = "image" in profile.media
            wanted = {
                passage.hash: (memory, passage)
                for memory, passages in sliced
                for passage in passages
                if not sees or passage.hash != picture_hash(memory)
            }
            known = await shelf.embedded(space, profile.model, list(wanted))
            missing = {digest: pair for digest, pair in wanted.items() if digest not in known and digest not in ready}
            if not missing:
                return made, ""
            vectors = await embedder.embed([_text(*pair) for pair in missing.values()])
    except EmbeddingUnavailable as error:
        return made, f"stored without vectors, found by its words only: {error.message}"
    fresh = dict(zip(missing, vectors, strict=True))
    return Embedded(model=profile.model, dimension=profile.dimension, vectors={**ready, **fresh}), ""


async def vectors_of(
    passages: Sequence[Passage], embedded: Embedded | None, *, space: str, shelf: VectorShelf, embedder: Embedder
) -> tuple[Profile | None, Mapping[bytes, Vector]]:
    """The vectors of the passages, those made now and those that the space had; none where there is no model."""
    made = dict(embedded.vectors) if embedded else {}
    try:
        profile = await embedder.profile()
    except EmbeddingUnavailable:
        return None, made
    missing = [passage.hash for passage in passages if passage.hash not in made]
    known = await shelf.vectors(space, profile.model, missing) if missing else {}
    return profile, {**known, **made}


def _text(memory: Memory, passage: Passage) -> str:
    return embedding_text(memory, passage.observation, passage.start, passage.end)
