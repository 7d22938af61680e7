"""What a shell offers: commands and options, and through the daemon the names and labels of the memory."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests.command_line import invoke
from tests.surfaces.background_daemon import background_daemon
from tests.surfaces.shell import remember, run

from scrubjay.settings import Settings

# As Typer's script does it.
SCRIPT = """
COMP_WORDS=(scrubjay read ja); COMP_CWORD=2; IFS=$'\\n'
COMPREPLY=( $( env COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD _SCRUBJAY_COMPLETE=complete_bash scrubjay ) )
echo "${COMPREPLY[*]}"
"""


def offers(line: str, *, shell: str = "bash") -> list[str]:
    words = line.split(" ")
    env = {
        "_SCRUBJAY_COMPLETE": f"complete_{shell}", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1),
        "_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }  # fmt: skip
    output = invoke([], env=env)
    assert (output.code, output.err) == (0, "")
    return output.out.splitlines()


def test_names_and_labels_come_from_the_daemon(settings: Settings, tmp_path: Path) -> None:
    with background_daemon(settings, http=""):
        remember("The jay hid an acorn", "--name", "jay-acorn", "--tag", "birds", "--session", "monday")
        remember("The jay has a nest", "--name", "jay-nest", "--tag", "big trees", "--tag", "b$(id)", "--entity", "Jay")
        run("remember", "The owl sleeps", "--name", "jay-in-the-wood", "--space", "wood")
        assert offers("scrubjay read ja") == ["jay-acorn", "jay-nest"]
        assert offers("scrubjay show jay-acorn jay-n") == ["jay-nest"]
        assert offers("scrubjay read --space wood ja") == ["jay-in-the-wood"]
        assert offers("scrubjay recall nuts --tag b") == ["big-trees", "birds"]
        assert offers("scrubjay recall --tag=bir") == ["--tag=birds"]
        assert offers("scrubjay list --session ") == ["monday"]
        assert offers("scrubjay list --space w") == ["wood"]
        assert offers("scrubjay relate jay-acorn jay-a") == ["jay-acorn"]
        assert offers("scrubjay conflicts show ja") == []
        assert offers("scrubjay recall ja") == []
        assert offers("scrubjay nonsense x") == []
        assert offers("scrubjay conflicts --sta") == []
        assert offers("scrubjay conflicts list --status p") == ["pending"]
        assert offers("scrubjay recall --any-") == ["--any-tag"]
        assert "remember" in offers("scrubjay re")
        assert any(line.startswith("jay-nest") for line in offers("scrubjay read jay-n", shell="fish"))
        assert offers("scrubjay read jay-n", shell="zsh") == ["""_arguments '*: :(("jay-nest"))'"""]
        command = tmp_path / "bin" / "scrubjay"
        command.parent.mkdir()
        command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m scrubjay "$@"\n')
        command.chmod(0o700)
        env = {**os.environ, "PATH": f"{command.parent}:{os.environ['PATH']}"}
        shown = subprocess.run(["bash", "-c", SCRIPT], env=env, capture_output=True, text=True, check=True, timeout=60)
        assert shown.stdout == "jay-acorn\njay-nest\n"


def test_without_a_daemon_only_commands_and_options_are_offered(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember("The jay hid an acorn", "--name", "jay-acorn")
    assert [line for line in offers("scrubjay read ja") if line] == []
    assert "remember" in offers("scrubjay rem")
    assert offers("scrubjay conflicts list --status p") == ["pending"]
    monkeypatch.setenv("SCRUBJAY_HOME", str(tmp_path / "nowhere"))
    assert [line for line in offers("scrubjay read ja") if line] == []
    assert not (tmp_path / "nowhere").exists()
