"""Every command documents itself."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from tests.surfaces.shell import run
from typer.core import TyperCommand, TyperGroup

from scrubjay.surfaces.cli.main import app
from scrubjay.version import VERSION

_RECORDED = Path(__file__).with_name("help.txt")


def commands(group: TyperGroup, *path: str) -> Iterator[tuple[tuple[str, ...], TyperCommand]]:
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            yield from commands(command, *path, name)
        else:
            assert isinstance(command, TyperCommand)
            yield (*path, name), command


def every_command() -> list[tuple[tuple[str, ...], TyperCommand]]:
    root = typer.main.get_command(app)
    assert isinstance(root, TyperGroup)
    return list(commands(root))


@pytest.mark.parametrize(("path", "command"), every_command())
def test_help_names_every_argument_and_option(path: tuple[str, ...], command: TyperCommand) -> None:
    answer = run(*path, "--help")
    assert answer.code == 0
    assert (command.help or "").split(".")[0][:40] in answer.out
    for parameter in command.params:
        for name in (*parameter.opts, *parameter.secondary_opts):
            assert name in answer.out, name
    # A long-running command prints no result.
    is_long_running = path[-1] in ("serve", "mcp")
    for shared in ("--data", "--space", *(() if is_long_running else ("--agent", "--json"))):
        assert shared in answer.out


def test_the_root_lists_every_command() -> None:
    answer = run("--help")
    assert answer.code == 0
    for path, _ in every_command():
        assert path[0] in answer.out


@pytest.mark.parametrize("path", sorted({path[:depth] for path, _ in every_command() for depth in range(len(path))}))
def test_the_list_of_commands_fits_80_columns_uncut(path: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    _, _, listing = run(*path, "--help").out.partition("Commands:\n" if path else "Remember:\n")
    assert listing
    assert [line for line in listing.splitlines() if line.endswith("...") or len(line) > 80] == []


# Groups that ask, and commands with many kinds of options. Other tests read the list of all commands.
_SNAPSHOTS = ("conflicts", "inbox", "list", "conflicts review", "import", "spaces", "serve")


def test_the_help_at_80_columns_is_as_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = "\n".join(f"$ scrubjay {path} --help\n{run(*path.split(), '--help').out}" for path in _SNAPSHOTS)
    if os.environ.get("UPDATE_SNAPSHOTS"):
        _RECORDED.write_text(shown, encoding="utf-8")
    assert shown == _RECORDED.read_text(encoding="utf-8"), "if it is meant so, run the test with UPDATE_SNAPSHOTS=1"
    assert [line for line in shown.splitlines() if len(line) > 80] == []


def test_without_a_command_the_help_is_printed() -> None:
    answer = run()
    assert "Usage" in answer.out + answer.err
    for path, _ in every_command():
        # Without a command, some groups list what waits.
        if len(path) > 1 and path[0] not in ("conflicts", "inbox"):
            answer = run(path[0])
            assert f"Usage: scrubjay {path[0]} [OPTIONS] COMMAND" in answer.out + answer.err
            assert "Commands:" in answer.out + answer.err


def test_the_version() -> None:
    assert run("--version").out == f"scrubjay {VERSION}\n"


def test_an_unknown_command_is_refused() -> None:
    answer = run("rember", "tea")
    assert answer.code == 2
    assert "rember" in answer.err


@pytest.mark.parametrize("option", ["--space=work", "--data", "--agent", "--json"])
def test_an_option_before_the_command_is_refused_with_its_place(option: str) -> None:
    answer = run(option, "list")
    assert answer.code == 2
    assert f"after the command: scrubjay COMMAND {option.partition('=')[0]}\n" in answer.err


def test_a_missing_argument() -> None:
    answer = run("remember")
    assert answer.code == 2
    assert "text" in answer.err
