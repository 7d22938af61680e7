"""How near tags are in meaning. Their vectors are kept, so that each is made once."""

from collections.abc import Sequence

from scrubjay.errors import EmbeddingUnavailable
from scrubjay.model.passage import Vector
from scrubjay.ports import Embedder

_KEPT = 4_096
# By model and tag, the one that was used last at the end.
_vectors: dict[tuple[str, str], Vector] = {}


async def cosines(tag: str, others: Sequence[str], *, embedder: Embedder) -> dict[str, float] | None:
    """How near others are to a tag; None when there is no model to ask."""
    try:
        model = (await embedder.profile()).model
        found = {one: vector for one in (tag, *others) if (vector := _kept(model, one)) is not None}
        missing = [fromkey for fromkey in dict.fromkeys((tag, *others)) if fromkey not in found]
        if missing:
            made = await embedder.embed([_as_words(one) for one in missing])
            found |= dict(zip(missing, made, strict=True))
    except EmbeddingUnavailable:
        return None
    for one in missing:
        _keep(model, one, found[one])
    return {other: float(found[tag] @ found[other]) for other in others}


def _as_words(tag: str) -> str:
    return tag.replace("-", " ").replace("_", " ")


def _kept(model: str, tag: str) -> Vector | None:
    vector = _vectors.pop((model, tag), None)
    if vector is not None:
        _vectors[model, tag] = vector
    return vector


def _keep(model: str, tag: str, vector: Vector) -> None:
    _vectors[model, tag] = vector.copy()
    while len(_vectors) > _KEPT:
        _vectors.pop(next(iter(_vectors)), None)
