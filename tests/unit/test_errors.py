"""Messages and codes of errors."""

import pytest

from scrubjay.errors import CODES, InvalidInput, NotFound, ScrubjayError, TooLarge, codes_of


def test_an_error_has_a_message_and_a_hint() -> None:
    error = NotFound("no memory is called 'tee'", hint="Did you mean tea?", ref="tee", suggestions=("tea",))
    assert str(error) == "no memory is called 'tee'. Did you mean tea?"
    assert (error.message, error.code) == ("no memory is called 'tee'", "not_found")
    assert error.fields == {"ref": "tee", "suggestions": ("tea",)}


def test_without_a_hint_only_the_message_is_shown() -> None:
    assert str(InvalidInput("limit must be at least 1")) == "limit must be at least 1"


@pytest.mark.parametrize("error", CODES, ids=lambda error: error.__name__)
def test_every_error_has_codes(error: type[ScrubjayError]) -> None:
    assert codes_of(error("x")) == CODES[error]


def test_a_narrower_error_can_be_caught_as_the_wider_one() -> None:
    with pytest.raises(InvalidInput):
        raise TooLarge("too much")
