"""TOML, edited as text: the entry changes, and the rest stays."""

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.strategies import some_examples

from scrubjay.install.syntax import InvalidSyntax, NotEditable
from scrubjay.install.toml_syntax import TomlSyntax, statements
from scrubjay.model.memory import Json

SYNTAX = TomlSyntax()
PATH = ("mcp_servers", "jay")
ENTRY: dict[str, Json] = {"command": "/my jay/bin", "args": ["mcp", '--data="C:\\jay"\x7f\t☕']}
# Values that look like other syntax.
VALUES = [
    *('"[mcp_servers.jay]"', "'# no comment'", '"a \\" = ["', "[\n  1, # one\n  2,\n]", "{ a = 1, 'b c' = [2, 3] }"),
    *('"""\n[mcp_servers.jay]\ncommand = "x"\n"""', "'''\n# \"\"\"\n[a]'''", '"""a \\""" b"""""'),
    *("1979-05-27T07:32:00Z", "nan", "0x1F", "true", "[]", "{}", "[[1], ['a', \"]\"]]"),
]  # fmt: skip
COMMENTS = ["", "  # [mcp_servers.jay]", ' # = "']
HEADERS = [
    *("[x]", "[ x . y ]", '[projects."/home/[mcp_servers.jay]"]', "[[z]]", "[mcp_servers]"),
    *("[mcp_servers.other]", "[mcp_servers.other.env]", "[mcp_servers.'jay.two']"),
]
GAPS = ["", "\n", "\n\n", "# a comment\n", "\n  # [mcp_servers.jay]\n# command = 1\n", "   \n"]


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Generate a document with comments, empty lines, other servers and tables, and either line ending."""

    def assignments() -> str:
        keys = draw(st.lists(st.sampled_from(["a", '"b c"', "'d.e'", "f.g", "f . h"]), unique=True, max_size=3))
        return "".join(
            f"{draw(st.sampled_from(['', '  ']))}{key} = {draw(st.sampled_from(VALUES))}"
            f"{draw(st.sampled_from(COMMENTS))}\n{draw(st.sampled_from(GAPS))}"
            for key in keys
        )

    headers = draw(st.lists(st.sampled_from(HEADERS), unique=True, max_size=5))
    text = draw(st.sampled_from(GAPS)) + assignments()
    for header in headers:
        text += f"{header}{draw(st.sampled_from(COMMENTS))}\n{draw(st.sampled_from(GAPS))}{assignments()}"
    if draw(st.booleans()):
        text = text.removesuffix("\n")
    return text.replace("\n", "\r\n") if draw(st.booleans()) else text


def value_of(text: str) -> dict[str, Any]:
    return tomllib.loads(text)


@given(documents())
@some_examples
def test_adding_and_removing_an_entry_restores_the_text(text: str) -> None:
    changed = SYNTAX.merge(text, PATH, ENTRY)
    expected = value_of(text)
    expected.setdefault("mcp_servers", {})["jay"] = ENTRY
    assert repr(value_of(changed)) == repr(expected)
    assert ("\r\n" in changed) == ("\r\n" in text) or "\n" not in text
    assert SYNTAX.remove(changed, PATH) == text


@given(documents())
@some_examples
def test_every_statement_has_its_position(text: str) -> None:
    for statement in statements(text):
        source = text[statement.start : statement.end]
        if statement.is_header:
            assert source.startswith("[")
            assert source.endswith("]")
        else:
            (value,) = value_of(f"it = {text[statement.value : statement.end]}").values()
            assigned: Any = value_of(source)
            for key in statement.path[len(statement.table) :]:
                assigned = assigned[key]
            assert repr(assigned) == repr(value)


CODEX = """\
# my settings
model = "gpt"   # the big one

[mcp_servers.docs]
command = "npx"
args = [
  "-y", # yes
  "docs-mcp",
]

[mcp_servers.jay] # the memory
command = 'old' # where it was
startup_timeout_sec = 20
url = "http://old"

[mcp_servers.jay.env]
A = "1"

