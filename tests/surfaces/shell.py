"""The command line as a program would use it, without a process for each command."""

import json
from dataclasses import dataclass
from typing import cast

from tests.command_line import invoke

from scrubjay.model.memory import Json


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command printed, and how it ended."""

    out: str
    err: str
    code: int

    def json(self) -> dict[str, Json]:
        return cast("dict[str, Json]", json.loads(self.out))

    def error(self) -> dict[str, Json]:
        return cast("dict[str, dict[str, Json]]", json.loads(self.err))["error"]


def run(*arguments: str, stdin: str | bytes | None = None) -> Answer:
    """Run a command to its end; whatever is not an answer or one of our errors is a failure of the test."""
    said = invoke(arguments, stdin=stdin)
    return Answer(said.out, said.err, said.code)


def told(*arguments: str, stdin: str | bytes | None = None) -> dict[str, Json]:
    """Run a command that must succeed, and read its JSON."""
    answer = run(*arguments, "--json", stdin=stdin)
    assert answer.code == 0, answer.err
    return answer.json()


def kept(text: str, *options: str) -> str:
    """Remember something; returns its id."""
    return str(told("remember", text, *options)["id"])
