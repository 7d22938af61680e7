"""Invalid drafts are rejected with the name of the field; untidy ones are normalised."""

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.build import START
from tests.unit.strategies import some_examples, texts, values

from scrubjay.errors import InvalidInput, TooLarge
from scrubjay.model.draft import Draft, Limits
from scrubjay.model.memory import Json, Source
from scrubjay.writing.validate import distinct_labels, metadata, validate

LIMITS = Limits(
    text_bytes=100, tags=3, entities=2, observations=4, label_characters=10, metadata_bytes=50, list_bytes=250
)


def tangled() -> dict[str, Json]:
    made: dict[str, Json] = {}
    made["self"] = cast("Json", made)
    return made


def deep() -> dict[str, Json]:
    made: dict[str, Json] = {}
    for _ in range(100_000):
        made = {"in": made}
    return made


def checked(**fields: object) -> Draft:
    return validate(replace(Draft(text="tea"), **fields), limits=LIMITS)


@pytest.mark.parametrize(
    ("field", "value", "error"),
    [
        ("text", None, InvalidInput),
        ("text", b"tea", InvalidInput),
        ("text", "", InvalidInput),
        ("text", " \n", InvalidInput),
        ("text", "a\x00b", InvalidInput),
        ("text", "a\ud800", InvalidInput),
        ("text", "x" * 101, TooLarge),
        ("text", "ä" * 51, TooLarge),
        ("title", 5, InvalidInput),
        ("title", "x" * 11, TooLarge),
        ("kind", "\x00", InvalidInput),
        ("name", "\udfff", InvalidInput),
        ("category", ["c"], InvalidInput),
        ("project", None, InvalidInput),
        ("scope", "x" * 11, TooLarge),
        ("session_hint", 1, InvalidInput),
        ("idempotency_key", "k" * 11, TooLarge),
        ("intent", "maybe", InvalidInput),
        ("intent", None, InvalidInput),
        ("entities", "Sarah", InvalidInput),
        ("entities", ("a", "b", "c"), TooLarge),
        ("entities", (1,), InvalidInput),
        ("observations", "one fact", InvalidInput),
        ("observations", {"a", "b"}, InvalidInput),
        ("observations", ("a",) * 5, TooLarge),
        ("observations", ("x" * 101,), TooLarge),
        ("observations", ("x" * 100,) * 3, TooLarge),
        ("observations", (None,), InvalidInput),
        ("tags", "tea", InvalidInput),
        ("tags", ("a", "b", "c", "d"), TooLarge),
        ("tags", tuple(map(str, range(10_000))), TooLarge),
        ("tags", ("x" * 11,), TooLarge),
        ("pinned", 1, InvalidInput),
        ("dry_run", "yes", InvalidInput),
        ("expires_at", "2026-01-01", InvalidInput),
        ("expires_at", START.replace(tzinfo=None), InvalidInput),
        ("remind_at", 5, InvalidInput),
        ("metadata", [], InvalidInput),
        ("metadata", {"a": object()}, InvalidInput),
        ("metadata", {"a": float("nan")}, InvalidInput),
        ("metadata", {"a": float("inf")}, InvalidInput),
        ("metadata", {"a": "\x00"}, InvalidInput),
        ("metadata", {"a": "\ud800"}, InvalidInput),
        ("metadata", {"a": "x" * 50}, TooLarge),
        ("metadata", tangled(), InvalidInput),
        ("metadata", deep(), InvalidInput),
    ],
    ids=lambda value: str(value)[:20] if isinstance(value, str) else None,
)
def test_an_invalid_field_is_refused_by_name(field: str, value: object, error: type[InvalidInput]) -> None:
    with pytest.raises(InvalidInput, match=field) as caught:
        checked(**{field: value})
    assert type(caught.value) is error
    assert caught.value.fields["field"] == field


@pytest.mark.parametrize(
    ("part", "value"), [("session", 5), ("agent", "a\x00"), ("tool", None), ("at", "then"), ("conversation", "x" * 11)]
)
def test_a_source_is_checked_part_by_part(part: str, value: object) -> None:
    with pytest.raises(InvalidInput, match=rf"source\.{part}"):
        checked(source=replace(Source(), **{part: value}))


def test_an_error_about_a_long_text_gives_both_numbers_and_a_way_out() -> None:
    with pytest.raises(TooLarge, match=r"101 bytes; the limit is 100") as caught:
        checked(text="x" * 101)
    assert "SCRUBJAY_MAX_TEXT_BYTES" in caught.value.hint
    assert (caught.value.fields["size"], caught.value.fields["limit"]) == (101, 100)


def test_exactly_the_limit_is_fine() -> None:
    assert checked(text="x" * 100, title="y" * 10, tags=("a", "b", "c"), entities=("a", "b"), observations=("o",) * 4)


def test_the_text_is_kept_byte_for_byte() -> None:
    text = "  \r\n\tTea\u200b ☕ e\u0301 \ufeff\n\n"
    assert checked(text=text).text == text


def test_observations_alone_are_enough() -> None:
    assert checked(text="", observations=("likes tea", " ", "")).observations == ("likes tea",)


def test_a_name_and_a_kind_are_enough_and_one_of_them_is_not() -> None:
    assert checked(text="", name="Ada", kind="person").observations == ()
    for half in ({"name": "Ada"}, {"kind": "person"}, {"name": "Ada", "kind": " "}):
        with pytest.raises(InvalidInput, match="nothing to remember"):
            checked(text="", **half)


def test_labels_are_put_on_one_line() -> None:
    tidy = checked(title="  A \n tea\t", kind=" fact ", source=Source(agent=" bot\n"))
    assert (tidy.title, tidy.kind, tidy.source.agent) == ("A tea", "fact", "bot")


def test_tags_are_lower_case_without_the_hash_each_once() -> None:
    assert checked(tags=("#Tea", "tea", "##")).tags == ("tea",)
    assert checked(tags=("# Gr  Tea", "black")).tags == ("gr tea", "black")


def test_of_labels_that_differ_in_case_the_first_is_kept_in_its_place() -> None:
    labels = ["b", "Straße", "B", "", "STRASSE", "a"]
    assert distinct_labels(labels, field="entities", limit=9, limits=LIMITS) == ("b", "Straße", "a")


def test_metadata_is_copied_as_json_would_have_it() -> None:
    inner: list[Json] = [1]
    original = cast("Mapping[str, Json]", {1: inner, "pair": (1, 2)})
    copied = checked(metadata=original).metadata
    inner.append(2)
    assert copied == {"1": [1], "pair": [1, 2]}


def test_a_backslash_is_no_nul() -> None:
    assert checked(metadata={"a": "\\u0000"}).metadata == {"a": "\\u0000"}
    with pytest.raises(InvalidInput):
        checked(metadata={"a": "\\\x00"})


@given(st.dictionaries(texts, values, max_size=4))
@some_examples
def test_metadata_that_is_json_stays_as_it_is(fields: dict[str, Json]) -> None:
    if "\x00" not in str(fields) and "\\x00" not in repr(fields):
        assert metadata(fields, limits=Limits()) == fields


def test_the_trace_says_that_it_was_accepted() -> None:
    assert [(decision.stage, decision.outcome) for decision in checked().trace] == [("validate", "accepted")]
