"""Memories survive a round trip through JSON, and malformed bodies are refused by field name."""

import json
from collections.abc import Mapping
from dataclasses import fields

import pytest
from hypothesis import given
from tests.fakes.build import START, a_memory
from tests.unit.strategies import memories, some_examples, sources

from scrubjay.errors import InvalidInput
from scrubjay.model.memory import Flag, Json, Memory, Merged, Method, Observation, Source, State, Tier, Trust
from scrubjay.model.snapshot import OUTSIDE_BODY, from_body, source_from_json, source_to_json, to_body

WHEN = "2026-01-01T12:00:00Z"
REQUIRED: dict[str, Json] = {"name": "n", "created_at": WHEN, "updated_at": WHEN}


def read(body: Mapping[str, Json]) -> Memory:
    return from_body(body, memory_id="m", space="s", version=1)


@given(memories)
@some_examples
def test_every_field_comes_back_through_json(memory: Memory) -> None:
    body = json.loads(json.dumps(to_body(memory)))
    outside = {name: getattr(memory, name) for name in OUTSIDE_BODY if name != "id"}
    assert from_body(body, memory_id=memory.id, **outside) == memory


@given(memories)
@some_examples
def test_fields_outside_the_body_are_not_in_it(memory: Memory) -> None:
    assert not set(to_body(memory)) & set(OUTSIDE_BODY)


def test_every_field_is_stored_somewhere() -> None:
    every = {field.name for field in fields(Memory)}
    observed = Observation(text="o", recorded_at=START)
    full = a_memory(
        "content", title="t", kind="fact", category="c", project="p", scope="s", entity="e", group="g", tags=("x",),
        tier=Tier.SEMANTIC, pinned=True, relevance=0.5, expires_at=START, remind_at=START, state=State.MERGED,
        valid_until=START, merged_into="other", branch="b", trunk="t", forked=2,
        resolution="r", source=Source(agent="a"), metadata={"k": 1},
        last_confirmed=START, last_reviewed=START, observations=(observed,), flags=(Flag.THIN,),
        merged=(Merged(id="m", at=START),),
    )  # fmt: skip
    assert set(to_body(full)) | set(OUTSIDE_BODY) == every


def test_defaults_are_left_out() -> None:
    assert set(to_body(a_memory(""))) == {"name", "created_at", "updated_at"}


def test_unknown_fields_of_a_later_release_are_ignored() -> None:
    assert read(REQUIRED | {"mood": "sunny"}) == read(REQUIRED)


@pytest.mark.parametrize("required", sorted(REQUIRED))
def test_a_missing_required_field_is_named(required: str) -> None:
    body = {name: value for name, value in REQUIRED.items() if name != required}
    with pytest.raises(InvalidInput, match=required) as caught:
        read(body)
    assert caught.value.fields["field"] == required


WRONG: list[tuple[str, Json]] = [
    ("name", 5),
    ("content", None),
    ("title", ["t"]),
    ("created_at", 1735689600),
    ("created_at", "yesterday"),
    ("updated_at", None),
    ("expires_at", 5),
    ("expires_at", "soon"),
    ("pinned", 1),
    ("pinned", "yes"),
    ("relevance", True),
    ("relevance", 1.5),
    ("relevance", -0.1),
    ("relevance", "high"),
    ("tags", "one"),
    ("tags", [1]),
    ("tier", "golden"),
    ("state", "asleep"),
    ("state", 3),
    ("metadata", []),
    ("source", "mail"),
    ("source", {"trust": "blind"}),
    ("source", {"method": 1}),
    ("source", {"session": 1}),
    ("source", {"at": "then"}),
    ("observations", "one"),
    ("observations", ["one"]),
    ("observations", [{"text": "no time"}]),
    ("observations", [{"recorded_at": WHEN}]),
    ("observations", [{"text": "t", "recorded_at": WHEN, "valid_until": 5}]),
    ("observations", [{"text": "t", "recorded_at": WHEN, "source": 5}]),
]


@pytest.mark.parametrize(("name", "value"), WRONG, ids=[f"{name}={value}" for name, value in WRONG])
def test_a_wrong_shape_is_refused_by_name(name: str, value: Json) -> None:
    with pytest.raises(InvalidInput, match=name) as caught:
        read(REQUIRED | {name: value})
    assert str(caught.value.fields["field"]).startswith(name)


def test_an_error_does_not_repeat_a_whole_text() -> None:
    with pytest.raises(InvalidInput) as caught:
        read(REQUIRED | {"pinned": "x" * 10_000})
    assert len(caught.value.message) < 200


def test_no_moment_is_none() -> None:
    assert read(REQUIRED | {"expires_at": None}).expires_at is None


@given(sources)
@some_examples
def test_a_source_comes_back(source: Source) -> None:
    assert source_from_json(source_to_json(source)) == source


def test_an_empty_source_is_an_empty_object() -> None:
    assert source_to_json(Source()) == {}
    assert source_from_json({}) == Source(method=Method.MANUAL, trust=Trust.UNKNOWN)
