"""Help from the table is what the command line prints; whatever the table cannot show is left to the command line."""

import json

import pytest
from tests.surfaces.shell import run

from scrubjay.surfaces.cli import help as help_
from scrubjay.surfaces.cli.help import PAGES, print_help
from scrubjay.surfaces.cli.main import COMMANDS_BY_MODULE


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")


def test_the_table_has_every_command() -> None:
    pages = json.loads(PAGES.read_bytes())
    assert {name for names in COMMANDS_BY_MODULE.values() for name in names} <= set(pages)
    assert {"", "notes adopt", "conflicts list", "search", "show", "add", "delete"} <= set(pages)


@pytest.mark.parametrize("path", ["", "recall", "search", "notes", "notes adopt", "serve"])
def test_a_page_has_the_words_of_the_command_line(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert print_help([*path.split(), "--help"]) == 0
    shown = capsys.readouterr().out
    assert shown.split() == run(*path.split(), "--help").out.split()
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize(
    "arguments", [[], ["recall"], ["rember", "--help"], ["recall", "tea", "--help"], ["--help", "recall"]], ids=str
)
def test_other_calls_are_left_to_the_command_line(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert print_help(arguments) is None
    assert capsys.readouterr().out == ""


def test_on_a_narrow_terminal_the_command_line_lays_it_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "79")
    assert print_help(["recall", "--help"]) is None


@pytest.mark.parametrize("content", [None, "[", "{}"])
def test_without_a_whole_table_the_command_line_helps(
    content: str | None, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path_factory.mktemp("table") / "help.json"
    if content is not None:
        table.write_text(content)
    monkeypatch.setattr(help_, "PAGES", table)
    assert print_help(["recall", "--help"]) is None
