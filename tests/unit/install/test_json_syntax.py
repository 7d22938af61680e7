"""JSON with comments, edited as text: the entry changes, and the rest stays."""

import itertools
import json
import re
from copy import deepcopy
from typing import cast

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.unit.strategies import some_examples, texts, values

from scrubjay.install.json_syntax import JsonSyntax, parse, remove, set_value
from scrubjay.install.syntax import InvalidSyntax, KeyPath, NotEditable
from scrubjay.model.memory import Json

SYNTAX = JsonSyntax()
NEW_KEY = "a key that is in none of them"
SPACES = ["", "", " ", "  ", "\n", "\n  ", "\n\t", "\r\n", "\r\n    ", "\r", "\t"]
LINE_ENDS = ["\n", "\r\n", "\n  ", "\r"]
objects = st.dictionaries(texts, values, max_size=4)


@st.composite
def documents(draw: st.DrawFn) -> tuple[str, dict[str, Json]]:
    """Generate a document with spaces, comments and trailing commas anywhere, and its value."""
    value = draw(objects)
    numbers = itertools.count()

    def trivia() -> str:
        parts_text = draw(st.sampled_from(SPACES))
        for kind in draw(st.lists(st.sampled_from(["line", "block", "tall"]), max_size=2)):
            # A number identifies the comment; the rest would be syntax outside a comment.
            mark = f'#{next(numbers)}# "{{}}": ,'
            parts_text += {
                "line": f"// {mark}{draw(st.sampled_from(LINE_ENDS))}",
                "block": f"/* {mark} */",
                "tall": f"/* {mark}\n// */",
            }[kind]
            parts_text += draw(st.sampled_from(SPACES))
        return parts_text

    def render(value: Json) -> str:
        if isinstance(value, dict):
            inner = [
                f"{trivia()}{json.dumps(key, ensure_ascii=draw(st.booleans()))}{trivia()}:{trivia()}{render(item)}"
                for key, item in value.items()
            ]
            return "{" + join(inner) + "}"
        if isinstance(value, list):
            return "[" + join([trivia() + render(item) for item in value]) + "]"
        return json.dumps(value, ensure_ascii=draw(st.booleans()))

    def join(parts: list[str]) -> str:
        parts_text = ",".join(part + trivia() for part in parts)
        return parts_text + ("," if parts and draw(st.booleans()) else "") + trivia()

    return trivia() + render(value) + trivia(), value


def objects_in(value: Json, above: KeyPath = ()) -> list[KeyPath]:
    """Return the paths of all objects in a document."""
    if not isinstance(value, dict):
        return []
    return [above, *(path for key, item in value.items() for path in objects_in(item, (*above, key)))]


def object_at(value: Json, path: KeyPath) -> dict[str, Json]:
    for key in path:
        assert isinstance(value, dict)
        value = value[key]
    assert isinstance(value, dict)
    return value


def value_of(text: str) -> Json:
    root = parse(text)
    assert root is not None
    return root.value


def marks(text: str) -> list[str]:
    return re.findall(r"#\d+#", text)


@given(documents())
@some_examples
def test_a_document_is_parsed(document: tuple[str, dict[str, Json]]) -> None:
    text, value = document
    assert value_of(text) == value


@given(documents(), values, st.data())
@some_examples
def test_adding_and_removing_a_value_restores_the_text(
    document: tuple[str, dict[str, Json]], value: Json, data: st.DataObject
) -> None:
    text, before = document
    path = data.draw(st.sampled_from(objects_in(before)))
    changed = set_value(text, (*path, NEW_KEY), value)
    expected = deepcopy(before)
    object_at(expected, path)[NEW_KEY] = value
    assert value_of(changed) == expected
    back = remove(changed, (*path, NEW_KEY))
    if blank := blank_object(text, path):
        # The spaces of an empty object are lost.
        text = text[: blank[0]] + "{}" + text[blank[1] :]
    assert back == text


@given(documents(), st.data())
@some_examples
def test_removing_a_member_keeps_every_comment_outside_it(
    document: tuple[str, dict[str, Json]], data: st.DataObject
) -> None:
    text, before = document
    paths = [(*path, key) for path in objects_in(before) for key in object_at(before, path)]
    assume(paths)
    path = data.draw(st.sampled_from(paths))
    start, end = span(text, path)
    expected = deepcopy(before)
    del object_at(expected, path[:-1])[path[-1]]
    changed = remove(text, path)
    assert value_of(changed) == expected
    assert marks(changed) == marks(text[:start]) + marks(text[end:])


