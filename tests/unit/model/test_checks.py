"""Arguments of the wrong type are refused, and the error names the argument."""

from collections.abc import Callable

import pytest
from tests.fakes.build import START

from scrubjay.errors import InvalidInput
from scrubjay.model.caller import Caller
from scrubjay.model.checks import (
    require_flag,
    require_fraction,
    require_integer,
    require_moment,
    require_text,
    require_texts,
)

GOOD: list[tuple[Callable[..., object], object, object]] = [
    (require_text, "", ""),
    (require_text, "ä\x00", "ä\x00"),
    (require_texts, ["a", "b"], ("a", "b")),
    (require_texts, (), ()),
    (require_flag, False, False),
    (require_integer, 1, 1),
    (require_integer, (1 << 63) - 1, (1 << 63) - 1),
    (require_fraction, 0, 0.0),
    (require_fraction, 1, 1.0),
    (require_moment, None, None),
    (require_moment, START, None),
]
BAD: list[tuple[Callable[..., object], object]] = [
    (require_text, None),
    (require_text, b"x"),
    (require_text, "a\udcff"),
    (require_texts, "ab"),
    (require_texts, b"ab"),
    (require_texts, {"a"}),
    (require_texts, ["a", 1]),
    (require_flag, 1),
    (require_flag, "true"),
    (require_integer, 0),
    (require_integer, True),
    (require_integer, 1.0),
    (require_integer, "1"),
    (require_integer, 1 << 63),
    (require_fraction, True),
    (require_fraction, "0.5"),
    (require_fraction, 1.01),
    (require_fraction, -0.01),
    (require_fraction, float("nan")),
    (require_moment, "2026-01-01"),
    (require_moment, START.replace(tzinfo=None)),
]


@pytest.mark.parametrize(("require", "value", "expected"), GOOD)
def test_a_valid_value_is_accepted(require: Callable[..., object], value: object, expected: object) -> None:
    assert require(value, field="argument") == expected


@pytest.mark.parametrize(("require", "value"), BAD)
def test_an_invalid_value_is_refused_by_name(require: Callable[..., object], value: object) -> None:
    with pytest.raises(InvalidInput, match="argument") as caught:
        require(value, field="argument")
    assert caught.value.fields["field"] == "argument"


def test_the_error_states_the_bounds() -> None:
    with pytest.raises(InvalidInput, match="at least 1, not 0"):
        require_integer(0, field="limit")
    with pytest.raises(InvalidInput, match="at most 10, not 11"):
        require_integer(11, field="limit", most=10)


def test_the_error_gives_the_place_of_a_surrogate() -> None:
    with pytest.raises(InvalidInput, match="character 2"):
        require_text("ab\ud800", field="text")


@pytest.mark.parametrize("options", [{"space": ""}, {"space": "  "}, {"space": "\ud800"}, {"agent": 5}, {"run": None}])
def test_a_caller_has_names_that_can_be_kept(options: dict[str, str]) -> None:
    with pytest.raises(InvalidInput):
        Caller(**options)  # pyright: ignore[reportArgumentType]
