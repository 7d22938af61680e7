"""Completion from the table offers what the command line offers; what the table does not know is left to others."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.command_line import invoke

from scrubjay.surfaces.cli import completion
from scrubjay.surfaces.cli.completion import TABLE, CompletionPlace, ShownCommand, find_place

COMMANDS: Mapping[str, ShownCommand] = json.loads(TABLE.read_bytes())
# For these groups, Typer completes the command that runs if none is typed.
WITH_DEFAULT = ("conflicts", "inbox")
PLAIN = [path for path in COMMANDS if path not in WITH_DEFAULT]
# Where a line may end: with nothing, with letters, with the beginning of an option.
ENDS = ("", "r", "-", "--s")


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No daemon runs for this folder; Typer breaks no line of a terminal as wide as this."""
    monkeypatch.setenv("SCRUBJAY_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "1000")


def answer(line: str, *, shell: str) -> str:
    env = {
        "_SCRUBJAY_COMPLETE": f"complete_{shell}", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" ")),
        "_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }  # fmt: skip
    output = invoke([], env=env)
    assert (output.code, output.err) == (0, "")
    return output.out.rstrip("\n")


def answer_of_typer(line: str, *, shell: str) -> str:
    """Return the answer of the command line, which completes where there is no table."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(completion, "TABLE", TABLE.with_name("missing.json"))
        return answer(line, shell=shell)


def offers_of(shown: str) -> list[tuple[str, str]]:
    """Return the words and meanings that fish is shown."""
    split = (line.partition("\t") for line in shown.splitlines() if line)
    return [(word, meaning) for word, _, meaning in split]


@pytest.mark.parametrize("path", PLAIN)
def test_commands_and_options_are_those_of_typer(path: str) -> None:
    for end in ENDS:
        line = f"{f'scrubjay {path}'.strip()} {end}"
        ours, theirs = offers_of(answer(line, shell="fish")), offers_of(answer_of_typer(line, shell="fish"))
        assert [word for word, _ in ours] == [word for word, _ in theirs], line
        for (word, meaning), (_, cut) in zip(ours, theirs, strict=True):
            # Typer cuts what a command means.
            assert meaning.startswith(cut.removesuffix("...")), f"{line}: {word}"


@pytest.mark.parametrize("path", PLAIN)
def test_the_values_of_an_option_are_those_of_typer_and_the_choices_of_its_help(path: str) -> None:
    options = {name: option for option in COMMANDS[path]["options"] for name in option["names"] if option["takes"]}
    for name, option in options.items():
        line = f"{f'scrubjay {path}'.strip()} {name} "
        ours, theirs = answer(line, shell="bash").split(), answer_of_typer(line, shell="bash").split()
        assert ours == option.get("choices", []), line
        # It knows no choices of an option that takes any text.
        assert theirs in ([], ours), line


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize(
    "line",
    [
        "scrubjay tok", "scrubjay search --any-", "scrubjay tokens create --r", "scrubjay recall ", "scrubjay recall t",
        "scrubjay notes ado", "scrubjay serve --http x --i", "scrubjay import f", "scrubjay list -t x --t",
        "scrubjay --", 'scrubjay remember "an open',
    ],
)  # fmt: skip
def test_each_shell_gets_the_answer_of_typer_to_the_letter(line: str, shell: str) -> None:
    assert answer(line, shell=shell) == answer_of_typer(line, shell=shell)


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("recall --tag b", CompletionPlace((), "tag", "b")),
        ("recall -t =", CompletionPlace((), "tag")),
        ("recall --tag = b", CompletionPlace((), "tag", "b")),
        ("recall --tag=b", CompletionPlace((), "tag", "b", "--tag=")),
        ("list --json --space ", CompletionPlace((), "space")),
        ("show one tw", CompletionPlace((), "name", "tw")),
        ("relate one --strength 1 tw", CompletionPlace((), "name", "tw")),
        ("relate one two thr", CompletionPlace((), "", "thr")),
        ("conflicts show o", CompletionPlace((), "", "o")),
        ("conflicts list --status p", CompletionPlace((("pending", ""),), "", "p")),
        ("recall --detail=f", CompletionPlace((("full", ""),), "", "f", "--detail=")),
        ("install cod", CompletionPlace((("codex", ""),), "", "cod")),
        ("nonsense x", CompletionPlace((), "", "x")),
    ],
)
def test_names_and_labels_of_the_store_are_asked_for(line: str, place: CompletionPlace) -> None:
    *words, incomplete = line.split(" ")
    assert find_place(words, incomplete) == place


def test_labels_follow_the_name_of_their_option() -> None:
    place = find_place(["recall"], "--tag=b")
    assert place is not None
    assert place.with_labels(["birds"]) == (("--tag=birds", ""),)


@pytest.mark.parametrize("content", [None, "[", "{}"])
def test_without_a_whole_table_the_command_line_completes(
    content: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "completion.json"
    if content is not None:
        table.write_text(content)
    monkeypatch.setattr(completion, "TABLE", table)
    assert find_place(["recall"], "--any-") is None
    assert answer("scrubjay recall --any-", shell="bash") == "--any-tag"
