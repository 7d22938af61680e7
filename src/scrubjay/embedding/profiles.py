"""Profiles of embedding models, all in one place: another model is a line here, or an entry in `profiles.json`.

Dimensions, pooling and prefixes come from the models' authors. The weight and the thresholds `same` and `related` are
calibrated where `measured` says so; the others are estimates for a family of models with similar cosines. `same` is the
similarity above which fewer than 1 % of the pairs lie that people call different, scored as the similarity gate scores
them. An unknown model gets cautious values, with which little is merged.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import TypeGuard

from scrubjay.errors import InvalidInput
from scrubjay.model.memory import Json
from scrubjay.ports import Profile

BUNDLED = "scrubjay-en-1"
STATIC = "scrubjay-static-en-1"
# The bundled model until version 0.1.
MINILM = "all-MiniLM-L6-v2-int8"
POOLINGS = ("mean", "cls")
FIGURES = ("weight", "same", "related")
# No model needs more: beyond this, words would not count at all.
_MAX_WEIGHT = 1000.0

_SEARCH_PREFIX = "Represent this sentence for searching relevant passages: "
_UNKNOWN = Profile(model="", dimension=0)
# Trained with a mild temperature: unrelated texts have a cosine near 0.
_SPREAD = replace(_UNKNOWN, same=0.81, related=0.11)
# Trained with a sharp temperature: all cosines lie close together near 1, and each hundredth counts for more.
_BGE = replace(_UNKNOWN, weight=16.0, same=0.91, related=0.62, pooling="cls", query_prefix=_SEARCH_PREFIX)
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
# Texts and pictures in one space, with the sharpest temperature of all; the similarity of two texts says less.
_CLIP = replace(_UNKNOWN, weight=12.0, same=0.97, related=0.85)
# Requests to Voyage mark questions, and the service adds its own prefix.
_VOYAGE = replace(_UNKNOWN, weight=8.0, same=0.87, related=0.5)

# Half of the cosines of a question with statements that do not answer it are below `related`.
_ENCODER = replace(_UNKNOWN, weight=8.0, same=0.84, related=0.15, measured=FIGURES)
_STATIC = replace(_UNKNOWN, weight=8.0, same=0.85, related=0.1, measured=FIGURES)

_FAMILIES: tuple[tuple[Profile, dict[str, int]], ...] = (
    (_ENCODER, {BUNDLED: 384}),
    (_STATIC, {STATIC: 256}),
    (replace(_SPREAD, measured=("weight", "same")), {"all-MiniLM-L6-v2": 384, MINILM: 384}),
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
# Ollama's names of other authors' models.
_ALIASES = {"granite-embedding": "granite-embedding-30m-english", "snowflake-arctic-embed": "snowflake-arctic-embed-l"}

ProfileFields = Mapping[str, Json]
"""Fields of a profile as a user writes them."""


class Profiles:
    """The built-in profiles, and a user's overrides."""

    def __init__(self, overrides: Mapping[str, ProfileFields] | None = None) -> None:
        self._overrides: dict[str, dict[str, Json]] = {}
        # Several entries may name the same model, such as `ours` and `acme/ours`: the last entry wins in each field.
        for name, fields in (overrides or {}).items():
            self._overrides.setdefault(short_name(name), {}).update(fields)

    def get(self, model: str) -> Profile:
        """Return the profile of a model, named with or without its author; an unknown model gets the defaults."""
        return apply_fields(builtin_profile(model), self.overrides(model))

    def overrides(self, model: str) -> ProfileFields:
        """Return the fields that the user has set for a model."""
        return self._overrides.get(short_name(model), {})


def builtin_profile(model: str) -> Profile:
    """Return the profile that Scrubjay includes for a model; an unknown model gets the defaults."""
    name = short_name(model)
    return replace(_PROFILES.get(_ALIASES.get(name, name), _UNKNOWN), model=model)


def short_name(model: str) -> str:
    """Return a model's name without its author and without Ollama's tag."""
    return model.replace("\\", "/").rstrip("/").rpartition("/")[2].partition(":")[0].lower()


def model_id(model: str, *, dimensions: int | None = None, pooling: str = "mean", text_prefix: str = "") -> str:
    """Return the name under which vectors are stored: vectors of different ids are not comparable."""
    size = f"@{dimensions}" if dimensions else ""
    prefix = f"+{hashlib.sha256(text_prefix.encode()).hexdigest()[:8]}" if text_prefix else ""
    suffix = "" if pooling == "mean" else f"-{pooling}"
    return f"{model}{suffix}{size}{prefix}"


def apply_fields(profile: Profile, fields: ProfileFields) -> Profile:
    """Return a profile with a user's fields; raises InvalidInput."""
    for name, value in fields.items():
        check = _CHECKS.get(name)
        if check is None:
            raise InvalidInput(f"a profile has no field {name!r}", hint=f"It has {', '.join(_CHECKS)}", field=name)
        is_valid, expected = check
        if not is_valid(value):
            raise InvalidInput(f"{name} must be {expected}, not {value!r}", field=name)
    return replace(
        profile, **{name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}
    )


def _is_number(value: Json) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_weight(value: Json) -> bool:
    return _is_number(value) and 0 <= value <= _MAX_WEIGHT


def _is_cosine(value: Json) -> bool:
    return _is_number(value) and 0 < value <= 1


def _is_dimension(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _is_text(value: Json) -> bool:
    return isinstance(value, str)


def _is_pooling(value: Json) -> bool:
    return value in POOLINGS


def _is_figure_list(value: Json) -> bool:
    return isinstance(value, list) and all(figure in FIGURES for figure in value)


_CHECKS = {
    "dimension": (_is_dimension, "a whole number above 0"),
    "pooling": (_is_pooling, f"one of {', '.join(POOLINGS)}"),
    "query_prefix": (_is_text, "a text"),
    "text_prefix": (_is_text, "a text"),
    "weight": (_is_weight, "a number from 0 to 1000"),
    "same": (_is_cosine, "a number above 0, up to 1"),
    "related": (_is_cosine, "a number above 0, up to 1"),
    "measured": (_is_figure_list, f"a list of {', '.join(FIGURES)}"),
}
_PROFILES = {
    name.lower(): replace(family, model=name, dimension=dimension)
    for family, models in _FAMILIES
    for name, dimension in models.items()
}
