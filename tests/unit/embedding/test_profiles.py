"""What is known of models, and what a user may say of them."""

import pytest

from scrubjay.embedding.minilm import PROFILE
from scrubjay.embedding.openai import openai_embedder
from scrubjay.embedding.profiles import Profiles, changed, profile_of
from scrubjay.embedding.service import Service
from scrubjay.errors import InvalidInput
from scrubjay.model.memory import Json
from scrubjay.ports import Profile


def test_the_bundled_model_is_one_of_them() -> None:
    assert profile_of("all-MiniLM-L6-v2-int8") == PROFILE
    assert (PROFILE.dimension, PROFILE.weight, PROFILE.pooling) == (384, 4.0, "mean")
    assert "weight" in PROFILE.measured


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
def test_models_are_known_by_their_names(model: str, dimension: int, pooling: str, query: str, text: str) -> None:
    existing = profile_of(model)
    assert (existing.model, existing.dimension, existing.pooling) == (model, dimension, pooling)
    assert existing.query_prefix.startswith(query)
    assert bool(existing.query_prefix) is bool(query)
    assert existing.text_prefix == text
    assert existing.measured == ()


def test_a_model_that_nobody_knows_gets_the_defaults() -> None:
    assert profile_of("somebody/their-own") == Profile(model="somebody/their-own", dimension=0)


def test_a_user_may_change_and_add() -> None:
    profiles = Profiles(
        {
            "BAAI/bge-small-en-v1.5": {"weight": 14, "measured": ["weight"]},
            "mine": {"pooling": "cls", "text_prefix": "t: ", "same": 0.8, "dimension": 12},
        }
    )
    bge, mine = profiles.of("bge-small-en-v1.5"), profiles.of("/models/mine/")
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
def test_what_a_profile_cannot_have_is_refused(name: str, value: Json) -> None:
    with pytest.raises(InvalidInput, match=name) as caught:
        changed(profile_of("mine"), {name: value})
    assert caught.value.fields["field"] == name


async def test_a_service_takes_what_belongs_to_its_model() -> None:
    service = Service(url="http://127.0.0.1:1/v1", model="nomic-embed-text", dimensions=256)
    embedder = openai_embedder(service)
    profile = await embedder.profile()
    await embedder.close()
    assert profile.model.startswith("nomic-embed-text@256+")
    assert (profile.dimension, profile.query_prefix, profile.weight) == (256, "search_query: ", 12.0)