@given(documents(), values, st.data())
@some_examples
def test_a_value_is_replaced_in_place(document: tuple[str, dict[str, Json]], value: Json, data: st.DataObject) -> None:
    text, before = document
    paths = [(*path, key) for path in objects_in(before) for key in object_at(before, path)]
    assume(paths)
    path = data.draw(st.sampled_from(paths))
    _, end = span(text, path)
    expected = deepcopy(before)
    object_at(expected, path[:-1])[path[-1]] = value
    changed = set_value(text, path, value)
    assert value_of(changed) == expected
    assert changed.endswith(text[end:])


def span(text: str, path: KeyPath) -> tuple[int, int]:
    """Return the range from the key to the end of the value."""
    node = parse(text)
    start = 0
    for key in path:
        assert node is not None
        (member,) = [item for item in node.members or () if item.key == key]
        start, node = member.start, member.value
    assert node is not None
    return start, node.end


def blank_object(text: str, path: KeyPath) -> tuple[int, int] | None:
    """Return the range of an object that contains only spaces."""
    node = parse(text)
    for key in path:
        assert node is not None
        (node,) = [item.value for item in node.members or () if item.key == key]
    assert node is not None
    inner = text[node.start + 1 : node.end - 1]
    return (node.start, node.end) if inner and not inner.strip() else None


@pytest.mark.parametrize(
    ("text", "position"),
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
def test_the_error_about_invalid_json_has_the_position(text: str, position: tuple[int, int]) -> None:
    with pytest.raises(InvalidSyntax) as caught:
        parse(text)
    assert (caught.value.line, caught.value.column) == position


def test_a_document_of_comments_has_no_value() -> None:
    assert parse("") is None
    assert parse(" // {}\n /* {} */ ") is None


@pytest.mark.parametrize("text", ["[]", '"servers"', '{"servers": []}', '{"servers": null}', '{"servers": {"jay": 1}}'])
def test_a_value_that_is_not_an_object_is_refused(text: str) -> None:
    with pytest.raises(NotEditable):
        SYNTAX.merge(text, ("servers", "jay"), {"command": "jay"})


@pytest.mark.parametrize(
    "text",
    [
        '{"servers": {}, "servers": {}}',
        '{"servers": {"jay": {}, "jay": {}}}',
        '{"servers": {"jay": {"command": "a", "command": "b"}}}',
    ],
)
def test_a_duplicate_key_is_refused(text: str) -> None:
    with pytest.raises(NotEditable, match="2 times"):
        SYNTAX.merge(text, ("servers", "jay"), {"command": "jay"})


def test_a_duplicate_key_elsewhere_is_ignored() -> None:
    text = '{"a": 1, "a": 2, "servers": {}}'
    changed = SYNTAX.merge(text, ("servers", "jay"), {"command": "jay"})
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
    changed = SYNTAX.merge(text, ("servers", "jay"), {"command": "jay", "args": ["mcp"]}, drop=("url", "headers"))
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


def test_an_equal_entry_is_not_changed() -> None:
    text = '{"servers": {"jay": {"args" : [ "mcp", ], "command": "jay"}}}'
    assert SYNTAX.merge(text, ("servers", "jay"), {"command": "jay", "args": ["mcp"]}) == text


def test_a_new_document_is_indented() -> None:
    assert SYNTAX.render(("servers", "jay"), {"command": "jay", "args": ["mcp", "--data", "/my jay"]}) == (
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
def test_lines_stay_lines_when_a_member_is_removed(text: str, changed: str) -> None:
    assert remove(text, ("b",)) == changed


def test_a_long_document_is_edited_quickly() -> None:
    many = {f"/project/{number}": {"history": ["a question"] * 20} for number in range(2000)}
    text = json.dumps({"projects": many}, indent=2)
    changed = set_value(text, ("mcpServers", "jay"), {"command": "jay"})
    assert value_of(changed) == cast("Json", {"projects": many, "mcpServers": {"jay": {"command": "jay"}}})


def test_numbers_that_python_does_not_read_are_left_alone() -> None:
    text = '{"a": ' + "9" * 10_000 + ', "b": 1e999}'
    assert remove(set_value(text, ("c",), 1), ("c",)) == text
