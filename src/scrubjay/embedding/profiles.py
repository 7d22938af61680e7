"""What is known of embedding models, all in one place: to take another one is a line here, or in `profiles.json`.

Dimensions, pooling and prefixes are what the models' makers say. The weight and the similarities that mean "the same"
and "related" are measured where `measured` says so; the others are guesses for a family of models whose cosines spread
alike. `same` is where fewer than one in a hundred of the pairs that people call different lie above, scored and guarded
as the similarity gate does it. A model that nobody knows gets figures with which little is merged.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeGuard

from scrubjay.errors import InvalidInput
from scrubjay.model.memory import Json
from scrubjay.ports import Profile

BUNDLED = "all-MiniLM-L6-v2-int8"
POOLINGS = ("mean", "cls")
FIGURES = ("weight", "same", "related")
# No model needs as much: beyond it words would not count at all.
_MOST = 1000.0

_SEARCHING = "Represent this sentence for searching relevant passages: "
_UNKNOWN = Profile(model="", dimension=0)
# Trained with a mild temperature: what has nothing in common is near 0.
_SPREAD = replace(_UNKNOWN, same=0.81, related=0.11)
# Trained with a sharp temperature: all cosines lie close together near the top, and each hundredth counts for more.
_BGE = replace(_UNKNOWN, weight=16.0, same=0.91, related=0.62, pooling="cls", query_prefix=_SEARCHING)
_BGE_M3 = replace(_BGE, query_prefix="", same=0.89, related=0.55)
_E5 = replace(_UNKNOWN, weight=24.0, same=0.94, related=0.82, query_prefix="query: ", text_prefix="passage: ")
_GTE = replace(_UNKNOWN, weight=20.0, same=0.94, related=0.82)
_MXBAI = replace(_BGE, weight=12.0, same=0.9, related=0.55)
_ARCTIC = replace(_BGE, weight=12.0, same=0.9, related=0.55)
_GRANITE = replace(_UNKNOWN, weight=12.0, same=0.9, related=0.6, pooling="cls")
_NOMIC = replace(
    _UNKNOWN, weight=12.0, same=0.89, related=0.6, query_prefix="search_query: ", text_prefix="search_document: "
)
_OPENAI = replace(_UNKNOWN, weight=6.0, same=0.85, related=0.35)
# Texts and pictures in one space, with the sharpest temperature of all; what two texts have in common counts for less.
_CLIP = replace(_UNKNOWN, weight=12.0, same=0.97, related=0.85)
# Voyage is told by the request what is a question, and puts its own words before it.
_VOYAGE = replace(_UNKNOWN, weight=8.0, same=0.87, related=0.5)

_FAMILIES: tuple[tuple[Profile, dict[str, int]], ...] = (
    (replace(_SPREAD, measured=("weight", "same")), {"all-MiniLM-L6-v2": 384, BUNDLED: 384}),
    (_SPREAD, {"all-MiniLM-L12-v2": 384, "all-mpnet-base-v2": 768}),
    (_BGE, {"bge-small-en-v1.5": 384, "bge-base-en-v1.5": 768, "bge-large-en-v1.5": 1024}),
    (_BGE_M3, {"bge-m3": 1024}),
    (
        _E5,
        {
            "e5-small": 384,
            "e5-base": 768,
            "e5-large": 1024,
            "e5-small-v2": 384,
            "e5-base-v2": 768,
            "e5-large-v2": 1024,
            "multilingual-e5-small": 384,
            "multilingual-e5-base": 768,
            "multilingual-e5-large": 1024,
        },
    ),
    (_GTE, {"gte-small": 384, "gte-base": 768, "gte-large": 1024}),
    (_NOMIC, {"nomic-embed-text": 768, "nomic-embed-text-v1": 768, "nomic-embed-text-v1.5": 768}),
    (_MXBAI, {"mxbai-embed-large": 1024, "mxbai-embed-large-v1": 1024}),
    (
        _ARCTIC,
        {
            "snowflake-arctic-embed-xs": 384,
            "snowflake-arctic-embed-s": 384,
            "snowflake-arctic-embed-m": 768,
            "snowflake-arctic-embed-l": 1024,
        },
    ),
    (_GRANITE, {"granite-embedding-30m-english": 384, "granite-embedding-125m-english": 768}),
    (_OPENAI, {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072}),
    (_CLIP, {"clip-ViT-B-32": 512}),
    (_VOYAGE, {"voyage-3": 1024, "voyage-3-lite": 512, "voyage-3-large": 1024}),
    (_VOYAGE, {"voyage-3.5": 1024, "voyage-3.5-lite": 1024}),
)
# Names that Ollama gives to models of others.
_ALSO = {"granite-embedding": "granite-embedding-30m-english", "snowflake-arctic-embed": "snowflake-arctic-embed-l"}

Changes = Mapping[str, Json]


class Profiles:
    """The models that are known, and what a user has added to them or changed."""

    def __init__(self, own: Mapping[str, Changes] | None = None) -> None:
        self._own: dict[str, dict[str, Json]] = {}
        # Of several entries for one model, as `ours` and `acme/ours`, the last one goes first in each field.
        for name, changes in (own or {}).items():
            self._own.setdefault(plain_name(name), {}).update(changes)

    def of(self, model: str) -> Profile:
        """The profile of a model by its name, with or without its maker's; one that nobody knows gets the defaults."""
        return changed(profile_of(model), self.own(model))

    def own(self, model: str) -> Changes:
        """What the user has written of a model."""
        return self._own.get(plain_name(model), {})


