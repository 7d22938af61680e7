"""JSON with comments, edited as text: what is asked for is done, and nothing else moves."""

import itertools
import json
import re
from copy import deepcopy
from typing import cast

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.unit.strategies import some_examples, texts, values

from scrubjay.install.json_text import JsonText, remove, set_value
from scrubjay.install.jsonc import parse
from scrubjay.install.syntax import Place, Unfit, Unreadable
from scrubjay.model.memory import Json

SYNTAX = JsonText()
FRESH = "a key that is in none of them"
SPACES = ["", "", " ", "  ", "\n", "\n  ", "\n\t", "\r\n", "\r\n    ", "\r", "\t"]
LINE_ENDS = ["\n", "\r\n", "\n  ", "\r"]
objects = st.dictionaries(texts, values, max_size=4)


@st.composite
def documents(draw: st.DrawFn) -> tuple[str, dict[str, Json]]:
    """A document with spaces, comments and trailing commas anywhere, and what it means."""
    value = draw(objects)
    numbers = itertools.count()

    def trivia() -> str:
        reported = draw(st.sampled_from(SPACES))
        for kind in draw(st.lists(st.sampled_from(["line", "block", "tall"]), max_size=2)):
            # A number, so that each can be found again, and what would be a key or a brace anywhere else.
            mark = f'#{next(numbers)}# "{{}}": ,'
            reported += {
                "line": f"// {mark}{draw(st.sampled_from(LINE_ENDS))}",
                "block": f"/* {mark} */",
                "tall": f"/* {mark}\n// */",
            }[kind]
            reported += draw(st.sampled_from(SPACES))
        return reported

    def written(one: Json) -> str:
        if isinstance(one, dict):
            inner = [
                f"{trivia()}{json.dumps(key, ensure_ascii=draw(st.booleans()))}{trivia()}:{trivia()}{written(item)}"
                for key, item in one.items()
            ]
            return "{" + joined(inner) + "}"
        if isinstance(one, list):
            return "[" + joined([trivia() + written(item) for item in one]) + "]"
        return json.dumps(one, ensure_ascii=draw(st.booleans()))

    def joined(parts: list[str]) -> str:
        reported = ",".join(part + trivia() for part in parts)
        return reported + ("," if parts and draw(st.booleans()) else "") + trivia()

    return trivia() + written(value) + trivia(), value


def holders(value: Json, above: Place = ()) -> list[Place]:
    """Where there are objects in a document."""
    if not isinstance(value, dict):
        return []
    return [above, *(place for key, item in value.items() for place in holders(item, (*above, key)))]


def dug(value: Json, place: Place) -> dict[str, Json]:
    for key in place:
        assert isinstance(value, dict)
        value = value[key]
    assert isinstance(value, dict)
    return value


def meaning(text: str) -> Json:
    root = parse(text)
    assert root is not None
    return root.value


def marks(text: str) -> list[str]:
    return re.findall(r"#\d+#", text)


@given(documents())
@some_examples
def test_what_is_written_is_read(document: tuple[str, dict[str, Json]]) -> None:
    text, value = document
    assert meaning(text) == value


@given(documents(), values, st.data())
@some_examples
def test_a_value_goes_in_and_out_without_a_trace(
    document: tuple[str, dict[str, Json]], value: Json, data: st.DataObject
) -> None:
    text, before = document
    place = data.draw(st.sampled_from(holders(before)))
    changed = set_value(text, (*place, FRESH), value)
    expected = deepcopy(before)
    dug(expected, place)[FRESH] = value
    assert meaning(changed) == expected
    back = remove(changed, (*place, FRESH))
    if blank := blank_object(text, place):
        # Nobody can tell afterwards which spaces an empty object had.
        text = text[: blank[0]] + "{}" + text[blank[1] :]
    assert back == text


@given(documents(), st.data())
@some_examples
def test_a_member_goes_and_every_comment_outside_it_stays(
    document: tuple[str, dict[str, Json]], data: st.DataObject
) -> None:
    text, before = document
    places = [(*place, key) for place in holders(before) for key in dug(before, place)]
    assume(places)
    place = data.draw(st.sampled_from(places))
    start, end = span(text, place)
    expected = deepcopy(before)
    del dug(expected, place[:-1])[place[-1]]
    changed = remove(text, place)
    assert meaning(changed) == expected
    assert marks(changed) == marks(text[:start]) + marks(text[end:])


@given(documents(), values, st.data())
@some_examples
def test_a_value_is_replaced_where_it_stands(
    document: tuple[str, dict[str, Json]], value: Json, data: st.DataObject
) -> None:
    text, before = document
    places = [(*place, key) for place in holders(before) for key in dug(before, place)]
    assume(places)
    place = data.draw(st.sampled_from(places))
    _, end = span(text, place)
    expected = deepcopy(before)
    dug(expected, place[:-1])[place[-1]] = value
    changed = set_value(text, place, value)
    assert meaning(changed) == expected
    assert changed.endswith(text[end:])


def span(text: str, place: Place) -> tuple[int, int]:
    """From the key to the end of the value."""
    node = parse(text)
    start = 0
    for key in place:
        assert node is not None
        (member,) = [item for item in node.members or () if item.key == key]
        start, node = member.start, member.value
    assert node is not None
    return start, node.end


