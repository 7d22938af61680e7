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


@pytest.mark.parametrize(
    ("message", "field", "expected", "own"),
    [
        ("kind must be a text, not int", "kind", "type must be a text, not int", "type"),
        ("2,000 kind are too many; the limit is 64", "kind", "2,000 type are too many; the limit is 64", "type"),
        ("nothing to remember: the text is empty", "text", "nothing to remember: the content is empty", "content"),
        ("text must be a text", "text", "content must be a text", "content"),
        ("kind[3] must be a text", "kind[3]", "type[3] must be a text", "type[3]"),
        ("source.session is empty", "source.session", "session is empty", "session"),
        ("source.agent is empty", "source.agent", "source.agent is empty", "source.agent"),
        # Only the subject is a name; other words of the message are words.
        ("a kind of text cannot be 'kind'", "kind", "a kind of text cannot be 'kind'", "type"),
    ],
)
def test_an_error_can_have_other_names_of_arguments(message: str, field: str, expected: str, own: str) -> None:
    error = TooLarge(message, hint="Put it into `text`, or `forget` it", field=field, limit=64)
    renamed = error.renamed({"kind": "type", "text": "content", "source.session": "session"})
    assert (type(renamed), renamed.message, renamed.fields) == (TooLarge, expected, {"field": own, "limit": 64})
    assert renamed.hint == "Put it into `content`, or `forget` it"
    assert (error.message, error.fields["field"]) == (message, field)
