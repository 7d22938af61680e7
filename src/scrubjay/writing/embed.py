"""The vectors a write needs: only for texts that the space has not embedded yet."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import accumulate, islice

from scrubjay import telemetry
from scrubjay.errors import EmbeddingUnavailable
from scrubjay.model.change import Origin
from scrubjay.model.job import EMBEDDING, Job
from scrubjay.model.memory import Memory
from scrubjay.model.passage import Passage, Vector
from scrubjay.ports import Embedded, Embedder, Profile, VectorStore
from scrubjay.text.passages import embedding_text, picture_hash

Sliced = tuple[Memory, tuple[Passage, ...]]

# While a caller waits so many characters are embedded, whatever texts they make: the bundled model takes two to three
# seconds for them on two slow cores. It is more than what is compared of a text as a whole.
_AT_ONCE = 16_000
_UNDER_WAY = "a long text: until all of it is embedded, which is under way, its end is found by its words only"


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """The vectors that a write is stored with, what its caller is told, and the memories that get more later."""

    embedded: Embedded | None
    warning: str = ""
    lacking: tuple[str, ...] = ()


async def embed_new(
    sliced: Sequence[Sliced], *, space: str, vector_store: VectorStore, embedder: Embedder
) -> tuple[Embedded | None, str]:
    """The vectors that are missing, and a warning when none can be made: a write never fails for that."""
    begun = await embed_first(sliced, space=space, vector_store=vector_store, embedder=embedder, defers=False)
    return begun.embedded, begun.warning


async def embed_first(
    sliced: Sequence[Sliced],
    *,
    space: str,
    vector_store: VectorStore,
    embedder: Embedder,
    defers: bool,
    made: Embedded | None = None,
) -> Begun:
    """The vectors that are missing; `defers` leaves those of a long text's end for later, and whose they are is told.

    Those that were `made` a moment ago and are not stored yet are not made again, and are among what is returned.
    Pictures are left to whoever has them, where the model sees pictures; where it does not, they go by their names.
    """
    ready = dict(made.vectors) if made else {}
    try:
        with telemetry.stage("write.embed"):
            profile = await embedder.profile()
            texts = await unembedded(sliced, space=space, vector_store=vector_store, profile=profile)
            missing = {digest: text for digest, text in texts.items() if digest not in ready}
            begun = sum(len(text) for digest, text in texts.items() if digest in ready)
            now = dict(islice(missing.items(), first_of(list(missing.values()), begun=begun) if defers else None))
            vectors = await embedder.embed(list(now.values())) if now else []
    except EmbeddingUnavailable as error:
        return Begun(embedded=made, warning=f"stored without vectors, found by its words only: {error.message}")
    later = missing.keys() - now.keys()
    lacking = tuple(memory.id for memory, passages in sliced if any(passage.hash in later for passage in passages))
    fresh = Embedded(
        model=profile.model,
        dimension=profile.dimension,
        vectors={**ready, **dict(zip(now, vectors, strict=True))},
    )
    return Begun(embedded=fresh if now else made, warning=_UNDER_WAY if later else "", lacking=lacking)


def first_of(texts: Sequence[str], *, begun: int = 0) -> int:
    """How many of some texts are embedded while a caller waits, who waits for so many characters already."""
    most = _AT_ONCE - begun
    return sum(1 for characters in accumulate(map(len, texts)) if characters <= most)


def left_to_embed(lacking: Iterable[str], *, space: str, origin: Origin) -> tuple[Job, ...]:
    """The jobs that give memories the vectors that they were stored without; they belong into the same commit."""
    # Whoever looks for conflicts of the same memory goes by its vectors, and so comes after.
    due = origin.at - timedelta(microseconds=1)
    return tuple(
        Job(space=space, kind=EMBEDDING, about={"memory_id": one}, created_at=origin.at, due=due) for one in lacking
    )


async def unembedded(
    sliced: Sequence[Sliced], *, space: str, vector_store: VectorStore, profile: Profile
) -> dict[bytes, str]:  # fmt: skip
    """The texts of passages that the space has no vectors of, by their hashes."""
    sees = "image" in profile.media
    wanted = {
        passage.hash: (memory, passage)
        for memory, passages in sliced
        for passage in passages
        if not sees or passage.hash != picture_hash(memory)
    }
    known = await vector_store.embedded(space, profile.model, list(wanted))
    return {digest: _text(*pair) for digest, pair in wanted.items() if digest not in known}


async def vectors_of(
    passages: Sequence[Passage], embedded: Embedded | None, *, space: str, vector_store: VectorStore, embedder: Embedder
) -> tuple[Profile | None, Mapping[bytes, Vector]]:
    """The vectors of the passages, those made now and those that the space had; none where there is no model."""
    made = dict(embedded.vectors) if embedded else {}
    try:
        profile = await embedder.profile()
    except EmbeddingUnavailable:
        return None, made
    missing = [passage.hash for passage in passages if passage.hash not in made]
    known = await vector_store.vectors(space, profile.model, missing) if missing else {}
    return profile, {**known, **made}


def _text(memory: Memory, passage: Passage) -> str:
    return embedding_text(memory, passage.observation, passage.start, passage.end)