def blank_object(text: str, place: Place) -> tuple[int, int] | None:
    """Where an object stands that holds spaces and nothing else."""
    node = parse(text)
    for key in place:
        assert node is not None
        (node,) = [item.value for item in node.members or () if item.key == key]
    assert node is not None
    inner = text[node.start + 1 : node.end - 1]
    return (node.start, node.end) if inner and not inner.strip() else None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"a": 1 "b": 2}', (1, 9)),
        ('{\n  "a": 1,\n  b: 2\n}', (3, 3)),
        ('{"a": tru}', (1, 7)),
        ('{"a": 01}', (1, 8)),
        ('{"a": }', (1, 7)),
        ('{"a"}', (1, 5)),
        ('{"a": NaN}', (1, 7)),
        ("{'a': 1}", (1, 2)),
        ('{"a": "b\n"}', (1, 7)),
        ('{"a": "\\x"}', (1, 7)),
        ('{"a": 1', (1, 8)),
        ('{"a": [1, 2}', (1, 12)),
        ('{"a": 1} {}', (1, 10)),
        ('{"a": 1,, "b": 2}', (1, 9)),
        ("{,}", (1, 2)),
        ("/* for ever", (1, 1)),
        ("[" * 100_000, (1, 102)),
        ("\x00{}", (1, 1)),
    ],
)
def test_what_is_no_json_is_told_with_its_place(text: str, told: tuple[int, int]) -> None:
    with pytest.raises(Unreadable) as caught:
        parse(text)
    assert (caught.value.line, caught.value.column) == told


def test_nothing_but_comments_is_nothing() -> None:
    assert parse("") is None
    assert parse(" // {}\n /* {} */ ") is None


@pytest.mark.parametrize("text", ["[]", '"servers"', '{"servers": []}', '{"servers": null}', '{"servers": {"jay": 1}}'])
def test_a_place_that_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(Unfit):
        SYNTAX.merged(text, ("servers", "jay"), {"command": "jay"})


@pytest.mark.parametrize(
    "text",
    [
        '{"servers": {}, "servers": {}}',
        '{"servers": {"jay": {}, "jay": {}}}',
        '{"servers": {"jay": {"command": "a", "command": "b"}}}',
    ],
)
def test_what_stands_twice_is_refused(text: str) -> None:
    with pytest.raises(Unfit, match="2 times"):
        SYNTAX.merged(text, ("servers", "jay"), {"command": "jay"})


def test_what_stands_twice_elsewhere_is_not_our_business() -> None:
    text = '{"a": 1, "a": 2, "servers": {}}'
    changed = SYNTAX.merged(text, ("servers", "jay"), {"command": "jay"})
    assert changed == '{"a": 1, "a": 2, "servers": {"jay": {"command": "jay"}}}'


def test_an_entry_keeps_its_own_keys_and_comments() -> None:
    text = """{
    "servers": {
        // the memory
        "jay": {
            "command": "old", // where it was
            "url": "http://old",
            "env": {"A": "1"},
            "disabled": true
        }
    }
}
"""
    changed = SYNTAX.merged(text, ("servers", "jay"), {"command": "jay", "args": ["mcp"]}, drop=("url", "headers"))
    assert (
        changed
        == """{
    "servers": {
        // the memory
        "jay": {
            "command": "jay", // where it was
            "env": {"A": "1"},
            "disabled": true,
            "args": ["mcp"]
        }
    }
}
"""
    )


def test_what_is_equal_is_not_touched() -> None:
    text = '{"servers": {"jay": {"args" : [ "mcp", ], "command": "jay"}}}'
    assert SYNTAX.merged(text, ("servers", "jay"), {"command": "jay", "args": ["mcp"]}) == text


def test_a_new_document_is_laid_out_for_people() -> None:
    assert SYNTAX.shown(("servers", "jay"), {"command": "jay", "args": ["mcp", "--data", "/my jay"]}) == (
        '{\n  "servers": {\n    "jay": {\n      "command": "jay",\n      "args": ["mcp", "--data", "/my jay"]\n'
        "    }\n  }\n}\n"
    )


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ('{"b": 1, "c": 2}', '{ "c": 2}'),
        ('{ // note\n  "b": 1, "c": 2}', '{ // note\n  "c": 2}'),
        ('{\n  "a": 1, // one\n  "b": 2}', '{\n  "a": 1 // one\n  }'),
        ('{\n  "a": 1,\n  "b": 2 // ours\n}', '{\n  "a": 1\n  // ours\n}'),
        ('{\n  "b": 2,\n}', "{}"),
        ('{\n  "a": "//", "b": 2}', '{\n  "a": "//"}'),
        ("{}", "{}"),
    ],
)
def test_lines_stay_lines_when_a_member_goes(text: str, changed: str) -> None:
    assert remove(text, ("b",)) == changed


def test_a_long_document_is_read_in_reasonable_steps() -> None:
    many = {f"/project/{number}": {"history": ["what was asked"] * 20} for number in range(2000)}
    text = json.dumps({"projects": many}, indent=2)
    changed = set_value(text, ("mcpServers", "jay"), {"command": "jay"})
    assert meaning(changed) == cast("Json", {"projects": many, "mcpServers": {"jay": {"command": "jay"}}})


def test_numbers_that_python_does_not_read_are_left_alone() -> None:
    text = '{"a": ' + "9" * 10_000 + ', "b": 1e999}'
    assert remove(set_value(text, ("c",), 1), ("c",)) == text
