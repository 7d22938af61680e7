"""Reads the answer of an embedding service, trusting none of it."""

import base64
import binascii
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

from scrubjay.errors import EmbeddingUnavailable

Row = NDArray[np.float64]


def rows_of(answer: object, *, count: int, model: str) -> list[Row]:
    """The vectors in the order of the texts, as numbers still to be checked."""
    entries = answer.get("data") if is_object(answer) else None
    if not _is_list(entries):
        raise _odd(model, "has no list of vectors")
    if len(entries) != count:
        raise _odd(model, f"has {len(entries)} vectors for {count} texts")
    rows: dict[int, Row] = {}
    for place, entry in enumerate(entries):
        if not is_object(entry):
            raise _odd(model, "has an entry that is no object")
        # The order is what `index` says; services that leave it out keep the order of the texts.
        index = entry.get("index", place)
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < count or index in rows:
            raise _odd(model, "does not say which vector belongs to which text")
        rows[index] = _numbers(entry.get("embedding"), model=model)
    return [rows[place] for place in range(count)]


def is_object(value: object) -> TypeGuard[dict[str, object]]:
    """Whether a piece of JSON is an object."""
    return isinstance(value, dict)


def _numbers(embedding: object, *, model: str) -> Row:
    if isinstance(embedding, str):
        try:
            return np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4").astype(np.float64)
        except (binascii.Error, ValueError) as error:
            raise _odd(model, "has a vector that is not base64 of floats") from error
    if not _is_list(embedding) or not all(isinstance(number, (int, float)) for number in embedding):
        raise _odd(model, "has a vector that is not a list of numbers")
    try:
        return np.array(embedding, dtype=np.float64)
    except OverflowError as error:
        raise _odd(model, "has a number that is larger than any") from error


def _is_list(value: object) -> TypeGuard[list[object]]:
    return isinstance(value, list)


def _odd(model: str, what: str) -> EmbeddingUnavailable:
    return EmbeddingUnavailable(
        f"the answer of the embedding service for {model} {what}",
        hint="see that the URL leads to an OpenAI-compatible /v1/embeddings",
        model=model,
    )
