"""Arguments are checked against a schema: the error names the wrong value and the expected one."""

import pytest

from scrubjay.errors import InvalidInput
from scrubjay.model.memory import Json
from scrubjay.surfaces.mcp.arguments import ArgumentChecker, Arguments

_SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "minLength": 2, "maxLength": 5},
        "count": {"type": "integer", "minimum": 1, "maximum": 9},
        "share": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
        "both": {"type": ["string", "null"]},
        "flag": {"const": True},
        "list": {
            "type": "array",
            "items": {"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}},
        },
        "few": {"type": "array", "minItems": 1, "maxItems": 2},
        "choice": {"enum": ["a", "b"]},
        "pattern": {"pattern": "^x"},
    },
    "required": ["text"],
    "additionalProperties": False,
}


_WRONG: list[tuple[dict[str, Json], str, str]] = [
    ({}, "tool needs the argument 'text'. Give it as a text", "text"),
    ({"text": "abc", "cuont": 1}, "tool takes no argument 'cuont'. Did you mean count?", "cuont"),
    ({"text": "abc", "zzz": 1}, "There are text, count, share", "zzz"),
    ({"text": "a"}, "text must be at least 2 characters long, not 1", "text"),
    ({"text": "abcdef"}, "text must be at most 5 characters long, not 6", "text"),
    ({"text": None}, "text must be a text, not null", "text"),
    ({"text": "abc", "count": 0}, "count must be at least 1, not 0", "count"),
    ({"text": "abc", "count": 10}, "count must be at most 9, not 10", "count"),
    ({"text": "abc", "count": 1.5}, "count must be a whole number, not a number (1.5)", "count"),
    ({"text": "abc", "share": 0}, "share must be more than 0, not 0", "share"),
    ({"text": "abc", "share": 1}, "share must be less than 1, not 1", "share"),
    ({"text": "abc", "both": []}, "both must be a text or null, not a list", "both"),
    ({"text": "abc", "flag": False}, "flag must be True, not False", "flag"),
    ({"text": "abc", "list": [{"a": "x"}, {"a": 1}]}, "list[1].a must be a text, not a number (1)", "list[1].a"),
    ({"text": "abc", "list": [{}]}, "tool needs the argument 'list[0].a'", "list[0].a"),
    ({"text": "abc", "few": []}, "few must be a list of at least 1, not 0", "few"),
    ({"text": "abc", "few": [1, 2, 3]}, "few must be a list of at most 2, not 3", "few"),
    ({"text": "abc", "choice": "c"}, "choice must be one of a, b, not 'c'", "choice"),
    ({"text": "abc", "pattern": "y"}, "pattern must be as its schema says (pattern), not 'y'", "pattern"),
]


@pytest.mark.parametrize(("arguments", "expected", "field"), _WRONG)
def test_an_error_names_the_wrong_argument(arguments: dict[str, Json], expected: str, field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        ArgumentChecker(_SCHEMA, tool="tool").check(arguments)
    assert expected in str(caught.value)
    assert caught.value.fields["field"] == field


def test_a_wrong_name_is_reported_before_a_wrong_value() -> None:
    with pytest.raises(InvalidInput, match="takes no argument 'txt'"):
        ArgumentChecker(_SCHEMA, tool="tool").check({"txt": "abc", "count": "x"})


def test_within_an_argument_its_name_comes_first() -> None:
    checker = ArgumentChecker(_SCHEMA, tool="tool", path="filters")
    with pytest.raises(InvalidInput, match=r"filters\.count must be"):
        checker.check({"text": "abc", "count": "x"})
    with pytest.raises(InvalidInput, match="filters of tool takes no argument"):
        checker.check({"text": "abc", "x": 1})
    with pytest.raises(InvalidInput, match=r"'filters\.text'"):
        checker.check({})


def test_null_is_dropped_and_the_rest_is_given_on() -> None:
    assert ArgumentChecker(_SCHEMA, tool="tool").check({"text": "abc", "count": None, "share": 0.5}) == {
        "text": "abc",
        "share": 0.5,
    }


def test_given_arguments_are_read_by_kind() -> None:
    arguments = Arguments({"t": "x", "l": ["a"], "f": True, "n": 3, "o": {"a": 1}})
    assert (arguments.text("t"), arguments.text("u"), arguments.text("u", "y")) == ("x", "", "y")
    assert (arguments.texts("l"), arguments.texts("u")) == (("a",), ())
    assert (arguments.flag("f"), arguments.flag("u")) == (True, False)
    assert (arguments.integer("n"), arguments.integer("u"), arguments.number("n", 0.5), arguments.number("u", 0.5)) == (
        3,
        None,
        3,
        0.5,
    )
    assert (arguments.mapping("o"), arguments.mapping("u")) == ({"a": 1}, {})
    assert (arguments.only(("t", "u")), "t" in arguments, "u" in arguments) == ({"t": "x"}, True, False)