def profile_of(model: str) -> Profile:
    """The profile that comes with Scrubjay."""
    name = plain_name(model)
    return replace(_KNOWN.get(_ALSO.get(name, name), _UNKNOWN), model=model)


def plain_name(model: str) -> str:
    """The name without who made it and without the tag that Ollama adds."""
    return model.replace("\\", "/").rstrip("/").rpartition("/")[2].partition(":")[0].lower()


def changed(profile: Profile, changes: Changes) -> Profile:
    """A profile with some of its fields set to what a user has written; raises InvalidInput."""
    for name, value in changes.items():
        fits = _FITTING.get(name)
        if fits is None:
            raise InvalidInput(f"a profile has no field {name!r}", hint=f"It has {', '.join(_FITTING)}", field=name)
        if not fits[0](value):
            raise InvalidInput(f"{name} must be {fits[1]}, not {value!r}", field=name)
    return replace(profile, **{name: _kept(value) for name, value in changes.items()})


def _kept(value: Json) -> object:
    return tuple(value) if isinstance(value, list) else value


def _is_number(value: Json) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_weight(value: Json) -> bool:
    return _is_number(value) and 0 <= value <= _MOST


def _is_cosine(value: Json) -> bool:
    return _is_number(value) and 0 < value <= 1


def _is_dimension(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _is_text(value: Json) -> bool:
    return isinstance(value, str)


def _is_pooling(value: Json) -> bool:
    return value in POOLINGS


def _names_figures(value: Json) -> bool:
    return isinstance(value, list) and all(item in FIGURES for item in value)


_FITTING = {
    "dimension": (_is_dimension, "a whole number above 0"),
    "pooling": (_is_pooling, f"one of {', '.join(POOLINGS)}"),
    "query_prefix": (_is_text, "a text"),
    "text_prefix": (_is_text, "a text"),
    "weight": (_is_weight, "a number from 0 to 1000"),
    "same": (_is_cosine, "a number above 0, up to 1"),
    "related": (_is_cosine, "a number above 0, up to 1"),
    "measured": (_names_figures, f"a list of {', '.join(FIGURES)}"),
}
_KNOWN = {
    name.lower(): replace(family, model=name, dimension=dimension)
    for family, models in _FAMILIES
    for name, dimension in models.items()
}
