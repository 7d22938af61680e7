"""The command line without a process for each command; building its commands once saves most of the time."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import cast

from typer.main import get_command
from typer.testing import CliRunner

from scrubjay.surfaces.cli.by_daemon import run_by_daemon
from scrubjay.surfaces.cli.main import app

_build_command = cache(get_command)


@dataclass(frozen=True, slots=True)
class CommandOutput:
    """The output of a command: each stream, both interleaved, and the exit code."""

    out: str
    err: str
    output: str
    code: int


def invoke(
    arguments: Sequence[str], *, stdin: str | bytes | None = None, env: Mapping[str, str | None] | None = None
) -> CommandOutput:
    """Run a command; any exception but SystemExit fails the test."""
    runner, code = CliRunner(), 0
    with runner.isolation(input=stdin, env=env) as streams:
        try:
            # As `scrubjay.__main__` does.
            answered = run_by_daemon(arguments)
            if answered is None:
                _build_command(app).main(args=list(arguments), prog_name="scrubjay")
            code = answered or 0
        except SystemExit as exit_:
            code = cast("int", exit_.code or 0)
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            out, err, output = (stream.getvalue().decode().replace("\r\n", "\n") for stream in streams)
    return CommandOutput(out, err, output, code)
