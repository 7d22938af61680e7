"""Built-in profiles of models, and a user's overrides."""

import pytest

from scrubjay.embedding.bundled import PROFILE
from scrubjay.embedding.profiles import Profiles, apply_fields, builtin_profile, model_id
from scrubjay.embedding.remote import openai_embedder
from scrubjay.embedding.service import EmbeddingService
from scrubjay.errors import InvalidInput
from scrubjay.model.memory import Json
from scrubjay.ports import Profile


def test_the_bundled_model_has_a_profile() -> None:
    assert builtin_profile("scrubjay-en-1") == PROFILE
    assert (PROFILE.dimension, PROFILE.weight, PROFILE.pooling) == (384, 8.0, "mean")
    assert PROFILE.is_english
    assert set(PROFILE.measured) == {"weight", "same", "related"}


@pytest.mark.parametrize(
    ("model", "dimension", "pooling", "query", "text"),
    [
        ("BAAI/bge-small-en-v1.5", 384, "cls", "Represent this sentence", ""),
        ("BAAI/bge-m3", 1024, "cls", "", ""),
        ("intfloat/e5-base-v2", 768, "mean", "query: ", "passage: "),
        ("intfloat/multilingual-e5-large", 1024, "mean", "query: ", "passage: "),
        ("thenlper/gte-small", 384, "mean", "", ""),
        ("nomic-embed-text:latest", 768, "mean", "search_query: ", "search_document: "),
        ("Snowflake/snowflake-arctic-embed-xs", 384, "cls", "Represent this sentence", ""),
        ("snowflake-arctic-embed", 1024, "cls", "Represent this sentence", ""),
        ("ibm-granite/granite-embedding-125m-english", 768, "cls", "", ""),
        ("mixedbread-ai/mxbai-embed-large-v1", 1024, "cls", "Represent this sentence", ""),
        ("sentence-transformers/all-mpnet-base-v2", 768, "mean", "", ""),
        ("text-embedding-3-large", 3072, "mean", "", ""),
        ("voyage-3.5", 1024, "mean", "", ""),
    ],
)
def test_models_have_profiles_by_name(model: str, dimension: int, pooling: str, query: str, text: str) -> None:
    profile = builtin_profile(model)
    assert (profile.model, profile.dimension, profile.pooling) == (model, dimension, pooling)
    assert profile.query_prefix.startswith(query)
    assert bool(profile.query_prefix) is bool(query)
    assert profile.text_prefix == text
    assert profile.measured == ()


def test_an_unknown_model_gets_the_defaults() -> None:
    assert builtin_profile("unknown/their-own") == Profile(model="unknown/their-own", dimension=0)


def test_a_user_may_override_and_add_profiles() -> None:
    profiles = Profiles(
        {
            "BAAI/bge-small-en-v1.5": {"weight": 14, "measured": ["weight"]},
            "mine": {"pooling": "cls", "text_prefix": "t: ", "same": 0.8, "dimension": 12},
        }
    )
    bge, mine = profiles.get("bge-small-en-v1.5"), profiles.get("/models/mine/")
    assert (bge.weight, bge.pooling, bge.dimension, bge.measured) == (14, "cls", 384, ("weight",))
    assert (mine.weight, mine.pooling, mine.text_prefix, mine.same, mine.dimension) == (4.0, "cls", "t: ", 0.8, 12)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("wieght", 4),
        ("model", "another"),
        ("weight", -1),
        ("weight", True),
        ("weight", "4"),
        ("weight", float("nan")),
        ("same", 0),
        ("same", 1.1),
        ("same", None),
        ("pooling", "max"),
        ("pooling", ["cls"]),
        ("query_prefix", 3),
        ("dimension", 0),
        ("dimension", 2.5),
        ("dimension", True),
        ("measured", "weight"),
        ("measured", ["dimension"]),
    ],
)
def test_invalid_fields_are_refused(name: str, value: Json) -> None:
    with pytest.raises(InvalidInput, match=name) as caught:
        apply_fields(builtin_profile("mine"), {name: value})
    assert caught.value.fields["field"] == name


async def test_a_service_uses_the_profile_of_its_model() -> None:
    service = EmbeddingService(url="http://127.0.0.1:1/v1", model="nomic-embed-text", dimensions=256)
    embedder = openai_embedder(service)
    profile = await embedder.profile()
    await embedder.close()
    assert profile.model.startswith("nomic-embed-text@256+")
    assert (profile.dimension, profile.query_prefix, profile.weight) == (256, "search_query: ", 12.0)


def test_the_model_id_has_everything_that_makes_vectors_incomparable() -> None:
    assert model_id("bge") == "bge"
    assert model_id("bge", dimensions=256) == "bge@256"
    names = {model_id("bge"), model_id("bge", text_prefix="a"), model_id("bge", text_prefix="b")}
    assert len(names) == 3