# what I trust
[projects."/home/jay"]
trust_level = "trusted"
"""


def test_an_entry_keeps_its_own_keys_and_comments() -> None:
    changed = SYNTAX.merge(CODEX, PATH, {"command": "jay", "args": ["mcp"]}, drop=("url",))
    assert changed == CODEX.replace("'old'", '"jay"').replace('url = "http://old"', 'args = ["mcp"]')


def test_a_remote_entry_drops_the_keys_of_a_local_one() -> None:
    changed = SYNTAX.merge(CODEX, PATH, {"url": "http://new"}, drop=("command", "args", "env"))
    assert value_of(changed)["mcp_servers"]["jay"] == {"startup_timeout_sec": 20, "url": "http://new"}
    assert "# what I trust\n[projects" in changed


def test_an_entry_is_removed_with_its_tables_but_not_the_comments_of_others() -> None:
    start, end = CODEX.index("[mcp_servers.jay]"), CODEX.index("\n# what I trust")
    assert SYNTAX.remove(CODEX, PATH) == CODEX[: start - 1] + CODEX[end:]


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers = { jay = { command = "old", env = { A = "1" } }, other = { command = "x" } }\n',
        '[mcp_servers]\njay = { env = { A = "1" }, command = "old" } # mine\nother = { command = "x" }',
        'mcp_servers.jay.command = "old"\nmcp_servers.jay.env.A = "1"\nmcp_servers.other.command = "x"\n',
        '[mcp_servers]\n  jay.command = "old"\n  jay.env.A = "1"\r\n[mcp_servers.other]\r\ncommand = "x"\r\n',
        '[mcp_servers.jay.env]\nA = "1"\n[mcp_servers.other]\ncommand = "x"\n',
        '["mcp_servers" . \'jay\']\ncommand = "old"\nenv.A = "1"\n[mcp_servers.other]\ncommand = "x"',
        'mcp_servers = { jay.env.A = "1", jay.command = "old", other.command = "x" }',
    ],
)
def test_an_entry_in_any_style_is_changed_and_removed(text: str) -> None:
    changed = SYNTAX.merge(text, PATH, {"command": "jay", "args": ["mcp"]})
    assert value_of(changed)["mcp_servers"] == {
        "jay": {"command": "jay", "args": ["mcp"], "env": {"A": "1"}},
        "other": {"command": "x"},
    }
    assert SYNTAX.merge(changed, PATH, {"command": "jay", "args": ["mcp"]}) == changed
    assert value_of(SYNTAX.remove(changed, PATH))["mcp_servers"] == {"other": {"command": "x"}}


@pytest.mark.parametrize("text", ["mcp_servers = {}\n", 'mcp_servers = { a = { command = "x" } }', "[mcp_servers]"])
def test_an_entry_is_added_to_a_table_in_any_style(text: str) -> None:
    changed = SYNTAX.merge(text, PATH, ENTRY)
    assert value_of(changed)["mcp_servers"]["jay"] == ENTRY
    assert value_of(SYNTAX.remove(changed, PATH)) == value_of(text)


@pytest.mark.parametrize(
    "text", ["mcp_servers = []\n", "[[mcp_servers]]\n", 'mcp_servers = "x"', "[mcp_servers]\njay = 1\n"]
)
def test_a_value_that_is_not_a_table_is_refused(text: str) -> None:
    with pytest.raises(NotEditable):
        SYNTAX.merge(text, PATH, ENTRY)


@pytest.mark.parametrize(
    "text", ["a = ", "[a]\n[a]\n", "a = 1\na = 2\n", "{}", "a = " + "9" * 5000, "a = " + "[" * 5000, "a = 1\rb = 2"]
)
def test_invalid_toml_is_refused(text: str) -> None:
    with pytest.raises(InvalidSyntax):
        SYNTAX.merge(text, PATH, ENTRY)


def test_a_new_document_has_only_the_entry() -> None:
    assert SYNTAX.render(PATH, {"command": "jay", "args": ["mcp"]}) == (
        '[mcp_servers.jay]\ncommand = "jay"\nargs = ["mcp"]\n'
    )
