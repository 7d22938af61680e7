"""The public interface is documented: every setting, every command and option, every public name."""

import dataclasses
import importlib
import inspect
import re
import shlex
from collections.abc import Iterator
from functools import cache

import typer
from typer.core import TyperCommand, TyperGroup

import scrubjay
from scrubjay.errors import CODES
from scrubjay.model.verbs import VERBS
from scrubjay.settings import Settings
from scrubjay.surfaces.cli.main import app
from scrubjay.surfaces.mcp.toolsets import TOOLSETS
from tests.contract.source import ROOT, pages

# Names that users may import. Adding a name is a promise; removing one breaks user code.
PUBLIC = [
    "Filter",
    "Hit",
    "Memory",
    "MemoryClient",
    "Observation",
    "Recalled",
    "Remembered",
    "Settings",
    "Source",
    "SyncMemoryClient",
    "__version__",
]
ERRORS = [kind.__name__ for kind in CODES]
_CONSOLE = re.compile(r"^```console.*?\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_public_names_are_pinned() -> None:
    assert sorted(scrubjay.__all__) == sorted([*PUBLIC, *ERRORS])


def test_every_public_name_exists_and_has_a_docstring() -> None:
    package = importlib.import_module("scrubjay")
    assert [name for name in [*PUBLIC, *ERRORS] if not inspect.getdoc(getattr(package, name))] == []


def test_every_setting_is_documented_and_can_be_set() -> None:
    page = (ROOT / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")
    for field in dataclasses.fields(Settings):
        assert field.metadata["doc"], field.name
        assert f"`{field.metadata['env']}`" in page, field.name


def test_the_readme_lists_the_tools_of_core() -> None:
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    sentence = re.search(r"gets (?P<count>\w+)\s+tools: (?P<names>[^.]*)\.", page)
    assert sentence is not None
    assert re.findall(r"`(\w+)`", sentence["names"]) == [tool.name for tool in TOOLSETS["core"]]


def test_the_page_of_versions_lists_verbs() -> None:
    page = (ROOT / "docs" / "explanation" / "versions.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([^`]+)`", page.split("## ")[0], re.MULTILINE)
    assert rows
    assert set(rows) <= set(VERBS)


def test_no_two_settings_share_a_variable() -> None:
    variables = [field.metadata["env"] for field in dataclasses.fields(Settings)]
    assert len(set(variables)) == len(variables)
    assert all(variable.startswith("SCRUBJAY_") for variable in variables)


def test_every_command_is_documented() -> None:
    page = (ROOT / "docs" / "reference" / "commands.md").read_text(encoding="utf-8")
    for path, command in _commands(_root(), "scrubjay"):
        assert command.help, path
        assert f"## {path}\n" in page, path


def test_every_argument_and_option_says_what_it_does() -> None:
    silent = [
        f"{path} {parameter.name}"
        for path, command in _commands(_root(), "scrubjay")
        if isinstance(command, TyperCommand)
        for parameter in command.params
        if parameter.name != "help" and not getattr(parameter, "help", "")
    ]
    assert not silent


def test_the_documents_show_only_commands_and_options_that_exist() -> None:
    wrong = [
        f"{page.relative_to(ROOT)}: {line}"
        for page in pages()
        for block in _CONSOLE.finditer(page.read_text(encoding="utf-8"))
        for line in block["body"].splitlines()
        if line.startswith("$ scrubjay ") and not _exists(line.removeprefix("$ scrubjay "))
    ]
    assert not wrong


@cache
def _root() -> TyperGroup:
    root = typer.main.get_command(app)
    assert isinstance(root, TyperGroup)
    return root


def _commands(group: TyperGroup, path: str) -> Iterator[tuple[str, TyperCommand | TyperGroup]]:
    for name, command in group.commands.items():
        assert isinstance(command, TyperCommand | TyperGroup)
        if not command.hidden:
            yield f"{path} {name}", command
            if isinstance(command, TyperGroup):
                yield from _commands(command, f"{path} {name}")


def _exists(line: str) -> bool:
    """Return whether a command line names an existing command and existing options."""
    command: TyperCommand | TyperGroup = _root()
    for word in shlex.split(re.split(r" [|>] | \\\\$", line, maxsplit=1)[0], comments=True):
        option = word.split("=")[0]
        if option.startswith("--") and option != "--help":
            if option not in {
                name for parameter in command.params for name in parameter.opts + parameter.secondary_opts
            }:
                return False
        elif isinstance(command, TyperGroup) and not word.startswith("-"):
            child = command.commands.get(word)
            if not isinstance(child, TyperCommand | TyperGroup):
                return False
            command = child
    return True
