"""Strict JSON, without the extensions that Python accepts."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.strategies import some_examples

from scrubjay.surfaces.rest.strict_json import NotJsonError, parse_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@some_examples
@given(VALUES, st.booleans())
def test_json_is_parsed(value: object, ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)
    assert parse_json(text.encode("utf-8", "surrogatepass" if ascii_only else "strict")) == value


@some_examples
@given(st.binary())
def test_any_bytes_are_parsed_or_refused(body: bytes) -> None:
    with suppress(NotJsonError):
        parse_json(body)


@pytest.mark.parametrize(
    ("body", "word"),
    [
        (b"", "Expecting value in line 1, column 1"),
        (b"NaN", "NaN"),
        (b"[Infinity]", "Infinity"),
        (b"[-Infinity]", "-Infinity"),
        (b"1e400", "larger"),
        (b"-1e400", "larger"),
        (b"9" * 10_000, "digits"),
        (b'{"a": 1, "a": 2}', "twice"),
        (b'[{"b": {"a": 1, "a": 1}}]', "twice"),
        (b'"\xff"', "UTF-8"),
        ('"é"'.encode("utf-16"), "UTF-8"),
        ('"é"'.encode("latin-1"), "UTF-8"),
        (b"[" * 100_000, "deep"),
        (b'{"a":' * 100_000, "deep"),
        (b"{\n  1}", "line 2"),
    ],
)
def test_invalid_json_is_refused_with_a_reason_and_not_quoted(body: bytes, word: str) -> None:
    with pytest.raises(NotJsonError, match=word) as caught:
        parse_json(body)
    assert len(str(caught.value)) < 100


def test_a_byte_order_mark_is_ignored() -> None:
    assert parse_json(b"\xef\xbb\xbf[1]") == [1]
