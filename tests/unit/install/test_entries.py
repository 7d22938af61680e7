"""The last check before a configuration is written."""

import pytest

from scrubjay.install.entries import verify_edit, with_entry, without_entry
from scrubjay.install.json_syntax import JsonSyntax
from scrubjay.install.syntax import NotEditable
from scrubjay.install.toml_syntax import TomlSyntax

PATH = ("servers", "jay")


def test_an_edit_with_another_value_is_refused() -> None:
    syntax = JsonSyntax()
    verify_edit(syntax, '{"servers": {}}', {}, path=PATH)
    for text in ('{"servers": {"a": 1}}', '{"other": {}}', "{"):
        with pytest.raises(NotEditable, match="cannot be changed safely"):
            verify_edit(syntax, text, {}, path=PATH)
    verify_edit(TomlSyntax(), "a = nan", {"a": float("nan")}, path=PATH)


def test_the_expected_document_has_the_entry_or_not() -> None:
    document = with_entry({"a": 1}, PATH, {"command": "x", "headers": {"A": "1"}}, drop=())
    assert document == {"a": 1, "servers": {"jay": {"command": "x", "headers": {"A": "1"}}}}
    assert with_entry(document, PATH, {"url": "u"}, drop=("command", "args"))["servers"] == {
        "jay": {"headers": {"A": "1"}, "url": "u"}
    }
    assert without_entry(document, PATH) == {"a": 1, "servers": {}}
    with pytest.raises(NotEditable):
        with_entry({"servers": []}, PATH, {"url": "u"}, drop=())
