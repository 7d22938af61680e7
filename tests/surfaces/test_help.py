"""Every command documents itself."""

from collections.abc import Iterator

import pytest
import typer
from tests.surfaces.shell import run
from typer.core import TyperCommand, TyperGroup

from scrubjay.surfaces.cli.main import app
from scrubjay.version import VERSION


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
    _, _, listing = run(*path, "--help").out.partition("Commands:\n")
    assert listing
    assert [line for line in listing.splitlines() if line.endswith("...") or len(line) > 80] == []


def test_without_a_command_the_help_is_printed() -> None:
    answer = run()
    assert "Usage" in answer.out + answer.err
    assert "Usage" in run("backup").out + run("backup").err


def test_the_version() -> None:
    assert run("--version").out == f"scrubjay {VERSION}\n"


def test_an_unknown_command_is_refused() -> None:
    answer = run("rember", "tea")
    assert answer.code == 2
    assert "rember" in answer.err


def test_a_missing_argument() -> None:
    answer = run("remember")
    assert answer.code == 2
    assert "text" in answer.err
