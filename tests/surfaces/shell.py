"""The command line as a program uses it, without a process for each command."""

import json
from dataclasses import dataclass
from typing import cast

from tests.command_line import invoke

from scrubjay.model.memory import Json


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The output of a command, and its exit code."""

    out: str
    err: str
    code: int

    def json(self) -> dict[str, Json]:
        return cast("dict[str, Json]", json.loads(self.out))

    def error(self) -> dict[str, Json]:
        return cast("dict[str, dict[str, Json]]", json.loads(self.err))["error"]


def run(*arguments: str, stdin: str | bytes | None = None) -> CommandResult:
    """Run a command; any exception but SystemExit fails the test."""
    output = invoke(arguments, stdin=stdin)
    return CommandResult(output.out, output.err, output.code)


def run_json(*arguments: str, stdin: str | bytes | None = None) -> dict[str, Json]:
    """Run a command that must succeed, and return its JSON output."""
    result = run(*arguments, "--json", stdin=stdin)
    assert result.code == 0, result.err
    return result.json()


def remember(text: str, *options: str) -> str:
    """Remember a text; return the id of the memory."""
    return str(run_json("remember", text, *options)["id"])
