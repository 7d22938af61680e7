"""The command line without a process for each command, and put together once: that takes longer than most commands."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import cast

from typer.main import get_command
from typer.testing import CliRunner

from scrubjay.surfaces.cli.main import app

_built = cache(get_command)


@dataclass(frozen=True, slots=True)
class Said:
    """What a command printed, also with both as they came, and how it ended."""

    out: str
    err: str
    output: str
    code: int


def invoke(
    arguments: Sequence[str], *, stdin: str | bytes | None = None, env: Mapping[str, str | None] | None = None
) -> Said:
    """Run a command to its end; whatever is not an answer or one of our errors is a failure of the test."""
    shell, code = CliRunner(), 0
    with shell.isolation(input=stdin, env=env) as streams:
        try:
            _built(app).main(args=list(arguments), prog_name="scrubjay")
        except SystemExit as left:
            code = cast("int", left.code or 0)
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            out, err, output = (stream.getvalue().decode().replace("\r\n", "\n") for stream in streams)
    return Said(out, err, output, code)
